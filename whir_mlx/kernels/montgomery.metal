// out[i] = x[i] * 2^32 mod p (TO_MONTGOMERY 1) or x[i] * 2^-32 mod p (0): canonical to Montgomery words, or back.
// size: [N]. x, out: (N,). Grid: N threads along x.
#include "field.h"

kernel void montgomery(
    const constant uint* size [[buffer(0)]],
    const device uint* x [[buffer(1)]],
    device uint* out [[buffer(2)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index i = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(i, size[0]);
  uint factor = uint(TO_MONTGOMERY ? FIELD_R2 : 1u);
  out[i] = field_mul(x[i], factor);
}
