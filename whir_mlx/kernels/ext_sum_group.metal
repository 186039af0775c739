// out[g, b] = sum_c x[g, c, b], one group of T threads a sum: thread t adds entries t, t + T, ..., the threads of a SIMD group are
// added by shuffles, and the SIMD groups' shares by thread 0.
// size: [B, C]. x: (G, C, B, 4); out: (G, B, 4). Montgomery words. Grid: (1, B, G) groups of T threads, whole SIMD groups and at most
// 16 of them.
#include "field.h"
#include "ext.h"
#include "reduce.h"

kernel void ext_sum_group(
    const constant uint* size [[buffer(0)]],
    const device uint* x [[buffer(1)]],
    device uint* out [[buffer(2)]],
    uint3 thread_position_in_threadgroup [[thread_position_in_threadgroup]],
    uint3 threadgroup_position_in_grid [[threadgroup_position_in_grid]],
    uint3 threads_per_threadgroup [[threads_per_threadgroup]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {
  THREADGROUP_ARRAY(shares, 64);
  int columns = int(size[0]), count = int(size[1]), threads = int(threads_per_threadgroup.x);
  int b = int(threadgroup_position_in_grid.y), group = int(threadgroup_position_in_grid.z);
  uint t = uint(thread_position_in_threadgroup.x);
  Quad sum = ext_zero();
  ROLLED_LOOP
  for (int first = 0; first < count; first += 4 * threads) {
    // Four at a time, since each is waited for. Threads past the end read the last entry and add 0.
    Quad entries[4];
    UNROLLED_LOOP
    for (int k = 0; k < 4; k++) {
      uint c = min(t + (first + k * threads), uint(count - 1));
      entries[k] = load_quad(x, (c + group * count) * columns + b);
    }
    UNROLLED_LOOP
    for (int k = 0; k < 4; k++) sum = ext_add(sum, ext_select(ext_zero(), entries[k], t + (first + k * threads) < uint(count)));
  }
  sum = vector_sum_ext(sum);
  store_share(shares, int(first_lane(t)) / REDUCE_WIDTH, sum, thread_index_in_simdgroup);
  GROUP_BARRIER();
  Quad total = load_quad(shares, 0);
  ROLLED_LOOP
  for (int k = 1; k < threads / REDUCE_WIDTH; k++) total = ext_add(total, load_quad(shares, k));
  store_share(out, group * columns + b, total, t);
}
