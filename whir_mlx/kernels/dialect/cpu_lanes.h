// The words of the kernel dialect for LANES threads at once: a `uint` is a vector, one lane a thread, threads running
// along x. `int`, and the y and z of a position, are the same in all lanes; so control flow on them needs no masks.
typedef uint32_t vector_u32 __attribute__((vector_size(4 * LANES)));
typedef int32_t vector_i32 __attribute__((vector_size(4 * LANES)));

struct Mask {
  vector_i32 bits;
};

KERNEL_FUNCTION vector_u32 lane_numbers() {
  vector_u32 v;
  for (int i = 0; i < LANES; i++) v[i] = uint32_t(i);
  return v;
}

struct uint {
  vector_u32 v;
  uint() = default;
  KERNEL_FUNCTION_METHOD uint(vector_u32 value) : v(value) {}
  KERNEL_FUNCTION_METHOD uint(uint32_t value) : v(vector_u32{} + value) {}
  KERNEL_FUNCTION_METHOD uint(int32_t value) : v(vector_u32{} + uint32_t(value)) {}
  KERNEL_FUNCTION_METHOD uint& operator+=(uint o) { v += o.v; return *this; }
  KERNEL_FUNCTION_METHOD uint& operator-=(uint o) { v -= o.v; return *this; }
};

// A word that is the same in all threads.
typedef uint32_t uniform_uint;

// Consecutive lanes have consecutive indices: loads and stores are contiguous.
struct lane_index {
  uint32_t base;
  KERNEL_FUNCTION_METHOD operator uint() const { return uint(lane_numbers() + base); }
};
// Consecutive lanes are `step` apart.
struct step_index {
  uint32_t base, step;
  KERNEL_FUNCTION_METHOD operator uint() const { return uint(lane_numbers() * step + base); }
};
struct Position {
  lane_index x;
  uint32_t y, z;
};

#define UINT_OPERATOR(op) \
  KERNEL_FUNCTION uint operator op(uint a, uint b) { return uint(a.v op b.v); } \
  KERNEL_FUNCTION uint operator op(uint a, int32_t b) { return uint(a.v op uint32_t(b)); } \
  KERNEL_FUNCTION uint operator op(uint a, uint32_t b) { return uint(a.v op b); } \
  KERNEL_FUNCTION uint operator op(int32_t a, uint b) { return uint(a).v op b.v; } \
  KERNEL_FUNCTION uint operator op(uint32_t a, uint b) { return uint(a).v op b.v; }
UINT_OPERATOR(+)
UINT_OPERATOR(-)
UINT_OPERATOR(*)
UINT_OPERATOR(/)
UINT_OPERATOR(%)
UINT_OPERATOR(&)
UINT_OPERATOR(|)
UINT_OPERATOR(^)
UINT_OPERATOR(>>)
UINT_OPERATOR(<<)
KERNEL_FUNCTION uint operator~(uint a) { return uint(~a.v); }
#undef UINT_OPERATOR
#define UINT_COMPARE(op) \
  KERNEL_FUNCTION Mask operator op(uint a, uint b) { return Mask{(vector_i32)(a.v op b.v)}; }
UINT_COMPARE(<)
UINT_COMPARE(<=)
UINT_COMPARE(>)
UINT_COMPARE(>=)
UINT_COMPARE(==)
UINT_COMPARE(!=)
#undef UINT_COMPARE
KERNEL_FUNCTION Mask operator&&(Mask a, Mask b) { return Mask{a.bits & b.bits}; }
KERNEL_FUNCTION Mask operator||(Mask a, Mask b) { return Mask{a.bits | b.bits}; }

#define INDEX_OPERATORS(T) \
  KERNEL_FUNCTION lane_index operator+(lane_index a, T b) { return lane_index{a.base + uint32_t(b)}; } \
  KERNEL_FUNCTION lane_index operator+(T b, lane_index a) { return lane_index{a.base + uint32_t(b)}; } \
  KERNEL_FUNCTION step_index operator*(lane_index a, T b) { return step_index{a.base * uint32_t(b), uint32_t(b)}; } \
  KERNEL_FUNCTION step_index operator*(T b, lane_index a) { return a * b; } \
  KERNEL_FUNCTION step_index operator+(step_index a, T b) { return step_index{a.base + uint32_t(b), a.step}; } \
  KERNEL_FUNCTION step_index operator+(T b, step_index a) { return a + b; } \
  KERNEL_FUNCTION step_index operator*(step_index a, T b) { return step_index{a.base * uint32_t(b), a.step * uint32_t(b)}; } \
  KERNEL_FUNCTION step_index operator*(T b, step_index a) { return a * b; } \
  KERNEL_FUNCTION uint operator>>(lane_index a, T b) { return uint(a) >> uint(uint32_t(b)); } \
  KERNEL_FUNCTION uint operator&(lane_index a, T b) { return uint(a) & uint(uint32_t(b)); }
INDEX_OPERATORS(int32_t)
INDEX_OPERATORS(uint32_t)
#undef INDEX_OPERATORS

#if (defined(__AVX512F__) && LANES == 16) || (defined(__AVX2__) && LANES == 8)
#define GATHER_FUNCTION KERNEL_FUNCTION
#else
#define GATHER_FUNCTION LARGE_FUNCTION
#endif
GATHER_FUNCTION uint gather(const uint32_t* p, vector_u32 index) {
#if defined(__AVX512F__) && LANES == 16
  return uint((vector_u32)_mm512_i32gather_epi32((__m512i)index, p, 4));
#elif defined(__AVX2__) && LANES == 8
  return uint((vector_u32)_mm256_i32gather_epi32((const int*)p, (__m256i)index, 4));
#else
  vector_u32 v;
  for (int i = 0; i < LANES; i++) v[i] = p[index[i]];
  return uint(v);
#endif
}

// What `p[i]` of a writable buffer gives: assign to store, read to load.
struct Contiguous {
  uint32_t* p;
  KERNEL_FUNCTION_METHOD operator uint() const {
    vector_u32 v;
    memcpy(&v, p, sizeof v);
    return uint(v);
  }
  KERNEL_FUNCTION_METHOD void operator=(uint x) const { memcpy(p, &x.v, sizeof x.v); }
};
struct Scattered {
  uint32_t* p;
  vector_u32 index;
  KERNEL_FUNCTION_METHOD operator uint() const { return gather(p, index); }
  KERNEL_FUNCTION_METHOD void operator=(uint x) const {
    for (int i = 0; i < LANES; i++) p[index[i]] = x.v[i];
  }
};
struct const_buffer {
  const uint32_t* p;
  KERNEL_FUNCTION_METHOD uint operator[](lane_index i) const {
    vector_u32 v;
    memcpy(&v, p + i.base, sizeof v);
    return uint(v);
  }
  KERNEL_FUNCTION_METHOD uint operator[](step_index i) const { return gather(p + i.base, lane_numbers() * i.step); }
  KERNEL_FUNCTION_METHOD uint operator[](uint i) const { return gather(p, i.v); }
  KERNEL_FUNCTION_METHOD uint32_t operator[](int32_t i) const { return p[i]; }
  KERNEL_FUNCTION_METHOD uint32_t operator[](uint32_t i) const { return p[i]; }
  KERNEL_FUNCTION_METHOD const_buffer operator+(int64_t n) const { return const_buffer{p + n}; }
};
struct buffer {
  uint32_t* p;
  KERNEL_FUNCTION_METHOD Contiguous operator[](lane_index i) const { return Contiguous{p + i.base}; }
  KERNEL_FUNCTION_METHOD Scattered operator[](step_index i) const { return Scattered{p + i.base, lane_numbers() * i.step}; }
  KERNEL_FUNCTION_METHOD Scattered operator[](uint i) const { return Scattered{p, i.v}; }
  KERNEL_FUNCTION_METHOD uint32_t& operator[](int32_t i) const { return p[i]; }
  KERNEL_FUNCTION_METHOD uint32_t& operator[](uint32_t i) const { return p[i]; }
  KERNEL_FUNCTION_METHOD buffer operator+(int64_t n) const { return buffer{p + n}; }
};

#define CONSTANT_ARRAY(name, size) static const uint32_t name[size]
// Every group is one vector of threads here, so a barrier has nothing to wait for.
#define THREADGROUP_ARRAY(name, size) \
  alignas(64) uint32_t name##_words[size]; \
  buffer name{name##_words}
#define GROUP_BARRIER()
#define GROUP_BARRIER_DEVICE()

KERNEL_FUNCTION uint select(uint a, uint b, Mask c) { return uint(c.bits ? b.v : a.v); }
#if defined(__AVX2__) && LANES == 8
KERNEL_FUNCTION uint min(uint a, uint b) { return uint((vector_u32)_mm256_min_epu32((__m256i)a.v, (__m256i)b.v)); }
#elif defined(__AVX512F__) && LANES == 16
KERNEL_FUNCTION uint min(uint a, uint b) { return uint((vector_u32)_mm512_min_epu32((__m512i)a.v, (__m512i)b.v)); }
#else
KERNEL_FUNCTION uint min(uint a, uint b) { return uint(a.v < b.v ? a.v : b.v); }
#endif

// Products of the even lanes, in 64 bits: lanes 0, 2, 4, ...
typedef uint64_t vector_half __attribute__((vector_size(4 * LANES)));
KERNEL_FUNCTION vector_half even_product(vector_half a, vector_half b) {
#if defined(__AVX2__) && LANES == 8
  return (vector_half)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__AVX512F__) && LANES == 16
  return (vector_half)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__SSE4_1__) && LANES == 4
  return (vector_half)_mm_mul_epu32((__m128i)a, (__m128i)b);
#elif defined(__AVX2__) && LANES % 8 == 0
  vector_half product;
  for (int i = 0; i < LANES / 8; i++) ((__m256i*)&product)[i] = _mm256_mul_epu32(((__m256i*)&a)[i], ((__m256i*)&b)[i]);
  return product;
#else
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}
KERNEL_FUNCTION vector_half odd_lanes(vector_u32 a) { return (vector_half)a >> 32; }
// Even lanes from the high words of `even`, odd lanes from the high words of `odd`.
KERNEL_FUNCTION vector_u32 high_words(vector_half even, vector_half odd) {
#if defined(__AVX2__) && LANES == 8
  return (vector_u32)_mm256_blend_epi32((__m256i)(even >> 32), (__m256i)odd, 0xaa);
#elif defined(__AVX512F__) && LANES == 16
  return (vector_u32)_mm512_mask_mov_epi32((__m512i)(even >> 32), 0xaaaa, (__m512i)odd);
#else
  return (vector_u32)((even >> 32) | (odd & 0xffffffff00000000u));
#endif
}
// The same in one instruction, with the lanes of the result, 0 1 2 3 of each four, in the order 0 2 1 3. As even and odd lanes
// of a vector in that order, done twice it is the natural order again.
KERNEL_FUNCTION vector_u32 high_words_swapped(vector_half even, vector_half odd) {
#if defined(__AVX2__) && LANES == 8
  return (vector_u32)_mm256_shuffle_ps((__m256)even, (__m256)odd, 0xdd);
#elif defined(__AVX512F__) && LANES == 16
  return (vector_u32)_mm512_shuffle_ps((__m512)even, (__m512)odd, 0xdd);
#elif defined(__SSE4_1__) && LANES == 4
  return (vector_u32)_mm_shuffle_ps((__m128)even, (__m128)odd, 0xdd);
#else
  return high_words(even, odd);
#endif
}
#if defined(__AVX2__) && LANES == 8
// One multiplication; the compiler would make two shifts and a subtraction of it.
#define TARGET_HAS_TIMES_CONSTANT
KERNEL_FUNCTION uint times_constant(uint x, uint32_t c) {
  vector_u32 product;
  asm("vpmulld %2, %1, %0" : "=x"(product) : "x"(x.v), "xm"(vector_u32{} + c));
  return uint(product);
}
#endif
// floor(h floor(C 2^32 / p) / 2^16), h the upper half of x < p: at most C x / p, and less than 1 + h / 2^16 + C 2^16 / p < 3/2
// below it, for C <= 225.
template <int C>
KERNEL_FUNCTION uint multiples_of_p(uint x) {
  const uint32_t quotient = uint32_t((uint64_t(C) << 32) / 0x78000001u);
#if defined(__AVX2__) && LANES == 8
  return uint((vector_u32)_mm256_mulhi_epu16((__m256i)x.v, (__m256i)(vector_u32{} + (quotient << 16))) >> 16);
#elif defined(__AVX512BW__) && LANES == 16
  return uint((vector_u32)_mm512_mulhi_epu16((__m512i)x.v, (__m512i)(vector_u32{} + (quotient << 16))) >> 16);
#else
  return uint(((x.v >> 16) * quotient) >> 16);
#endif
}
KERNEL_FUNCTION uint reverse_bits(uint a) {
  vector_u32 x = a.v;
  x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
  x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
  x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
  x = ((x >> 8) & 0x00ff00ffu) | ((x & 0x00ff00ffu) << 8);
  return uint((x >> 16) | (x << 16));
}
KERNEL_FUNCTION uint simd_shuffle(uint value, uint lane) {
#if defined(__clang__)
  vector_u32 v;
  for (int i = 0; i < LANES; i++) v[i] = value.v[lane.v[i] & (LANES - 1)];
  return uint(v);
#else
  return uint(__builtin_shuffle(value.v, lane.v & uint32_t(LANES - 1)));
#endif
}
KERNEL_FUNCTION uint simd_shuffle_xor(uint value, int32_t mask) { return simd_shuffle(value, uint(lane_numbers() ^ uint32_t(mask))); }

// Vectors keep to products below p.
#define TARGET_LACKS_SIGNED_MUL
// Word (i + 1) mod 4 of each four, and one word for all, where the vector is one sixteen (cooperative.h): lanes known here.
#if LANES == 16
#define TARGET_HAS_SIXTEEN
KERNEL_FUNCTION uint next_of_four(uint x, uint) { return simd_shuffle(x, uint((lane_numbers() & 12u) | ((lane_numbers() + 1u) & 3u))); }
KERNEL_FUNCTION uint one_of_sixteen(uint x, uint, int from) { return uint(x.v[from]); }
#ifdef PERMUTE_ALONE
// The sixteen lanes' permutation by one thread, which has no lane to wait for: 2.1 us against 5.6 (EPYC, AVX2).
#define TARGET_HAS_PERMUTATION
KERNEL_FUNCTION uint permute_sixteen(uint s) {
  uint32_t words[16];
  memcpy(words, &s.v, sizeof words);
  alone::poseidon2_permute<16>(words);
  memcpy(&s.v, words, sizeof words);
  return s;
}
#endif
#endif

// The value of a SIMD group's first lane, for all of it to branch on.
KERNEL_FUNCTION uniform_uint first_lane(uint value) { return value.v[0]; }

struct Quad {
  uint x, y, z, w;
};
template <typename P>
KERNEL_FUNCTION Quad load_quad(P p, uint i) {
  return Quad{gather(p.p, i.v * 4), gather(p.p + 1, i.v * 4), gather(p.p + 2, i.v * 4), gather(p.p + 3, i.v * 4)};
}
template <typename P>
KERNEL_FUNCTION Quad load_quad(P p, int32_t i) { return Quad{p.p[4 * i], p.p[4 * i + 1], p.p[4 * i + 2], p.p[4 * i + 3]}; }
template <typename P>
KERNEL_FUNCTION Quad load_quad(P p, uint32_t i) { return load_quad(p, int32_t(i)); }
template <typename P>
KERNEL_FUNCTION Quad load_quad(P p, step_index i) { return load_quad(p, uint(i)); }
template <typename P>
KERNEL_FUNCTION Quad load_quad(P p, lane_index i) {
#if defined(__AVX2__) && LANES == 8
  const __m256i* q = (const __m256i*)(p.p + 4 * size_t(i.base));
  __m256i a = _mm256_loadu_si256(q), b = _mm256_loadu_si256(q + 1), c = _mm256_loadu_si256(q + 2), d = _mm256_loadu_si256(q + 3);
  // a = elements 0 1, b = 2 3, c = 4 5, d = 6 7; pair up 0 4, 1 5, 2 6, 3 7, then transpose 4 x 4 in each half.
  __m256i s = _mm256_permute2x128_si256(a, c, 0x20), t = _mm256_permute2x128_si256(a, c, 0x31);
  __m256i u = _mm256_permute2x128_si256(b, d, 0x20), v = _mm256_permute2x128_si256(b, d, 0x31);
  __m256i st_low = _mm256_unpacklo_epi32(s, t), st_high = _mm256_unpackhi_epi32(s, t);
  __m256i uv_low = _mm256_unpacklo_epi32(u, v), uv_high = _mm256_unpackhi_epi32(u, v);
  return Quad{uint((vector_u32)_mm256_unpacklo_epi64(st_low, uv_low)), uint((vector_u32)_mm256_unpackhi_epi64(st_low, uv_low)),
              uint((vector_u32)_mm256_unpacklo_epi64(st_high, uv_high)), uint((vector_u32)_mm256_unpackhi_epi64(st_high, uv_high))};
#else
  return load_quad(p, uint(i));
#endif
}
template <typename P>
KERNEL_FUNCTION void store_quad(P p, uint i, Quad q) {
  for (int k = 0; k < LANES; k++) {
    uint32_t* out = p.p + 4 * size_t(i.v[k]);
    out[0] = q.x.v[k];
    out[1] = q.y.v[k];
    out[2] = q.z.v[k];
    out[3] = q.w.v[k];
  }
}
template <typename P>
KERNEL_FUNCTION void store_quad(P p, lane_index i, Quad q) {
#if defined(__AVX2__) && LANES == 8
  __m256i x = (__m256i)q.x.v, y = (__m256i)q.y.v, z = (__m256i)q.z.v, w = (__m256i)q.w.v;
  __m256i xy_low = _mm256_unpacklo_epi32(x, y), xy_high = _mm256_unpackhi_epi32(x, y);
  __m256i zw_low = _mm256_unpacklo_epi32(z, w), zw_high = _mm256_unpackhi_epi32(z, w);
  __m256i s = _mm256_unpacklo_epi64(xy_low, zw_low), t = _mm256_unpackhi_epi64(xy_low, zw_low);    // elements 0 4, 1 5
  __m256i u = _mm256_unpacklo_epi64(xy_high, zw_high), v = _mm256_unpackhi_epi64(xy_high, zw_high);  // elements 2 6, 3 7
  __m256i* out = (__m256i*)(p.p + 4 * size_t(i.base));
  _mm256_storeu_si256(out, _mm256_permute2x128_si256(s, t, 0x20));
  _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(u, v, 0x20));
  _mm256_storeu_si256(out + 2, _mm256_permute2x128_si256(s, t, 0x31));
  _mm256_storeu_si256(out + 3, _mm256_permute2x128_si256(u, v, 0x31));
#else
  store_quad(p, uint(i), q);
#endif
}

// 64-bit sums of products, even and odd lanes apart, and their Montgomery reduction (see metal.h for the ranges).
struct Wide {
  vector_half even, odd;
};
KERNEL_FUNCTION Wide wide_mul(uint a, uint b) {
  return Wide{even_product((vector_half)a.v, (vector_half)b.v), even_product(odd_lanes(a.v), odd_lanes(b.v))};
}
KERNEL_FUNCTION Wide wide_mad(Wide sum, uint a, uint b) {
  Wide product = wide_mul(a, b);
  return Wide{sum.even + product.even, sum.odd + product.odd};
}
// q = sum / p mod 2^32; sum - q p is a multiple of 2^32, so its high word is the difference of the high words.
KERNEL_FUNCTION uint wide_reduce(Wide sum) {
  vector_half mu = vector_half{} + 0x88000001u, p = vector_half{} + 0x78000001u;
  vector_half even = sum.even - even_product(even_product(sum.even, mu), p);
  vector_half odd = sum.odd - even_product(even_product(sum.odd, mu), p);
  uint difference = uint(high_words(even, odd));
  return min(difference, difference + 0x78000001u);
}
KERNEL_FUNCTION uint wide_reduce_4(Wide sum) {
  vector_half mu = vector_half{} + 0x88000001u, p = vector_half{} + 0x78000001u;
  vector_half even = even_product(even_product(sum.even, mu), p), odd = even_product(even_product(sum.odd, mu), p);
  uint high = uint(high_words(sum.even, sum.odd));
  high = min(high, high - 0x78000001u);
  uint difference = high - uint(high_words(even, odd));
  return min(difference, difference + 0x78000001u);
}

KERNEL_FUNCTION int min(int a, int b) { return a < b ? a : b; }

// x with its low `bits` bits (1 to 32) reversed, the others 0 before and after. `int` is the same in all threads of a vector.
KERNEL_FUNCTION uint reverse_index(uint x, int bits) { return reverse_bits(x) >> (32 - bits); }
KERNEL_FUNCTION int reverse_index(int x, int bits) {
  uint32_t a = uint32_t(x);
  a = ((a >> 1) & 0x55555555u) | ((a & 0x55555555u) << 1);
  a = ((a >> 2) & 0x33333333u) | ((a & 0x33333333u) << 2);
  a = ((a >> 4) & 0x0f0f0f0fu) | ((a & 0x0f0f0f0fu) << 4);
  return int(__builtin_bswap32(a) >> (32 - bits));
}

// out[index] = value where condition.
#define STORE_IF(condition, out, index, value) store_if(condition, out, index, value)
LARGE_FUNCTION void store_if(Mask condition, buffer out, uint index, uint value) {
  for (int i = 0; i < LANES; i++) {
    if (condition.bits[i]) out.p[index.v[i]] = value.v[i];
  }
}

// (x + c)^7 in signed Montgomery form: factors in (-p, p), no correction until the end, even and odd lanes apart.
// For |a|, |b| < p, a b - q p with q = a b / p mod 2^32 (signed) is a multiple of 2^32 below (p^2 + 2^31 p) < 2^32 p.
#if (defined(__AVX2__) && LANES % 8 == 0) || (defined(__AVX512F__) && LANES == 16) || (defined(__SSE4_1__) && LANES == 4)
#define TARGET_HAS_POW7
KERNEL_FUNCTION vector_half even_product_signed(vector_half a, vector_half b) {
#if defined(__AVX512F__) && LANES == 16
  return (vector_half)_mm512_mul_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__) && LANES == 8
  return (vector_half)_mm256_mul_epi32((__m256i)a, (__m256i)b);
#elif defined(__AVX2__)
  vector_half product;
  for (int i = 0; i < LANES / 8; i++) ((__m256i*)&product)[i] = _mm256_mul_epi32(((__m256i*)&a)[i], ((__m256i*)&b)[i]);
  return product;
#else
  return (vector_half)_mm_mul_epi32((__m128i)a, (__m128i)b);
#endif
}
// The product's high word is in the upper half of each 64 bits.
KERNEL_FUNCTION vector_half signed_product(vector_half a, vector_half b) {
  vector_half product = even_product_signed(a, b);
  vector_half q = even_product_signed(product, vector_half{} + 0x88000001u);
  return product - even_product_signed(q, vector_half{} + 0x78000001u);
}
template <int N>
KERNEL_FUNCTION void signed_products(vector_half* product, const vector_half* a, const vector_half* b) {
  vector_half q[N];
  UNROLLED_LOOP
  for (int i = 0; i < N; i++) product[i] = even_product_signed(a[i], b[i]);
  UNROLLED_LOOP
  for (int i = 0; i < N; i++) q[i] = even_product_signed(product[i], vector_half{} + 0x88000001u);
  UNROLLED_LOOP
  for (int i = 0; i < N; i++) q[i] = even_product_signed(q[i], vector_half{} + 0x78000001u);
  UNROLLED_LOOP
  for (int i = 0; i < N; i++) product[i] -= q[i];
}
// (a - b) t: the difference needs no correction.
#define TARGET_HAS_SUB_MUL
KERNEL_FUNCTION uint field_sub_mul(uint a, uint b, uint32_t t) {
  vector_u32 difference = a.v - b.v;  // in (-p, p)
  vector_half factor = vector_half{} + t;
  vector_half even = signed_product((vector_half)difference, factor), odd = signed_product(odd_lanes(difference), factor);
  uint product = uint(high_words(even, odd));
  return min(product, product + 0x78000001u);
}
KERNEL_FUNCTION uint field_mul(uint a, uint32_t t) {
  vector_half factor = vector_half{} + t;
  vector_half even = signed_product((vector_half)a.v, factor), odd = signed_product(odd_lanes(a.v), factor);
  uint product = uint(high_words(even, odd));
  return min(product, product + 0x78000001u);
}
// HALVES independent seventh powers, step by step side by side: one alone would wait for each of its products.
template <int HALVES>
KERNEL_FUNCTION void signed_pow7(vector_half* x) {
  vector_half x2[HALVES], x3[HALVES], x4[HALVES];
#define EACH_HALF UNROLLED_LOOP for (int h = 0; h < HALVES; h++)
  signed_products<HALVES>(x2, x, x);
  EACH_HALF x2[h] >>= 32;
  signed_products<HALVES>(x3, x2, x);
  signed_products<HALVES>(x4, x2, x2);
  EACH_HALF x3[h] >>= 32;
  EACH_HALF x4[h] >>= 32;
  signed_products<HALVES>(x, x3, x4);
#undef EACH_HALF
}
// (words + constants - p)^7, each word in (-p, p) before.
template <int WORDS, bool SWAPPED>
KERNEL_FUNCTION void pow7_words(thread uint* words, const vector_u32* constants_less_p) {
  vector_half halves[2 * WORDS];
  UNROLLED_LOOP
  for (int i = 0; i < WORDS; i++) {
    vector_u32 sum = words[i].v + constants_less_p[i];
    halves[2 * i] = (vector_half)sum;
    halves[2 * i + 1] = odd_lanes(sum);
  }
  signed_pow7<2 * WORDS>(halves);
  UNROLLED_LOOP
  for (int i = 0; i < WORDS; i++) {
    uint power = uint(SWAPPED ? high_words_swapped(halves[2 * i], halves[2 * i + 1]) : high_words(halves[2 * i], halves[2 * i + 1]));
    words[i] = min(power, power + 0x78000001u);
  }
}
KERNEL_FUNCTION uint field_add_pow7(uint x, uint32_t c) {
  vector_u32 less_p = vector_u32{} + (c - 0x78000001u);  // so that x + c - p is in [-p, p)
  pow7_words<1, false>(&x, &less_p);
  return x;
}

// Round constants less p, each repeated for all lanes, so that an addition takes them from memory.
struct round_constant {
  const vector_u32* less_p;
};
template <int SIZE>
struct RoundConstants {
  alignas(64) uint32_t rows[SIZE][LANES];
  template <typename... Words>
  constexpr RoundConstants(Words... listed) : rows() {
    const uint32_t words[SIZE] = {listed...};
    for (int i = 0; i < SIZE; i++) {
      for (int lane = 0; lane < LANES; lane++) rows[i][lane] = words[i] - 0x78000001u;
    }
  }
  KERNEL_FUNCTION_METHOD round_constant operator[](int i) const { return round_constant{(const vector_u32*)rows[i]}; }
};
#define ROUND_CONSTANTS(name, size) static constexpr RoundConstants<size> name
KERNEL_FUNCTION uint field_add_pow7(uint x, round_constant c) {
  pow7_words<1, false>(&x, c.less_p);
  return x;
}
// All words of a state, two at a time: four chains of products keep the multipliers busy, more do not fit the registers.
// It leaves lanes 1 and 2 of every four exchanged, so it is for even numbers of full rounds between looks at the lanes.
#define FIELD_ADD_POW7_ALL(count, words, constants, first) add_pow7_all<count>(words, constants[first].less_p)
template <int COUNT>
KERNEL_FUNCTION void add_pow7_all(thread uint* words, const vector_u32* constants_less_p) {
  UNROLLED_LOOP
  for (int i = 0; i < COUNT; i += 2) pow7_words<2, true>(words + i, constants_less_p + i);
}
#endif

// Eight consecutive words of each lane, lanes `step` words apart: loaded row by row and transposed.
KERNEL_FUNCTION void transpose_8x8(vector_u32* v) {
#if defined(__AVX2__) && LANES == 8
  __m256i r[8], s[8];
  for (int i = 0; i < 8; i += 2) {
    r[i] = _mm256_unpacklo_epi32((__m256i)v[i], (__m256i)v[i + 1]);
    r[i + 1] = _mm256_unpackhi_epi32((__m256i)v[i], (__m256i)v[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    s[i] = _mm256_unpacklo_epi64(r[i], r[i + 2]);
    s[i + 1] = _mm256_unpackhi_epi64(r[i], r[i + 2]);
    s[i + 2] = _mm256_unpacklo_epi64(r[i + 1], r[i + 3]);
    s[i + 3] = _mm256_unpackhi_epi64(r[i + 1], r[i + 3]);
  }
  for (int i = 0; i < 4; i++) {
    v[i] = (vector_u32)_mm256_permute2x128_si256(s[i], s[i + 4], 0x20);
    v[i + 4] = (vector_u32)_mm256_permute2x128_si256(s[i], s[i + 4], 0x31);
  }
#endif
}
KERNEL_FUNCTION void load_words_8(thread uint* words, const_buffer p, step_index i) {
#if defined(__AVX2__) && LANES == 8
  vector_u32 v[8];
  for (int lane = 0; lane < 8; lane++) memcpy(&v[lane], p.p + i.base + size_t(lane) * i.step, 32);
  transpose_8x8(v);
  for (int k = 0; k < 8; k++) words[k] = uint(v[k]);
#else
  for (int k = 0; k < 8; k++) words[k] = p[i + k];
#endif
}
template <typename P>
KERNEL_FUNCTION void load_words_8(thread uint* words, P p, uint i) {
#if defined(__AVX2__) && LANES == 8
  vector_u32 v[8];
  for (int lane = 0; lane < 8; lane++) memcpy(&v[lane], p.p + i.v[lane], 32);
  transpose_8x8(v);
  for (int k = 0; k < 8; k++) words[k] = uint(v[k]);
#else
  for (int k = 0; k < 8; k++) words[k] = p[i + k];
#endif
}
KERNEL_FUNCTION void store_words_8(buffer p, step_index i, thread uint* words) {
#if defined(__AVX2__) && LANES == 8
  vector_u32 v[8];
  for (int k = 0; k < 8; k++) v[k] = words[k].v;
  transpose_8x8(v);
  for (int lane = 0; lane < 8; lane++) memcpy(p.p + i.base + size_t(lane) * i.step, &v[lane], 32);
#else
  for (int lane = 0; lane < LANES; lane++) {
    for (int k = 0; k < 8; k++) p.p[i.base + size_t(lane) * i.step + k] = words[k].v[lane];
  }
#endif
}

// One word that threads of a launch share: only ever raised, and read as a hint.
#define ATOMIC_MAX_IF(condition, atomic, value) atomic_max_if(condition, atomic, value)
LARGE_FUNCTION void atomic_max_if(Mask condition, buffer atomic, uint value) {
  for (int i = 0; i < LANES; i++) {
    if (condition.bits[i]) atomic_max(atomic.p, value.v[i]);
  }
}
// Of several such words, the one at `index`, which may differ by lane.
#define ATOMIC_MAX_AT_IF(condition, atomic, index, value) atomic_max_at_if(condition, atomic, index, value)
LARGE_FUNCTION void atomic_max_at_if(Mask condition, buffer atomic, uint index, uint value) {
  for (int i = 0; i < LANES; i++) {
    if (condition.bits[i]) atomic_max(atomic.p + index.v[i], value.v[i]);
  }
}
#define ATOMIC_READ(atomic) __atomic_load_n((atomic).p, __ATOMIC_RELAXED)
// The smallest index among the threads of a vector.
KERNEL_FUNCTION uniform_uint lane_front(lane_index i) { return i.base; }

// Threads that `vector_sum` adds up: a vector.
#define REDUCE_WIDTH LANES
#define STORE_QUAD_IF(condition, out, index, value) store_quad_if(condition, out, index, value)
KERNEL_FUNCTION void store_quad_if(Mask condition, buffer out, uint index, Quad value) {
  for (int i = 0; i < LANES; i++) {
    if (condition.bits[i]) {
      uint32_t* p = out.p + 4 * size_t(index.v[i]);
      p[0] = value.x.v[i];
      p[1] = value.y.v[i];
      p[2] = value.z.v[i];
      p[3] = value.w.v[i];
    }
  }
}
