// Check build of the CPU target, part 2: the words of the kernel dialect. A `uint` knows whether it was ever set, and what
// its sums, products and shifts would be with 64 bits; shifts, ranges of lazy sums, uses of unset words, and indices that
// wrapped at 2^32 are checked. Included after cpu_check_thread.h.
#define kernel
#define device
#define constant
#define thread
#define threadgroup
#define KERNEL_FUNCTION static inline
#define LARGE_FUNCTION static inline
#define KERNEL_FUNCTION_METHOD inline
#define UNROLLED_LOOP
#define ROLLED_LOOP
#define RETURN_OUTSIDE_GRID(position, size) \
  if ((position) >= uint(size)) return

#define uint check_uint  // some systems' headers have a `uint` of their own
struct uint {
  uint32_t word;
  bool known;
  uint64_t exact;  // modulo 2^64; what was masked or loaded is exact by itself, and field arithmetic has no use for it
  CHECK_INLINE uint() : word(0xdeadbeefu), known(false), exact(word) {}
  // A negative number is no word: as an index it would have wrapped.
  template <typename T, typename = typename std::enable_if<std::is_integral<T>::value>::type>
  CHECK_INLINE uint(T value) : word(uint32_t(value)), known(true), exact(uint64_t(value)) {}
  CHECK_INLINE uint(uint32_t w, uint64_t e) : word(w), known(true), exact(e) {}
  uint(const uint&) = default;
  uint& operator=(const uint&) & = default;  // not to what reading an input gave
  // The value, for use; copying an unset word is no use of it.
  CHECK_INLINE uint32_t get() const {
    if (!known) violation(Site{nullptr, 0}, "uses a word that was never set");
    return word;
  }
  // The value as an index or a count.
  CHECK_INLINE uint32_t get_exact(Site at) const {
    if (exact != get()) violation(at, "an index of 32 bits wrapped: %u stands for %lld", word, (long long)exact);
    return word;
  }
  CHECK_INLINE operator uint32_t() const { return get_exact(Site{nullptr, 0}); }
  CHECK_INLINE uint operator-() const { return uint(0u - get(), 0 - exact); }
  CHECK_INLINE uint operator~() const { return uint(~get()); }
  CHECK_INLINE bool operator!() const { return get() == 0; }
};
typedef uint lane_index;
typedef uint step_index;
typedef uint uniform_uint;
// The smallest index among the threads of a vector, here of one.
static inline uniform_uint lane_front(lane_index i) { return i; }
struct uint3 {
  uint x, y, z;
};

CHECK_INLINE uint32_t shift_count(uint32_t count) {
  if (count >= 32) violation(Site{nullptr, 0}, "shifts a 32-bit word by %d", int(count));
  return count;
}

CHECK_INLINE uint64_t exact_add(uint64_t a, uint64_t b, uint32_t) { return a + b; }
CHECK_INLINE uint64_t exact_sub(uint64_t a, uint64_t b, uint32_t) { return a - b; }
CHECK_INLINE uint64_t exact_mul(uint64_t a, uint64_t b, uint32_t) { return a * b; }
CHECK_INLINE uint64_t exact_div(uint64_t a, uint64_t b, uint32_t) { return a / b; }
CHECK_INLINE uint64_t exact_shl(uint64_t a, uint64_t b, uint32_t) { return a << (b & 31); }
CHECK_INLINE uint64_t exact_shr(uint64_t a, uint64_t b, uint32_t) { return a >> (b & 31); }
// Masks and remainders wrap on purpose.
CHECK_INLINE uint64_t exact_word(uint64_t, uint64_t, uint32_t result) { return result; }

#define UINT_OPERATOR(op, wrap, exactly) \
  CHECK_INLINE uint operator op(uint a, uint b) { \
    uint32_t result = a.get() op wrap(b.get()); \
    return uint(result, exactly(a.exact, b.exact, result)); \
  } \
  CHECK_INLINE uint operator op(uint a, int32_t b) { return a op uint(b); } \
  CHECK_INLINE uint operator op(uint a, uint32_t b) { return a op uint(b); } \
  CHECK_INLINE uint operator op(int32_t a, uint b) { return uint(a) op b; } \
  CHECK_INLINE uint operator op(uint32_t a, uint b) { return uint(a) op b; }
UINT_OPERATOR(+, , exact_add)
UINT_OPERATOR(-, , exact_sub)
UINT_OPERATOR(*, , exact_mul)
UINT_OPERATOR(/, , exact_div)
UINT_OPERATOR(%, , exact_word)
UINT_OPERATOR(&, , exact_word)
UINT_OPERATOR(|, , exact_word)
UINT_OPERATOR(^, , exact_word)
UINT_OPERATOR(>>, shift_count, exact_shr)
UINT_OPERATOR(<<, shift_count, exact_shl)
#define UINT_COMPARISON(op) \
  CHECK_INLINE bool operator op(uint a, uint b) { return a.get() op b.get(); } \
  CHECK_INLINE bool operator op(uint a, int32_t b) { return a.get() op uint32_t(b); } \
  CHECK_INLINE bool operator op(uint a, uint32_t b) { return a.get() op b; } \
  CHECK_INLINE bool operator op(int32_t a, uint b) { return uint32_t(a) op b.get(); } \
  CHECK_INLINE bool operator op(uint32_t a, uint b) { return a op b.get(); }
UINT_COMPARISON(<)
UINT_COMPARISON(<=)
UINT_COMPARISON(>)
UINT_COMPARISON(>=)
UINT_COMPARISON(==)
UINT_COMPARISON(!=)
#undef UINT_COMPARISON
#undef UINT_OPERATOR
#define UINT_ASSIGN(op) \
  CHECK_INLINE uint& operator op##=(uint& a, uint b) { return a = a op b; }
UINT_ASSIGN(+)
UINT_ASSIGN(-)
UINT_ASSIGN(*)
UINT_ASSIGN(&)
UINT_ASSIGN(|)
UINT_ASSIGN(^)
UINT_ASSIGN(>>)
UINT_ASSIGN(<<)
#undef UINT_ASSIGN

CHECK_INLINE uint mulhi(uint a, uint b) { return uint(uint32_t((uint64_t(a.get()) * b.get()) >> 32)); }
CHECK_INLINE uint select(uint a, uint b, bool c) { return c ? b : a; }
CHECK_INLINE uint min(uint a, uint b) { return a < b ? a : b; }
CHECK_INLINE int min(int a, int b) { return a < b ? a : b; }
CHECK_INLINE uint max(uint a, uint b) { return a < b ? b : a; }
CHECK_INLINE int max(int a, int b) { return a < b ? b : a; }
static inline uint reverse_bits(uint x) {
  uint32_t a = x.get();
  a = ((a >> 1) & 0x55555555u) | ((a & 0x55555555u) << 1);
  a = ((a >> 2) & 0x33333333u) | ((a & 0x33333333u) << 2);
  a = ((a >> 4) & 0x0f0f0f0fu) | ((a & 0x0f0f0f0fu) << 4);
  return uint(__builtin_bswap32(a));
}
// x with its low `bits` bits (1 to 32) reversed, the others 0 before and after.
static inline uint reverse_index(uint x, int bits, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (bits < 1 || bits > 32) violation(Site{file, line}, "reverse_index of %d bits", bits);
  if (bits < 32 && x.get() >> bits) violation(Site{file, line}, "reverse_index of %u, not below 2^%d", x.get(), bits);
  return reverse_bits(x) >> (32 - bits);
}
static inline int reverse_index(int x, int bits, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return int(reverse_index(uint(x), bits, file, line).get());
}

// 64-bit sums of products, and their Montgomery reduction. Out: the sum times 2^-32 mod p, below p.
static const uint64_t CHECK_P = 0x78000001u;
// The type of signed words of 64 bits; `signed_mul` of this target needs none.
typedef int64_t SignedWide;
struct Wide {
  uint64_t sum;
};
CHECK_INLINE Wide wide_mul(uint a, uint b) { return Wide{uint64_t(a.get()) * b.get()}; }
CHECK_INLINE Wide wide_mad(Wide sum, uint a, uint b, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  uint64_t product = uint64_t(a.get()) * b.get();
  if (sum.sum + product < product) violation(Site{file, line}, "a sum of products passes 2^64");
  return Wide{sum.sum + product};
}
static inline uint check_reduce(Wide sum, int log_bound, const char* file, int line) {
  if (sum.sum >> log_bound >= CHECK_P) {
    violation(Site{file, line}, "reduces %#llx, not below 2^%d p", (unsigned long long)sum.sum, log_bound);
  }
  // sum = q p + r 2^32 by the exact inverse of p modulo 2^32; r in (-p, 2p).
  uint32_t q = uint32_t(sum.sum) * 0x88000001u;
  int64_t r = (int64_t)(sum.sum >> 32) - (int64_t)((q * CHECK_P) >> 32);
  if (r < 0) r += CHECK_P;
  if (r >= int64_t(CHECK_P)) r -= CHECK_P;
  return uint(uint32_t(r));
}
// In: sum < 2^32 p.
static inline uint wide_reduce(Wide sum, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return check_reduce(sum, 32, file, line);
}
// In: sum of up to 4 products, < 2^33 p.
static inline uint wide_reduce_4(Wide sum, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return check_reduce(sum, 33, file, line);
}
// In: signed words with |a b| <= 2^31 p. Out: a b 2^-32 mod p, signed, in (-p, p).
static inline uint signed_mul(uint a, uint b, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  int64_t product = int64_t(int32_t(a.get())) * int32_t(b.get());
  if (product > int64_t(CHECK_P << 31) || -product > int64_t(CHECK_P << 31)) {
    violation(Site{file, line}, "reduces %lld, past 2^31 p", (long long)product);
  }
  int64_t q = int32_t(uint32_t(product) * 0x88000001u);
  return uint(uint32_t((product - q * int64_t(CHECK_P)) >> 32));
}

// k with C x - k p in [0, 3/2 p), for x < p: the smallest one, so that nothing rests on a better one.
template <int C>
static inline uint multiples_of_p(uint x, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (x.get() >= CHECK_P) violation(Site{file, line}, "multiples of p in %d times %u, not below p", C, x.get());
  uint64_t product = uint64_t(C) * x.get(), k = product / CHECK_P;
  return uint(uint32_t(k > 0 && product % CHECK_P < CHECK_P / 2 ? k - 1 : k));
}

struct Quad {
  uint x, y, z, w;
};
// out[index] = value where condition.
#define STORE_IF(condition, out, index, value) \
  if (condition) out[index] = value
#define STORE_QUAD_IF(condition, out, index, value) \
  if (condition) store_quad(out, index, value)
// Threads that `vector_sum` adds up: a SIMD group, of as many threads as the wrappers count on. A GPU's text holds that number,
// whatever its SIMD groups are.
#define REDUCE_WIDTH shape.reduce_width
