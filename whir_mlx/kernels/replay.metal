// Steps of a transcript whose messages are all known beforehand, as a verifier's are. Step i absorbs the next a_i words (before those
// of the first step, what was buffered), then draws m_i samples, then q_i indices below 2^b_i.
// An index is the low bits of a canonical sample; the sample p - 1 would bias it and is drawn again.
// size: [S, W]. tables: (398,), see cooperative.h. state: (26,), see docs/architecture.md. steps: (S, 4), a step's a, m, q, b, with
// m + q >= 1, so that nothing is left buffered. words: W = sum of a Montgomery words, any array where that is 0.
// out: (26 + draws,): the new state, then in the order drawn samples, Montgomery words, and indices, plain integers.
// Grid: one SIMD group, of 16 or 32 threads.
#include "challenger.h"

kernel void replay(
    const constant uint* size [[buffer(0)]],
    const device uint* tables [[buffer(1)]],
    const device uint* state [[buffer(2)]],
    const device uint* steps [[buffer(3)]],
    const device uint* words [[buffer(4)]],
    device uint* out [[buffer(5)]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {
  Cooperative p;
  uint lane = thread_index_in_simdgroup;
  cooperative_load(p, lane, tables);
  Challenger c;
  c.word = lane & 15;
  c.s = state[c.word];
  c.left = int(state[25]);

  // The stream is what was buffered, then the words.
  int buffered = int(state[24]), read = 0, end = buffered, place = 26;
  uint last = uint(buffered + (size[1] == 0u ? 0 : int(size[1]) - 1));
  ROLLED_LOOP
  for (int step = 0; step < int(size[0]); step++) {
    end += int(steps[4 * step]);
    ROLLED_LOOP
    for (; read < end; read += 8) {
      // Lane k < 8 reads word k of the block; past the last word it reads that again, which is not absorbed.
      uint at = min((c.word & 7) + read, last);
      uint value = words[select(uint(0), at - buffered, at >= uint(buffered))];
      value = select(value, state[select(uint(16), at + 16, at < uint(buffered))], at < uint(buffered));
      challenger_absorb(c, p, value, min(8, end - read), tables);
    }
    read = end;
    int samples = int(steps[4 * step + 1]), draws = samples + int(steps[4 * step + 2]), drawn = 0;
    uint mask = uint((1u << int(steps[4 * step + 3])) - 1u);
    // The bound is there for compilers that take an endless loop as undefined: 64 biased samples in one step are a sign of broken
    // hardware (p^-64), and leave the missing indices 0.
    ROLLED_LOOP
    for (int turn = 0; turn < draws + 64; turn++) {
      if (drawn >= draws) break;
      if (c.left == 0) challenger_absorb(c, p, uint(0), 0, tables);
      c.left -= 1;
      uint sample = simd_shuffle(c.s, uint(c.left));
      uint canonical = field_mul(sample, uint(1));
      bool index = drawn >= samples;
      if (!index || first_lane(canonical) != FIELD_P - 1u) {
        STORE_IF(lane == uint(0), out, uint(place + drawn), index ? canonical & mask : sample);
        drawn += 1;
      }
    }
    ROLLED_LOOP
    for (; drawn < draws; drawn++) STORE_IF(lane == uint(0), out, uint(place + drawn), uint(0));
    place += draws;
  }
  STORE_IF(lane < uint(16), out, lane, c.s);
  STORE_IF(lane < uint(9), out, lane + 16, uint(0));
  STORE_IF(lane == uint(0), out, uint(25), uint(c.left));
}
