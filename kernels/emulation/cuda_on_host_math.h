// CUDA's math and bit functions that C++ lacks. The quick ones (__expf, ...) are the exact ones.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
static inline double rcbrt(double x) { return 1.0 / cbrt(x); }
static inline float sinpif(float x) { return float(sin(M_PI * double(x))); }
static inline float cospif(float x) { return float(cos(M_PI * double(x))); }
static inline double sinpi(double x) { return sin(M_PI * x); }
static inline double cospi(double x) { return cos(M_PI * x); }
static inline float normcdff(float x) { return float(0.5 * erfc(-double(x) * M_SQRT1_2)); }
static inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }

// C's library declares these names.
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __powf(x, y) powf(x, y)
static inline float __fdividef(float x, float y) { return x / y; }
static inline float fdividef(float x, float y) { return x / y; }
static inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frsqrt_rn(float x) { return float(1.0 / sqrt(double(x))); }
static inline float __fadd_rn(float x, float y) { return x + y; }
static inline float __fsub_rn(float x, float y) { return x - y; }
static inline float __fmul_rn(float x, float y) { return x * y; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline double __drcp_rn(double x) { return 1.0 / x; }
static inline double __dsqrt_rn(double x) { return sqrt(x); }
static inline double __dadd_rn(double x, double y) { return x + y; }
static inline double __dsub_rn(double x, double y) { return x - y; }
static inline double __dmul_rn(double x, double y) { return x * y; }
static inline double __ddiv_rn(double x, double y) { return x / y; }
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

// -- min and max, of any two numbers, as CUDA has them without std

namespace gg_host {
template <class A, class B>
using Wider = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>,
                               std::common_type_t<A, B>>;
}
template <class A, class B>
static gg_host::Wider<A, B> max(A a, B b) {
  using T = gg_host::Wider<A, B>;
  if constexpr (std::is_floating_point_v<T>) return fmax(T(a), T(b));
  else return T(a) < T(b) ? T(b) : T(a);
}
template <class A, class B>
static gg_host::Wider<A, B> min(A a, B b) {
  using T = gg_host::Wider<A, B>;
  if constexpr (std::is_floating_point_v<T>) return fmin(T(a), T(b));
  else return T(b) < T(a) ? T(b) : T(a);
}

// -- conversions: a GPU's, which hold at the ends and make 0 of NaN

namespace gg_host {
template <class I, class F>
static I held(F value) {
  if (value != value) return 0;
  if (value >= F(std::numeric_limits<I>::max())) return std::numeric_limits<I>::max();
  if (value <= F(std::numeric_limits<I>::min())) return std::numeric_limits<I>::min();
  return I(value);
}
}  // namespace gg_host

#define GG_CONVERSIONS(from, name, to, to_name)                                                  \
  static inline to __##name##2##to_name##_rn(from x) { return gg_host::held<to>(rint(x)); }      \
  static inline to __##name##2##to_name##_rz(from x) { return gg_host::held<to>(trunc(x)); }     \
  static inline to __##name##2##to_name##_rd(from x) { return gg_host::held<to>(floor(x)); }     \
  static inline to __##name##2##to_name##_ru(from x) { return gg_host::held<to>(ceil(x)); }
GG_CONVERSIONS(float, float, int, int)
GG_CONVERSIONS(float, float, unsigned, uint)
GG_CONVERSIONS(float, float, long long, ll)
GG_CONVERSIONS(float, float, unsigned long long, ull)
GG_CONVERSIONS(double, double, int, int)
GG_CONVERSIONS(double, double, unsigned, uint)
GG_CONVERSIONS(double, double, long long, ll)
GG_CONVERSIONS(double, double, unsigned long long, ull)
static inline float __int2float_rn(int x) { return float(x); }
static inline float __uint2float_rn(unsigned x) { return float(x); }
static inline float __ll2float_rn(long long x) { return float(x); }
static inline float __ull2float_rn(unsigned long long x) { return float(x); }
static inline double __int2double_rn(int x) { return x; }
static inline double __ll2double_rn(long long x) { return double(x); }
static inline float __double2float_rn(double x) { return float(x); }

static inline int __float_as_int(float x) { return gg_host::bits_of<int>(x); }
static inline unsigned __float_as_uint(float x) { return gg_host::bits_of<unsigned>(x); }
static inline float __int_as_float(int x) { return gg_host::bits_of<float>(x); }
static inline float __uint_as_float(unsigned x) { return gg_host::bits_of<float>(x); }
static inline long long __double_as_longlong(double x) { return gg_host::bits_of<long long>(x); }
static inline double __longlong_as_double(long long x) { return gg_host::bits_of<double>(x); }
static inline int __double2hiint(double x) { return int(__double_as_longlong(x) >> 32); }
static inline int __double2loint(double x) { return int(__double_as_longlong(x)); }
static inline double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}

// -- bits

static inline unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned((unsigned long long)a * b >> 32);
}
static inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline long long __mul64hi(long long a, long long b) {
  return (long long)((__int128)a * b >> 64);
}
static inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
static inline int __clzll(long long x) {
  return x ? __builtin_clzll((unsigned long long)x) : 64;
}
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline unsigned __brev(unsigned x) {
  unsigned turned = 0;
  for (int i = 0; i < 32; i++) turned |= (x >> i & 1) << (31 - i);
  return turned;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return unsigned(((unsigned long long)high << 32 | low) << (by & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return unsigned(((unsigned long long)high << 32 | low) >> (by & 31));
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned which) {
  const unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned made = 0;
  for (int i = 0; i < 4; i++) {
    const unsigned pick = which >> 4 * i & 15, byte = unsigned(both >> 8 * (pick & 7) & 255);
    made |= (pick & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
  }
  return made;
}

// -- results that are off by up to 2 ulp, by a hash of the argument, as CUDA's manual allows

#if defined(GG_NOISE)
namespace gg_host {
static inline float noisy(float y) {
  uint32_t bits;
  memcpy(&bits, &y, 4);
  if (!std::isfinite(y) || y == 0 || y == 1 || y == -1) return y;
  bits += uint32_t(int(bits * 2654435761u >> 29) % 5 - 2);
  memcpy(&y, &bits, 4);
  return y;
}
static inline double noisy(double y) { return y; }
}  // namespace gg_host
#define GG_NOISY(name)                                                    \
  static inline float noisy_##name(float x) { return gg_host::noisy(::name##f(x)); } \
  static inline double noisy_##name(double x) { return ::name(x); }       \
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>     \
  static inline double noisy_##name(T x) { return ::name(double(x)); }
GG_NOISY(exp)
GG_NOISY(log)
GG_NOISY(tanh)
GG_NOISY(sin)
GG_NOISY(cos)
GG_NOISY(erf)
GG_NOISY(log1p)
GG_NOISY(expm1)
GG_NOISY(exp2)
#define expf(x) noisy_exp(float(x))
#define logf(x) noisy_log(float(x))
#define tanhf(x) noisy_tanh(float(x))
#define sinf(x) noisy_sin(float(x))
#define cosf(x) noisy_cos(float(x))
#define erff(x) noisy_erf(float(x))
#define log1pf(x) noisy_log1p(float(x))
#define expm1f(x) noisy_expm1(float(x))
#define exp2f(x) noisy_exp2(float(x))
#endif
