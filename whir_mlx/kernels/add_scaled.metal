// out[c, i] = w[c, i] + sum_{s < S} coefficients[p_sc - 1] * table_s[i], where p_sc is not 0.
// size: [N, C, S, whether there is w (else 0 is added to), then p_sc, C for each s]. w, out: (C, N, 4); coefficients: (T, 4); table0
// to table7: (N, 4), any array past the last one. Montgomery words. Grid: (N, C) threads.
#include "field.h"
#include "ext.h"

#define ADD_SCALED(number) \
  if (number < tables) { \
    int place = int(size[4 + number * groups + c]); \
    if (place > 0) sum = ext_add(sum, ext_mul(load_quad(table##number, i), load_quad(coefficients, place - 1))); \
  }

kernel void add_scaled(
    const constant uint* size [[buffer(0)]],
    const device uint* w [[buffer(1)]],
    const device uint* coefficients [[buffer(2)]],
    const device uint* table0 [[buffer(3)]],
    const device uint* table1 [[buffer(4)]],
    const device uint* table2 [[buffer(5)]],
    const device uint* table3 [[buffer(6)]],
    const device uint* table4 [[buffer(7)]],
    const device uint* table5 [[buffer(8)]],
    const device uint* table6 [[buffer(9)]],
    const device uint* table7 [[buffer(10)]],
    device uint* out [[buffer(11)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index i = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(i, size[0]);
  int groups = int(size[1]), tables = int(size[2]), c = int(thread_position_in_grid.y);
  auto at = i + c * int(size[0]);
  Quad sum = ext_zero();
  if (int(size[3]) != 0) sum = load_quad(w, at);
  ADD_SCALED(0)
  ADD_SCALED(1)
  ADD_SCALED(2)
  ADD_SCALED(3)
  ADD_SCALED(4)
  ADD_SCALED(5)
  ADD_SCALED(6)
  ADD_SCALED(7)
  store_quad(out, at, sum);
}
