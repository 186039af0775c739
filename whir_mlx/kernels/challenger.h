// The duplex challenger of one SIMD group (p3-challenger, `duplex_challenger.rs`): 16 lanes hold one sponge word each and
// permute it together; lanes 16 to 31, where there are any, repeat lanes 0 to 15.
#include "field.h"

// Tables of the cooperative permutation, Montgomery words: 8 rows of 16 external round constants, the internal diagonal,
// 13 internal round constants.
#define CHALLENGER_DIAGONAL 128
#define CHALLENGER_INTERNAL 144

struct Challenger {
  uint lane;             // 0..15
  uint s;                // sponge word of this lane
  uint external_rounds[8];
  uint diagonal;
  int left;              // outputs not yet taken: words left - 1 .. 0
};

// External layer across lanes: M4 y_i = (x_0 + x_1 + x_2 + x_3) + x_i + 2 x_(i+1) in each four, then the sum of the fours.
KERNEL_FUNCTION uint challenger_external(uint x, uint lane) {
  uint pair = field_add(x, simd_shuffle_xor(x, 1));
  uint sum = field_add(pair, simd_shuffle_xor(pair, 2));
  uint next = simd_shuffle(x, (lane & 12) | ((lane + 1) & 3));
  uint y = field_add(field_add(sum, x), field_double(next));
  uint column = field_add(y, simd_shuffle_xor(y, 4));
  column = field_add(column, simd_shuffle_xor(column, 8));
  return field_add(y, column);
}

template <typename Tables>
LARGE_FUNCTION void challenger_permute(thread Challenger& c, Tables tables) {
  uint s = challenger_external(c.s, c.lane);
  UNROLLED_LOOP
  for (int r = 0; r < 4; r++) s = challenger_external(field_add_pow7_each(s, c.external_rounds[r]), c.lane);
  ROLLED_LOOP
  for (int r = 0; r < 13; r++) {
    // Every lane raises its word; lane 0 keeps the power.
    uint power = field_add_pow7(s, tables[CHALLENGER_INTERNAL + r]);
    s = select(s, power, c.lane == uint(0));
    uint sum = field_add(s, simd_shuffle_xor(s, 1));
    sum = field_add(sum, simd_shuffle_xor(sum, 2));
    sum = field_add(sum, simd_shuffle_xor(sum, 4));
    sum = field_add(sum, simd_shuffle_xor(sum, 8));
    s = field_add(field_mul(s, c.diagonal), sum);
  }
  UNROLLED_LOOP
  for (int r = 4; r < 8; r++) s = challenger_external(field_add_pow7_each(s, c.external_rounds[r]), c.lane);
  c.s = s;
  c.left = 8;
}

// Absorbs `count` (1 to 8) buffered words, word k in lane k.
template <typename Tables>
KERNEL_FUNCTION void challenger_absorb(thread Challenger& c, uint words, int count, Tables tables) {
  c.s = select(c.s, select(uint(0), words, c.lane < uint(count)), c.lane < uint(8));
  c.s = select(c.s, field_add(c.s, field_mul(uint(count), uint(FIELD_R2))), c.lane == uint(8));
  challenger_permute(c, tables);
}
