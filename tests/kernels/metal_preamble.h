// What MLX's preamble asks of Metal beyond metal_language.h. It is parsed for its names and overloads alone, so functions are
// declared loosely, and `double`, which Metal lacks, stands for bfloat: a type apart from half and float.
typedef double bfloat;
namespace metal {
template <typename T, int N>
using vec = T __attribute__((ext_vector_type(N)));
template <bool B, typename T = void>
struct enable_if {};
template <typename T>
struct enable_if<true, T> {
  using type = T;
};
template <bool B, typename T = void>
using enable_if_t = typename enable_if<B, T>::type;
template <typename A, typename B>
static constexpr constant bool is_same_v = __is_same(A, B);
template <typename A, typename B>
static constexpr constant bool is_convertible_v = __is_convertible_to(A, B);
template <typename T>
struct numeric_limits {
  static constexpr T max() { return T(1); }
  static constexpr T min() { return T(0); }
  static constexpr T infinity() { return T(1); }
  static constexpr T quiet_NaN() { return T(1); }
};
float abs(float);
float fabs(float);
float sqrt(float);
float log(float);
float atan2(float, float);
float fmax(float, float);
float fmin(float, float);
bool isinf(float);
bool isnan(float);
float select(float, float, bool);
namespace precise {
float sqrt(float);
}
uint2 simd_shuffle(uint2, ushort);
uint2 simd_shuffle_down(uint2, ushort);
uint2 simd_shuffle_up(uint2, ushort);
uint2 simd_shuffle_and_fill_up(uint2, uint2, ushort);
float simd_shuffle(float, ushort);
float simd_shuffle_down(float, ushort);
float simd_shuffle_up(float, ushort);
float simd_shuffle_and_fill_up(float, float, ushort);
} // namespace metal
template <typename To, typename From>
To as_type(From);
#define __METAL_MAYBE_FAST_MATH__ true
#define __METAL_FAST_MATH__ true
#define __METAL_PRECISE_MATH__ false
