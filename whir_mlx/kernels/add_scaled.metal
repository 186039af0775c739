// out[c, i] = w[c, i] + coefficients[c] * table[i].
// size: [N]. w, out: (C, N, 4); coefficients: (C, 4); table: (N, 4). Montgomery words. Grid: (N, C) threads.
#include "field.h"
#include "ext.h"

kernel void add_scaled(
    const constant uint* size [[buffer(0)]],
    const device uint* w [[buffer(1)]],
    const device uint* coefficients [[buffer(2)]],
    const device uint* table [[buffer(3)]],
    device uint* out [[buffer(4)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index i = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(i, size[0]);
  int c = int(thread_position_in_grid.y);
  auto at = i + c * int(size[0]);
  store_quad(out, at, ext_add(load_quad(w, at), ext_mul(load_quad(table, i), load_quad(coefficients, c))));
}
