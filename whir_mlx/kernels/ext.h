// The extension F[X] / (X^4 - 11): Quad{x, y, z, w} is x + y X + z X^2 + w X^3, Montgomery words.
#define EXT_W 0x0000000bu

KERNEL_FUNCTION Quad ext_add(Quad a, Quad b) {
  return Quad{field_add(a.x, b.x), field_add(a.y, b.y), field_add(a.z, b.z), field_add(a.w, b.w)};
}
KERNEL_FUNCTION Quad ext_sub(Quad a, Quad b) {
  return Quad{field_sub(a.x, b.x), field_sub(a.y, b.y), field_sub(a.z, b.z), field_sub(a.w, b.w)};
}
KERNEL_FUNCTION Quad ext_zero() { return Quad{uint(0), uint(0), uint(0), uint(0)}; }
KERNEL_FUNCTION Quad ext_one() { return Quad{uint(FIELD_ONE), uint(0), uint(0), uint(0)}; }

// 11 x mod p = 8x + 2x + x by doublings.
KERNEL_FUNCTION uint field_mul_11(uint x) {
  uint x2 = field_double(x);
  return field_add(field_add(field_double(field_double(x2)), x2), x);
}

// Schoolbook, each coefficient one sum of four products (below 4 p^2 < 2^64) and one reduction: X^4 = 11 is moved
// into b beforehand. 16 wide products and 4 reductions against 16 of each.
KERNEL_FUNCTION Quad ext_mul(Quad a, Quad b) {
  uint y11 = field_mul_11(b.y);
  uint z11 = field_mul_11(b.z);
  uint w11 = field_mul_11(b.w);
  Quad c;
  c.x = wide_reduce_4(wide_mad(wide_mad(wide_mad(wide_mul(a.x, b.x), a.y, w11), a.z, z11), a.w, y11));
  c.y = wide_reduce_4(wide_mad(wide_mad(wide_mad(wide_mul(a.x, b.y), a.y, b.x), a.z, w11), a.w, z11));
  c.z = wide_reduce_4(wide_mad(wide_mad(wide_mad(wide_mul(a.x, b.z), a.y, b.y), a.z, b.x), a.w, w11));
  c.w = wide_reduce_4(wide_mad(wide_mad(wide_mad(wide_mul(a.x, b.w), a.y, b.z), a.z, b.y), a.w, b.x));
  return c;
}

// a^2: ten products, the mixed ones doubled by an argument. Two products are below 2 p^2 < 2^32 p.
KERNEL_FUNCTION Quad ext_square(Quad a) {
  uint x2 = field_double(a.x), y2 = field_double(a.y);
  uint z11 = field_mul_11(a.z), w11 = field_mul_11(a.w);
  Quad c;
  c.x = wide_reduce_4(wide_mad(wide_mad(wide_mul(a.x, a.x), y2, w11), a.z, z11));
  c.y = wide_reduce(wide_mad(wide_mul(x2, a.y), field_double(z11), a.w));
  c.z = wide_reduce_4(wide_mad(wide_mad(wide_mul(x2, a.z), a.y, a.y), a.w, w11));
  c.w = wide_reduce(wide_mad(wide_mul(x2, a.w), y2, a.z));
  return c;
}

// Extension times base.
KERNEL_FUNCTION Quad ext_scale(Quad a, uint b) {
  return Quad{field_mul(a.x, b), field_mul(a.y, b), field_mul(a.z, b), field_mul(a.w, b)};
}

// x0 c0 + x1 c1 + x2 c2 + x3 c3, base times extension: one reduction a coefficient.
KERNEL_FUNCTION Quad ext_scale_4(uint x0, Quad c0, uint x1, Quad c1, uint x2, Quad c2, uint x3, Quad c3) {
  return Quad{wide_reduce_4(wide_mad(wide_mad(wide_mad(wide_mul(x0, c0.x), x1, c1.x), x2, c2.x), x3, c3.x)),
              wide_reduce_4(wide_mad(wide_mad(wide_mad(wide_mul(x0, c0.y), x1, c1.y), x2, c2.y), x3, c3.y)),
              wide_reduce_4(wide_mad(wide_mad(wide_mad(wide_mul(x0, c0.z), x1, c1.z), x2, c2.z), x3, c3.z)),
              wide_reduce_4(wide_mad(wide_mad(wide_mad(wide_mul(x0, c0.w), x1, c1.w), x2, c2.w), x3, c3.w))};
}

// condition ? b : a.
template <typename Condition>
KERNEL_FUNCTION Quad ext_select(Quad a, Quad b, Condition condition) {
  return Quad{select(a.x, b.x, condition), select(a.y, b.y, condition), select(a.z, b.z, condition), select(a.w, b.w, condition)};
}

// a^-1 (0 for 0), by the tower: with a = e + o X, e = x + z Y, o = y + w Y, Y = X^2, Y^2 = 11:
// norm = e^2 - Y o^2 = n + m Y, and (n + m Y)^-1 = (n - m Y) / (n^2 - 11 m^2).
KERNEL_FUNCTION Quad ext_inverse(Quad a) {
  uint n = field_sub(field_add(field_mul(a.x, a.x), field_mul_11(field_mul(a.z, a.z))),
                     field_mul_11(field_double(field_mul(a.y, a.w))));
  uint m = field_sub(field_double(field_mul(a.x, a.z)),
                     field_add(field_mul(a.y, a.y), field_mul_11(field_mul(a.w, a.w))));
  uint d = field_inverse(field_sub(field_mul(n, n), field_mul_11(field_mul(m, m))));
  uint s = field_mul(n, d);
  uint t = field_neg(field_mul(m, d));
  // (e - o X) (s + t Y)
  return Quad{field_add(field_mul(a.x, s), field_mul_11(field_mul(a.z, t))),
              field_neg(field_add(field_mul(a.y, s), field_mul_11(field_mul(a.w, t)))),
              field_add(field_mul(a.x, t), field_mul(a.z, s)),
              field_neg(field_add(field_mul(a.y, t), field_mul(a.w, s)))};
}
