// BabyBear, p = 15 * 2^27 + 1, on Montgomery words: the word of x is x * 2^32 mod p, below p.
#define FIELD_P 0x78000001u
#define FIELD_MU 0x88000001u  // p^-1 mod 2^32
#define FIELD_ONE 0x0ffffffeu // 2^32 mod p
#define FIELD_R2 0x45dddde3u  // 2^64 mod p

// In: a, b < p. Out: a + b mod p, < p. The sum is below 2p < 2^32; if it is below p, subtracting p wraps above it.
KERNEL_FUNCTION uint field_add(uint a, uint b) {
  uint sum = a + b;
  return min(sum, sum - FIELD_P);
}

// In: a, b < p. Out: a - b mod p, < p. If a < b the difference wraps above 2^32 - p and adding p brings it below p.
KERNEL_FUNCTION uint field_sub(uint a, uint b) {
  uint difference = a - b;
  return min(difference, difference + FIELD_P);
}

KERNEL_FUNCTION uint field_neg(uint a) { return field_sub(uint(0), a); }
KERNEL_FUNCTION uint field_double(uint a) { return field_add(a, a); }

// In: a, b < p. Out: a * b * 2^-32 mod p, < p (the Montgomery word of the product).
KERNEL_FUNCTION uint field_mul(uint a, uint b) { return wide_reduce(wide_mul(a, b)); }

// x c mod 2^32, c a constant. A target may bring its own.
#ifndef TARGET_HAS_TIMES_CONSTANT
KERNEL_FUNCTION uint times_constant(uint x, uniform_uint c) { return x * c; }
#endif

// (x + 1) / 2^K - 1 mod p, below p, x < p: with m = -(x + 1) mod 2^K = ~x mod 2^K, x + 1 + m p is a multiple of 2^K, since
// p = 15 * 2^27 + 1 is 1 mod 2^K, and at most p 2^K. So it needs no correction, which x / 2^K does.
template <int K>
KERNEL_FUNCTION uint field_div_2exp_next(uint x) {
  return (x >> K) + times_constant(~x & uint((1u << K) - 1u), 15u << (27 - K));
}

// C x mod p, below p, for x < p and C <= 225: less k p, where C x - k p is in [0, 2p). For C = 16, k = floor(x / 2^27) <= 14
// leaves 16 (x mod 2^27) + k (2^31 - p) < 2^31 + 14 (2^27 - 1) < 2p; `multiples_of_p` leaves less than 3/2 p.
template <int C>
KERNEL_FUNCTION uint field_small_multiple(uint x) {
  uint k = C == 16 ? x >> 27 : multiples_of_p<C>(x);
  uint rest = times_constant(x, C) - times_constant(k, FIELD_P);
  return min(rest, rest - FIELD_P);
}

// (a - b) t mod p, t the same in all threads. A target may bring its own.
#ifndef TARGET_HAS_SUB_MUL
KERNEL_FUNCTION uint field_sub_mul(uint a, uint b, uniform_uint t) { return field_mul(field_sub(a, b), uint(t)); }
#endif

// (x + c)^7 by four products, x and c < p; c differs from thread to thread, or (a target may bring its own) does not.
KERNEL_FUNCTION uint field_add_pow7_each(uint x, uint c) {
  x = field_add(x, c);
  uint x2 = field_mul(x, x);
  uint x3 = field_mul(x2, x);
  return field_mul(field_mul(x2, x2), x3);
}
// x^7 below p, x a signed word in [-p, p). Words before the last stay signed, so that none is corrected.
#ifndef TARGET_LACKS_SIGNED_MUL
KERNEL_FUNCTION uint signed_pow7(uint x) {
  uint x2 = signed_mul(x, x);
  uint power = signed_mul(signed_mul(x2, x2), signed_mul(x2, x));
  return min(power, power + FIELD_P);
}
#endif
#ifndef TARGET_HAS_POW7
#ifdef TARGET_PREFERS_SIGNED_MUL
KERNEL_FUNCTION uint field_add_pow7(uint x, uniform_uint c) { return signed_pow7(x + (uint(c) - FIELD_P)); }
#else
KERNEL_FUNCTION uint field_add_pow7(uint x, uniform_uint c) { return field_add_pow7_each(x, uint(c)); }
#endif
typedef uniform_uint round_constant;
#define ROUND_CONSTANTS(name, size) CONSTANT_ARRAY(name, size)
// words[i] = (words[i] + constants[first + i])^7, i < count.
#define FIELD_ADD_POW7_ALL(count, words, constants, first) \
  UNROLLED_LOOP \
  for (int i = 0; i < count; i++) words[i] = field_add_pow7(words[i], constants[(first) + i])
#endif

// x^(p-2), the inverse of x (0 for 0). p - 2 = 0x77ffffff: 27 ones below 0b1110.
KERNEL_FUNCTION uint field_inverse(uint x) {
  uint power = x; // x^1, then x^0b11, x^0b111, x^0b1110 and 27 more ones
  power = field_mul(field_mul(power, power), x);
  power = field_mul(field_mul(power, power), x);
  power = field_mul(power, power);
  ROLLED_LOOP
  for (int i = 0; i < 27; i++) power = field_mul(field_mul(power, power), x);
  return power;
}
