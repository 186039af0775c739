// out[i] = a[i] + b[i], a[i] - b[i], a[i] * b[i], a[i]^-1 in the extension (OPERATION 0, 1, 2, 3; the inverse ignores b).
// size: [N]. a, b, out: (N, 4) Montgomery words. Grid: N threads along x.
#include "field.h"
#include "ext.h"

kernel void ext_arithmetic(
    const constant uint* size [[buffer(0)]],
    const device uint* a [[buffer(1)]],
    const device uint* b [[buffer(2)]],
    device uint* out [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index i = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(i, size[0]);
  Quad left = load_quad(a, i);
  Quad right = load_quad(b, i);
#if OPERATION == 0
  store_quad(out, i, ext_add(left, right));
#elif OPERATION == 1
  store_quad(out, i, ext_sub(left, right));
#elif OPERATION == 2
  store_quad(out, i, ext_mul(left, right));
#else
  store_quad(out, i, ext_inverse(left));
#endif
}
