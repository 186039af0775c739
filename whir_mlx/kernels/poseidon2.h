// Poseidon2 over BabyBear, S-box x^7, 4 + 4 full rounds; widths 16, 24 and 32 with 13, 21 and 30 partial rounds.
// The state is a thread's own array of WIDTH Montgomery words. Constants come from field/poseidon2_constants.py.
#include "field.h"
#include "poseidon2_constants.h"

// M4 = [2 3 1 1; 1 2 3 1; 1 1 2 3; 3 1 1 2] on four words, by 9 additions and 2 doublings.
KERNEL_FUNCTION void poseidon2_mix4(thread uint* s) {
  uint s01 = field_add(s[0], s[1]);
  uint s23 = field_add(s[2], s[3]);
  uint sum = field_add(s01, s23);
  uint sum1 = field_add(sum, s[1]);
  uint sum3 = field_add(sum, s[3]);
  uint s0 = s[0];
  s[0] = field_add(sum1, s01);
  s[1] = field_add(sum1, field_double(s[2]));
  s[2] = field_add(sum3, s23);
  s[3] = field_add(sum3, field_double(s0));
}

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

// In the partial rounds word i is not s_i but s_i + d_i, d_i a constant of the round: the words that V divides by 2^K are
// divided as field_div_2exp_next does, which is 2^-K - 1 off. The offsets pass through the rounds, which are linear but for
// word 0; the constants of the S-box of word 0, and of the full round that follows, take them off again (poseidon2_tables.py).
template <int K>
KERNEL_FUNCTION uint plus_2exp(uint sum, uint x) { return field_add(sum, field_div_2exp_next<K>(x)); }
template <int K>
KERNEL_FUNCTION uint minus_2exp(uint sum, uint x) { return field_sub(sum, field_div_2exp_next<K>(x)); }

// The first nine entries of the internal diagonal are those of every width: -2, 1, 2, 1/2, 3, 4, -1/2, -3, -4. Word 0 is
// left out here.
KERNEL_FUNCTION void poseidon2_diagonal_head(thread uint* s, uint sum) {
  s[1] = field_add(sum, s[1]);
  s[2] = field_add(sum, field_double(s[2]));
  s[3] = plus_2exp<1>(sum, s[3]);
  s[4] = field_add(sum, field_add(field_double(s[4]), s[4]));
  s[5] = field_add(sum, field_double(field_double(s[5])));
  s[6] = minus_2exp<1>(sum, s[6]);
  s[7] = field_sub(sum, field_add(field_double(s[7]), s[7]));
  s[8] = field_sub(sum, field_double(field_double(s[8])));
}

// Tells the widths apart, so that the tails below are overloads of one name.
template <int T>
struct Width {};

KERNEL_FUNCTION void poseidon2_diagonal_tail(Width<16>, thread uint* s, uint sum) {
  s[9] = plus_2exp<8>(sum, s[9]);
  s[10] = plus_2exp<2>(sum, s[10]);
  s[11] = plus_2exp<3>(sum, s[11]);
  s[12] = plus_2exp<27>(sum, s[12]);
  s[13] = minus_2exp<8>(sum, s[13]);
  s[14] = minus_2exp<4>(sum, s[14]);
  s[15] = minus_2exp<27>(sum, s[15]);
}
KERNEL_FUNCTION void poseidon2_diagonal_tail(Width<24>, thread uint* s, uint sum) {
  s[9] = plus_2exp<8>(sum, s[9]);
  s[10] = plus_2exp<2>(sum, s[10]);
  s[11] = plus_2exp<3>(sum, s[11]);
  s[12] = plus_2exp<4>(sum, s[12]);
  s[13] = plus_2exp<7>(sum, s[13]);
  s[14] = plus_2exp<9>(sum, s[14]);
  s[15] = plus_2exp<27>(sum, s[15]);
  s[16] = minus_2exp<8>(sum, s[16]);
  s[17] = minus_2exp<2>(sum, s[17]);
  s[18] = minus_2exp<3>(sum, s[18]);
  s[19] = minus_2exp<4>(sum, s[19]);
  s[20] = minus_2exp<5>(sum, s[20]);
  s[21] = minus_2exp<6>(sum, s[21]);
  s[22] = minus_2exp<7>(sum, s[22]);
  s[23] = minus_2exp<27>(sum, s[23]);
}
KERNEL_FUNCTION void poseidon2_diagonal_tail(Width<32>, thread uint* s, uint sum) {
  s[9] = plus_2exp<8>(sum, s[9]);
  s[10] = plus_2exp<2>(sum, s[10]);
  s[11] = plus_2exp<3>(sum, s[11]);
  s[12] = plus_2exp<4>(sum, s[12]);
  s[13] = plus_2exp<5>(sum, s[13]);
  s[14] = plus_2exp<6>(sum, s[14]);
  s[15] = plus_2exp<7>(sum, s[15]);
  s[16] = plus_2exp<9>(sum, s[16]);
  s[17] = plus_2exp<10>(sum, s[17]);
  s[18] = plus_2exp<12>(sum, s[18]);
  s[19] = plus_2exp<27>(sum, s[19]);
  s[20] = minus_2exp<8>(sum, s[20]);
  s[21] = minus_2exp<2>(sum, s[21]);
  s[22] = minus_2exp<3>(sum, s[22]);
  s[23] = minus_2exp<4>(sum, s[23]);
  s[24] = minus_2exp<5>(sum, s[24]);
  s[25] = minus_2exp<6>(sum, s[25]);
  s[26] = minus_2exp<7>(sum, s[26]);
  s[27] = minus_2exp<9>(sum, s[27]);
  s[28] = minus_2exp<10>(sum, s[28]);
  s[29] = minus_2exp<12>(sum, s[29]);
  s[30] = minus_2exp<14>(sum, s[30]);
  s[31] = minus_2exp<27>(sum, s[31]);
}

// Partial round: S-box on word 0 alone, then s_i = V_i s_i + sum of all words.
template <int T>
KERNEL_FUNCTION void poseidon2_internal_round(thread uint* s, round_constant constant_word) {
  // The sum of words 1..T-1 does not wait for the S-box. Word 0 becomes sum - 2 s_0 = rest - s_0.
  uint rest = field_add(s[1], s[2]);
  UNROLLED_LOOP
  for (int i = 3; i < T; i++) rest = field_add(rest, s[i]);
  s[0] = field_add_pow7(s[0], constant_word);
  uint sum = field_add(rest, s[0]);
  s[0] = field_sub(rest, s[0]);
  poseidon2_diagonal_head(s, sum);
  poseidon2_diagonal_tail(Width<T>(), s, sum);
}

#define POSEIDON2_FULL_ROUND(T, constants, r) \
  FIELD_ADD_POW7_ALL(T, s, constants, (r) * T); \
  poseidon2_external<T>(s);

#define POSEIDON2_PERMUTATION(T, PARTIAL_ROUNDS) \
  LARGE_FUNCTION void poseidon2_##T(thread uint* s) { \
    poseidon2_external<T>(s); \
    ROLLED_LOOP \
    for (int r = 0; r < 4; r++) { POSEIDON2_FULL_ROUND(T, POSEIDON2_INITIAL_##T, r) } \
    ROLLED_LOOP \
    for (int r = 0; r < PARTIAL_ROUNDS; r++) poseidon2_internal_round<T>(s, POSEIDON2_INTERNAL_##T[r]); \
    ROLLED_LOOP \
    for (int r = 0; r < 4; r++) { POSEIDON2_FULL_ROUND(T, POSEIDON2_FINAL_##T, r) } \
  }
POSEIDON2_PERMUTATION(16, 13)
POSEIDON2_PERMUTATION(24, 21)
POSEIDON2_PERMUTATION(32, 30)
#undef POSEIDON2_PERMUTATION
#undef POSEIDON2_FULL_ROUND

// The permutation of the width WIDTH that the kernel was specialised for.
#ifdef WIDTH
KERNEL_FUNCTION void poseidon2_permute(thread uint* s) {
#if WIDTH == 16
  poseidon2_16(s);
#elif WIDTH == 24
  poseidon2_24(s);
#else
  poseidon2_32(s);
#endif
}
#endif
