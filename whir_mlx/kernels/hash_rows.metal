// digests[i, :] = sponge(rows[i, :]): the padding-free overwrite sponge over WIDTH words with rate WIDTH - 8.
// size: [N, w]. rows: (N, w) Montgomery words. digests: (N, 8). Grid: N threads along x, one row each.
#include "poseidon2.h"
#include "sponge.h"

kernel void hash_rows(
    const constant uint* size [[buffer(0)]],
    const device uint* rows [[buffer(1)]],
    device uint* digests [[buffer(2)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index i = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(i, size[0]);
  uint s[WIDTH];
  int width = int(size[1]);
  sponge_absorb_row(s, rows, i * width, width);
  store_words_8(digests, i * 8, s);
}
