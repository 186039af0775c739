// The weights of claims at one point, times a factor each. Claim k has v variables and a challenge y; with x_s row first + v - 1 - s
// of x, s = 0..v-1,
//   out[k] = factor[k] * prod_s ((1 - x_s) + (2 x_s - 1) y^(2^s))   where `powers` is 0: eq of (y^(2^(v-1)), ..., y^2, y) and x;
//   out[k] = factor[k] * prod_s ((1 - x_s) + x_s y^(2^s))           where it is 1: the multilinear extension of b -> y^b.
// size: [K, most v, n]. x: (n, 4); shapes: (K, 3), a claim's v, first, powers, with first + v <= n; y, factors, out: (K, 4).
// Montgomery words. Grid: K threads.
#include "field.h"
#include "ext.h"

kernel void point_weights(
    const constant uint* size [[buffer(0)]],
    const device uint* x [[buffer(1)]],
    const device uint* shapes [[buffer(2)]],
    const device uint* y [[buffer(3)]],
    const device uint* factors [[buffer(4)]],
    device uint* out [[buffer(5)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index k = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(k, size[0]);
  uint variables = shapes[3 * k], row = shapes[3 * k + 1] + variables, powers = shapes[3 * k + 2];
  Quad value = load_quad(factors, k), power = load_quad(y, k);
  ROLLED_LOOP
  for (int s = 0; s < int(size[1]); s++) {
    // Past a claim's variables some row is read, and its factor not taken.
    Quad coordinate = load_quad(x, min(row - uint(s + 1), size[2] - 1));
    Quad complement = ext_sub(ext_one(), coordinate);
    Quad slope = ext_sub(coordinate, ext_select(complement, ext_zero(), powers == uint(1)));
    Quad next = ext_mul(value, ext_add(complement, ext_mul(slope, power)));
    value = ext_select(value, next, uint(s) < variables);
    power = ext_square(power);
  }
  store_quad(out, k, value);
}
