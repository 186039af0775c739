// The smallest canonical witness w < start + T * tries such that absorbing w and then sampling gives a canonical value whose
// low `bits` bits are 0. Thread t tries start + t, start + t + T, ... and stops once a witness below its next one is known.
// found[0] = the largest ~w of all witnesses met (0: none), so the smallest witness; exact, whatever the order of threads:
// a thread gives up candidates only above a witness that is already known.
// Each candidate is one permutation: rate = the m buffered inputs, w, zeros; word 8 += m + 1; output word 7 is the sample.
// Its first external layer is that of the state with 0 for w, the same for all candidates, plus w times column m of the layer:
// M4's column m mod 4, twice in the four that holds word m.
// size: [T, bits, start, tries]. state: (26,) transcript state. previous: (1,) or more, first `found` of the windows before: where it
// is not 0, it is handed on and nothing is searched. found: (1,), 0 before. Grid: groups of T threads in all. WIDTH is 16.
#include "poseidon2.h"

kernel void grind(
    const constant uint* size [[buffer(0)]],
    const device uint* state [[buffer(1)]],
    const device uint* previous [[buffer(2)]],
    device atomic_uint* found [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]],
    uint3 thread_position_in_threadgroup [[thread_position_in_threadgroup]]) {
  // What was known in the midst of a step, two steps in turn: one thread of a group reads it, since the second-level cache serves
  // one reader of a word after the other (H200: 14 ns each).
  THREADGROUP_ARRAY(best, 2);
  THREADGROUP_ARRAY(base, WIDTH);
  lane_index t = thread_position_in_grid.x;
  int threads = int(size[0]), start = int(size[2]);
  int buffered = int(state[24]);
  uint mask = uint((1u << int(size[1])) - 1u);
  uint capacity = field_add(uint(state[8]), field_mul(uint(buffered + 1), uint(FIELD_R2)));
  uniform_uint known = previous[0];
  int tries = known == 0u ? int(size[3]) : 0;
  uint s[WIDTH];
  UNROLLED_LOOP
  for (int k = 0; k < 8; k++) {
    s[k] = k < buffered ? uint(state[16 + k]) : uint(0);
    s[k + 8] = k == 0 ? capacity : uint(state[8 + k]);
  }
  poseidon2_external<WIDTH>(s);
  UNROLLED_LOOP
  for (int k = 0; k < WIDTH; k++) STORE_IF(uint(thread_position_in_threadgroup.x) == uint(0), base, uint(k), s[k]);
  ATOMIC_MAX_IF(uint(t) == uint(0) && uint(known) != uint(0), found, uint(known));
  GROUP_BARRIER();
  ROLLED_LOOP
  for (int j = 0; j < tries; j++) {
    int first = start + j * threads;
    uint w = t + first;
    uint word = field_mul(w, uint(FIELD_R2));
    uint twice = field_double(word);
    uint thrice = field_add(twice, word);
    UNROLLED_LOOP
    for (int k = 0; k < 4; k++) {
      uint product = k == (buffered & 3) ? twice : (k == ((buffered + 3) & 3) ? thrice : word);
      uint double_product = field_double(product);
      s[k] = field_add(uint(base[k]), buffered < 4 ? double_product : product);
      s[k + 4] = field_add(uint(base[k + 4]), buffered < 4 ? product : double_product);
      s[k + 8] = field_add(uint(base[k + 8]), product);
      s[k + 12] = field_add(uint(base[k + 12]), product);
    }
    bool stop = false;
    ROLLED_LOOP
    for (int r = 0; r < 4; r++) {
      // Two rounds into a step the witnesses of the step before are known, of slower groups too: at its beginning they were not, and
      // all would go on in vain. Nobody has met one in the first step.
      if (r == 2 && j > 0) {
        STORE_IF(uint(thread_position_in_threadgroup.x) == uint(0), best, uint(j & 1), uint(ATOMIC_READ(found)));
        GROUP_BARRIER();
        uniform_uint met = best[j & 1];
        stop = met > ~uniform_uint(first);
        if (stop) break;
      }
      poseidon2_initial_round(Width<WIDTH>(), s, r);
    }
    if (stop) break;
    poseidon2_later_rounds(Width<WIDTH>(), s);
    uint sample = field_mul(poseidon2_external_word<WIDTH, 7>(s), uint(1));
    // Candidates at or above p are no field elements.
    ATOMIC_MAX_IF((sample & mask) == uint(0) && w < uint(FIELD_P), found, ~w);
  }
}
