// Rounds of a sumcheck by one group, to the end of the phase: a whole one, or the rest of one after a challenge r_0. With x_1 the
// values given, or those folded at r_0, for x = f and w, and j = 1, ..., R
//   messages[j-1] = [sum f_lo w_lo, sum (f_hi - f_lo)(w_hi - w_lo)] over all pairs of f_j and w_j (see pairs.h);
//   r_j = four outputs of the challenger after it absorbed the message, and before the first one the seed;
//   x_(j+1)[i] = lo + r_j (hi - lo) over pair i of x_j.
// size: [M, R, s, d, L, g], R >= 1: x_1 has M values and pairs of stride 2^s, x_(j+1) pairs of stride 2^(s - d j); the seed has L
// words; g is 1 where r_0 is given. tables: (398,), see cooperative.h. state: (26,), see docs/architecture.md, with nothing
// buffered. seed: L words, any array where L is 0. f, w: (M, 4), or where r_0 is given (2 M, 4) with pairs of stride 2^(s + d);
// r: (4,), r_0 or any array. sent: (8 R + 26,), the messages, then the new state. values: rows of 4 words: the R + g challenges,
// the first one first where d is 1, last where it is 0; f_(R+1) and w_(R+1), M / 2^R rows each; then, for the kernel's own use,
// x_1 to x_R, f_j before w_j. Montgomery words. Few arrays, since each costs the host as much as a launch.
// Grid: one group of whole SIMD groups of 16 or 32 threads, 32 SIMD groups at most.
#include "challenger.h"
#include "ext.h"
#include "pairs.h"
#include "reduce.h"

// What each SIMD group of a group of `threads` takes of `count` items: those from `front` on, a SIMD group's width of them, and
// again `threads` further; none where that is past the end.
struct Turns {
  uint lane;
  int front, threads;
};

// x_out[i] = pair i of x folded at r, i < count, for x = f and w.
template <typename X, typename Out>
KERNEL_FUNCTION void fold_level(X f, X w, Out f_out, Out w_out, int count, int s, Quad r, Turns turns) {
  ROLLED_LOOP
  for (int first = turns.front; first < count; first += turns.threads) {
    uint i = turns.lane + first;
    // Past the end the last pair is folded and not written.
    uint inside = min(i, uint(count - 1));
    Quad f_folded = fold_pair(load_pair(f, inside, s), r);
    Quad w_folded = fold_pair(load_pair(w, inside, s), r);
    STORE_QUAD_IF(i < uint(count), f_out, i, f_folded);
    STORE_QUAD_IF(i < uint(count), w_out, i, w_folded);
  }
}

// x_out = x, for x = f and w.
template <typename X, typename Out>
KERNEL_FUNCTION void copy_level(X f, X w, Out f_out, Out w_out, int count, Turns turns) {
  ROLLED_LOOP
  for (int first = turns.front; first < count; first += turns.threads) {
    uint i = turns.lane + first;
    uint inside = min(i, uint(count - 1));
    Quad f_copied = load_quad(f, inside);
    Quad w_copied = load_quad(w, inside);
    STORE_QUAD_IF(i < uint(count), f_out, i, f_copied);
    STORE_QUAD_IF(i < uint(count), w_out, i, w_copied);
  }
}

// This thread's part of the round polynomial of `count` pairs, as eight words.
template <typename X>
KERNEL_FUNCTION void round_words(thread uint* words, X f, X w, int count, int s, Turns turns) {
  Quad constant_term = ext_zero();
  Quad leading = ext_zero();
  ROLLED_LOOP
  for (int first = turns.front; first < count; first += turns.threads) {
    uint i = turns.lane + first;
    uint inside = min(i, uint(count - 1));
    Pair fs = load_pair(f, inside, s), ws = load_pair(w, inside, s);
    Quad products = ext_mul(fs.low, ws.low);
    Quad slopes = ext_mul(ext_sub(fs.high, fs.low), ext_sub(ws.high, ws.low));
    constant_term = ext_add(constant_term, ext_select(ext_zero(), products, i < uint(count)));
    leading = ext_add(leading, ext_select(ext_zero(), slopes, i < uint(count)));
  }
  words[0] = constant_term.x;
  words[1] = constant_term.y;
  words[2] = constant_term.z;
  words[3] = constant_term.w;
  words[4] = leading.x;
  words[5] = leading.y;
  words[6] = leading.z;
  words[7] = leading.w;
}

kernel void sumcheck_rest(
    const constant uint* size [[buffer(0)]],
    const device uint* tables [[buffer(1)]],
    const device uint* state [[buffer(2)]],
    const device uint* seed [[buffer(3)]],
    const device uint* f [[buffer(4)]],
    const device uint* w [[buffer(5)]],
    const device uint* r [[buffer(6)]],
    device uint* sent [[buffer(7)]],
    device uint* values [[buffer(8)]],
    uint3 thread_position_in_threadgroup [[thread_position_in_threadgroup]],
    uint3 threads_per_threadgroup [[threads_per_threadgroup]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {
  THREADGROUP_ARRAY(shares, 256);
  THREADGROUP_ARRAY(drawn, 4);
  lane_index t = thread_position_in_threadgroup.x;
  uint lane = thread_index_in_simdgroup;
  int threads = int(threads_per_threadgroup.x), own = int(first_lane(uint(int(lane_front(t)) / REDUCE_WIDTH)));
  Turns turns = Turns{lane, own * REDUCE_WIDTH, threads};
  int rounds = int(size[1]), s = int(size[2]), fall = int(size[3]), given = int(size[5]);
  int count = int(size[0]), folded = 4 * (rounds + given);  // values of f_j; where the last ones come
  int start = folded + 8 * (count >> rounds);               // where f_j lies
  Cooperative p;
  cooperative_load(p, lane, tables);
  Challenger c;
  c.word = lane & 15;
  c.s = state[c.word];
  c.left = 0;

  if (given != 0) {
    fold_level(f, w, values + start, values + (start + 4 * count), count, s + fall, load_quad(r, 0), turns);
  } else {
    copy_level(f, w, values + start, values + (start + 4 * count), count, turns);
  }
  ROLLED_LOOP
  for (int round = 0; round < rounds; round++) {
    GROUP_BARRIER_DEVICE();
    auto f_level = values + start, w_level = values + (start + 4 * count);
    int pairs = count / 2, simd_groups = (min(pairs, threads) + REDUCE_WIDTH - 1) / REDUCE_WIDTH;  // that have pairs
    if (own < simd_groups) {
      uint words[8];
      round_words(words, f_level, w_level, pairs, s, turns);
      uint sum = cooperative_sum_of_words(words, lane);
      STORE_IF(lane < uint(8), shares, lane + 8 * own, sum);
    }
    GROUP_BARRIER();
    if (own == 0) {
      // Word k of the message in lanes k and k + 8, which add up every other share each; four at a time, since each is waited for.
      uint message = uint(0);
      ROLLED_LOOP
      for (int first = 0; first < simd_groups; first += 8) {
        uint parts[4];
        UNROLLED_LOOP
        for (int k = 0; k < 4; k++) {
          uint share = (c.word >> 3) + (first + 2 * k);
          uint part = shares[min(share, uint(simd_groups - 1)) * 8 + (c.word & 7)];
          parts[k] = select(uint(0), part, share < uint(simd_groups));
        }
        UNROLLED_LOOP
        for (int k = 0; k < 4; k++) message = field_add(message, parts[k]);
      }
      message = field_add(message, simd_shuffle_xor(message, 8));
      int before = round == 0 ? int(size[4]) : 0, end = before + 8;
      ROLLED_LOOP
      for (int block = 0; block < end; block += 8) {
        uint at = (c.word & 7) + block;
        // Past the seed its first word is read, and not taken.
        uint value = seed[select(uint(0), at, at < uint(before))];
        value = select(simd_shuffle(message, (at - before) & 7), value, at < uint(before));
        challenger_absorb(c, p, value, min(8, end - block), tables);
      }
      uint sample = simd_shuffle(c.s, 7 - (lane & 3));
      int row = fall != 0 ? round + given : rounds - 1 - round;
      STORE_IF(lane < uint(8), sent, lane + 8 * round, message);
      STORE_IF(lane < uint(4), values, lane + 4 * row, sample);
      STORE_IF(lane < uint(4), drawn, lane, sample);
    }
    GROUP_BARRIER();
    int next = round + 1 == rounds ? folded : start + 8 * count;
    fold_level(f_level, w_level, values + next, values + (next + 4 * pairs), pairs, s, load_quad(drawn, 0), turns);
    s -= fall;
    start = next;
    count = pairs;
  }

  if (own == 0) {
    if (given != 0) STORE_IF(lane < uint(4), values, lane + (fall != 0 ? 0 : 4 * rounds), r[min(lane, uint(3))]);
    STORE_IF(lane < uint(16), sent, lane + 8 * rounds, c.s);
    // Nothing buffered, and of eight outputs four are drawn.
    STORE_IF(lane < uint(9), sent, lane + (8 * rounds + 16), uint(0));
    STORE_IF(lane == uint(0), sent, uint(8 * rounds + 25), uint(4));
  }
}
