// Pairs of a sumcheck round on N values: pair i < N / 2 is lo = ((i >> s) << (s+1)) | (i mod 2^s) and hi = lo + 2^s.
// s = 0 binds the last variable (suffix order), 2^(s+1) = N the first (prefix order).
KERNEL_FUNCTION uint pair_low(uint i, int s) { return ((i >> s) << (s + 1)) | (i & uint((1 << s) - 1)); }

struct Pair {
  Quad low, high;
};
// The variable that tells low from high bound at r.
KERNEL_FUNCTION Quad fold_pair(Pair x, Quad r) { return ext_add(x.low, ext_mul(ext_sub(x.high, x.low), r)); }

template <typename X>
KERNEL_FUNCTION Pair load_pair(X x, uint i, int s) {
  uint low = pair_low(i, s);
  return Pair{load_quad(x, low), load_quad(x, low + (1 << s))};
}
// For s = 0, i being the threads' own order: eight consecutive words.
template <typename X>
KERNEL_FUNCTION Pair load_neighbours(X x, lane_index i) {
  uint v[8];
  load_words_8(v, x, i * 8);
  return Pair{Quad{v[0], v[1], v[2], v[3]}, Quad{v[4], v[5], v[6], v[7]}};
}
template <typename X>
KERNEL_FUNCTION void store_neighbours(X x, lane_index i, Pair pair) {
  uint v[8] = {pair.low.x, pair.low.y, pair.low.z, pair.low.w, pair.high.x, pair.high.y, pair.high.z, pair.high.w};
  store_words_8(x, i * 8, v);
}
