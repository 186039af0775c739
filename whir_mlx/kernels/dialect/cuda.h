// The words of the kernel dialect, for CUDA (NVRTC under MLX, or nvcc).
// `device` and `constant` must stay undefined: CUDA's own __device__ and __constant__ are macros that contain these words.
// MLX writes the kernel's signature, so no text needs them.
#define thread
#define THREADGROUP_ARRAY(name, size) __shared__ uint name[size]
#define CONSTANT_ARRAY(name, size) static __constant__ uint name[size]
#define KERNEL_FUNCTION __device__ __forceinline__
// A long function called from several places; inlined here, so that its arrays stay in registers.
#define LARGE_FUNCTION __device__ __forceinline__
#define UNROLLED_LOOP _Pragma("unroll")
#define ROLLED_LOOP _Pragma("unroll 1")
#define GROUP_BARRIER() __syncthreads()
// CUDA rounds the grid up to whole groups.
#define RETURN_OUTSIDE_GRID(position, size) \
  if ((position) >= uint(size)) return

typedef unsigned int uint;
#define KERNEL_FUNCTION_METHOD __device__ __forceinline__
typedef uint lane_index;
typedef uint step_index;
// A word that is the same in all threads.
typedef uint uniform_uint;

#define thread_position_in_grid \
  make_uint3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y, blockIdx.z * blockDim.z + threadIdx.z)
#define thread_position_in_threadgroup make_uint3(threadIdx.x, threadIdx.y, threadIdx.z)
#define threadgroup_position_in_grid make_uint3(blockIdx.x, blockIdx.y, blockIdx.z)
#define threads_per_threadgroup make_uint3(blockDim.x, blockDim.y, blockDim.z)
#define threads_per_simdgroup uint(warpSize)
#define thread_index_in_simdgroup ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31u)

KERNEL_FUNCTION void wide_product(uint a, uint b, uint& low, uint& high) {
  unsigned long long product = (unsigned long long)a * b;
  low = uint(product);
  high = uint(product >> 32);
}
KERNEL_FUNCTION uint mulhi(uint a, uint b) { return __umulhi(a, b); }
KERNEL_FUNCTION uint select(uint a, uint b, bool c) { return c ? b : a; }
KERNEL_FUNCTION uint reverse_bits(uint a) { return __brev(a); }
KERNEL_FUNCTION uint simd_shuffle(uint value, uint lane) { return __shfl_sync(0xffffffffu, value, lane); }
KERNEL_FUNCTION uint simd_shuffle_xor(uint value, uint mask) { return __shfl_xor_sync(0xffffffffu, value, mask); }

// 64-bit sums of products, and their Montgomery reduction. Out: the sum times 2^-32 mod p, below p.
typedef unsigned long long Wide;
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
KERNEL_FUNCTION uniform_uint first_lane(uint value) { return __shfl_sync(0xffffffffu, value, 0); }

// One word that threads of a launch share: only ever raised, and read as a hint.
#define ATOMIC_MAX_IF(condition, atomic, value) \
  if (condition) atomicMax(atomic, value)
// From the second-level cache, where the atomics are: a volatile read is 20 times slower (H200, 16 bits: 4.1 ms against 0.2).
#define ATOMIC_READ(atomic) __ldcg(atomic)
// The smallest index among the threads of a vector.
KERNEL_FUNCTION uniform_uint lane_front(lane_index i) { return i; }

// Threads that `vector_sum` adds up: a SIMD group.
#define REDUCE_WIDTH 32
#define STORE_QUAD_IF(condition, out, index, value) \
  if (condition) store_quad(out, index, value)
