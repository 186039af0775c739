// Digests of a binary Merkle tree and of several layers above them in one launch, sixteen lanes a digest (cooperative.h):
//   digests[i] = sponge(rows[i]) of rate 8 where `sponge` is 1, else compress(rows[i]), rows of two digests;
//   then layer l + 1 from layer l, parents[i] = compress(nodes[2i], nodes[2i+1]), `levels` times.
// A group takes 2^log_block neighbouring rows all the way up and hands digests on in threadgroup memory.
// size: [N, w, log_block, levels, sponge, first], N a multiple of 2^log_block, levels <= log_block <= 6. tables: (398,). rows: from
// word `first` on (N, w).
// out: the layers, lowest first, concatenated, (N + N/2 + ... + N/2^levels, 8). Montgomery words.
// Grid: N / 2^log_block groups; whole SIMD groups of 16 or 32 threads.
#include "cooperative.h"

// Words that the digests of 64 rows take.
#define TREE_LAYER_WORDS 512

kernel void tree_layers(
    const constant uint* size [[buffer(0)]],
    const device uint* tables [[buffer(1)]],
    const device uint* rows [[buffer(2)]],
    device uint* out [[buffer(3)]],
    uint3 thread_position_in_threadgroup [[thread_position_in_threadgroup]],
    uint3 threadgroup_position_in_grid [[threadgroup_position_in_grid]],
    uint3 threads_per_threadgroup [[threads_per_threadgroup]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {
  THREADGROUP_ARRAY(digests, 2 * TREE_LAYER_WORDS);
  Cooperative c;
  cooperative_load(c, thread_index_in_simdgroup, tables);
  uint word = thread_index_in_simdgroup & 15;
  uint worker = uint(thread_position_in_threadgroup.x) >> 4;
  int workers = int(threads_per_threadgroup.x) / 16, group = int(threadgroup_position_in_grid.x);
  int width = int(size[1]), levels = int(size[3]);
  int total = int(size[0]), count = 1 << int(size[2]);  // nodes of the layer being made: in all, and of this group
  int start = 0;
  ROLLED_LOOP
  for (int level = 0; level <= levels; level++) {
    ROLLED_LOOP
    for (int first = 0; first < count; first += workers) {
      // Lanes past the end repeat the last node and write nothing: a SIMD group permutes as a whole or not at all.
      uint node = worker + first;
      if (int(first_lane(node)) >= count) break;
      uint at = min(node, uint(count - 1));
      uint s = uint(0);
      if (level > 0) {
        s = digests[at * 16 + word + TREE_LAYER_WORDS * ((level - 1) & 1)];
        s = cooperative_permute(c, s, tables);
      } else {
        int taken = size[4] == 0u ? 16 : 8;
        at = (at + group * count) * width + int(size[5]);
        ROLLED_LOOP
        for (int k = 0; k < width; k += taken) {
          uint value = rows[at + min(word + k, uint(width - 1))];
          s = select(s, value, word < uint(taken) && word + k < uint(width));
          s = cooperative_permute(c, s, tables);
        }
      }
      STORE_IF(word < uint(8) && node < uint(count), out, (node + (start + group * count)) * 8 + word, s);
      STORE_IF(word < uint(8) && node < uint(count), digests, node * 8 + word + TREE_LAYER_WORDS * (level & 1), s);
    }
    GROUP_BARRIER();
    start += total;
    total /= 2;
    count /= 2;
  }
}
