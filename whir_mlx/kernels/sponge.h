// The padding-free overwrite sponge of the leaves: a block overwrites the rate and is permuted; a last partial block
// overwrites only its own words and keeps the rest of the rate; an empty row leaves zeros.

#define RATE (WIDTH - 8)

// Words 0 to 7 of s = sponge over row[0 .. length); the others are undefined after it.
template <typename Rows, typename Index>
KERNEL_FUNCTION void sponge_absorb_row(thread uint* s, Rows rows, Index start, int length) {
  UNROLLED_LOOP
  for (int k = 0; k < RATE; k++) s[k] = uint(0);
  ROLLED_LOOP
  for (int block = 0; block < length; block += RATE) {
    if (block + RATE <= length) {
      UNROLLED_LOOP
      for (int part = 0; part < RATE; part += 8) load_words_8(s + part, rows, start + (block + part));
    } else {
      UNROLLED_LOOP
      for (int k = 0; k < RATE; k++) {
        if (block + k < length) s[k] = rows[start + (block + k)];
      }
    }
    if (block == 0) {
      poseidon2_external_of_rate<WIDTH>(s);
    } else {
      poseidon2_external<WIDTH>(s);
    }
    poseidon2_rounds(Width<WIDTH>(), s);
    // A whole block overwrites the rate: of the layer before it the capacity alone is wanted, of the last layer the digest.
    if (block + RATE >= length) {
      poseidon2_external_eight<WIDTH, 0>(s);
    } else if (block + 2 * RATE <= length) {
      poseidon2_external_eight<WIDTH, RATE>(s);
    } else {
      poseidon2_external<WIDTH>(s);
    }
  }
}
