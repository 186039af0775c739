// Bodies of the functions that metal_language.h declares, for clang's AMDGPU back-end, and of the thread positions.
#define CODEGEN METAL_FUNC
namespace metal {
#define CODEGEN_INTEGERS(T) \
  CODEGEN T max(T a, T b) { return a < b ? b : a; } \
  CODEGEN T min(T a, T b) { return a < b ? a : b; } \
  CODEGEN T select(T a, T b, bool c) { return c ? b : a; }
CODEGEN_INTEGERS(uint)
CODEGEN_INTEGERS(int)
CODEGEN_INTEGERS(ulong)
CODEGEN uint mulhi(uint a, uint b) { return uint((ulong(a) * ulong(b)) >> 32); }
CODEGEN uint reverse_bits(uint a) { return __builtin_bitreverse32(a); }
CODEGEN uint popcount(uint a) { return uint(__builtin_popcount(a)); }
CODEGEN uint clz(uint a) { return uint(__builtin_clz(a)); }
CODEGEN uint codegen_shuffle(uint a, uint lane) { return uint(__builtin_amdgcn_ds_bpermute(int(lane * 4), int(a))); }
CODEGEN uint codegen_lane() { return uint(__builtin_amdgcn_workitem_id_x()) & 31; }
CODEGEN uint simd_shuffle(uint a, ushort lane) { return codegen_shuffle(a, lane); }
CODEGEN uint simd_shuffle_xor(uint a, ushort mask) { return codegen_shuffle(a, codegen_lane() ^ mask); }
CODEGEN uint simd_shuffle_down(uint a, ushort step) { return codegen_shuffle(a, codegen_lane() + step); }
CODEGEN uint simd_broadcast_first(uint a) { return uint(__builtin_amdgcn_readfirstlane(int(a))); }
CODEGEN uint simd_sum(uint a) {
  for (uint step = 16; step > 0; step /= 2) a += codegen_shuffle(a, codegen_lane() ^ step);
  return a;
}
CODEGEN uint simd_min(uint a) {
  for (uint step = 16; step > 0; step /= 2) a = min(a, codegen_shuffle(a, codegen_lane() ^ step));
  return a;
}
CODEGEN void threadgroup_barrier(mem_flags) { __builtin_amdgcn_s_barrier(); }
CODEGEN void simdgroup_barrier(mem_flags) {}
#define CODEGEN_ATOMICS(space) \
  CODEGEN uint atomic_load_explicit(const volatile space atomic<uint>* a, memory_order) { return a->metal_value; } \
  CODEGEN uint atomic_fetch_max_explicit(volatile space atomic<uint>* a, uint b, memory_order) { \
    return __atomic_fetch_max(&a->metal_value, b, __ATOMIC_RELAXED); \
  } \
  CODEGEN uint atomic_fetch_min_explicit(volatile space atomic<uint>* a, uint b, memory_order) { \
    return __atomic_fetch_min(&a->metal_value, b, __ATOMIC_RELAXED); \
  }
CODEGEN_ATOMICS(device)
CODEGEN_ATOMICS(threadgroup)
} // namespace metal

#define CODEGEN_GROUP_SIZE 256
CODEGEN uint3 codegen_local() {
  return uint3{__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z()};
}
CODEGEN uint3 codegen_group() {
  return uint3{__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z()};
}
CODEGEN uint3 codegen_thread_position_in_threadgroup() { return codegen_local(); }
CODEGEN uint3 codegen_threadgroup_position_in_grid() { return codegen_group(); }
CODEGEN uint3 codegen_threads_per_threadgroup() { return uint3{__builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(), 1}; }
CODEGEN uint3 codegen_thread_position_in_grid() { return codegen_group() * uint3{CODEGEN_GROUP_SIZE, 1, 1} + codegen_local(); }
CODEGEN uint codegen_thread_index_in_simdgroup() { return codegen_lane(); }
CODEGEN uint codegen_simdgroup_index_in_threadgroup() { return codegen_local().x / 32; }
CODEGEN uint codegen_thread_index_in_threadgroup() { return codegen_local().x; }
CODEGEN uint codegen_threads_per_simdgroup() { return 32; }
