// CUDA's words for a host compiler, and a launch that runs a kernel's threads one at a time: group by group, a thread until
// it waits at a barrier or a shuffle, then the next.
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>
#include <vector>

typedef unsigned int uint;
struct uint3 {
  uint x, y, z;
};
static inline uint3 make_uint3(uint x, uint y, uint z) { return uint3{x, y, z}; }
static uint3 threadIdx, blockIdx, blockDim;
static const int warpSize = 32;

#define __device__
#define __global__ static
#define __shared__ static
#define __constant__ const
#define __forceinline__ inline

static inline uint min(uint a, uint b) { return a < b ? a : b; }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline uint __umulhi(uint a, uint b) { return uint(((uint64_t)a * b) >> 32); }
static inline uint __brev(uint a) {
  uint reversed = 0;
  for (int i = 0; i < 32; i++) reversed |= ((a >> i) & 1u) << (31 - i);
  return reversed;
}

static ucontext_t scheduler;
static std::vector<ucontext_t> threads;
static std::vector<uint> lanes;
static uint current;

static std::vector<char> at_barrier;

// The threads of a SIMD group take as many turns as each other between barriers; SIMD groups may take different numbers.
static void take_turns() { swapcontext(&threads[current], &scheduler); }
static void wait_for_group() {
  at_barrier[current] = 1;
  take_turns();
}
#define __syncthreads wait_for_group

static inline uint exchange(uint value, uint from) {
  uint self = current;
  lanes[self] = value;
  take_turns();
  uint got = lanes[(self & ~31u) | (from & 31u)];
  take_turns();
  return got;
}
static inline void atomicMax(uint* word, uint value) {
  if (*word < value) *word = value;
}
static inline uint __ldcg(const uint* word) { return *word; }
static inline uint __shfl_sync(uint, uint value, uint lane) { return exchange(value, lane); }
static inline uint __shfl_xor_sync(uint, uint value, uint mask) { return exchange(value, current ^ mask); }
namespace cooperative_groups {}
