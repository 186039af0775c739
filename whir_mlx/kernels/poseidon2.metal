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
  for (int k = 0; k < WIDTH; k++) s[k] = states[i * WIDTH + k];
  poseidon2_permute(s);
  UNROLLED_LOOP
  for (int k = 0; k < WIDTH; k++) out[i * WIDTH + k] = s[k];
}
