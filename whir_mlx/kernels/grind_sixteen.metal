// One window of a grind (grind.metal) with sixteen lanes a candidate (cooperative.h): a step takes a third of the time, at three
// times the work, so few bits are soonest met this way.
// found[0] = the largest ~w of all w in start .. start + T * tries - 1 such that absorbing w and then sampling gives a canonical
// value whose low `bits` bits are 0; 0: none. Sixteen t tries start + t, start + t + T, ...; exact, whatever the order of threads:
// candidates are given up only above a witness that is already known.
// Each candidate is one permutation: rate = the m buffered inputs, w, zeros; word 8 += m + 1; output word 7 is the sample. Its
// first external layer is that of the state with 0 for w plus w times that of a 1 in word m.
// size: [T, bits, start, tries]. tables: (398,), see cooperative.h. state: (26,) transcript state. previous: (1,) or more, first `found`
// of the windows before: where it is not 0, it is handed on and nothing is searched. found: (1,), 0 before.
// Grid: groups of 16 T threads in all; whole SIMD groups of 16 or 32 threads.
#include "cooperative.h"

kernel void grind_sixteen(
    const constant uint* size [[buffer(0)]],
    const device uint* tables [[buffer(1)]],
    const device uint* state [[buffer(2)]],
    const device uint* previous [[buffer(3)]],
    device atomic_uint* found [[buffer(4)]],
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
  int buffered = int(state[24]);
  uint value = state[select(word, word + 16, word < uint(8))];
  value = select(value, uint(0), word >= uint(buffered) && word < uint(8));
  value = select(value, field_add(value, field_mul(uint(buffered + 1), uint(FIELD_R2))), word == uint(8));
  uint base = cooperative_external(value, lane);
  uint column = cooperative_external(select(uint(0), uint(FIELD_R2), word == uint(buffered)), lane);
  lane_index t = thread_position_in_grid.x;
  ATOMIC_MAX_IF(uint(t) == uint(0) && uint(known) != uint(0), found, uint(known));
  ROLLED_LOOP
  for (int j = 0; j < tries; j++) {
    int first = start + j * candidates;
    uint w = (t >> 4) + first;
    uint s = cooperative_full_rounds(field_add(base, field_mul(w, column)), lane, c.initial);
    // Four rounds into a step the witnesses of the step before are known, of slower groups too: at its beginning they were not,
    // and all would have gone on in vain. Nobody has met one in the first step.
    if (j > 0) {
      STORE_IF(uint(thread_position_in_threadgroup.x) == uint(0), best, uint(j & 1), uint(ATOMIC_READ(found)));
      GROUP_BARRIER();
      uniform_uint met = first_lane(best[j & 1]);
      if (met > ~uniform_uint(first)) break;
    }
    s = cooperative_internal_rounds(c, s, tables);
    s = cooperative_full_rounds(s, lane, c.terminal);
    uint sample = field_mul(s, uint(1));
    // Candidates at or above p are no field elements.
    ATOMIC_MAX_IF(word == uint(7) && (sample & mask) == uint(0) && w < uint(FIELD_P), found, ~w);
  }
}
