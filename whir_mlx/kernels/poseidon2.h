// Poseidon2 over BabyBear, S-box x^7, 4 + 4 full rounds; widths 16, 24 and 32 with 13, 21 and 30 partial rounds.
// The state is a thread's own array of WIDTH Montgomery words. Constants come from field/poseidon2_constants.py.
#include "field.h"
#include "poseidon2_constants.h"
#include "poseidon2_mix4.h"

// External layer: M4 on each four, then the sum of all fours added to each.
template <int T>
KERNEL_FUNCTION void poseidon2_external(thread uint* s) {
  UNROLLED_LOOP
  for (int g = 0; g < T; g += 4) poseidon2_mix4(s + g);
  UNROLLED_LOOP
  for (int k = 0; k < 4; k++) {
    uint sum = field_add(s[k], s[k + 4]);
    UNROLLED_LOOP
    for (int g = 8; g < T; g += 4) sum = field_add(sum, s[g + k]);
    UNROLLED_LOOP
    for (int g = 0; g < T; g += 4) s[g + k] = field_add(s[g + k], sum);
  }
}
// The same where the last eight words are 0, whatever stands there.
template <int T>
KERNEL_FUNCTION void poseidon2_external_of_rate(thread uint* s) {
  UNROLLED_LOOP
  for (int g = 0; g < T - 8; g += 4) poseidon2_mix4(s + g);
  UNROLLED_LOOP
  for (int k = 0; k < 4; k++) {
    uint sum = field_add(s[k], s[k + 4]);
    UNROLLED_LOOP
    for (int g = 8; g < T - 8; g += 4) sum = field_add(sum, s[g + k]);
    UNROLLED_LOOP
    for (int g = 0; g < T - 8; g += 4) s[g + k] = field_add(s[g + k], sum);
    s[T - 8 + k] = sum;
    s[T - 4 + k] = sum;
  }
}
// Of the external layer the words FIRST to FIRST + 7 alone, the others undefined: M4 on fours that all fours were added
// to.
template <int T, int FIRST>
KERNEL_FUNCTION void poseidon2_external_eight(thread uint* s) {
  UNROLLED_LOOP
  for (int k = 0; k < 4; k++) {
    uint sum = field_add(s[k], s[k + 4]);
    UNROLLED_LOOP
    for (int g = 8; g < T; g += 4) sum = field_add(sum, s[g + k]);
    s[FIRST + k] = field_add(s[FIRST + k], sum);
    s[FIRST + 4 + k] = field_add(s[FIRST + 4 + k], sum);
  }
  poseidon2_mix4(s + FIRST);
  poseidon2_mix4(s + FIRST + 4);
}

// Word I of the external layer.
template <int T, int I>
KERNEL_FUNCTION uint poseidon2_external_word(thread uint* s) {
  uint sums[4];
  UNROLLED_LOOP
  for (int k = 0; k < 4; k++) {
    sums[k] = field_add(s[k], s[k + 4]);
    UNROLLED_LOOP
    for (int g = 8; g < T; g += 4) sums[k] = field_add(sums[k], s[g + k]);
    sums[k] = field_add(sums[k], s[(I & ~3) + k]);
  }
  // Row k of M4: all four, word k once more, word k + 1 twice more.
  uint next = sums[(I + 1) & 3];
  uint pair = field_add(sums[I & 3], next);
  uint all = field_add(pair, field_add(sums[(I + 2) & 3], sums[(I + 3) & 3]));
  return field_add(field_add(all, pair), next);
}

// Partial rounds: S-box on word 0 alone, then s_i = V_i s_i + sum of all words, V_0 = -2.
//
// Words whose V_i are d and -d, a and b, are held as u = (a + b) / 2 and m = d (a - b) / 2: a round is then u' = m + sum,
// m' = d^2 u, and u alone, twice, enters the next sum. That is one product and one addition for two words.
//
// What is held is not the word but the word plus a constant of the round: the words that are divided by 2^K are divided as
// field_div_2exp_next does, which is 2^-K - 1 off. The offsets pass through the rounds, which are linear but for word 0; the
// constants of the S-box of word 0, and of the full round that follows, take them off again (poseidon2_tables.py).

// Values d of a pair, 2^-K and a small integer (-2^-27 is 15), and their products with d, d / 2 and d^2. Of a word alone: -2^-K.
template <int K>
struct MinusDivided {};
template <int K>
struct Divided {};
template <int K>
KERNEL_FUNCTION uint times(Divided<K>, uint x) { return field_div_2exp_next<K>(x); }
template <int K>
KERNEL_FUNCTION uint times_half(Divided<K>, uint x) { return field_div_2exp_next<K + 1>(x); }
template <int K>
KERNEL_FUNCTION uint times_square(Divided<K>, uint x) { return field_div_2exp_next<2 * K>(x); }
template <int C>
struct Multiplied {};
template <int C>
KERNEL_FUNCTION uint times(Multiplied<C>, uint x) { return field_small_multiple<C>(x); }
template <int C>
KERNEL_FUNCTION uint times_half(Multiplied<C>, uint x) { return field_div_2exp_next<1>(field_small_multiple<C>(x)); }
template <int C>
KERNEL_FUNCTION uint times_square(Multiplied<C>, uint x) { return field_small_multiple<C * C>(x); }

// What is done to a pair, words i and j, or to word i, which has no partner and whose entry is 2^-K or -2^-K: before the rounds
// (pairs alone), in a round, in the last round (pairs alone), and to sum up.
struct Begin {};
struct Round {};
struct End {};
struct Sum {};
template <typename D>
KERNEL_FUNCTION void poseidon2_pair(Begin, D d, thread uint* s, int i, int j, thread uint&) {
  uint difference = field_sub(s[i], s[j]);
  s[i] = field_div_2exp_next<1>(field_add(s[i], s[j]));
  s[j] = times_half(d, difference);
}
template <typename D>
KERNEL_FUNCTION void poseidon2_pair(Round, D d, thread uint* s, int i, int j, thread uint& sum) {
  uint u = s[i];
  s[i] = field_add(s[j], sum);
  s[j] = times_square(d, u);
}
template <typename D>
KERNEL_FUNCTION void poseidon2_pair(End, D d, thread uint* s, int i, int j, thread uint& sum) {
  uint half_difference = times(d, s[i]);
  uint half_sum = field_add(s[j], sum);
  s[i] = field_add(half_sum, half_difference);
  s[j] = field_sub(half_sum, half_difference);
}
template <typename D>
KERNEL_FUNCTION void poseidon2_pair(Sum, D, thread uint* s, int i, int, thread uint& sum) {
  sum = field_add(sum, s[i]);
}
template <int K>
KERNEL_FUNCTION void poseidon2_word(Round, Divided<K> d, thread uint* s, int i, thread uint& sum) {
  s[i] = field_add(sum, times(d, s[i]));
}
template <int K>
KERNEL_FUNCTION void poseidon2_word(Round, MinusDivided<K>, thread uint* s, int i, thread uint& sum) {
  s[i] = field_sub(sum, field_div_2exp_next<K>(s[i]));
}
template <typename D>
KERNEL_FUNCTION void poseidon2_word(Sum, D, thread uint* s, int i, thread uint& sum) {
  sum = field_add(sum, s[i]);
}

// The internal diagonal. Of every width the first nine entries are -2, 1, 2, 1/2, 3, 4, -1/2, -3, -4. Width tells the widths
// apart, so that the rest are overloads of one name.
template <int T>
struct Width {};
template <typename Step>
KERNEL_FUNCTION void poseidon2_pairs_of(Step stage, Width<16>, thread uint* s, thread uint& sum) {
  poseidon2_pair(stage, Divided<8>(), s, 9, 13, sum);
  poseidon2_pair(stage, Multiplied<15>(), s, 15, 12, sum);
}
template <typename Step>
KERNEL_FUNCTION void poseidon2_words_of(Step stage, Width<16>, thread uint* s, thread uint& sum) {
  poseidon2_word(stage, Divided<2>(), s, 10, sum);
  poseidon2_word(stage, Divided<3>(), s, 11, sum);
  poseidon2_word(stage, MinusDivided<4>(), s, 14, sum);
}
template <typename Step>
KERNEL_FUNCTION void poseidon2_pairs_of(Step stage, Width<24>, thread uint* s, thread uint& sum) {
  poseidon2_pair(stage, Divided<8>(), s, 9, 16, sum);
  poseidon2_pair(stage, Divided<2>(), s, 10, 17, sum);
  poseidon2_pair(stage, Divided<3>(), s, 11, 18, sum);
  poseidon2_pair(stage, Divided<4>(), s, 12, 19, sum);
  poseidon2_pair(stage, Divided<7>(), s, 13, 22, sum);
  poseidon2_pair(stage, Multiplied<15>(), s, 23, 15, sum);
}
template <typename Step>
KERNEL_FUNCTION void poseidon2_words_of(Step stage, Width<24>, thread uint* s, thread uint& sum) {
  poseidon2_word(stage, Divided<9>(), s, 14, sum);
  poseidon2_word(stage, MinusDivided<5>(), s, 20, sum);
  poseidon2_word(stage, MinusDivided<6>(), s, 21, sum);
}
template <typename Step>
KERNEL_FUNCTION void poseidon2_pairs_of(Step stage, Width<32>, thread uint* s, thread uint& sum) {
  poseidon2_pair(stage, Divided<8>(), s, 9, 20, sum);
  poseidon2_pair(stage, Divided<2>(), s, 10, 21, sum);
  poseidon2_pair(stage, Divided<3>(), s, 11, 22, sum);
  poseidon2_pair(stage, Divided<4>(), s, 12, 23, sum);
  poseidon2_pair(stage, Divided<5>(), s, 13, 24, sum);
  poseidon2_pair(stage, Divided<6>(), s, 14, 25, sum);
  poseidon2_pair(stage, Divided<7>(), s, 15, 26, sum);
  poseidon2_pair(stage, Divided<9>(), s, 16, 27, sum);
  poseidon2_pair(stage, Divided<10>(), s, 17, 28, sum);
  poseidon2_pair(stage, Divided<12>(), s, 18, 29, sum);
  poseidon2_pair(stage, Multiplied<15>(), s, 31, 19, sum);
}
template <typename Step>
KERNEL_FUNCTION void poseidon2_words_of(Step stage, Width<32>, thread uint* s, thread uint& sum) {
  poseidon2_word(stage, MinusDivided<14>(), s, 30, sum);
}
template <int T, typename Step>
KERNEL_FUNCTION void poseidon2_pairs(Step stage, thread uint* s, thread uint& sum) {
  poseidon2_pair(stage, Divided<1>(), s, 3, 6, sum);
  poseidon2_pair(stage, Multiplied<3>(), s, 4, 7, sum);
  poseidon2_pair(stage, Multiplied<4>(), s, 5, 8, sum);
  poseidon2_pairs_of(stage, Width<T>(), s, sum);
}

template <int T>
KERNEL_FUNCTION void poseidon2_internal_round(thread uint* s, round_constant constant_word, bool last) {
  // The sum of words 1..T-1 does not wait for the S-box. Word 0 becomes sum - 2 s_0 = rest - s_0.
  uint pairs = field_add(s[3], s[4]);
  pairs = field_add(pairs, s[5]);
  poseidon2_pairs_of(Sum(), Width<T>(), s, pairs);
  uint rest = field_add(s[1], s[2]);
  poseidon2_words_of(Sum(), Width<T>(), s, rest);
  rest = field_add(rest, field_double(pairs));
  s[0] = field_add_pow7(s[0], constant_word);
  uint sum = field_add(rest, s[0]);
  s[0] = field_sub(rest, s[0]);
  s[1] = field_add(sum, s[1]);
  s[2] = field_add(sum, field_double(s[2]));
  poseidon2_words_of(Round(), Width<T>(), s, sum);
  if (last) {
    poseidon2_pairs<T>(End(), s, sum);
  } else {
    poseidon2_pairs<T>(Round(), s, sum);
  }
}

// The permutation between its first external layer and its last one; also the first four rounds one by one, and the rest.
#define POSEIDON2_ROUNDS(T, PARTIAL_ROUNDS) \
  KERNEL_FUNCTION void poseidon2_initial_round(Width<T>, thread uint* s, int r) { \
    FIELD_ADD_POW7_ALL(T, s, POSEIDON2_INITIAL_##T, r * T); \
    poseidon2_external<T>(s); \
  } \
  KERNEL_FUNCTION void poseidon2_later_rounds(Width<T>, thread uint* s) { \
    poseidon2_pairs<T>(Begin(), s, s[0]); \
    ROLLED_LOOP \
    for (int r = 0; r < PARTIAL_ROUNDS; r++) { \
      poseidon2_internal_round<T>(s, POSEIDON2_INTERNAL_##T[r], r == PARTIAL_ROUNDS - 1); \
    } \
    ROLLED_LOOP \
    for (int r = 0; r < 4; r++) { \
      FIELD_ADD_POW7_ALL(T, s, POSEIDON2_FINAL_##T, r * T); \
      if (r == 3) break; \
      poseidon2_external<T>(s); \
    } \
  } \
  LARGE_FUNCTION void poseidon2_rounds(Width<T> width, thread uint* s) { \
    ROLLED_LOOP \
    for (int r = 0; r < 4; r++) poseidon2_initial_round(width, s, r); \
    poseidon2_later_rounds(width, s); \
  }
POSEIDON2_ROUNDS(16, 13)
POSEIDON2_ROUNDS(24, 21)
POSEIDON2_ROUNDS(32, 30)
#undef POSEIDON2_ROUNDS

template <int T>
KERNEL_FUNCTION void poseidon2_permute(thread uint* s) {
  poseidon2_external<T>(s);
  poseidon2_rounds(Width<T>(), s);
  poseidon2_external<T>(s);
}
// Words 0 to 7 of the permutation; the others are undefined after it.
template <int T>
LARGE_FUNCTION void poseidon2_digest(thread uint* s) {
  poseidon2_external<T>(s);
  poseidon2_rounds(Width<T>(), s);
  poseidon2_external_eight<T, 0>(s);
}
