// shares[v] = the part of [sum f_lo w_lo, sum (f_hi - f_lo)(w_hi - w_lo)] over all pairs (see pairs.h) that vector v of threads
// adds up: the value at 0 and the leading coefficient of the round polynomial. Thread t takes pairs t + j T, j < J.
// size: [T, J, s, pairs], T a multiple of the vector's threads. f, w: (2 pairs, 4); shares: (T / threads of a vector, 2, 4).
// Montgomery words. Grid: T threads along x.
#include "field.h"
#include "ext.h"
#include "pairs.h"
#include "reduce.h"

kernel void sumcheck_round(
    const constant uint* size [[buffer(0)]],
    const device uint* f [[buffer(1)]],
    const device uint* w [[buffer(2)]],
    device uint* shares [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {
  lane_index t = thread_position_in_grid.x;
  int s = int(size[2]), pairs = int(size[3]);
  Quad constant_term = ext_zero();
  Quad leading = ext_zero();
  ROLLED_LOOP
  for (int j = 0; j < int(size[1]); j++) {
    // Past the end the last pair is read and not added: every thread takes part in the sums below.
    uint i = t + j * int(size[0]);
    uint low = pair_low(min(i, uint(pairs - 1)), s);
    uint high = low + (1 << s);
    Quad f_low = load_quad(f, low);
    Quad w_low = load_quad(w, low);
    Quad products = ext_mul(f_low, w_low);
    Quad slopes = ext_mul(ext_sub(load_quad(f, high), f_low), ext_sub(load_quad(w, high), w_low));
    constant_term = ext_add(constant_term, ext_select(ext_zero(), products, i < uint(pairs)));
    leading = ext_add(leading, ext_select(ext_zero(), slopes, i < uint(pairs)));
  }
  int share = 2 * (int(lane_front(t)) / REDUCE_WIDTH);
  store_share(shares, share, vector_sum_ext(constant_term), thread_index_in_simdgroup);
  store_share(shares, share + 1, vector_sum_ext(leading), thread_index_in_simdgroup);
}
