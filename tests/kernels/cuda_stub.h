// What CUDA gives our kernels, declared for clang's CUDA front end without a CUDA toolkit: enough to parse, nothing to run.
#pragma once

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))

typedef unsigned int uint32_t;
typedef unsigned int uint;
struct uint3 {
  uint x, y, z;
};
__device__ uint3 make_uint3(uint, uint, uint);
extern const __device__ uint3 threadIdx, blockIdx, blockDim;
extern const __device__ int warpSize;
__device__ void __syncthreads();
__device__ uint __umulhi(uint, uint);
__device__ uint __brev(uint);
__device__ int __popc(uint);
__device__ int __clz(int);
__device__ uint atomicMax(uint*, uint);
__device__ uint __ldcg(const uint*);
__device__ uint __shfl_sync(uint, uint, int, int = 32);
__device__ uint __shfl_xor_sync(uint, uint, int, int = 32);
__device__ uint min(uint, uint);
__device__ int min(int, int);
__device__ unsigned long long min(unsigned long long, unsigned long long);
__device__ uint max(uint, uint);
__device__ int max(int, int);
// A type of MLX's own headers: a local variable may hide it, a global name may not take it.
struct half {};
namespace cooperative_groups {}
