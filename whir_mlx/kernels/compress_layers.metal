// Several layers of a binary tree in one launch: each SIMD group takes 64 consecutive nodes (or all, if fewer) and hands the
// digests of one layer to the next by simd_shuffle, without threadgroup memory.
//   layer 1: parents[i] = compress(nodes[2i], nodes[2i+1]); layer l+1 from layer l alike, `levels` layers in all.
// size: [N, levels], N nodes, N >= 2^levels, levels <= 6. nodes: (N, 8). out: the layers, lowest first, concatenated, (N - N / 2^levels, 8).
// Grid: 32 threads along x for each 64 nodes (or part of 64). WIDTH is 16.
#include "poseidon2.h"

kernel void compress_layers(
    const constant uint* size [[buffer(0)]],
    const device uint* nodes [[buffer(1)]],
    device uint* out [[buffer(2)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {
  uint i = thread_position_in_grid.x;
  uint lane = thread_index_in_simdgroup;
  int count = int(size[0]) / 2;  // nodes of the layer being made
  int levels = int(size[1]);
  uint group = i >> 5;
  uint s[WIDTH];
  // Lanes past the end repeat the last node: every lane takes part in every shuffle, and writes nothing.
  uint node = min(i, uint(count - 1));
  UNROLLED_LOOP
  for (int k = 0; k < WIDTH; k++) s[k] = nodes[node * WIDTH + k];
  int start = 0;
  ROLLED_LOOP
  for (int level = 0; level < levels; level++) {
    if (level > 0) {
      // Lane l takes the digests of lanes 2l and 2l + 1.
      uint from = (lane * 2) & 31;
      UNROLLED_LOOP
      for (int k = 0; k < 8; k++) {
        uint left = simd_shuffle(s[k], from);
        s[k + 8] = simd_shuffle(s[k], from + 1);
        s[k] = left;
      }
    }
    poseidon2_permute(s);
    uint position = group * (32 >> level) + lane;
    UNROLLED_LOOP
    for (int k = 0; k < 8; k++) {
      STORE_IF(lane < uint(32 >> level) && position < uint(count), out, (position + start) * 8 + k, s[k]);
    }
    start += count;
    count /= 2;
  }
}
