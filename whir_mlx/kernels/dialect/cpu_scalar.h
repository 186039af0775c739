// The words of the kernel dialect for one thread at a time: the remainder of a grid, and kernels that branch by thread.
typedef uint32_t uint;
typedef const uint32_t* const_buffer;
typedef uint32_t* buffer;

struct Position {
  uint x, y, z;
};

#define CONSTANT_ARRAY(name, size) static const uint32_t name[size]
#define THREADGROUP_ARRAY(name, size) alignas(64) uint32_t name[size]
#define GROUP_BARRIER()
#define GROUP_BARRIER_DEVICE()

KERNEL_FUNCTION uint mulhi(uint a, uint b) { return uint((uint64_t(a) * b) >> 32); }
KERNEL_FUNCTION uint select(uint a, uint b, bool c) { return c ? b : a; }
KERNEL_FUNCTION uint min(uint a, uint b) { return a < b ? a : b; }
KERNEL_FUNCTION int min(int a, int b) { return a < b ? a : b; }
KERNEL_FUNCTION uint reverse_bits(uint a) {
  a = ((a >> 1) & 0x55555555u) | ((a & 0x55555555u) << 1);
  a = ((a >> 2) & 0x33333333u) | ((a & 0x33333333u) << 2);
  a = ((a >> 4) & 0x0f0f0f0fu) | ((a & 0x0f0f0f0fu) << 4);
  return __builtin_bswap32(a);
}

typedef uint64_t Wide;
typedef int64_t SignedWide;
#include "dialect/one_thread.h"

// The value of a SIMD group's first lane, for all of it to branch on.
KERNEL_FUNCTION uniform_uint first_lane(uint value) { return value; }

// One word that threads of a launch share: only ever raised, and read as a hint.
#define ATOMIC_MAX_IF(condition, atomic, value) \
  if (condition) atomic_max(atomic, value)
// Of several such words, the one at `index`.
#define ATOMIC_MAX_AT_IF(condition, atomic, index, value) ATOMIC_MAX_IF(condition, (atomic) + (index), value)
#define ATOMIC_READ(atomic) __atomic_load_n(atomic, __ATOMIC_RELAXED)
// Threads that `vector_sum` adds up: this one.
#define REDUCE_WIDTH 1
KERNEL_FUNCTION uint simd_shuffle_xor(uint value, uint) { return value; }
