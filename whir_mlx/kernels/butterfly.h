// Discrete Fourier transforms of 2, 4, 8 and 16 words in a thread's own array: natural order in, bit-reversed order out,
//   v[rev(k)] = sum_j v[j] * g^(j k),  g = g(log2 R), the crate's generator of that order.
// Radix 2 decimation in frequency, level by level; the few roots are constants (Montgomery words of g(4)^i, i < 8).
#include "field.h"
#include "butterfly_roots.h"

template <int R>
KERNEL_FUNCTION void butterfly(thread uint* v) {
  UNROLLED_LOOP
  for (int span = R / 2; span >= 1; span /= 2) {
    UNROLLED_LOOP
    for (int i = 0; i < R / 2; i++) {
      int j = i % span;
      int low = (i / span) * 2 * span + j;
      uint sum = field_add(v[low], v[low + span]);
      uint difference = field_sub(v[low], v[low + span]);
      v[low] = sum;
      v[low + span] = j == 0 ? difference : field_mul(difference, uint(BUTTERFLY_ROOTS[j * (8 / span)]));
    }
  }
}

// k < R with its log2 R bits reversed. A constant wherever k is.
KERNEL_FUNCTION int reverse_small(int k, int R) {
  int reversed = 0;
  UNROLLED_LOOP
  for (int bit = 1; bit < 16; bit *= 2) {
    if (bit < R) reversed = reversed * 2 + ((k & bit) != 0 ? 1 : 0);
  }
  return reversed;
}
