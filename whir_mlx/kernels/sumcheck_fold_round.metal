// One pass over f and w: binds a variable at r, and adds up the next round polynomial of what it writes.
//   f'[i] = f_lo + r (f_hi - f_lo), w' alike, for pair i of stride 2^s (see pairs.h);
//   shares[v] = the part of [sum f'_lo w'_lo, sum (f'_hi - f'_lo)(w'_hi - w'_lo)] over pairs of stride 2^s' that vector v of
//   threads adds up. Thread t makes and takes the new pairs t + j T, j < J.
// size: [T, J, s, s', new pairs], T a multiple of the vector's threads. f, w: (N, 4), N = 4 new pairs; r: (4,); f_folded,
// w_folded: (N / 2, 4); shares: (T / threads of a vector, 2, 4). Montgomery words. Grid: T threads along x.
#include "field.h"
#include "ext.h"
#include "pairs.h"
#include "reduce.h"

template <typename X>
KERNEL_FUNCTION Pair fold_neighbours(X x, lane_index i, Quad r) {
  uint v[8];
  load_words_8(v, x, i * 16);
  Quad low = fold_pair(Pair{Quad{v[0], v[1], v[2], v[3]}, Quad{v[4], v[5], v[6], v[7]}}, r);
  load_words_8(v, x, i * 16 + 8);
  return Pair{low, fold_pair(Pair{Quad{v[0], v[1], v[2], v[3]}, Quad{v[4], v[5], v[6], v[7]}}, r)};
}

kernel void sumcheck_fold_round(
    const constant uint* size [[buffer(0)]],
    const device uint* f [[buffer(1)]],
    const device uint* w [[buffer(2)]],
    const device uint* r [[buffer(3)]],
    device uint* f_folded [[buffer(4)]],
    device uint* w_folded [[buffer(5)]],
    device uint* shares [[buffer(6)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {
  lane_index t = thread_position_in_grid.x;
  int s = int(size[2]), next = int(size[3]), pairs = int(size[4]);
  Quad challenge_value = load_quad(r, 0);
  Quad constant_term = ext_zero();
  Quad leading = ext_zero();
  bool neighbours = s == 0 && next == 0 && int(size[0]) * int(size[1]) == pairs;
  ROLLED_LOOP
  for (int j = 0; j < int(size[1]); j++) {
    lane_index i = t + j * int(size[0]);
    Pair fs, ws;
    if (neighbours) {
      // Pair i of the folded values comes from elements 4 i to 4 i + 3.
      fs = fold_neighbours(f, i, challenge_value);
      ws = fold_neighbours(w, i, challenge_value);
      store_neighbours(f_folded, i, fs);
      store_neighbours(w_folded, i, ws);
    } else {
      // Past the end the last pair is made and neither written nor added: every thread takes part in the sums below.
      uint low = pair_low(min(uint(i), uint(pairs - 1)), next);
      uint high = low + (1 << next);
      fs = Pair{fold_pair(load_pair(f, low, s), challenge_value), fold_pair(load_pair(f, high, s), challenge_value)};
      ws = Pair{fold_pair(load_pair(w, low, s), challenge_value), fold_pair(load_pair(w, high, s), challenge_value)};
      STORE_QUAD_IF(uint(i) < uint(pairs), f_folded, low, fs.low);
      STORE_QUAD_IF(uint(i) < uint(pairs), f_folded, high, fs.high);
      STORE_QUAD_IF(uint(i) < uint(pairs), w_folded, low, ws.low);
      STORE_QUAD_IF(uint(i) < uint(pairs), w_folded, high, ws.high);
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
