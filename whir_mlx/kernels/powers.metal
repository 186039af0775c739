// out[i] = x^i, i < N, by squaring: every thread walks the bits of the largest exponent.
// size: [N, bits of N - 1]. x: (4,). out: (N, 4). Montgomery words. Grid: N threads along x.
#include "field.h"
#include "ext.h"

kernel void powers(
    const constant uint* size [[buffer(0)]],
    const device uint* x [[buffer(1)]],
    device uint* out [[buffer(2)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index i = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(i, size[0]);
  uint exponent = i;
  Quad square = load_quad(x, 0);
  Quad power = ext_one();
  ROLLED_LOOP
  for (int bit = 0; bit < int(size[1]); bit++) {
    power = ext_select(power, ext_mul(power, square), ((exponent >> bit) & 1) == uint(1));
    square = ext_mul(square, square);
  }
  store_quad(out, i, power);
}
