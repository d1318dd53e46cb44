// float16 and bfloat16 as CUDA's cuda_fp16.h and cuda_bf16.h name them, computed in float and
// rounded to nearest even; NaN becomes 0x7fff, as on a GPU.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace gg_host {

template <class To, class From>
static inline To bits_of(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// To float so that a second rounding to fewer bits is right: dropped bits leave a last bit of 1.
static inline float to_odd(double value) {
  const float near = float(value);
  if (double(near) == value || value != value || near - near != 0) return near;
  uint32_t bits = bits_of<uint32_t>(near);
  if ((near < 0 ? -double(near) : double(near)) > (value < 0 ? -value : value)) bits--;
  return bits_of<float>(bits | 1);
}

static inline uint16_t half_bits(float value) {
  const uint32_t all = bits_of<uint32_t>(value), sign = all >> 16 & 0x8000;
  uint32_t rest = all & 0x7fffffff;
  if (rest > 0x7f800000) return 0x7fff;
  if (rest >= 0x477ff000) return uint16_t(sign | 0x7c00);
  if (rest < 0x38800000)  // subnormal: the sum rounds at its last bit
    return uint16_t(sign | (bits_of<uint32_t>(bits_of<float>(rest) + 0.5f) - 0x3f000000));
  rest += 0xc8000fff + (rest >> 13 & 1);
  return uint16_t(sign | rest >> 13);
}

static inline float half_value(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00) return bits_of<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest < 0x400) {
    const float value = float(rest) * 0x1p-24f;
    return sign ? -value : value;
  }
  return bits_of<float>(sign | ((rest << 13) + 0x38000000));
}

static inline uint16_t brain_bits(float value) {
  const uint32_t all = bits_of<uint32_t>(value);
  if ((all & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return uint16_t((all + 0x7fff + (all >> 16 & 1)) >> 16);
}

static inline float brain_value(uint16_t bits) { return bits_of<float>(uint32_t(bits) << 16); }

template <uint16_t (*Round)(float), float (*Value)(uint16_t)>
struct Raw {
  unsigned short x;
};

template <uint16_t (*Round)(float), float (*Value)(uint16_t)>
struct Short {
  uint16_t bits;
  Short() = default;
  Short(Raw<Round, Value> raw) : bits(raw.x) {}
  operator Raw<Round, Value>() const { return {bits}; }
  Short(float value) : bits(Round(value)) {}
  Short(double value) : bits(Round(to_odd(value))) {}
  template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
  Short(I value) : bits(Round(to_odd(double(value)))) {}
  operator float() const { return Value(bits); }
  static Short of_bits(uint16_t bits) {
    Short made;
    made.bits = bits;
    return made;
  }
  friend Short operator+(Short a, Short b) { return float(a) + float(b); }
  friend Short operator-(Short a, Short b) { return float(a) - float(b); }
  friend Short operator*(Short a, Short b) { return float(a) * float(b); }
  friend Short operator/(Short a, Short b) { return float(a) / float(b); }
  friend Short operator-(Short a) { return of_bits(a.bits ^ 0x8000); }
  friend Short operator+(Short a) { return a; }
  Short &operator+=(Short b) { return *this = *this + b; }
  Short &operator-=(Short b) { return *this = *this - b; }
  Short &operator*=(Short b) { return *this = *this * b; }
  Short &operator/=(Short b) { return *this = *this / b; }
  friend bool operator==(Short a, Short b) { return float(a) == float(b); }
  friend bool operator!=(Short a, Short b) { return float(a) != float(b); }
  friend bool operator<(Short a, Short b) { return float(a) < float(b); }
  friend bool operator>(Short a, Short b) { return float(a) > float(b); }
  friend bool operator<=(Short a, Short b) { return float(a) <= float(b); }
  friend bool operator>=(Short a, Short b) { return float(a) >= float(b); }
};

template <class T>
struct alignas(4) Pair {
  T x, y;
};

}  // namespace gg_host

using __half = gg_host::Short<gg_host::half_bits, gg_host::half_value>;
using __nv_bfloat16 = gg_host::Short<gg_host::brain_bits, gg_host::brain_value>;
using __half_raw = gg_host::Raw<gg_host::half_bits, gg_host::half_value>;
using __nv_bfloat16_raw = gg_host::Raw<gg_host::brain_bits, gg_host::brain_value>;
using half = __half;
using nv_bfloat16 = __nv_bfloat16;
using __half2 = gg_host::Pair<__half>;
using __nv_bfloat162 = gg_host::Pair<__nv_bfloat16>;
using half2 = __half2;
using nv_bfloat162 = __nv_bfloat162;

static inline float __half2float(__half a) { return a; }
static inline __half __float2half(float a) { return a; }
static inline __half __float2half_rn(float a) { return a; }
static inline __half __double2half(double a) { return a; }
static inline float __bfloat162float(__nv_bfloat16 a) { return a; }
static inline __nv_bfloat16 __float2bfloat16(float a) { return a; }
static inline __nv_bfloat16 __float2bfloat16_rn(float a) { return a; }
static inline __nv_bfloat16 __double2bfloat16(double a) { return a; }
static inline unsigned short __half_as_ushort(__half a) { return a.bits; }
static inline __half __ushort_as_half(unsigned short a) { return __half::of_bits(a); }
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.bits; }
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short a) {
  return __nv_bfloat16::of_bits(a);
}

template <class T>
static inline float __low2float(gg_host::Pair<T> a) { return a.x; }
template <class T>
static inline float __high2float(gg_host::Pair<T> a) { return a.y; }
static inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
static inline __half2 __floats2half2_rn(float a, float b) { return {a, b}; }
static inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
static inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {a, b}; }
