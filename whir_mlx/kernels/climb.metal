// Nodes of opened Merkle trees, from opened rows and the siblings of their paths, one group a tree, level by level:
//   nodes[i] = sponge of rate WIDTH - 8 over `width` words from words[starts[i]] on, for the leaves i < U;
//   nodes[i] = Poseidon2(nodes[c_0] || ... || nodes[c_(ARITY-1)])[0..8), c = children[i - U], for the parents U <= i < N;
//   nodes[N + s] = sibling s.
// size: [L, U, N, T, S]: levels at most, leaves, leaves and parents, trees; siblings are the digests from words[S] on.
// tables: of every tree L + 6 words: `width`, then of its leaves and of its siblings the first and the end, then where its
// parents begin and where those of level 1, 2, ..., L end; then starts (U,); then children (N - U, ARITY), numbers of nodes
// of a level below, of the same tree. words: rows, then siblings. nodes: (N + siblings, 8). Montgomery words.
// Grid: T groups.
#include "poseidon2.h"
#include "sponge.h"

// A digest to a node, where this thread has one.
#define STORE_NODE(first, end, i, s) \
  UNROLLED_LOOP \
  for (int k = 0; k < 8; k++) STORE_IF(uint(t + first) < uint(end), nodes, i * 8 + k, s[k])

kernel void climb(
    const constant uint* size [[buffer(0)]],
    const device uint* tables [[buffer(1)]],
    const device uint* words [[buffer(2)]],
    device uint* nodes [[buffer(3)]],
    uint3 thread_position_in_threadgroup [[thread_position_in_threadgroup]],
    uint3 threadgroup_position_in_grid [[threadgroup_position_in_grid]],
    uint3 threads_per_threadgroup [[threads_per_threadgroup]]) {
  lane_index t = thread_position_in_threadgroup.x;
  int threads = int(threads_per_threadgroup.x), front = int(lane_front(t));
  int levels = int(size[0]), leaves = int(size[1]);
  auto record = tables + int(threadgroup_position_in_grid.x) * (levels + 6);
  auto starts = tables + int(size[3]) * (levels + 6);
  auto children = starts + leaves;

  // Threads past the end repeat the last item and write nothing.
  int end = 8 * int(record[4]);
  ROLLED_LOOP
  for (int first = 8 * int(record[3]); front + first < end; first += threads) {
    uint i = min(uint(t + first), uint(end - 1));
    STORE_IF(uint(t + first) < uint(end), nodes, i + 8 * int(size[2]), words[i + int(size[4])]);
  }
  end = int(record[2]);
  ROLLED_LOOP
  for (int first = int(record[1]); front + first < end; first += threads) {
    uint i = min(uint(t + first), uint(end - 1));
    uint s[WIDTH];
    sponge_absorb_row(s, words, starts[i], int(record[0]));
    STORE_NODE(first, end, i, s);
  }
  ROLLED_LOOP
  for (int level = 0; level < levels; level++) {
    GROUP_BARRIER_DEVICE();
    end = int(record[level + 6]);
    ROLLED_LOOP
    for (int first = int(record[level + 5]); front + first < end; first += threads) {
      uint i = min(uint(t + first), uint(end - 1));
      uint s[8 * ARITY];
      UNROLLED_LOOP
      for (int part = 0; part < ARITY; part++) load_words_8(s + 8 * part, nodes, children[(i - leaves) * ARITY + part] * 8);
      poseidon2_digest<8 * ARITY>(s);
      STORE_NODE(first, end, i, s);
    }
  }
}
