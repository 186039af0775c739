// Sums over the threads of one vector: a SIMD group on a GPU (REDUCE_WIDTH 32), the vector of the CPU target.

// x summed over the vector; every thread gets the sum.
KERNEL_FUNCTION uint vector_sum(uint x) {
  UNROLLED_LOOP
  for (int mask = REDUCE_WIDTH / 2; mask >= 1; mask /= 2) x = field_add(x, simd_shuffle_xor(x, mask));
  return x;
}
KERNEL_FUNCTION Quad vector_sum_ext(Quad a) { return Quad{vector_sum(a.x), vector_sum(a.y), vector_sum(a.z), vector_sum(a.w)}; }

// out[at] = a, written by the vector's first thread.
template <typename Out>
KERNEL_FUNCTION void store_share(Out out, int at, Quad a, uint lane) {
  STORE_IF(lane == uint(0), out, uint(4 * at), a.x);
  STORE_IF(lane == uint(0), out, uint(4 * at + 1), a.y);
  STORE_IF(lane == uint(0), out, uint(4 * at + 2), a.z);
  STORE_IF(lane == uint(0), out, uint(4 * at + 3), a.w);
}
