// out[g, b] = sum_c x[g, c, b], one SIMD group a sum: lane l adds entries l, l + 32, ... and the lanes are added by shuffles.
// size: [B, C]. x: (G, C, B, 4); out: (G, B, 4). Montgomery words. Grid: (32, B, G) threads.
#include "field.h"
#include "ext.h"

KERNEL_FUNCTION Quad ext_shuffle_xor(Quad a, int mask) {
  return Quad{simd_shuffle_xor(a.x, mask), simd_shuffle_xor(a.y, mask), simd_shuffle_xor(a.z, mask), simd_shuffle_xor(a.w, mask)};
}

kernel void ext_sum_simd(
    const constant uint* size [[buffer(0)]],
    const device uint* x [[buffer(1)]],
    device uint* out [[buffer(2)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {
  int columns = int(size[0]), count = int(size[1]);
  int b = int(thread_position_in_grid.y), group = int(thread_position_in_grid.z);
  uint lane = thread_index_in_simdgroup;
  Quad sum = ext_zero();
  ROLLED_LOOP
  for (int first = 0; first < count; first += 128) {
    // Four at a time, since each is waited for. Lanes past the end read the last entry and add 0.
    Quad entries[4];
    UNROLLED_LOOP
    for (int k = 0; k < 4; k++) {
      uint c = min(lane + (first + 32 * k), uint(count - 1));
      entries[k] = load_quad(x, (c + group * count) * columns + b);
    }
    UNROLLED_LOOP
    for (int k = 0; k < 4; k++) sum = ext_add(sum, ext_select(ext_zero(), entries[k], lane + (first + 32 * k) < uint(count)));
  }
  UNROLLED_LOOP
  for (int mask = 16; mask >= 1; mask /= 2) sum = ext_add(sum, ext_shuffle_xor(sum, mask));
  STORE_IF(lane == uint(0), out, uint((group * columns + b) * 4), sum.x);
  STORE_IF(lane == uint(0), out, uint((group * columns + b) * 4 + 1), sum.y);
  STORE_IF(lane == uint(0), out, uint((group * columns + b) * 4 + 2), sum.z);
  STORE_IF(lane == uint(0), out, uint((group * columns + b) * 4 + 3), sum.w);
}
