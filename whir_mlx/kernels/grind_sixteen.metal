// One window of a grind (grind.metal), which may absorb a message before, with sixteen lanes a candidate (cooperative.h): a step
// takes a third of the time, at three times the work, so few bits are soonest met this way.
// found[0] = the largest ~w of all w in start .. start + T * tries - 1 such that absorbing w and then sampling gives a canonical
// value whose low `bits` bits are 0; 0: none. Sixteen t tries start + t, start + t + T, ...; exact, whatever the order of threads:
// candidates are given up only above a witness that is already known.
// Each candidate is one permutation: rate = the m buffered inputs, w, zeros; word 8 += m + 1; output word 7 is the sample. Its
// first external layer is that of the state with 0 for w plus w times that of a 1 in word m.
// A message is the sum of P shares of 8 words, absorbed by every SIMD group for itself: to wait for another launch takes as long as
// the permutation. It is a step like those of the search, before them, which all lanes make of the same words.
// size: [T, bits, start, tries, P]; P is 0 where nothing is absorbed. tables: (398,), see cooperative.h. state: (26,) transcript
// state, with nothing buffered where there are shares. previous: (1,) or more, first `found` of the windows before: where it is not
// 0, it is handed on and nothing is searched. shares: P * 8 words, any array where P is 0. found: (1,), 0 before; where there are
// shares (35,): the message, the new state, and then `found`; one array, since each costs the host as much as a launch.
// Grid: groups of 16 T threads in all; whole SIMD groups of 16 or 32 threads.
#include "cooperative.h"

#define GRIND_FOUND 34

kernel void grind_sixteen(
    const constant uint* size [[buffer(0)]],
    const device uint* tables [[buffer(1)]],
    const device uint* state [[buffer(2)]],
    const device uint* previous [[buffer(3)]],
    const device uint* shares [[buffer(4)]],
    device atomic_uint* found [[buffer(5)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]],
    uint3 thread_position_in_threadgroup [[thread_position_in_threadgroup]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {
  // What was known in the midst of a step, two steps in turn: one thread of a group reads it, since the second-level cache serves
  // one reader of a word after the other (H200: 14 ns each).
  THREADGROUP_ARRAY(best, 2);
  uint lane = thread_index_in_simdgroup;
  uint word = lane & 15;
  Cooperative c;
  cooperative_load(c, lane, tables);
  int candidates = int(size[0]), start = int(size[2]);
  uint mask = uint((1u << int(size[1])) - 1u);
  uniform_uint known = previous[0];
  int tries = known == 0u ? int(size[3]) : 0;
  int buffered = int(state[24]), num_shares = int(size[4]), at = num_shares > 0 ? GRIND_FOUND : 0;
  uint value = state[select(word, word + 16, word < uint(8))];
  value = select(value, uint(0), word >= uint(buffered) && word < uint(8));
  // Lanes k, k + 8, ... add up word k, each other shares; four at a time, since each is waited for.
  uint message = uint(0);
  ROLLED_LOOP
  for (int first = 0; first < num_shares; first += REDUCE_WIDTH / 2) {
    uint parts[4];
    UNROLLED_LOOP
    for (int k = 0; k < 4; k++) {
      uint share = (lane >> 3) + (first + k * (REDUCE_WIDTH / 8));
      uint part = shares[min(share, uint(num_shares - 1)) * 8 + (lane & 7)];
      parts[k] = select(uint(0), part, share < uint(num_shares));
    }
    UNROLLED_LOOP
    for (int k = 0; k < 4; k++) message = field_add(message, parts[k]);
  }
  UNROLLED_LOOP
  for (int mask = 8; mask < REDUCE_WIDTH; mask *= 2) message = field_add(message, simd_shuffle_xor(message, mask));
  value = select(value, message, word < uint(num_shares > 0 ? 8 : 0));
  int absorbed = num_shares > 0 ? 8 : buffered + 1;
  value = select(value, field_add(value, field_mul(uint(absorbed), uint(FIELD_R2))), word == uint(8));
  uint base = cooperative_external(value, lane);
  uint column = cooperative_external(select(uint(0), uint(FIELD_R2), word == uint(buffered)), lane);
  lane_index t = thread_position_in_grid.x;
  ATOMIC_MAX_IF(uint(t) == uint(0) && uint(known) != uint(0), found + at, uint(known));
  ROLLED_LOOP
  for (int j = num_shares > 0 ? -1 : 0; j < tries; j++) {
    int first = j < 0 ? 0 : start + j * candidates;
    uint w = j < 0 ? uint(0) : (t >> 4) + first;
    uint s = cooperative_full_rounds(field_add(base, field_mul(w, column)), lane, c.initial);
    // Four rounds into a step the witnesses of the step before are known, of slower groups too: at its beginning they were not,
    // and all would have gone on in vain. Nobody has met one in the first step.
    if (j > 0) {
      STORE_IF(uint(thread_position_in_threadgroup.x) == uint(0), best, uint(j & 1), uint(ATOMIC_READ(found + at)));
      GROUP_BARRIER();
      uniform_uint met = first_lane(best[j & 1]);
      if (met > ~uniform_uint(first)) break;
    }
    s = cooperative_internal_rounds(c, s, tables);
    s = cooperative_full_rounds(s, lane, c.terminal);
    if (j < 0) {
      // Nothing buffered, and eight outputs left.
      ATOMIC_MAX_AT_IF(uint(t) < uint(8), found, lane, message);
      ATOMIC_MAX_AT_IF(uint(t) < uint(16), found, lane + 8, s);
      ATOMIC_MAX_IF(uint(t) == uint(0), found + (GRIND_FOUND - 1), uint(8));
      s = select(s, uint(0), word < uint(8));
      base = cooperative_external(select(s, field_add(s, uint(FIELD_ONE)), word == uint(8)), lane);
      continue;
    }
    uint sample = field_mul(s, uint(1));
    // Candidates at or above p are no field elements.
    ATOMIC_MAX_IF(word == uint(7) && (sample & mask) == uint(0) && w < uint(FIELD_P), found + at, ~w);
  }
}
