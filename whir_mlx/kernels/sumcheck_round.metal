// partial[0, t] = sum f_lo w_lo, partial[1, t] = sum (f_hi - f_lo)(w_hi - w_lo) over pairs t + j T, j < J (see pairs.h):
// the value at 0 and the leading coefficient of the round polynomial, before `ext_sum` adds the threads' shares.
// size: [T, J, s]. f, w: (2 T J, 4); partial: (2, T, 4). Montgomery words. Grid: T threads along x.
#include "field.h"
#include "ext.h"
#include "pairs.h"

kernel void sumcheck_round(
    const constant uint* size [[buffer(0)]],
    const device uint* f [[buffer(1)]],
    const device uint* w [[buffer(2)]],
    device uint* partial [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index t = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(t, size[0]);
  int threads = int(size[0]), s = int(size[2]);
  Quad constant_term = ext_zero();
  Quad leading = ext_zero();
  ROLLED_LOOP
  for (int j = 0; j < int(size[1]); j++) {
    uint low = pair_low(t + j * threads, s);
    uint high = low + (1 << s);
    Quad f_low = load_quad(f, low);
    Quad w_low = load_quad(w, low);
    constant_term = ext_add(constant_term, ext_mul(f_low, w_low));
    leading = ext_add(leading, ext_mul(ext_sub(load_quad(f, high), f_low), ext_sub(load_quad(w, high), w_low)));
  }
  store_quad(partial, t, constant_term);
  store_quad(partial, t + threads, leading);
}
