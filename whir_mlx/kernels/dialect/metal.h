// The words of the kernel dialect, for Metal. Everything here is plain Metal; the other targets imitate it.
#define THREADGROUP_ARRAY(name, size) threadgroup uint name[size]
#define CONSTANT_ARRAY(name, size) constant uint name[size]
#define KERNEL_FUNCTION METAL_FUNC
#define KERNEL_FUNCTION_METHOD METAL_FUNC
// A long function called from several places; inlined here, so that its arrays stay in registers.
#define LARGE_FUNCTION METAL_FUNC
#define UNROLLED_LOOP _Pragma("clang loop unroll(full)")
#define ROLLED_LOOP _Pragma("clang loop unroll(disable)")
#define GROUP_BARRIER() threadgroup_barrier(mem_flags::mem_threadgroup)
// Orders the group's accesses of device memory too: what one thread wrote there before, the others read after.
#define GROUP_BARRIER_DEVICE() threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup)
// Metal starts exactly the threads of the grid.
#define RETURN_OUTSIDE_GRID(position, size)
// Threads that `vector_sum` adds up: a SIMD group.
#define REDUCE_WIDTH 32

typedef ulong Wide;
typedef long SignedWide;
#include "dialect/one_thread.h"

// The value of a SIMD group's first lane, for all of it to branch on.
KERNEL_FUNCTION uniform_uint first_lane(uint value) { return simd_broadcast_first(value); }

// One word that threads of a dispatch share: only ever raised, and read as a hint. Relaxed order is all that Metal has.
#define ATOMIC_MAX_IF(condition, atomic, value) \
  if (condition) atomic_fetch_max_explicit(atomic, value, memory_order_relaxed)
// Of several such words, the one at `index`, which may differ by thread.
#define ATOMIC_MAX_AT_IF(condition, atomic, index, value) ATOMIC_MAX_IF(condition, (atomic) + (index), value)
#define ATOMIC_READ(atomic) atomic_load_explicit(atomic, memory_order_relaxed)
