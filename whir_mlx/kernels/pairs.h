// Pairs of a sumcheck round on N values: pair i < N / 2 is lo = ((i >> s) << (s+1)) | (i mod 2^s) and hi = lo + 2^s.
// s = 0 binds the last variable (suffix order), 2^(s+1) = N the first (prefix order).
KERNEL_FUNCTION uint pair_low(uint i, int s) { return ((i >> s) << (s + 1)) | (i & uint((1 << s) - 1)); }
