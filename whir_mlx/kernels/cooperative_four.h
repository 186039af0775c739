// Poseidon2 of width 16 by four neighbouring lanes, words 4 j to 4 j + 3 of the state in the j-th of them. It takes 0.45 times the
// time of a thread that holds a whole state (poseidon2.h) and 1.4 times its work; sixteen lanes (cooperative.h) take less time
// where they wait for nobody, and three times the work. The four powers of a lane hide each other's waiting, M4 is each lane's
// own, and sums alone pass between lanes.
#include "cooperative.h"
#include "poseidon2_mix4.h"

// The sum over the four lanes, in each of them.
KERNEL_FUNCTION uint sum_of_four(uint x) {
  uint pair = field_add(x, simd_shuffle_xor(x, 1));
  return field_add(pair, simd_shuffle_xor(pair, 2));
}

// External layer: M4 on each four, then the sum of the fours added to each.
KERNEL_FUNCTION void four_external(thread uint* s) {
  poseidon2_mix4(s);
  UNROLLED_LOOP
  for (int k = 0; k < 4; k++) s[k] = field_add(s[k], sum_of_four(s[k]));
}

// Four external rounds. Their constants, from tables[row] on, are loaded a round ahead.
template <typename Tables>
KERNEL_FUNCTION void four_full_rounds(thread uint* s, Tables tables, uint row) {
  uint constants[4];
  UNROLLED_LOOP
  for (int k = 0; k < 4; k++) constants[k] = tables[row + k];
  ROLLED_LOOP
  for (int r = 1; r <= 4; r++) {
    UNROLLED_LOOP
    for (int k = 0; k < 4; k++) s[k] = s[k] + (constants[k] - uint(FIELD_P));
    UNROLLED_LOOP
    for (int k = 0; k < 4; k++) constants[k] = tables[row + (16 * r + k)];
    UNROLLED_LOOP
    for (int k = 0; k < 4; k++) s[k] = cooperative_power(s[k]);
    four_external(s);
  }
}

// The internal rounds: s_i becomes d_i s_i + u, with u the sum of all words after the power, and word 0 the sum of the others less
// its power. Word 0 is in all four lanes, so that none waits for it; its place in the first of them counts in no sum. Between rounds
// a lane has d_i s_i alone, so that the products wait for no sum.
template <typename Tables>
KERNEL_FUNCTION void four_internal_rounds(thread uint* s, uint lane, Tables tables) {
  uint word = 4 * (lane & 3);
  uint diagonal[4];
  UNROLLED_LOOP
  for (int k = 0; k < 4; k++) diagonal[k] = tables[word + (COOPERATIVE_DIAGONAL + k)];
  // Word 0 and the round's constant, a signed word; what comes after the last power has none.
  uint x = simd_shuffle(s[0], lane & 28) + (tables[COOPERATIVE_INTERNAL] - uint(FIELD_P));
  uint sum = uint(0);
  ROLLED_LOOP
  for (int r = 1; r <= 13; r++) {
    uint next_constant = tables[COOPERATIVE_INTERNAL + r];
    UNROLLED_LOOP
    for (int k = 0; k < 4; k++) s[k] = field_add(s[k], sum);
    uint counted = select(s[0], uint(0), word == uint(0));
    uint rest = sum_of_four(field_add(field_add(s[2], s[3]), field_add(s[1], counted)));
    UNROLLED_LOOP
    for (int k = 0; k < 4; k++) s[k] = field_mul(s[k], diagonal[k]);
    uint power = cooperative_power(x);
    sum = field_add(rest, power);
    x = field_add(rest, next_constant) - power;
  }
  UNROLLED_LOOP
  for (int k = 0; k < 4; k++) s[k] = field_add(s[k], sum);
  s[0] = select(s[0], min(x, x + uint(FIELD_P)), word == uint(0));
}

// The permutation: this lane's words of the state before and after. tables: those of cooperative.h.
template <typename Tables>
LARGE_FUNCTION void four_permute(thread uint* s, uint lane, Tables tables) {
  uint word = 4 * (lane & 3);
  four_external(s);
  four_full_rounds(s, tables, word);
  four_internal_rounds(s, lane, tables);
  four_full_rounds(s, tables, word + 64);
}
