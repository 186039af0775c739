// The words of the kernel dialect that are the same text wherever a kernel is one thread's program: Metal, CUDA, and the
// single threads of the CPU target. Before it a dialect defines KERNEL_FUNCTION, UNROLLED_LOOP, uint, mulhi, min and
// reverse_bits, and Wide and SignedWide, words of 64 bits.

// An index that grows by one from thread to thread along x, one that grows by a fixed step, and a word that is the same in
// all threads; the smallest index among the threads of a vector, here of one.
typedef uint lane_index;
typedef uint step_index;
typedef uint uniform_uint;
KERNEL_FUNCTION uniform_uint lane_front(lane_index i) { return i; }

// 64-bit sums of products (one wide multiplication each on Apple GPUs: 8 cycles against 12 of a low and a high one), and their
// Montgomery reduction. Out: the sum times 2^-32 mod p, below p.
KERNEL_FUNCTION Wide wide_mul(uint a, uint b) { return Wide(a) * Wide(b); }
KERNEL_FUNCTION Wide wide_mad(Wide sum, uint a, uint b) { return sum + Wide(a) * Wide(b); }
// In: sum < 2^32 p. q = sum / p mod 2^32, so sum - q p is a multiple of 2^32 and its high word is in (-p, p).
KERNEL_FUNCTION uint wide_reduce(Wide sum) {
  uint difference = uint(sum >> 32) - mulhi(uint(sum) * 0x88000001u, 0x78000001u);
  return min(difference, difference + 0x78000001u);
}
// Montgomery product of signed words: a and b in [-2^31, 2^31) with |a b| <= 2^31 p, as two's complement. Out: a b 2^-32 mod p in
// (-p, p): the product and a multiple of p below 2^31 p in magnitude, added up so that the low word vanishes.
// A target may bring its own.
#ifndef TARGET_HAS_SIGNED_MUL
KERNEL_FUNCTION uint signed_mul(uint a, uint b) {
  SignedWide product = SignedWide(int(a)) * SignedWide(int(b));
  int q = int(uint(Wide(product)) * 0x77ffffffu);  // -product / p mod 2^32
  return uint(Wide(product + SignedWide(q) * SignedWide(0x78000001)) >> 32);
}
#endif
// In: sum of up to 4 products, < 4 p^2 < 2^33 p: one subtraction of 2^32 p first.
KERNEL_FUNCTION uint wide_reduce_4(Wide sum) {
  uint high = uint(sum >> 32);
  high = min(high, high - 0x78000001u);
  uint difference = high - mulhi(uint(sum) * 0x88000001u, 0x78000001u);
  return min(difference, difference + 0x78000001u);
}

// floor(x floor(C 2^32 / p) / 2^32): at most C x / p, and less than 1 + x / 2^32 < 3/2 below it, for x < p.
template <int C>
KERNEL_FUNCTION uint multiples_of_p(uint x) { return mulhi(x, uint((Wide(C) << 32) / 0x78000001u)); }

struct Quad {
  uint x, y, z, w;
};
template <typename P>
KERNEL_FUNCTION Quad load_quad(P p, uint i) {
  return Quad{p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]};
}
template <typename P>
KERNEL_FUNCTION void store_quad(P p, uint i, Quad q) {
  p[4 * i] = q.x;
  p[4 * i + 1] = q.y;
  p[4 * i + 2] = q.z;
  p[4 * i + 3] = q.w;
}

// Eight consecutive words of a thread.
template <typename P>
KERNEL_FUNCTION void load_words_8(thread uint* words, P p, uint i) {
  UNROLLED_LOOP
  for (int k = 0; k < 8; k++) words[k] = p[i + k];
}
template <typename P>
KERNEL_FUNCTION void store_words_8(P p, uint i, thread uint* words) {
  UNROLLED_LOOP
  for (int k = 0; k < 8; k++) p[i + k] = words[k];
}

// out[index] = value where condition.
#define STORE_IF(condition, out, index, value) \
  if (condition) out[index] = value
#define STORE_QUAD_IF(condition, out, index, value) \
  if (condition) store_quad(out, index, value)

// x with its low `bits` bits (1 to 32) reversed, the others 0 before and after. `int` is the same in all threads of a vector.
KERNEL_FUNCTION uint reverse_index(uint x, int bits) { return reverse_bits(x) >> (32 - bits); }
KERNEL_FUNCTION int reverse_index(int x, int bits) { return int(reverse_bits(uint(x)) >> (32 - bits)); }
