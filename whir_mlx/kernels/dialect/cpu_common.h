// Shared by every build of the CPU target: what a launch is, and the thread pool's view of a kernel.
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__AVX2__) || defined(__AVX512F__) || defined(__SSE4_1__)
#include <immintrin.h>
#endif
#if defined(__ARM_NEON)
#include <arm_neon.h>
#endif

struct Launch {
  void* buffers[32];
  int64_t words[32];
  int32_t grid[3];
  int32_t group[3];
};

#define kernel
#define device
#define constant
#define thread
#define threadgroup
#define KERNEL_FUNCTION static inline __attribute__((always_inline))
#define KERNEL_FUNCTION_METHOD inline __attribute__((always_inline))
// A function called from several places whose body is too long to repeat: compile time, and the instruction cache.
#define LARGE_FUNCTION static __attribute__((noinline))
#define RETURN_OUTSIDE_GRID(position, size)
#if defined(__clang__)
#define UNROLLED_LOOP _Pragma("clang loop unroll(full)")
#define ROLLED_LOOP _Pragma("clang loop unroll(disable)")
#else
#define UNROLLED_LOOP _Pragma("GCC unroll 32")
#define ROLLED_LOOP _Pragma("GCC unroll 1")
#endif

// A position whose x is the same for all threads of a vector: a group's place, or the shape of a group.
struct UniformPosition {
  uint32_t x, y, z;
};

KERNEL_FUNCTION void atomic_max(uint32_t* word, uint32_t value) {
  uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (old < value && !__atomic_compare_exchange_n(word, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
