// One step of the transcript: absorb three runs of words in order, then sample words, then draw indices below 2^index_bits.
// An index is the low bits of a canonical sample; the sample p - 1 would bias it and is drawn again.
// size: [words of first, of second, of third, samples, indices, index_bits]. state, new_state: (26,), see docs/architecture.md.
// first, second, third: Montgomery words. samples: Montgomery words. indices: plain integers. Grid: 1 thread.
#include "poseidon2.h"
#include "challenger.h"

kernel void challenge(
    const constant uint* size [[buffer(0)]],
    const device uint* state [[buffer(1)]],
    const device uint* first [[buffer(2)]],
    const device uint* second [[buffer(3)]],
    const device uint* third [[buffer(4)]],
    device uint* new_state [[buffer(5)]],
    device uint* samples [[buffer(6)]],
    device uint* indices [[buffer(7)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  RETURN_OUTSIDE_GRID(thread_position_in_grid.x, 1);
  Challenger c;
  for (int k = 0; k < 16; k++) c.s[k] = state[k];
  for (int k = 0; k < 8; k++) c.buffer[k] = state[16 + k];
  c.buffered = int(state[24]);
  c.left = int(state[25]);
  for (int i = 0; i < int(size[0]); i++) challenger_observe(c, first[i]);
  for (int i = 0; i < int(size[1]); i++) challenger_observe(c, second[i]);
  for (int i = 0; i < int(size[2]); i++) challenger_observe(c, third[i]);
  for (int i = 0; i < int(size[3]); i++) samples[i] = challenger_sample(c);
  uint mask = uint((1u << int(size[5])) - 1u);
  for (int i = 0; i < int(size[4]); i++) {
    uint value = field_mul(challenger_sample(c), uint(1));
    while (value == uint(FIELD_P - 1u)) value = field_mul(challenger_sample(c), uint(1));
    indices[i] = value & mask;
  }
  for (int k = 0; k < 16; k++) new_state[k] = c.s[k];
  for (int k = 0; k < 8; k++) new_state[16 + k] = k < c.buffered ? c.buffer[k] : uint(0);
  new_state[24] = uint(c.buffered);
  new_state[25] = uint(c.left);
}
