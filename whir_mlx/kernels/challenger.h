// The duplex challenger of one thread: sponge of 16 words, rate 8 (p3-challenger, `duplex_challenger.rs`).
struct Challenger {
  uint s[16];
  uint buffer[8];
  int buffered;  // inputs not yet absorbed
  int left;      // outputs not yet taken: words left - 1 .. 0
};

KERNEL_FUNCTION void challenger_duplex(thread Challenger& c) {
  if (c.buffered > 0) {
    for (int k = 0; k < 8; k++) c.s[k] = k < c.buffered ? c.buffer[k] : uint(0);
    c.s[8] = field_add(c.s[8], field_mul(uint(c.buffered), uint(FIELD_R2)));
  }
  c.buffered = 0;
  poseidon2_16(c.s);
  c.left = 8;
}

KERNEL_FUNCTION void challenger_observe(thread Challenger& c, uint x) {
  c.left = 0;
  c.buffer[c.buffered] = x;
  c.buffered += 1;
  if (c.buffered == 8) challenger_duplex(c);
}

KERNEL_FUNCTION uint challenger_sample(thread Challenger& c) {
  if (c.buffered > 0 || c.left == 0) challenger_duplex(c);
  c.left -= 1;
  return c.s[c.left];
}
