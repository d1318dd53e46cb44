/* Elementary functions for fused CPU kernels: branch-free, so that compilers vectorize them.

   A kernel's source has exp(x), tanh(x), ...; the macros at the end choose by the type of x.
   float functions are polynomials defined here (trigonometry and hyperbolic functions:
   host_trigonometry.h), except for fmod; double ones are too, except for pow, fmod, erf and
   trigonometry, which are the C library's. NaN, infinity, signed zeros and denormals are as in the C library (fmax of both
   zeros may be either). With a fused multiply-add (FMA, NEON) results may differ from those
   without in the last place.

   Largest errors in units of the last place of the correctly rounded type, measured against
   float64 and long double (tests/kernels/test_host_math.py holds them):

       float    exp 1.0   expm1 1.5   tanh 1.4   log 0.9   log1p 1.4   erf 1.3   erfc 2.8
                pow 0.6
                sin 0.6   cos 0.6     tan 0.6    asin 2.4  acos 1.2   atan 2.2   atan2 2.4
                sinh 2.9  cosh 2.9    asinh 1.8  acosh 2.1 atanh 2.1  1 / (1 + exp(-x)) 2.5
                fmax(x, 0) + log1p(exp(-fabs(x))) 1.8
       double   exp 1.0   expm1 2.0   tanh 2.6   log 0.9   log1p 1.4   1 / (1 + exp(-x)) 2.1
                sinh 2.8  cosh 3.2    asinh 1.8  acosh 2.1 atanh 1.8

   Coefficients were fitted for this file by the Remez algorithm, which minimizes the maximum
   relative error, on the interval that is named. */

#include <math.h>
#include <stdint.h>

#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)) && !defined(GG_NO_FMA)
#define gg_fma_f32(a, b, c) __builtin_fmaf((a), (b), (c))
#define gg_fma_f64(a, b, c) __builtin_fma((a), (b), (c))
#else
#define gg_fma_f32(a, b, c) ((a) * (b) + (c))
#define gg_fma_f64(a, b, c) ((a) * (b) + (c))
#endif

#define GG_INLINE static inline __attribute__((always_inline, unused))

/* -- bits */

GG_INLINE uint32_t gg_bits_f32(float x) {
    union { float f; uint32_t u; } both = {x};
    return both.u;
}

GG_INLINE float gg_from_bits_f32(uint32_t u) {
    union { uint32_t u; float f; } both = {u};
    return both.f;
}

GG_INLINE uint64_t gg_bits_f64(double x) {
    union { double f; uint64_t u; } both = {x};
    return both.u;
}

GG_INLINE double gg_from_bits_f64(uint64_t u) {
    union { uint64_t u; double f; } both = {u};
    return both.f;
}

/* Adding these rounds to an integer, which the low bits then hold (two's complement). */
#define GG_ROUND_F32 12582912.0f
#define GG_ROUND_F64 6755399441055744.0

#define gg_poly_step_f32(c) p = gg_fma_f32(p, r, (c))
#define gg_poly_step_f64(c) p = gg_fma_f64(p, r, (c))

/* -- float: exponentials */

/* (exp(r) - 1 - r) / r^2 on |r| <= ln(2) / 2, so that exp(r) is off by 3.1e-9. */
GG_INLINE float gg_exp_tail_f32(float r) {
    float p = 0x1.6a23dep-10f;
    gg_poly_step_f32(0x1.123a2p-7f);
    gg_poly_step_f32(0x1.5558f2p-5f);
    gg_poly_step_f32(0x1.555492p-3f);
    gg_poly_step_f32(0x1.fffffcp-2f);
    return p;
}

/* The same for exp(r) - 1, which is off by 2.4e-10. */
GG_INLINE float gg_expm1_tail_f32(float r) {
    float p = 0x1.a1a226p-13f;
    gg_poly_step_f32(0x1.6d74c6p-10f);
    gg_poly_step_f32(0x1.11109p-7f);
    gg_poly_step_f32(0x1.5554aep-5f);
    gg_poly_step_f32(0x1.555556p-3f);
    gg_poly_step_f32(0.5f);
    return p;
}

/* x = n ln(2) + r; ln(2) in two parts, the first short enough for exact multiples. */
#define gg_reduce_exp_f32(x, t, n, r)                                                       \
    float t = gg_fma_f32((x), 0x1.715476p+0f, GG_ROUND_F32), n = t - GG_ROUND_F32;                \
    float r = gg_fma_f32(n, -0x1.62e4p-1f, (x));                                                  \
    r = gg_fma_f32(n, -0x1.7f7d1cp-20f, r)

GG_INLINE float gg_exp_f32(float x) {
    int is_zero = x < -104.0f; /* masked scores: a product that underflows takes 100 cycles */
    x = x > 89.0f ? 89.0f : x;
    x = is_zero ? 0.0f : x;
    gg_reduce_exp_f32(x, t, n, r);
    float p = 1.0f + gg_fma_f32(r * r, gg_exp_tail_f32(r), r);
    /* 2^n in two factors: only the second product overflows, or rounds to a denormal. */
    int32_t whole = (int32_t)(gg_bits_f32(t) - gg_bits_f32(GG_ROUND_F32)), half = whole >> 1;
    float one = gg_from_bits_f32((uint32_t)(half + 127) << 23);
    float other = gg_from_bits_f32((uint32_t)(whole - half + 127) << 23);
    return is_zero ? 0.0f : p * one * other;
}

/* exp(x) for |x| < 80 or NaN */
GG_INLINE float gg_exp_within_f32(float x) {
    gg_reduce_exp_f32(x, t, n, r);
    float p = 1.0f + gg_fma_f32(r * r, gg_exp_tail_f32(r), r);
    return p * gg_from_bits_f32((gg_bits_f32(t) << 23) + (127u << 23));
}

/* exp(x) - 1 for -18 <= x <= 89 or NaN, except for the sign of 0. */
GG_INLINE float gg_expm1_within_f32(float x) {
    gg_reduce_exp_f32(x, t, n, r);
    float p = gg_fma_f32(r * r, gg_expm1_tail_f32(r), r);
    float half = gg_from_bits_f32((gg_bits_f32(t) << 23) + (126u << 23)); /* 2^n / 2 */
    float scaled = 2.0f * gg_fma_f32(half, p, half - 0.5f);
    return n == 0.0f ? p : scaled;
}

GG_INLINE float gg_expm1_f32(float x) {
    float within = x > 89.0f ? 89.0f : x;
    within = within < -18.0f ? -18.0f : within;
    return __builtin_copysignf(gg_expm1_within_f32(within), x);
}

/* 1 - 2 / (exp(2|x|) + 1); below 0.625 x + x^3 P(x^2), off by 4.4e-9 */
GG_INLINE float gg_tanh_f32(float x) {
    float size = __builtin_fabsf(x), r = x * x;
    float inside = size > 9.1f ? 9.1f : size;
    float far = 1.0f - 2.0f / (gg_exp_within_f32(inside + inside) + 1.0f);
    float p = -0x1.75e1eep-8f;
    gg_poly_step_f32(0x1.5226a2p-6f);
    gg_poly_step_f32(-0x1.b83c5ap-5f);
    gg_poly_step_f32(0x1.110726p-3f);
    gg_poly_step_f32(-0x1.555532p-2f);
    float near = gg_fma_f32(size * r, p, size);
    return __builtin_copysignf(size < 0.625f ? near : far, x);
}

/* -- float: logarithms */

/* log of 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2). */
GG_INLINE float gg_log_parts_f32(float k, float f) {
    /* (log(1 + f) - f + f^2 / 2) / f^3: log(1 + f) is off by 7.3e-10 */
    float r = f, p = 0x1.1b384ap-4f;
    gg_poly_step_f32(-0x1.e2f0c6p-4f);
    gg_poly_step_f32(0x1.e65894p-4f);
    gg_poly_step_f32(-0x1.fb4286p-4f);
    gg_poly_step_f32(0x1.233236p-3f);
    gg_poly_step_f32(-0x1.5562e4p-3f);
    gg_poly_step_f32(0x1.99a54cp-3f);
    gg_poly_step_f32(-0x1.ffffeep-3f);
    gg_poly_step_f32(0x1.555546p-2f);
    float square = f * f;
    float tail = gg_fma_f32(square * f, p, k * 0x1.7f7d1cp-20f);
    tail = gg_fma_f32(square, -0.5f, tail);
    return gg_fma_f32(k, 0x1.62e4p-1f, f + tail);
}

#define GG_SQRT_HALF_F32 0x3f3504f3u

GG_INLINE float gg_log_f32(float x) {
    float lift = x < 0x1p-126f ? 0x1p23f : 1.0f; /* denormals become normal */
    uint32_t bits = gg_bits_f32(x * lift);
    int32_t k = (int32_t)(bits - GG_SQRT_HALF_F32) >> 23;
    float f = gg_from_bits_f32(bits - ((uint32_t)k << 23)) - 1.0f;
    float count = (float)k - (x < 0x1p-126f ? 23.0f : 0.0f);
    float found = gg_log_parts_f32(count, f);
    float outside = x == 0.0f ? -INFINITY : NAN;
    return x > 0.0f ? (x < INFINITY ? found : x) : outside;
}

GG_INLINE float gg_log1p_f32(float x) {
    float sum = 1.0f + x;
    float whole = sum - 1.0f, lost = (1.0f - (sum - whole)) + (x - whole); /* 1 + x - sum */
    lost = x < 0x1p25f ? lost : 0.0f;
    uint32_t bits = gg_bits_f32(sum);
    int32_t k = (int32_t)(bits - GG_SQRT_HALF_F32) >> 23;
    float f = gg_from_bits_f32(bits - ((uint32_t)k << 23)) - 1.0f;
    int32_t down = k > 100 ? 100 : k;
    f = gg_fma_f32(lost, gg_from_bits_f32((uint32_t)(127 - down) << 23), f);
    float found = __builtin_copysignf(gg_log_parts_f32((float)k, f), x);
    float outside = x == -1.0f ? -INFINITY : NAN;
    return x > -1.0f ? (x < INFINITY ? found : x) : outside;
}

/* -- float: the error function: x + x P(x^2) below 0.9 (off by 1.2e-8), then 1 - exp(P(|x|)) (off
   by 1.7e-9) up to 3.95, where it is 1 */

GG_INLINE float gg_erf_near_f32(float x) {
    float r = x * x, p = -0x1.3f4f78p-11f;
    gg_poly_step_f32(0x1.4876ccp-8f);
    gg_poly_step_f32(-0x1.b6bee4p-6f);
    gg_poly_step_f32(0x1.ce1dd2p-4f);
    gg_poly_step_f32(-0x1.8126fap-2f);
    gg_poly_step_f32(0x1.06eba6p-3f);
    return gg_fma_f32(x, p, x);
}

GG_INLINE float gg_erf_f32(float x) {
    float size = __builtin_fabsf(x), near = gg_erf_near_f32(size);
    float r = size > 3.95f ? 3.95f : size, p = 0x1.9d84c0p-13f;
    gg_poly_step_f32(-0x1.9080f6p-9f);
    gg_poly_step_f32(0x1.6cfcc8p-6f);
    gg_poly_step_f32(-0x1.aa2308p-4f);
    gg_poly_step_f32(-0x1.462cb4p-1f);
    gg_poly_step_f32(-0x1.20b432p+0f);
    gg_poly_step_f32(-0x1.743eaap-13f);
    float far = 1.0f - gg_exp_within_f32(p);
    return __builtin_copysignf(size < 0.9f ? near : far, x);
}

/* 1 - erf(x), from 0.8 on as exp(-x^2) g(t) / (x + 2) with t = (x - 2) / (x + 2), where g is off by
   3.5e-9 up to 10.5. The rounding error of the square is corrected. */

GG_INLINE float gg_erfc_f32(float x) {
    const float whole = __builtin_fabsf(x), size = whole > 10.5f ? 10.5f : whole;
    const float inverse = 1.0f / (size + 2.0f), r = (size - 2.0f) * inverse, square = size * size;
    const float high = gg_from_bits_f32(gg_bits_f32(size) & 0xFFFFF000u), low = size - high;
    const float lost = ((high * high - square) + 2.0f * high * low) + low * low;
    float p = 0x1.c13eeep-14f;
    gg_poly_step_f32(-0x1.170cfap-11f);
    gg_poly_step_f32(-0x1.d12bp-11f);
    gg_poly_step_f32(0x1.8f48b2p-9f);
    gg_poly_step_f32(0x1.a97f44p-8f);
    gg_poly_step_f32(-0x1.60542ep-6f);
    gg_poly_step_f32(-0x1.2a8bcap-5f);
    gg_poly_step_f32(0x1.1e2ddap-2f);
    gg_poly_step_f32(-0x1.5fd386p-1f);
    const double exact = (double)inverse * (2.0 - ((double)size + 2.0) * (double)inverse);
    const double g = 1.021582707600287 + (double)r * (double)p;
    const float far = (float)(g * exact * (1.0 - (double)lost) * (double)gg_exp_f32(-square));
    const float outer = x < 0.0f ? 2.0f - far : far;
    return size < 0.8f ? 1.0f - gg_erf_near_f32(x) : outer;
}

/* -- float: powers, as 2^(y log2|x|) in double */

/* log2 of a positive normal number. */
GG_INLINE double gg_log2_short_f64(double x) {
    uint64_t bits = gg_bits_f64(x);
    uint64_t k = (bits - 0x3fe6a09e667f3bcdu + ((uint64_t)2048 << 52)) >> 52; /* + 2048 */
    double m = gg_from_bits_f64(bits - ((k - 2048) << 52));
    double count = gg_from_bits_f64(k + gg_bits_f64(GG_ROUND_F64)) - (GG_ROUND_F64 + 2048.0);
    double s = (m - 1.0) / (m + 1.0), r = s * s;
    double p = 0x1.21b38e6052527p-2; /* log2((1 + s) / (1 - s)) / s, off by 2.7e-14 */
    gg_poly_step_f64(0x1.4795296d7975bp-2);
    gg_poly_step_f64(0x1.a61a2fd05dfa6p-2);
    gg_poly_step_f64(0x1.2776c29209186p-1);
    gg_poly_step_f64(0x1.ec709dc53d614p-1);
    gg_poly_step_f64(0x1.71547652b8251p+1);
    return gg_fma_f64(s, p, count);
}

/* 2^x for |x| <= 200, off by 1.9e-9. */
GG_INLINE double gg_exp2_short_f64(double x) {
    double t = x + GG_ROUND_F64, r = x - (t - GG_ROUND_F64);
    double p = 0x1.41d32f34d028fp-13;
    gg_poly_step_f64(0x1.5f45997268505p-10);
    gg_poly_step_f64(0x1.3b2dbc2fd4cc9p-7);
    gg_poly_step_f64(0x1.c6aed45c50da8p-5);
    gg_poly_step_f64(0x1.ebfbdadb7bb81p-3);
    gg_poly_step_f64(0x1.62e430c82d382p-1);
    gg_poly_step_f64(0x1.0000000261f41p+0);
    return p * gg_from_bits_f64((gg_bits_f64(t) + 1023) << 52);
}

GG_INLINE float gg_pow_f32(float x, float y) {
    float size = __builtin_fabsf(x);
    double l = gg_log2_short_f64(size);
    l = size == 0.0f ? -INFINITY : l;
    l = size == INFINITY ? INFINITY : l;
    double power = l * y;
    power = power > 200.0 ? 200.0 : power;
    power = power < -200.0 ? -200.0 : power;
    float found = (float)gg_exp2_short_f64(power);
    float half = y * 0.5f;
    int whole = __builtin_floorf(y) == y, odd = whole & (__builtin_floorf(half) != half);
    int below = (int)(gg_bits_f32(x) >> 31);
    found = size == 1.0f ? 1.0f : found; /* whatever y */
    found = (below & odd) ? -found : found;
    found = ((x < 0.0f) & (x > -INFINITY) & !whole) ? NAN : found;
    found = ((x != x) | (y != y)) ? x + y : found;
    return ((x == 1.0f) | (y == 0.0f)) ? 1.0f : found;
}

/* -- double: exponentials */

#define gg_reduce_exp_f64(x, t, n, r)                                                            \
    double t = gg_fma_f64((x), 0x1.71547652b82fep+0, GG_ROUND_F64), n = t - GG_ROUND_F64;         \
    double r = gg_fma_f64(n, -0x1.62e42feep-1, (x));                                              \
    r = gg_fma_f64(n, -0x1.a39ef35793c76p-33, r)

/* (exp(r) - 1 - r) / r^2 on |r| <= ln(2) / 2: exp(r) - 1 is off by 3e-21. */
GG_INLINE double gg_exp_tail_f64(double r) {
    double p = 0x1.61e5ccf9297e3p-33;
    gg_poly_step_f64(0x1.1f8b59d175227p-29);
    gg_poly_step_f64(0x1.ae6411f0792e4p-26);
    gg_poly_step_f64(0x1.27e4cc0d4638fp-22);
    gg_poly_step_f64(0x1.71de3a618597dp-19);
    gg_poly_step_f64(0x1.a01a01adc5e69p-16);
    gg_poly_step_f64(0x1.a01a01a017cfdp-13);
    gg_poly_step_f64(0x1.6c16c16c14d73p-10);
    gg_poly_step_f64(0x1.1111111111114p-7);
    gg_poly_step_f64(0x1.5555555555559p-5);
    gg_poly_step_f64(0x1.5555555555555p-3);
    gg_poly_step_f64(0.5);
    return p;
}

GG_INLINE double gg_exp_f64(double x) {
    int is_zero = x < -746.0;
    x = x > 710.0 ? 710.0 : x;
    x = is_zero ? 0.0 : x;
    gg_reduce_exp_f64(x, t, n, r);
    double p = 1.0 + gg_fma_f64(r * r, gg_exp_tail_f64(r), r);
    /* 2^n in two factors, n / 2 rounded down by unsigned numbers */
    uint64_t whole = gg_bits_f64(t) - gg_bits_f64(GG_ROUND_F64) + 2048, half = whole >> 1;
    double one = gg_from_bits_f64((half - 1) << 52);
    double other = gg_from_bits_f64((whole - half - 1) << 52);
    return is_zero ? 0.0 : p * one * other;
}

/* exp(x) - 1 for -38 <= x <= 710 or NaN, except for the sign of 0. */
GG_INLINE double gg_expm1_within_f64(double x) {
    gg_reduce_exp_f64(x, t, n, r);
    double p = gg_fma_f64(r * r, gg_exp_tail_f64(r), r);
    double half = gg_from_bits_f64((gg_bits_f64(t) << 52) + ((uint64_t)1022 << 52));
    double scaled = 2.0 * gg_fma_f64(half, p, half - 0.5);
    return n == 0.0 ? p : scaled;
}

GG_INLINE double gg_expm1_f64(double x) {
    double within = x > 710.0 ? 710.0 : x;
    within = within < -38.0 ? -38.0 : within;
    return __builtin_copysign(gg_expm1_within_f64(within), x);
}

GG_INLINE double gg_tanh_f64(double x) {
    double size = __builtin_fabs(x);
    size = size > 19.1 ? 19.1 : size;
    double e = gg_expm1_within_f64(size + size);
    return __builtin_copysign(e / (e + 2.0), x);
}

/* -- double: logarithms */

/* log of 2^k (1 + f): with s = f / (2 + f), log(1 + f) = 2 s + s^3 (2/3 + ...) (off by 1.2e-18). */
GG_INLINE double gg_log_parts_f64(double k, double f) {
    double s = f / (2.0 + f), r = s * s;
    double p = 0x1.2f0a0aa7b8beep-3;
    gg_poly_step_f64(0x1.39a14a048a337p-3);
    gg_poly_step_f64(0x1.7466430dd5264p-3);
    gg_poly_step_f64(0x1.c71c51f64734fp-3);
    gg_poly_step_f64(0x1.2492494207304p-2);
    gg_poly_step_f64(0x1.999999997fc44p-2);
    gg_poly_step_f64(0x1.5555555555593p-1);
    /* 2 s = f - s f, and s f = f^2 / 2 - s f^2 / 2: the largest part, f, is exact */
    double square = 0.5 * f * f;
    double tail = gg_fma_f64(s, square + r * p, k * 0x1.a39ef35793c76p-33);
    return gg_fma_f64(k, 0x1.62e42feep-1, f - (square - tail));
}

#define GG_SQRT_HALF_F64 0x3fe6a09e667f3bcdu

/* The parts of a positive normal number: 2^k (1 + f), k + 2048 as an integer too. */
#define gg_split_f64(x, biased, k, f)                                                            \
    uint64_t bits_of_it = gg_bits_f64(x);                                                         \
    uint64_t biased = (bits_of_it - GG_SQRT_HALF_F64 + ((uint64_t)2048 << 52)) >> 52;             \
    double f = gg_from_bits_f64(bits_of_it - ((biased - 2048) << 52)) - 1.0;                      \
    double k = gg_from_bits_f64(biased + gg_bits_f64(GG_ROUND_F64)) - (GG_ROUND_F64 + 2048.0)

GG_INLINE double gg_log_f64(double x) {
    double lift = x < 0x1p-1022 ? 0x1p54 : 1.0;
    gg_split_f64(x * lift, biased, k, f);
    double found = gg_log_parts_f64(k - (x < 0x1p-1022 ? 54.0 : 0.0), f);
    double outside = x == 0.0 ? -INFINITY : NAN;
    return x > 0.0 ? (x < INFINITY ? found : x) : outside;
}

GG_INLINE double gg_log1p_f64(double x) {
    double sum = 1.0 + x;
    double whole = sum - 1.0, lost = (1.0 - (sum - whole)) + (x - whole);
    lost = x < 0x1p54 ? lost : 0.0;
    gg_split_f64(sum, biased, k, f);
    uint64_t down = biased > 2148 ? 2148 : biased;
    f = gg_fma_f64(lost, gg_from_bits_f64((2048 + 1023 - down) << 52), f);
    double found = __builtin_copysign(gg_log_parts_f64(k, f), x);
    double outside = x == -1.0 ? -INFINITY : NAN;
    return x > -1.0 ? (x < INFINITY ? found : x) : outside;
}

/* -- either */

GG_INLINE float gg_fmax_f32(float x, float y) { return ((x >= y) | (y != y)) ? x : y; }
GG_INLINE double gg_fmax_f64(double x, double y) { return ((x >= y) | (y != y)) ? x : y; }

#undef isinf
#undef isfinite
#define gg_choose(x, single, twice) _Generic((x), float: single, double: twice)
#define exp(x) gg_choose(x, gg_exp_f32, gg_exp_f64)(x)
#define expm1(x) gg_choose(x, gg_expm1_f32, gg_expm1_f64)(x)
#define log(x) gg_choose(x, gg_log_f32, gg_log_f64)(x)
#define log1p(x) gg_choose(x, gg_log1p_f32, gg_log1p_f64)(x)
#define tanh(x) gg_choose(x, gg_tanh_f32, gg_tanh_f64)(x)
#define erf(x) gg_choose(x, gg_erf_f32, __builtin_erf)(x)
#define erfc(x) gg_choose(x, gg_erfc_f32, __builtin_erfc)(x)
#define pow(x, y) gg_choose(x, gg_pow_f32, __builtin_pow)(x, y)
#define fmod(x, y) gg_choose(x, __builtin_fmodf, __builtin_fmod)(x, y)
#define fmax(x, y) gg_choose(x, gg_fmax_f32, gg_fmax_f64)(x, y)
#define sqrt(x) gg_choose(x, __builtin_sqrtf, __builtin_sqrt)(x)
#define fabs(x) gg_choose(x, __builtin_fabsf, __builtin_fabs)(x)
#define floor(x) gg_choose(x, __builtin_floorf, __builtin_floor)(x)
#define ceil(x) gg_choose(x, __builtin_ceilf, __builtin_ceil)(x)
#define rint(x) gg_choose(x, __builtin_rintf, __builtin_rint)(x)
#define trunc(x) gg_choose(x, __builtin_truncf, __builtin_trunc)(x)
#define isinf(x) (fabs(x) == INFINITY)
#define isfinite(x) (fabs(x) < INFINITY)
