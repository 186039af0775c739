// The duplex challenger of one SIMD group (p3-challenger, `duplex_challenger.rs`): 16 lanes hold one sponge word each and
// permute it together; lanes 16 to 31, where there are any, repeat lanes 0 to 15.
#include "cooperative.h"

struct Challenger {
  uint word;  // 0..15
  uint s;     // this lane's sponge word
  int left;   // outputs not yet taken: words left - 1 .. 0
};

template <typename Tables>
KERNEL_FUNCTION void challenger_permute(thread Challenger& c, thread Cooperative& p, Tables tables) {
  c.s = cooperative_permute(p, c.s, tables);
  c.left = 8;
}

// Absorbs `count` (1 to 8) buffered words, word k in lane k.
template <typename Tables>
KERNEL_FUNCTION void challenger_absorb(thread Challenger& c, thread Cooperative& p, uint words, int count, Tables tables) {
  c.s = select(c.s, select(uint(0), words, c.word < uint(count)), c.word < uint(8));
  c.s = select(c.s, field_add(c.s, field_mul(uint(count), uint(FIELD_R2))), c.word == uint(8));
  challenger_permute(c, p, tables);
}
