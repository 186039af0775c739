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
// It orders all memory within the group.
#define GROUP_BARRIER_DEVICE() __syncthreads()
// CUDA rounds the grid up to whole groups.
#define RETURN_OUTSIDE_GRID(position, size) \
  if ((position) >= uint(size)) return

#define KERNEL_FUNCTION_METHOD __device__ __forceinline__
// Threads that `vector_sum` adds up: a SIMD group.
#define REDUCE_WIDTH 32
typedef unsigned int uint;

#define thread_position_in_grid \
  make_uint3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y, blockIdx.z * blockDim.z + threadIdx.z)
#define thread_position_in_threadgroup make_uint3(threadIdx.x, threadIdx.y, threadIdx.z)
#define threadgroup_position_in_grid make_uint3(blockIdx.x, blockIdx.y, blockIdx.z)
#define threads_per_threadgroup make_uint3(blockDim.x, blockDim.y, blockDim.z)
#define threads_per_simdgroup uint(warpSize)
#define thread_index_in_simdgroup ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31u)

KERNEL_FUNCTION uint mulhi(uint a, uint b) { return __umulhi(a, b); }
KERNEL_FUNCTION uint select(uint a, uint b, bool c) { return c ? b : a; }
KERNEL_FUNCTION uint reverse_bits(uint a) { return __brev(a); }
KERNEL_FUNCTION uint simd_shuffle(uint value, uint lane) { return __shfl_sync(0xffffffffu, value, lane); }
KERNEL_FUNCTION uint simd_shuffle_xor(uint value, uint mask) { return __shfl_xor_sync(0xffffffffu, value, mask); }

typedef unsigned long long Wide;
typedef long long SignedWide;
// Powers of signed words save 7% of a full GPU's time (H200: 2^24 permutations of width 16 in 4.34 ms, before 4.69).
#define TARGET_PREFERS_SIGNED_MUL
#ifdef __CUDA_ARCH__
// From the text of one_thread.h NVVM makes full 64-bit products: it loses sight of the sign extension of a word that it took from
// a wide one. Here it is a wide product, a low one, a high one and a difference.
#define TARGET_HAS_SIGNED_MUL
KERNEL_FUNCTION uint signed_mul(uint a, uint b) {
  uint result;
  asm("{\n\t.reg .s64 product;\n\t.reg .s32 low, high, q;\n\t"
      "mul.wide.s32 product, %1, %2;\n\tmov.b64 {low, high}, product;\n\tmul.lo.s32 q, low, 0x88000001;\n\t"
      "mul.hi.s32 q, q, 0x78000001;\n\tsub.s32 %0, high, q;\n\t}"
      : "=r"(result) : "r"(a), "r"(b));
  return result;
}
#endif
#include "dialect/one_thread.h"

// The value of a SIMD group's first lane, for all of it to branch on.
KERNEL_FUNCTION uniform_uint first_lane(uint value) { return __shfl_sync(0xffffffffu, value, 0); }

// One word that threads of a launch share: only ever raised, and read as a hint.
#define ATOMIC_MAX_IF(condition, atomic, value) \
  if (condition) atomicMax(atomic, value)
// Of several such words, the one at `index`, which may differ by thread.
#define ATOMIC_MAX_AT_IF(condition, atomic, index, value) ATOMIC_MAX_IF(condition, (atomic) + (index), value)
// From the second-level cache, where the atomics are: a volatile read is 20 times slower (H200, 16 bits: 4.1 ms against 0.2).
#define ATOMIC_READ(atomic) __ldcg(atomic)
