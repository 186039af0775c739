// The words of the kernel dialect for one thread at a time: the remainder of a grid, and kernels that branch by thread.
typedef uint32_t uint;
typedef uint32_t lane_index;
typedef uint32_t step_index;
// A word that is the same in all threads.
typedef uint32_t uniform_uint;
typedef const uint32_t* const_buffer;
typedef uint32_t* buffer;

struct Position {
  uint x, y, z;
};

#define CONSTANT_ARRAY(name, size) static const uint32_t name[size]
#define THREADGROUP_ARRAY(name, size) alignas(64) uint32_t name[size]
#define GROUP_BARRIER()

KERNEL_FUNCTION uint mulhi(uint a, uint b) { return uint((uint64_t(a) * b) >> 32); }
KERNEL_FUNCTION void wide_product(uint a, uint b, uint& low, uint& high) {
  uint64_t product = uint64_t(a) * b;
  low = uint(product);
  high = uint(product >> 32);
}
KERNEL_FUNCTION uint select(uint a, uint b, bool c) { return c ? b : a; }
KERNEL_FUNCTION uint min(uint a, uint b) { return a < b ? a : b; }
KERNEL_FUNCTION int min(int a, int b) { return a < b ? a : b; }
KERNEL_FUNCTION uint reverse_bits(uint a) {
  a = ((a >> 1) & 0x55555555u) | ((a & 0x55555555u) << 1);
  a = ((a >> 2) & 0x33333333u) | ((a & 0x33333333u) << 2);
  a = ((a >> 4) & 0x0f0f0f0fu) | ((a & 0x0f0f0f0fu) << 4);
  return __builtin_bswap32(a);
}
KERNEL_FUNCTION uint popcount(uint a) { return uint(__builtin_popcount(a)); }

struct Quad {
  uint x, y, z, w;
};
template <typename P, typename I>
KERNEL_FUNCTION Quad load_quad(P p, I i) {
  return Quad{p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]};
}
template <typename P, typename I>
KERNEL_FUNCTION void store_quad(P p, I i, Quad q) {
  p[4 * i] = q.x;
  p[4 * i + 1] = q.y;
  p[4 * i + 2] = q.z;
  p[4 * i + 3] = q.w;
}

// 64-bit sums of products, and their Montgomery reduction. Out: the sum times 2^-32 mod p, below p.
typedef uint64_t Wide;
KERNEL_FUNCTION Wide wide_mul(uint a, uint b) { return Wide(a) * Wide(b); }
KERNEL_FUNCTION Wide wide_mad(Wide sum, uint a, uint b) { return sum + Wide(a) * Wide(b); }
// In: sum < 2^32 p. q = sum / p mod 2^32, so sum - q p is a multiple of 2^32 and its high word is in (-p, p).
KERNEL_FUNCTION uint wide_reduce(Wide sum) {
  uint difference = uint(sum >> 32) - mulhi(uint(sum) * 0x88000001u, 0x78000001u);
  return min(difference, difference + 0x78000001u);
}
// In: sum of up to 4 products, < 4 p^2 < 2^33 p: one subtraction of 2^32 p first.
KERNEL_FUNCTION uint wide_reduce_4(Wide sum) {
  uint high = uint(sum >> 32);
  high = min(high, high - 0x78000001u);
  uint difference = high - mulhi(uint(sum) * 0x88000001u, 0x78000001u);
  return min(difference, difference + 0x78000001u);
}

// x with its low `bits` bits (1 to 32) reversed, the others 0 before and after. `int` is the same in all threads of a vector.
KERNEL_FUNCTION uint reverse_index(uint x, int bits) { return reverse_bits(x) >> (32 - bits); }
KERNEL_FUNCTION int reverse_index(int x, int bits) { return int(reverse_bits(uint(x)) >> (32 - bits)); }

// out[index] = value where condition.
#define STORE_IF(condition, out, index, value) \
  if (condition) out[index] = value

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

// The value of a SIMD group's first lane, for all of it to branch on.
KERNEL_FUNCTION uniform_uint first_lane(uint value) { return value; }

// One word that threads of a launch share: only ever raised, and read as a hint.
#define ATOMIC_MAX_IF(condition, atomic, value) \
  if (condition) atomic_max(atomic, value)
#define ATOMIC_READ(atomic) __atomic_load_n(atomic, __ATOMIC_RELAXED)
// The smallest index among the threads of a vector.
KERNEL_FUNCTION uniform_uint lane_front(lane_index i) { return i; }

// Threads that `vector_sum` adds up: this one.
#define REDUCE_WIDTH 1
KERNEL_FUNCTION uint simd_shuffle_xor(uint value, uint) { return value; }
#define STORE_QUAD_IF(condition, out, index, value) \
  if (condition) store_quad(out, index, value)
