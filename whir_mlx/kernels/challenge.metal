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
  int indices = CHALLENGE_SAMPLES + int(size[8]);  // where draw 0 would be, if it were an index
  // Outputs are drawn up to eight at a time, by as many lanes, as if none of them were biased. Where one was, which 2^31 of them are
  // not, the step is done again with its indices one by one. Draw n is written by lane n mod 8, in either case.
  uint words = uint(0), decided = uint(0);
  int waiting = 0, drawn = 0;
  ROLLED_LOOP
  for (int one_by_one = 0; one_by_one < 2; one_by_one++) {
    c.s = state[c.word];
    c.left = int(state[25]);
    // Without new words those that were buffered still wait.
    words = state[16 + (c.word & 7)];
    waiting = end > buffered ? 0 : buffered;
    drawn = ground ? -1 : 0;
    uint biased = uint(0);
    // What is read of each run for the next block, on its way while this block is permuted. The first turn reads alone.
    uint of_state = uint(0), of_first = uint(0), of_second = uint(0), of_third = uint(0);
    int block = end > buffered ? -8 : end;
    // One permutation a turn. The bound is there for compilers that take an endless loop as undefined: 64 biased samples in one
    // step are a sign of broken hardware (p^-64), and leave the missing indices 0 in a proof that no verifier accepts.
    ROLLED_LOOP
    for (int turn = 0; turn < end + total + 65; turn++) {
      if (block < end) {
        uint at = (c.word & 7) + block;
        if (ground) of_first = field_mul(~of_first, uint(FIELD_R2));
        words = select(of_third, of_second, at < uint(end2));
        words = select(words, simd_shuffle(summed, (at - end1) & 7), at < uint(end_message));
        words = select(words, of_first, at < uint(end1));
        words = select(words, of_state, at < uint(buffered));
        waiting = block < 0 ? 0 : min(8, end - block);
        block += 8;
        // An index past a run's end reads its first word, which is not taken.
        at = (c.word & 7) + block;
        of_state = state[select(uint(16), at + 16, at < uint(buffered))];
        of_first = first[select(uint(0), at - buffered, at >= uint(buffered) && at < uint(end1))];
        of_second = second[select(uint(0), at - end_message, at >= uint(end_message) && at < uint(end2))];
        of_third = third[select(uint(0), at - end2, at >= uint(end2) && at < uint(end))];
        if (block == 0) continue;
      }
      bool all_read = block >= end;
      if (all_read && drawn >= total && waiting < 8) break;
      if (waiting > 0 || c.left == 0) {
        challenger_absorb(c, p, words, waiting, tables);
        waiting = 0;
      }
      ROLLED_LOOP
      for (int k = 0; k < 8; k++) {
        if (!all_read || c.left == 0 || drawn >= total) break;
        bool index = drawn >= wanted && drawn < last_index;
        int stop = drawn < 0 ? 0 : drawn < wanted ? wanted : index ? last_index : total;
        int count = index && one_by_one != 0 ? 1 : min(c.left, stop - drawn);
        // Outputs are taken from the highest down; lanes without one look at the last one.
        uint ahead = (lane - drawn) & 7;
        uint sample = simd_shuffle(c.s, c.left - 1 - min(ahead, uint(count - 1)));
        uint value = field_mul(sample, uint(1));
        c.left -= count;
        int fresh = count;
        if (drawn < 0) {
          decided = value;
        } else {
          if (index) {
            biased = select(biased, uint(1), value == uint(FIELD_P - 1u));
            if (one_by_one != 0 && first_lane(value) == FIELD_P - 1u) fresh = 0;
            sample = value & mask;
          }
          // Indices lie behind all samples.
          int shift = index ? indices : drawn < wanted ? CHALLENGE_SAMPLES : CHALLENGE_SAMPLES - int(size[4]);
          STORE_IF(lane < uint(8) && ahead < uint(count), out, ahead + (drawn + shift), sample);
        }
        drawn += fresh;
      }
    }
    UNROLLED_LOOP
    for (int apart = 1; apart < 8; apart *= 2) biased = biased | simd_shuffle_xor(biased, apart);
    if (first_lane(biased) == 0u) break;
  }
  ROLLED_LOOP
  for (int missing = drawn > wanted ? drawn : wanted; missing < last_index; missing++) {
    STORE_IF(lane == uint(missing & 7), out, uint(indices + missing), uint(0));
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
