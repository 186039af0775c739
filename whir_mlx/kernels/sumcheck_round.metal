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
  bool neighbours = s == 0 && int(size[0]) * int(size[1]) == pairs;
  ROLLED_LOOP
  for (int j = 0; j < int(size[1]); j++) {
    lane_index i = t + j * int(size[0]);
    Pair fs, ws;
    if (neighbours) {
      fs = load_neighbours(f, i);
      ws = load_neighbours(w, i);
    } else {
      // Past the end the last pair is read and not added: every thread takes part in the sums below.
      uint inside = min(uint(i), uint(pairs - 1));
      fs = load_pair(f, inside, s);
      ws = load_pair(w, inside, s);
    }
    Quad products = ext_mul(fs.low, ws.low);
    Quad slopes = ext_mul(ext_sub(fs.high, fs.low), ext_sub(ws.high, ws.low));
    constant_term = ext_add(constant_term, ext_select(ext_zero(), products, uint(i) < uint(pairs)));
    leading = ext_add(leading, ext_select(ext_zero(), slopes, uint(i) < uint(pairs)));
  }
  int share = 2 * (int(lane_front(t)) / REDUCE_WIDTH);
  store_share(shares, share, vector_sum_ext(constant_term), thread_index_in_simdgroup);
  store_share(shares, share + 1, vector_sum_ext(leading), thread_index_in_simdgroup);
}
