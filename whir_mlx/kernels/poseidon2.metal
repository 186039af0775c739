// out[i, :] = Poseidon2(states[i, :]), for WIDTH = 16, 24 or 32.
// states, out: (N, WIDTH) Montgomery words. Grid: N threads along x, one permutation each.
#include "poseidon2.h"

kernel void poseidon2(
    const constant uint* size [[buffer(0)]],
    const device uint* states [[buffer(1)]],
    device uint* out [[buffer(2)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index i = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(i, size[0]);
  uint s[WIDTH];
  UNROLLED_LOOP
  for (int part = 0; part < WIDTH; part += 8) load_words_8(s + part, states, i * WIDTH + part);
  poseidon2_permute<WIDTH>(s);
  UNROLLED_LOOP
  for (int part = 0; part < WIDTH; part += 8) store_words_8(out, i * WIDTH + part, s + part);
}
