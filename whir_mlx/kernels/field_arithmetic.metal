// out[i] = a[i] + b[i], a[i] - b[i], a[i] * b[i], a[i]^-1 (OPERATION 0, 1, 2, 3; the inverse ignores b, and 0 gives 0).
// size: [N]. a, b, out: (N,) Montgomery words. Grid: N threads along x.
#include "field.h"

kernel void field_arithmetic(
    const constant uint* size [[buffer(0)]],
    const device uint* a [[buffer(1)]],
    const device uint* b [[buffer(2)]],
    device uint* out [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index i = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(i, size[0]);
  uint left = a[i];
  uint right = b[i];
#if OPERATION == 0
  out[i] = field_add(left, right);
#elif OPERATION == 1
  out[i] = field_sub(left, right);
#elif OPERATION == 2
  out[i] = field_mul(left, right);
#else
  out[i] = field_inverse(left);
#endif
}
