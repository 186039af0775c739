// One step of the transcript: absorb a run of words, then a message of W <= 8 words, the sum of P shares (none where P is 0), then
// two more runs; then sample words, then draw indices below 2^index_bits, then sample words again.
// An index is the low bits of a canonical sample; the sample p - 1 would bias it and is drawn again.
// Where `ground` is 1, first is what grind.metal found, one word: its complement is the canonical witness, which is absorbed, and the
// next sample decides about it and goes to `message`.
// size: [words of first, of second, of third, samples, indices, index_bits, P, W, samples after the indices, ground]. tables:
// (398,), see cooperative.h. state: (26,), see docs/architecture.md. first, second, third: Montgomery words (any array where the
// length is 0). out: the new state, two zeros, the message's 8 words (the sum, or the witness and its sample, both canonical: P is 0
// then), the samples, Montgomery words, and the indices, plain integers; one array, since each costs the host as much as a launch.
// Grid: one SIMD group, of 16 or 32 threads.
#include "challenger.h"

#define CHALLENGE_MESSAGE 28
#define CHALLENGE_SAMPLES 36

kernel void challenge(
    const constant uint* size [[buffer(0)]],
    const device uint* tables [[buffer(1)]],
    const device uint* state [[buffer(2)]],
    const device uint* first [[buffer(3)]],
    const device uint* second [[buffer(4)]],
    const device uint* third [[buffer(5)]],
    const device uint* shares [[buffer(6)]],
    device uint* out [[buffer(7)]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {
  Cooperative p;
  cooperative_load(p, thread_index_in_simdgroup, tables);
  Challenger c;
  c.word = thread_index_in_simdgroup & 15;
  uint lane = thread_index_in_simdgroup;
  c.s = state[c.word];
  c.left = int(state[25]);

  // The stream: what was buffered, then the runs. Lane k < 8 reads word k of each block of 8.
  int num_shares = int(size[6]), message_words = num_shares > 0 ? int(size[7]) : 0;
  int buffered = int(state[24]);
  int end1 = buffered + int(size[0]), end_message = end1 + message_words;
  int end2 = end_message + int(size[1]), end = end2 + int(size[2]);
  // Word k of the message in lanes k and k + 8, which add up every other share each; eight at a time, since each is waited for.
  uint summed = uint(0);
  uint word = min(c.word & 7, uint(message_words > 0 ? message_words - 1 : 0));
  ROLLED_LOOP
  for (int first_share = 0; first_share < num_shares; first_share += 16) {
    uint values[8];
    UNROLLED_LOOP
    for (int k = 0; k < 8; k++) {
      uint share = (c.word >> 3) + (first_share + 2 * k);
      uint value = shares[min(share, uint(num_shares - 1)) * message_words + word];
      values[k] = select(uint(0), value, share < uint(num_shares));
    }
    UNROLLED_LOOP
    for (int k = 0; k < 8; k++) summed = field_add(summed, values[k]);
  }
  summed = field_add(summed, simd_shuffle_xor(summed, 8));

  uint mask = uint((1u << int(size[5])) - 1u);
  bool ground = int(size[9]) != 0;
  int wanted = int(size[3]), last_index = wanted + int(size[4]), total = last_index + int(size[8]);
  // Draw n is index n - wanted, and lies behind all samples.
  int indices = CHALLENGE_SAMPLES + int(size[8]);
  // Without new words those that were buffered still wait.
  uint words = state[16 + (c.word & 7)];
  int block = end > buffered ? 0 : end, waiting = end > buffered ? 0 : buffered, drawn = ground ? -1 : 0;
  uint decided = uint(0);
  // One permutation a turn. The bound is there for compilers that take an endless loop as undefined: 64 biased samples in one step
  // are a sign of broken hardware (p^-64), and leave the missing indices 0 in a proof that no verifier accepts.
  ROLLED_LOOP
  for (int turn = 0; turn < end + total + 64; turn++) {
    if (block < end) {
      uint at = (c.word & 7) + block;
      // An index past a run's end reads its first word, which the next line replaces.
      uint value = state[select(uint(16), at + 16, at < uint(buffered))];
      uint word_of_first = first[select(uint(0), at - buffered, at >= uint(buffered) && at < uint(end1))];
      if (ground) word_of_first = field_mul(~word_of_first, uint(FIELD_R2));
      value = select(word_of_first, value, at < uint(buffered));
      value = select(simd_shuffle(summed, (at - end1) & 7), value, at < uint(end1));
      value = select(second[select(uint(0), at - end_message, at >= uint(end_message) && at < uint(end2))], value, at < uint(end_message));
      words = select(third[select(uint(0), at - end2, at >= uint(end2) && at < uint(end))], value, at < uint(end2));
      waiting = min(8, end - block);
      block += 8;
    }
    bool all_read = block >= end;
    if (all_read && drawn >= total && waiting < 8) break;
    if (waiting > 0 || c.left == 0) {
      challenger_absorb(c, p, words, waiting, tables);
      waiting = 0;
    }
    // Eight outputs at most.
    ROLLED_LOOP
    for (int k = 0; k < 8; k++) {
      if (!all_read || c.left == 0 || drawn >= total) break;
      c.left -= 1;
      uint sample = simd_shuffle(c.s, uint(c.left));
      if (drawn < 0) {
        decided = field_mul(sample, uint(1));
        drawn = 0;
      } else if (drawn < wanted || drawn >= last_index) {
        STORE_IF(lane == uint(0), out, uint(CHALLENGE_SAMPLES + (drawn < wanted ? drawn : drawn - int(size[4]))), sample);
        drawn += 1;
      } else {
        uint value = field_mul(sample, uint(1));
        if (first_lane(value) != FIELD_P - 1u) {
          STORE_IF(lane == uint(0), out, uint(indices + drawn), value & mask);
          drawn += 1;
        }
      }
    }
  }
  ROLLED_LOOP
  for (int missing = drawn > wanted ? drawn : wanted; missing < last_index; missing++) {
    STORE_IF(lane == uint(0), out, uint(indices + missing), uint(0));
  }

  uint told = select(uint(0), summed, lane < uint(message_words));
  if (ground) told = select(select(uint(0), decided, lane == uint(1)), ~uint(first[0]), lane == uint(0));
  STORE_IF(lane < uint(8), out, lane + CHALLENGE_MESSAGE, told);
  STORE_IF(lane < uint(16), out, lane, c.s);
  STORE_IF(lane < uint(8), out, lane + 16, select(uint(0), words, lane < uint(waiting)));
  // Outputs are gone as soon as an input waits.
  uint counts = select(select(uint(0), uint(waiting > 0 ? 0 : c.left), lane == uint(1)), uint(waiting), lane == uint(0));
  STORE_IF(lane < uint(4), out, lane + 24, counts);
}
