// out[b] = prod_j (bit j of b ? point[j] : 1 - point[j]), coordinate 0 at the most significant of the n bits of b.
// size: [2^(n-E), n], E = LOG_EACH <= n. point: (n, 4). out: (2^n, 4). Montgomery words. Grid: 2^(n-E) threads along x; thread t
// makes the 2^E entries b = e 2^(n-E) + t, which have all but E factors in common.
#include "field.h"
#include "ext.h"

kernel void eq_table(
    const constant uint* size [[buffer(0)]],
    const device uint* point [[buffer(1)]],
    device uint* out [[buffer(2)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index b = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(b, size[0]);
  int n = int(size[1]);
  uint bits = b;
  Quad values[1 << LOG_EACH];
  values[0] = ext_one();
  ROLLED_LOOP
  for (int j = LOG_EACH; j < n; j++) {
    Quad x = load_quad(point, j);
    Quad factor = ext_select(ext_sub(ext_one(), x), x, ((bits >> (n - 1 - j)) & 1) == uint(1));
    values[0] = ext_mul(values[0], factor);
  }
  UNROLLED_LOOP
  for (int level = 0; level < LOG_EACH; level++) {
    Quad x = load_quad(point, LOG_EACH - 1 - level);
    UNROLLED_LOOP
    for (int e = 0; e < (1 << level); e++) {
      values[e + (1 << level)] = ext_mul(values[e], x);
      values[e] = ext_sub(values[e], values[e + (1 << level)]);
    }
  }
  UNROLLED_LOOP
  for (int e = 0; e < (1 << LOG_EACH); e++) store_quad(out, b + e * int(size[0]), values[e]);
}
