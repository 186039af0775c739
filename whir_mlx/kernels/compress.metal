// parents[i, :] = Poseidon2(children[ARITY i] || ... || children[ARITY i + ARITY - 1])[0..8), ARITY * 8 = WIDTH (16 or 32).
// size: [N]. children: (N * ARITY, 8) digests, Montgomery words. parents: (N, 8). Grid: N threads along x, one node each.
#include "poseidon2.h"

kernel void compress(
    const constant uint* size [[buffer(0)]],
    const device uint* children [[buffer(1)]],
    device uint* parents [[buffer(2)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index i = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(i, size[0]);
  uint s[WIDTH];
  UNROLLED_LOOP
  for (int part = 0; part < WIDTH; part += 8) load_words_8(s + part, children, i * WIDTH + part);
  poseidon2_digest<WIDTH>(s);
  store_words_8(parents, i * 8, s);
}
