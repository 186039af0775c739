// What the Metal language gives our kernels, declared for clang's C++: enough to parse a kernel, nothing to run it.
// Address spaces are types, so a pointer that changes space is refused. Names that Metal reserves are keywords here too.
#pragma once

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;
typedef int int32_t;
typedef long int64_t;
typedef uint uint3 __attribute__((ext_vector_type(3)));
typedef uint uint2 __attribute__((ext_vector_type(2)));
static_assert(sizeof(ulong) == 8 && sizeof(uint) == 4, "");

namespace metal {
#define METAL_OVERLOADS(T) \
  T min(T, T); \
  T max(T, T); \
  T clamp(T, T, T); \
  T mulhi(T, T); \
  T select(T, T, bool); \
  T popcount(T); \
  T clz(T); \
  T ctz(T); \
  T reverse_bits(T); \
  T simd_shuffle(T, ushort); \
  T simd_shuffle_xor(T, ushort); \
  T simd_shuffle_down(T, ushort); \
  T simd_shuffle_up(T, ushort); \
  T simd_broadcast(T, ushort); \
  T simd_broadcast_first(T); \
  T simd_sum(T);
METAL_OVERLOADS(uint)
METAL_OVERLOADS(int)
#undef METAL_OVERLOADS
ulong min(ulong, ulong);
ulong select(ulong, ulong, bool);
enum class mem_flags { mem_none, mem_device, mem_threadgroup };
void threadgroup_barrier(mem_flags);
void simdgroup_barrier(mem_flags);
// Atomics in device memory, with the one order that Metal before 4.1 has.
enum memory_order { memory_order_relaxed };
template <typename T>
struct atomic {
  T word;
};
typedef atomic<uint> atomic_uint;
uint atomic_fetch_max_explicit(volatile __attribute__((address_space(1))) atomic_uint*, uint, memory_order);
uint atomic_load_explicit(const volatile __attribute__((address_space(1))) atomic_uint*, memory_order);
} // namespace metal
using namespace metal;

// Overloads of MLX's own preamble, which compete with Metal's.
uint64_t simd_shuffle(uint64_t, uint16_t);
int64_t simd_shuffle(int64_t, uint16_t);
bool simd_shuffle(bool, uint16_t);

#define METAL_FUNC inline __attribute__((__always_inline__))
#define thread
#define device __attribute__((address_space(1)))
#define constant const __attribute__((address_space(2)))
// A threadgroup array lies in the kernel function; clang takes one in another address space only as a static.
#define threadgroup static __attribute__((address_space(3)))
#define half float
#define bfloat float
#define vertex float
#define fragment float
