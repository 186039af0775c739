// The duplex challenger of one SIMD group (p3-challenger, `duplex_challenger.rs`): 16 lanes hold one sponge word each and
// permute it together; lanes 16 to 31, where there are any, repeat lanes 0 to 15.
#include "cooperative.h"

struct Challenger {
  uint word;  // 0..15
  uint s;     // this lane's sponge word
  int left;   // outputs not yet taken: words left - 1 .. 0
};

// Absorbs `count` buffered words, word k in lane k, the rest of the rate 0, and permutes; 0 words permute alone.
template <typename Tables>
KERNEL_FUNCTION void challenger_absorb(thread Challenger& c, thread Cooperative& p, uint words, int count, Tables tables) {
  c.s = select(c.s, select(uint(0), words, c.word < uint(count)), c.word < uint(count > 0 ? 8 : 0));
  c.s = select(c.s, field_add(c.s, field_mul(uint(count), uint(FIELD_R2))), c.word == uint(8));
  c.s = cooperative_permute(p, c.s, tables);
  c.left = 8;
}
