// Poseidon2 of width 16 by sixteen neighbouring lanes, one state word each: the shortest way through one permutation, at three
// times the work of a thread that holds a whole state (poseidon2.h).
//
// The 13 internal rounds are linear but for word 0, so what they need of the other words is made beforehand. With d_i the
// diagonal, x_r word 0 before round r, p_r = (x_r + c_r)^7, T_r the sum of words 1 to 15 before round r, u_r = p_r + T_r:
//   x_(r+1) = u_r - 2 p_r = T_r - p_r,   T_r = sum_i d_i^r s_i + sum_(j<r) B_(r-1-j) u_j,   B_k = sum_i d_i^k   (i = 1..15).
// Lane r keeps T_r, so a round waits for one power and one addition, and for no sum over lanes.
#include "field.h"

// The tables, Montgomery words: 8 rows of 16 external round constants; rows d_i^r, r = 0..12, 0 for lane 0; the diagonal, 0 for
// lane 0; 16 zeros and B_0 .. B_15; 13 internal round constants and a 0.
#define COOPERATIVE_POWERS 128
#define COOPERATIVE_DIAGONAL 336
#define COOPERATIVE_FEEDBACK 352
#define COOPERATIVE_INTERNAL 384

// x^7, x a signed word in [-p, p).
#ifdef TARGET_LACKS_SIGNED_MUL
KERNEL_FUNCTION uint cooperative_power(uint x) { return field_add_pow7_each(min(x, x + uint(FIELD_P)), uint(0)); }
#else
KERNEL_FUNCTION uint cooperative_power(uint x) { return signed_pow7(x); }
#endif

#ifndef TARGET_HAS_SIXTEEN
// Word (i + 1) mod 4 of this lane's four; word `from` of this lane's sixteen.
KERNEL_FUNCTION uint next_of_four(uint x, uint lane) { return simd_shuffle(x, (lane & 28) | ((lane + 1) & 3)); }
KERNEL_FUNCTION uint one_of_sixteen(uint x, uint lane, int from) { return simd_shuffle(x, (lane & 16) | uint(from)); }
#endif

// What a lane keeps of the tables.
struct Cooperative {
  uint lane;        // in the SIMD group
  uint initial[4];  // external round constants less p
  uint terminal[4];
  uint powers[13];
  uint diagonal;
  uint next_constant;  // of internal round word + 1; 0 after the last
  uint feedback;  // B_(word - 1), 0 in lane 0
  uint below;     // lane of the word before; of word 0 itself in lane 0
};

template <typename Tables>
KERNEL_FUNCTION void cooperative_load(thread Cooperative& c, uint lane, Tables tables) {
  c.lane = lane;
  uint word = lane & 15;
  UNROLLED_LOOP
  for (int r = 0; r < 4; r++) {
    c.initial[r] = tables[word + 16 * r] - uint(FIELD_P);
    c.terminal[r] = tables[word + 16 * (4 + r)] - uint(FIELD_P);
  }
  UNROLLED_LOOP
  for (int r = 0; r < 13; r++) c.powers[r] = tables[word + (COOPERATIVE_POWERS + 16 * r)];
  c.diagonal = tables[word + COOPERATIVE_DIAGONAL];
  c.next_constant = tables[min(word, uint(12)) + (COOPERATIVE_INTERNAL + 1)];
  c.feedback = tables[word + (COOPERATIVE_FEEDBACK + 15)];
  c.below = lane - min(word, uint(1));
}

// External layer: M4 y_i = (x_0 + x_1 + x_2 + x_3) + x_i + 2 x_(i+1) in each four, then the sum of the fours added to each.
KERNEL_FUNCTION uint cooperative_external(uint x, uint lane) {
  uint twice_next = field_double(next_of_four(x, lane));
  uint pair = field_add(x, simd_shuffle_xor(x, 1));
  uint other = field_add(simd_shuffle_xor(x, 2), simd_shuffle_xor(x, 3));
  uint y = field_add(field_add(pair, other), field_add(x, twice_next));
  uint column = field_add(field_double(y), simd_shuffle_xor(y, 4));
  return field_add(column, field_add(simd_shuffle_xor(y, 8), simd_shuffle_xor(y, 12)));
}

// Halves the 2 N sums of a lane: it keeps those of its half and takes its neighbour's part of them.
template <int N>
KERNEL_FUNCTION void cooperative_halve(thread uint* sums, uint lane) {
  UNROLLED_LOOP
  for (int k = 0; k < N; k++) {
    uint kept = select(sums[k], sums[k + N], (lane & uint(N)) != uint(0));
    uint given = select(sums[k + N], sums[k], (lane & uint(N)) != uint(0));
    sums[k] = field_add(kept, simd_shuffle_xor(given, N));
  }
}

// Eight words of every lane, summed over the SIMD group: word lane mod 8 of the sums. Each halving leaves a lane half of the words.
KERNEL_FUNCTION uint cooperative_sum_of_words(thread uint* words, uint lane) {
  cooperative_halve<4>(words, lane);
  cooperative_halve<2>(words, lane);
  cooperative_halve<1>(words, lane);
  uint sum = words[0];
  UNROLLED_LOOP
  for (int mask = 8; mask < REDUCE_WIDTH; mask *= 2) sum = field_add(sum, simd_shuffle_xor(sum, mask));
  return sum;
}

// T_r of the words alone: sum_i d_i^r s_i, in lane r.
KERNEL_FUNCTION uint cooperative_tails(thread Cooperative& c, uint s) {
  uint sums[16];
  UNROLLED_LOOP
  for (int r = 0; r < 16; r++) sums[r] = r < 13 ? field_mul(s, c.powers[r < 13 ? r : 0]) : uint(0);
  cooperative_halve<8>(sums, c.lane);
  cooperative_halve<4>(sums, c.lane);
  cooperative_halve<2>(sums, c.lane);
  cooperative_halve<1>(sums, c.lane);
  return sums[0];
}

// Four external rounds. Rolled: a round's instructions then stay in the smallest cache. The constants take turns in one register
// and stand as before after four rounds. A load would be waited for, its first time as long as a round takes.
KERNEL_FUNCTION uint cooperative_full_rounds(uint s, uint lane, thread uint* negatives) {
  ROLLED_LOOP
  for (int r = 0; r < 4; r++) {
    uint power = cooperative_power(s + negatives[0]);
    uint turn = negatives[0];
    negatives[0] = negatives[1];
    negatives[1] = negatives[2];
    negatives[2] = negatives[3];
    negatives[3] = turn;
    s = cooperative_external(power, lane);
  }
  return s;
}

// The internal rounds: this lane's word of the state before and after.
template <typename Tables>
KERNEL_FUNCTION uint cooperative_internal_rounds(thread Cooperative& c, uint s, Tables tables) {
  uint tails = cooperative_tails(c, s);
  uint first = one_of_sixteen(s, c.lane, 0);
  auto word = c.lane & 15;
  // x_r + c_r as a signed word; what comes after the last power has no constant.
  uint x = first + (tables[COOPERATIVE_INTERNAL] - uint(FIELD_P));
  // What the round before leaves to be done does not wait for this round's power, nor it for that. Nothing here is loaded, since
  // it would be waited for: constants come with T_r from lane r, and B_k moves up by a lane a round.
  uint sum = uint(0), feedback = uint(0), next_feedback = c.feedback;
  ROLLED_LOOP
  for (int r = 0; r < 13; r++) {
    tails = field_add(tails, field_mul(sum, feedback));
    uint tail = one_of_sixteen(tails, c.lane, r);
    uint next = one_of_sixteen(field_add(tails, c.next_constant), c.lane, r);
    feedback = next_feedback;
    next_feedback = simd_shuffle(feedback, c.below);
    uint moved = field_add(field_mul(s, c.diagonal), sum);
    s = r > 0 ? moved : s;
    uint power = cooperative_power(x);
    sum = field_add(power, tail);
    x = next - power;
  }
  first = min(x, x + uint(FIELD_P));
  s = field_add(field_mul(s, c.diagonal), sum);
  return select(s, first, word == uint(0));
}

// The permutation: this lane's word of the state before and after.
#ifdef TARGET_HAS_PERMUTATION
template <typename Tables>
KERNEL_FUNCTION uint cooperative_permute(thread Cooperative&, uint s, Tables) { return permute_sixteen(s); }
#else
template <typename Tables>
LARGE_FUNCTION uint cooperative_permute(thread Cooperative& c, uint s, Tables tables) {
  s = cooperative_full_rounds(cooperative_external(s, c.lane), c.lane, c.initial);
  s = cooperative_internal_rounds(c, s, tables);
  return cooperative_full_rounds(s, c.lane, c.terminal);
}
#endif
