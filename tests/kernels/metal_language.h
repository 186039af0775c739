// What the Metal language gives our kernels, declared from its specification (sections 2, 4, 6.3, 6.9, 6.13, 6.15), in two
// clothes: for clang's C++14 and C++17, address spaces are attributes, and Metal's `thread` is no space of its own; for
// clang's C++ for OpenCL all four are, a pointer without one is a fault (`__generic`), threadgroup arrays may lie in kernels
// only, and the whole of MLX's preamble parses.
#pragma once

#ifdef __OPENCL_CPP_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define thread __private
#define device __global
#define threadgroup __local
#define METAL_KERNEL __kernel void
#else
#define thread
#define device __attribute__((address_space(1)))
#define constant const __attribute__((address_space(2)))
#define threadgroup __attribute__((address_space(3)))
#define half float
#define METAL_KERNEL void
#endif
// Words of the language that no name may be.
#define vertex metal_reserved
#define fragment metal_reserved
#define METAL_FUNC inline __attribute__((__always_inline__))

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef uchar uint8_t;
typedef signed char int8_t;
typedef ushort uint16_t;
typedef short int16_t;
typedef uint uint32_t;
typedef int int32_t;
typedef ulong uint64_t;
typedef long int64_t;
typedef ulong size_t;
typedef uint uint2 __attribute__((ext_vector_type(2)));
typedef uint uint3 __attribute__((ext_vector_type(3)));
static_assert(sizeof(ulong) == 8 && sizeof(uint) == 4, "");

namespace metal {
#define METAL_INTEGERS(T) \
  T absdiff(T, T); \
  T addsat(T, T); \
  T subsat(T, T); \
  T clamp(T, T, T); \
  T clz(T); \
  T ctz(T); \
  T hadd(T, T); \
  T rhadd(T, T); \
  T madhi(T, T, T); \
  T max(T, T); \
  T max3(T, T, T); \
  T median3(T, T, T); \
  T min(T, T); \
  T min3(T, T, T); \
  T mulhi(T, T); \
  T popcount(T); \
  T reverse_bits(T); \
  T rotate(T, T); \
  T select(T, T, bool);
#define METAL_SIMD(T) \
  T simd_shuffle(T, ushort); \
  T simd_shuffle_xor(T, ushort); \
  T simd_shuffle_down(T, ushort); \
  T simd_shuffle_up(T, ushort); \
  T simd_shuffle_and_fill_up(T, T, ushort); \
  T simd_broadcast(T, ushort); \
  T simd_broadcast_first(T); \
  T simd_sum(T); \
  T simd_min(T); \
  T simd_max(T); \
  T simd_prefix_inclusive_sum(T);
METAL_INTEGERS(uint)
METAL_INTEGERS(int)
METAL_INTEGERS(ulong)
METAL_SIMD(uint)
METAL_SIMD(int)
METAL_SIMD(ushort)
#undef METAL_INTEGERS
#undef METAL_SIMD
uint extract_bits(uint, uint, uint);
uint insert_bits(uint, uint, uint, uint);
bool simd_any(bool);
bool simd_all(bool);

enum class mem_flags { mem_none, mem_device, mem_threadgroup };
METAL_FUNC constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }
void threadgroup_barrier(mem_flags);
void simdgroup_barrier(mem_flags);

// Atomics: relaxed is the only order before Metal 4.1.
enum memory_order { memory_order_relaxed };
template <typename T>
struct atomic {
  T metal_value;
};
#define METAL_ATOMICS(space) \
  uint atomic_load_explicit(const volatile space atomic<uint>*, memory_order); \
  void atomic_store_explicit(volatile space atomic<uint>*, uint, memory_order); \
  uint atomic_fetch_add_explicit(volatile space atomic<uint>*, uint, memory_order); \
  uint atomic_fetch_min_explicit(volatile space atomic<uint>*, uint, memory_order); \
  uint atomic_fetch_max_explicit(volatile space atomic<uint>*, uint, memory_order); \
  uint atomic_fetch_or_explicit(volatile space atomic<uint>*, uint, memory_order);
template struct atomic<uint>;
METAL_ATOMICS(device)
METAL_ATOMICS(threadgroup)
#undef METAL_ATOMICS
} // namespace metal
using namespace metal;
#define atomic_uint atomic<uint>

#ifndef __OPENCL_CPP_VERSION__
// Overloads of MLX's own preamble, which compete with Metal's.
uint64_t simd_shuffle(uint64_t, uint16_t);
int64_t simd_shuffle(int64_t, uint16_t);
bool simd_shuffle(bool, uint16_t);
#endif
