// The padding-free overwrite sponge of the leaves: a block overwrites the rate and is permuted; a last partial block
// overwrites only its own words and keeps the rest of the rate; an empty row leaves zeros.

#define RATE (WIDTH - 8)

// s = sponge over row[0 .. length).
template <typename Rows, typename Index>
KERNEL_FUNCTION void sponge_absorb_row(thread uint* s, Rows rows, Index start, int length) {
  UNROLLED_LOOP
  for (int k = 0; k < WIDTH; k++) s[k] = uint(0);
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
    poseidon2_permute(s);
  }
}
