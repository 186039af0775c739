#include "field.h"

// M4 = [2 3 1 1; 1 2 3 1; 1 1 2 3; 3 1 1 2] on four words, by 9 additions and 2 doublings.
KERNEL_FUNCTION void poseidon2_mix4(thread uint* s) {
  uint s01 = field_add(s[0], s[1]);
  uint s23 = field_add(s[2], s[3]);
  uint sum = field_add(s01, s23);
  uint sum1 = field_add(sum, s[1]);
  uint sum3 = field_add(sum, s[3]);
  uint s0 = s[0];
  s[0] = field_add(sum1, s01);
  s[1] = field_add(sum1, field_double(s[2]));
  s[2] = field_add(sum3, s23);
  s[3] = field_add(sum3, field_double(s0));
}
