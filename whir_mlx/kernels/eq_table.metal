// out[b] = prod_j (bit j of b ? point[j] : 1 - point[j]), coordinate 0 at the most significant of the n bits of b.
// size: [2^n, n]. point: (n, 4). out: (2^n, 4). Montgomery words. Grid: 2^n threads along x.
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
  Quad value = ext_one();
  ROLLED_LOOP
  for (int j = 0; j < n; j++) {
    Quad x = load_quad(point, j);
    Quad factor = ext_select(ext_sub(ext_one(), x), x, ((bits >> (n - 1 - j)) & 1) == uint(1));
    value = ext_mul(value, factor);
  }
  store_quad(out, b, value);
}
