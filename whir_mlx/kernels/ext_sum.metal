// out[g, b] = sum_c x[g, c, b]: the second step of every reduction.
// size: [B, C]. x: (G, C, B, 4); out: (G, B, 4). Montgomery words. Grid: (B, G) threads.
#include "field.h"
#include "ext.h"

kernel void ext_sum(
    const constant uint* size [[buffer(0)]],
    const device uint* x [[buffer(1)]],
    device uint* out [[buffer(2)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index b = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(b, size[0]);
  int columns = int(size[0]), count = int(size[1]);
  int group = int(thread_position_in_grid.y);
  Quad sum = ext_zero();
  ROLLED_LOOP
  for (int c = 0; c < count; c++) sum = ext_add(sum, load_quad(x, b + (group * count + c) * columns));
  store_quad(out, b + group * columns, sum);
}
