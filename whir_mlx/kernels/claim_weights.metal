// out[r, b] = alpha^(e_r) * tables[t_r, b]: the weights of claims, batched by the powers of a challenge.
// size: [B, then for each row r its table t_r and its exponent e_r]. alpha: (4,); tables: (T, B, 4); out: (R, B, 4). Montgomery
// words. Grid: (B, R) threads.
#include "field.h"
#include "ext.h"

kernel void claim_weights(
    const constant uint* size [[buffer(0)]],
    const device uint* alpha [[buffer(1)]],
    const device uint* tables [[buffer(2)]],
    device uint* out [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index b = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(b, size[0]);
  int count = int(size[0]), row = int(thread_position_in_grid.y);
  int table = int(size[1 + 2 * row]);
  Quad value = load_quad(tables, b + table * count), power = load_quad(alpha, 0);
  ROLLED_LOOP
  for (int e = int(size[2 + 2 * row]); e > 0; e /= 2) {
    if (e % 2 == 1) value = ext_mul(value, power);
    power = ext_square(power);
  }
  store_quad(out, b + row * count, value);
}
