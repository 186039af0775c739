// found[t] = the smallest canonical witness w = start + t + j T, j < TRIES, such that absorbing w and then sampling gives a
// canonical value whose low `bits` bits are 0, or 0xffffffff. T threads cover TRIES * T consecutive candidates.
// Each candidate is one permutation: rate = the m buffered inputs, w, zeros; word 8 += m + 1; output word 7 is the sample.
// size: [T, bits, start]. state: (26,) transcript state. previous: (1,) result of the windows before: where it is a
// witness (below p < 2^31), this window has nothing to do. found: (T,). Grid: T threads along x. WIDTH is 16.
#include "poseidon2.h"

kernel void grind(
    const constant uint* size [[buffer(0)]],
    const device uint* state [[buffer(1)]],
    const device uint* previous [[buffer(2)]],
    device uint* found [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index t = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(t, size[0]);
  int buffered = int(state[24]);
  uint mask = uint((1u << int(size[1])) - 1u);
  uint capacity = field_add(uint(state[8]), field_mul(uint(buffered + 1), uint(FIELD_R2)));
  uint best = uint(0xffffffffu);
  bool done = int(previous[0]) >= 0;
  ROLLED_LOOP
  for (int j = TRIES - 1; j >= 0; j--) {
    if (done) continue;
    uint w = t + (int(size[2]) + j * int(size[0]));
    uint word = field_mul(w, uint(FIELD_R2));
    uint s[WIDTH];
    UNROLLED_LOOP
    for (int k = 0; k < 8; k++) {
      s[k] = k < buffered ? uint(state[16 + k]) : (k == buffered ? word : uint(0));
      s[k + 8] = k == 0 ? capacity : uint(state[8 + k]);
    }
    poseidon2_permute(s);
    uint sample = field_mul(s[7], uint(1));
    // Candidates at or above p are no field elements.
    best = select(best, w, (sample & mask) == uint(0) && w < uint(FIELD_P));
  }
  found[t] = best;
}
