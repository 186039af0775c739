// The words of the kernel dialect, for Metal. Everything here is plain Metal; the other targets imitate it.
#define THREADGROUP_ARRAY(name, size) threadgroup uint name[size]
#define CONSTANT_ARRAY(name, size) constant uint name[size]
#define KERNEL_FUNCTION METAL_FUNC
// A long function called from several places; inlined here, so that its arrays stay in registers.
#define LARGE_FUNCTION METAL_FUNC
#define UNROLLED_LOOP _Pragma("clang loop unroll(full)")
#define ROLLED_LOOP _Pragma("clang loop unroll(disable)")
#define GROUP_BARRIER() threadgroup_barrier(mem_flags::mem_threadgroup)
// Metal starts exactly the threads of the grid.
#define RETURN_OUTSIDE_GRID(position, size)

// An index that grows by one from thread to thread along x, and one that grows by a fixed step.
#define KERNEL_FUNCTION_METHOD METAL_FUNC
typedef uint lane_index;
typedef uint step_index;
// A word that is the same in all threads.
typedef uint uniform_uint;

// Low and high words of the 64-bit product. One wide multiplication on Apple GPUs (8 cycles against 12).
METAL_FUNC void wide_product(uint a, uint b, thread uint& low, thread uint& high) {
  ulong product = ulong(a) * ulong(b);
  low = uint(product);
  high = uint(product >> 32);
}

// 64-bit sums of products, and their Montgomery reduction. Out: the sum times 2^-32 mod p, below p.
typedef ulong Wide;
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
KERNEL_FUNCTION uniform_uint first_lane(uint value) { return simd_broadcast_first(value); }

// One word that threads of a dispatch share: only ever raised, and read as a hint. Relaxed order is all that Metal has.
#define ATOMIC_MAX_IF(condition, atomic, value) \
  if (condition) atomic_fetch_max_explicit(atomic, value, memory_order_relaxed)
#define ATOMIC_READ(atomic) atomic_load_explicit(atomic, memory_order_relaxed)
// The smallest index among the threads of a vector.
METAL_FUNC uniform_uint lane_front(lane_index i) { return i; }

// Threads that `vector_sum` adds up: a SIMD group.
#define REDUCE_WIDTH 32
#define STORE_QUAD_IF(condition, out, index, value) \
  if (condition) store_quad(out, index, value)
