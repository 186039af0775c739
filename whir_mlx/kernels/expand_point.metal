// point[j] = y^(2^(n-1-j)), j < n: (y^(2^(n-1)), ..., y^2, y).
// size: [n]. y: (4,). point: (n, 4). Montgomery words. Grid: 1 thread.
#include "field.h"
#include "ext.h"

kernel void expand_point(
    const constant uint* size [[buffer(0)]],
    const device uint* y [[buffer(1)]],
    device uint* point [[buffer(2)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  RETURN_OUTSIDE_GRID(thread_position_in_grid.x, 1);
  Quad power = load_quad(y, 0);
  ROLLED_LOOP
  for (int j = int(size[0]) - 1; j >= 0; j--) {
    store_quad(point, j, power);
    power = ext_mul(power, power);
  }
}
