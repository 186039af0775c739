// partial[t] = sum_j a[t + j T] * b[t + j T]: T threads share N products; `ext_sum` adds their sums.
// size: [T, N / T]. a, b: (N, 4); partial: (T, 4). Montgomery words. Grid: T threads along x.
#include "field.h"
#include "ext.h"

kernel void dot(
    const constant uint* size [[buffer(0)]],
    const device uint* a [[buffer(1)]],
    const device uint* b [[buffer(2)]],
    device uint* partial [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index t = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(t, size[0]);
  Quad sum = ext_zero();
  ROLLED_LOOP
  for (int j = 0; j < int(size[1]); j++) {
    auto i = t + j * int(size[0]);
    sum = ext_add(sum, ext_mul(load_quad(a, i), load_quad(b, i)));
  }
  store_quad(partial, t, sum);
}
