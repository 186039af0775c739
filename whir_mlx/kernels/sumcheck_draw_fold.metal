// The end of a sumcheck round that was ground, and the beginning of the next one, for few values: a thread makes one pair of them.
//   r = the second to fifth output of the challenger after it absorbed the witness ~found; the first one decides about the witness;
//   x'[i] = lo + r (hi - lo) over pair i of stride 2^s of x (see pairs.h), for x = f and w;
//   shares[g] = the part of [sum f'_lo w'_lo, sum (f'_hi - f'_lo)(w'_hi - w'_lo)] over pairs of stride 2^s' that group g adds up.
// Every group draws r by itself: to wait for another launch takes as long as the permutation.
// size: [M, s, s', g]: M values of f', pairs of stride 2^s of f and 2^s' of f'; g is 1 where shares are wanted, else 0. tables: (398,),
// see cooperative.h. state: (26,) transcript state. found: (1,), what grind.metal found. f, w: (2 M, 4). out: rows of 4 words: the
// witness and the sample that decides about it, both canonical, and 6 zeros; the new state and 2 zeros; r; two a group of shares;
// f', w', M each. One array, since each costs the host as much as a launch. Montgomery words but for the first two.
// Grid: groups of whole SIMD groups of 16 or 32 threads, 32 SIMD groups at most a group; (M + 1) / 2 threads or more.
#include "challenger.h"
#include "ext.h"
#include "pairs.h"
#include "reduce.h"

#define DRAWN_STATE 8
#define DRAWN_CHALLENGE 36
#define DRAWN_SHARES 40

kernel void sumcheck_draw_fold(
    const constant uint* size [[buffer(0)]],
    const device uint* tables [[buffer(1)]],
    const device uint* state [[buffer(2)]],
    const device uint* found [[buffer(3)]],
    const device uint* f [[buffer(4)]],
    const device uint* w [[buffer(5)]],
    device uint* out [[buffer(6)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]],
    uint3 thread_position_in_threadgroup [[thread_position_in_threadgroup]],
    uint3 threadgroup_position_in_grid [[threadgroup_position_in_grid]],
    uint3 threads_per_threadgroup [[threads_per_threadgroup]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {
  THREADGROUP_ARRAY(drawn, 4);
  THREADGROUP_ARRAY(parts, 256);
  uint lane = thread_index_in_simdgroup;
  int own = int(first_lane(uint(int(lane_front(thread_position_in_threadgroup.x)) / REDUCE_WIDTH)));
  int values = int(size[0]), s = int(size[1]), next = int(size[2]), summing = int(size[3]);
  int pairs = (values + 1) / 2;
  // Values are read before the challenge is there. A thread past the end takes the last pair, and where M is odd that is the last
  // value twice; neither is written again or added.
  uint i = thread_position_in_grid.x;
  uint low = pair_low(min(i, uint(pairs - 1)), next);
  uint high = min(low + (1 << next), uint(values - 1));
  Pair f_low = load_pair(f, low, s), f_high = load_pair(f, high, s);
  Pair w_low = load_pair(w, low, s), w_high = load_pair(w, high, s);

  if (own == 0) {
    Cooperative p;
    cooperative_load(p, lane, tables);
    Challenger c;
    c.word = lane & 15;
    c.s = state[c.word];
    int buffered = int(state[24]);
    uint witness = ~uint(found[0]);
    uint words = state[16 + (c.word & 7)];
    words = select(words, field_mul(witness, uint(FIELD_R2)), c.word == uint(buffered));
    challenger_absorb(c, p, words, buffered + 1, tables);
    uint sample = simd_shuffle(c.s, 6 - (lane & 3));
    STORE_IF(lane < uint(4), drawn, lane, sample);
    if (int(threadgroup_position_in_grid.x) == 0) {
      uint decided = field_mul(simd_shuffle(c.s, uint(7)), uint(1));
      STORE_IF(lane < uint(8), out, lane, select(select(uint(0), decided, lane == uint(1)), witness, lane == uint(0)));
      STORE_IF(lane < uint(16), out, lane + DRAWN_STATE, c.s);
      // Nothing buffered, and of eight outputs five are drawn.
      STORE_IF(lane < uint(12), out, lane + (DRAWN_STATE + 16), select(uint(0), uint(3), lane == uint(9)));
      STORE_IF(lane < uint(4), out, lane + DRAWN_CHALLENGE, sample);
    }
  }
  GROUP_BARRIER();
  Quad r = load_quad(drawn, 0);
  Pair fs = Pair{fold_pair(f_low, r), fold_pair(f_high, r)}, ws = Pair{fold_pair(w_low, r), fold_pair(w_high, r)};
  int groups = (pairs + int(threads_per_threadgroup.x) - 1) / int(threads_per_threadgroup.x);
  int first = DRAWN_SHARES / 4 + 2 * groups * summing;
  STORE_QUAD_IF(i < uint(pairs), out, low + first, fs.low);
  STORE_QUAD_IF(i < uint(pairs) && low + (1 << next) < uint(values), out, high + first, fs.high);
  STORE_QUAD_IF(i < uint(pairs), out, low + (first + values), ws.low);
  STORE_QUAD_IF(i < uint(pairs) && low + (1 << next) < uint(values), out, high + (first + values), ws.high);
  if (summing == 0) return;

  Quad products = ext_mul(fs.low, ws.low);
  Quad slopes = ext_mul(ext_sub(fs.high, fs.low), ext_sub(ws.high, ws.low));
  products = ext_select(ext_zero(), products, i < uint(pairs));
  slopes = ext_select(ext_zero(), slopes, i < uint(pairs));
  uint sums[8] = {products.x, products.y, products.z, products.w, slopes.x, slopes.y, slopes.z, slopes.w};
  uint sum = cooperative_sum_of_words(sums, lane);
  STORE_IF(lane < uint(8), parts, lane + 8 * own, sum);
  GROUP_BARRIER();
  if (own == 0) {
    uint total = uint(0);
    ROLLED_LOOP
    for (int k = 0; k < int(threads_per_threadgroup.x) / REDUCE_WIDTH; k++) total = field_add(total, uint(parts[(lane & 7) + 8 * k]));
    STORE_IF(lane < uint(8), out, lane + (DRAWN_SHARES + 8 * int(threadgroup_position_in_grid.x)), total);
  }
}
