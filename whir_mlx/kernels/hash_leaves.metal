// Leaves and the two layers above them, four rows a thread, so that the digests never wait in memory:
//   leaves[r] = sponge(rows[r]); first[j] = compress(leaves[2j], leaves[2j+1]); second[i] = compress(first[2i], first[2i+1]).
// size: [N / 4, w]. rows: (N, w) Montgomery words. leaves (N, 8), first (N/2, 8), second (N/4, 8). WIDTH is 16.
// Grid: N / 4 threads along x.
#include "poseidon2.h"
#include "sponge.h"

kernel void hash_leaves(
    const constant uint* size [[buffer(0)]],
    const device uint* rows [[buffer(1)]],
    device uint* leaves [[buffer(2)]],
    device uint* first [[buffer(3)]],
    device uint* second [[buffer(4)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index i = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(i, size[0]);
  int width = int(size[1]);
  uint s[WIDTH];
  uint left[8];
  uint pair[8];
  ROLLED_LOOP
  for (int j = 0; j < 4; j++) {
    sponge_absorb_row(s, rows, i * (4 * width) + j * width, width);
    store_words_8(leaves, i * 32 + 8 * j, s);
    if ((j & 1) == 0) {
      UNROLLED_LOOP
      for (int k = 0; k < 8; k++) left[k] = s[k];
    } else {
      UNROLLED_LOOP
      for (int k = 0; k < 8; k++) {
        s[k + 8] = s[k];
        s[k] = left[k];
      }
      poseidon2_digest<WIDTH>(s);
      store_words_8(first, i * 16 + 4 * (j - 1), s);
      if (j == 1) {
        UNROLLED_LOOP
        for (int k = 0; k < 8; k++) pair[k] = s[k];
      }
    }
  }
  UNROLLED_LOOP
  for (int k = 0; k < 8; k++) {
    s[k + 8] = s[k];
    s[k] = pair[k];
  }
  poseidon2_digest<WIDTH>(s);
  store_words_8(second, i * 8, s);
}
