// digests[i, :] = sponge(rows[i, :]) of rate 8, as hash_rows.metal, with four lanes a row (cooperative_four.h).
// size: [N, w], w >= 1. tables: (398,), see cooperative.h. rows: (N, w) Montgomery words. digests: (N, 8).
// Grid: 4 N threads, four neighbouring ones a row, rounded up to groups; whole SIMD groups of 16 or 32 threads.
#include "cooperative_four.h"

// Words `at` to `at` + 3 of a row of `width` words; past its end its last word.
template <typename Rows>
KERNEL_FUNCTION void load_four(thread uint* words, Rows rows, uint row, uint at, int width) {
  UNROLLED_LOOP
  for (int k = 0; k < 4; k++) words[k] = rows[row + min(at + k, uint(width - 1))];
}

kernel void hash_rows_four(
    const constant uint* size [[buffer(0)]],
    const device uint* tables [[buffer(1)]],
    const device uint* rows [[buffer(2)]],
    device uint* digests [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {
  int width = int(size[1]);
  uint lane = thread_index_in_simdgroup;
  uint word = 4 * (lane & 3);
  uint i = uint(thread_position_in_grid.x) >> 2;
  // Lanes past the end repeat the last row and write nothing: a SIMD group permutes as a whole.
  uint row = min(i, uint(int(size[0]) - 1)) * width;
  uint s[4], words[4];
  UNROLLED_LOOP
  for (int k = 0; k < 4; k++) s[k] = uint(0);
  load_four(words, rows, row, word, width);
  ROLLED_LOOP
  for (int block = 0; block < width; block += 8) {
    UNROLLED_LOOP
    for (int k = 0; k < 4; k++) s[k] = select(s[k], words[k], word < uint(8) && word + (block + k) < uint(width));
    // The next block's words are on their way while this one is permuted.
    load_four(words, rows, row, word + (block + 8), width);
    four_permute(s, lane, tables);
  }
  UNROLLED_LOOP
  for (int k = 0; k < 4; k++) STORE_IF(word < uint(8) && i < uint(size[0]), digests, i * 8 + word + k, s[k]);
}
