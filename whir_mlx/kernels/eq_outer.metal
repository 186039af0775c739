// out[a * B + b] = high[a] * low[b].
// size: [B]. high: (A, 4); low: (B, 4); out: (A * B, 4). Montgomery words. Grid: (B, A) threads.
#include "field.h"
#include "ext.h"

kernel void eq_outer(
    const constant uint* size [[buffer(0)]],
    const device uint* high [[buffer(1)]],
    const device uint* low [[buffer(2)]],
    device uint* out [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index b = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(b, size[0]);
  int a = int(thread_position_in_grid.y);
  store_quad(out, b + a * int(size[0]), ext_mul(load_quad(low, b), load_quad(high, a)));
}
