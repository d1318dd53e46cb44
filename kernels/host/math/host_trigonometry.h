/* Trigonometric and hyperbolic functions and their inverses, branch-free, for fused CPU kernels
   (see host_math.h, which lists their errors). sin, cos and tan of any float:

   x / pi is reduced modulo 2 by a table over the exponents of x: a double has 29 bits more than a
   float, so products with the first 29 bits of (2^e / pi) mod 2 are exact; the next 53 bits are a
   second number. The rest is one polynomial in double. For doubles the C library's are used.

   Largest error, measured over all exponents: 0.6 units of the last place. */

/* [e - 152] is (2^q / pi mod 2) / 2^q in two parts for the biased exponent e, q = e - 150; up to
   2^3 nothing is cut off. */
static const double gg_over_pi_1[103] __attribute__((unused)) = {
    0x1.45f306dp-2, 0x1.17cc1b6p-4, 0x1.17cc1b7p-4, 0x1.7cc1b7p-8, 0x1.7cc1b7p-8,
    0x1.7cc1b72p-8, 0x1.7cc1b72p-8, 0x1.f306dc8p-10, 0x1.f306dc9p-10, 0x1.e60db93p-11,
    0x1.cc1b727p-12, 0x1.9836e4ep-13, 0x1.306dc9cp-14, 0x1.836e4e4p-17, 0x1.836e4e4p-17,
    0x1.836e4e4p-17, 0x1.06dc9c8p-18, 0x1.b72722p-24, 0x1.b72722p-24, 0x1.b72722p-24,
    0x1.b72722p-24, 0x1.b72722p-24, 0x1.b72722p-24, 0x1.6e4e441p-25, 0x1.b939104p-27,
    0x1.b939105p-27, 0x1.727220ap-28, 0x1.c9c882ap-30, 0x1.c9c882ap-30, 0x1.9391054p-31,
    0x1.27220a9p-32, 0x1.3910548p-35, 0x1.391054ap-35, 0x1.391054ap-35, 0x1.c882a5p-38,
    0x1.c882a52p-38, 0x1.c882a53p-38, 0x1.91054a7p-39, 0x1.220a94fp-40, 0x1.1054a7cp-43,
    0x1.1054a7ep-43, 0x1.1054a7fp-43, 0x1.054a7fp-47, 0x1.054a7fp-47, 0x1.054a7fp-47,
    0x1.054a7fp-47, 0x1.529fc2p-53, 0x1.529fc2p-53, 0x1.529fc2p-53, 0x1.529fc24p-53,
    0x1.529fc26p-53, 0x1.529fc27p-53, 0x1.4a7f09cp-55, 0x1.4a7f09dp-55, 0x1.29fc274p-57,
    0x1.29fc275p-57, 0x1.4fe13a8p-60, 0x1.4fe13aap-60, 0x1.4fe13abp-60, 0x1.3f84eaep-62,
    0x1.3f84eafp-62, 0x1.fc2757cp-65, 0x1.fc2757cp-65, 0x1.fc2757dp-65, 0x1.f84eafap-66,
    0x1.f09d5f4p-67, 0x1.e13abe8p-68, 0x1.c2757d1p-69, 0x1.84eafa3p-70, 0x1.09d5f47p-71,
    0x1.3abe8fp-76, 0x1.3abe8f8p-76, 0x1.3abe8f8p-76, 0x1.3abe8fap-76, 0x1.3abe8fap-76,
    0x1.d5f47d4p-79, 0x1.d5f47d4p-79, 0x1.d5f47d4p-79, 0x1.abe8fa9p-80, 0x1.57d1f53p-81,
    0x1.5f47d4cp-83, 0x1.5f47d4dp-83, 0x1.7d1f534p-85, 0x1.7d1f534p-85, 0x1.f47d4d2p-87,
    0x1.f47d4d3p-87, 0x1.e8fa9a6p-88, 0x1.d1f534dp-89, 0x1.a3ea69bp-90, 0x1.47d4d37p-91,
    0x1.1f534dcp-93, 0x1.1f534ddp-93, 0x1.f534dd8p-97, 0x1.f534ddcp-97, 0x1.f534ddcp-97,
    0x1.f534ddcp-97, 0x1.ea69bb8p-98, 0x1.d4d377p-99, 0x1.a9a6eep-100, 0x1.534ddcp-101,
    0x1.4d37702p-103, 0x1.4d37703p-103, 0x1.34ddc0cp-105};
static const double gg_over_pi_2[103] __attribute__((unused)) = {
    0x1.9391054a7f09dp-31, 0x1.27220a94fe13bp-32, 0x1.391054a7f09d6p-35, 0x1.391054a7f09d6p-35,
    0x1.391054a7f09d6p-35, 0x1.c882a53f84ebp-38, 0x1.c882a53f84ebp-38, 0x1.c882a53f84ebp-38,
    0x1.91054a7f09d5fp-39, 0x1.220a94fe13abfp-40, 0x1.1054a7f09d5f4p-43, 0x1.1054a7f09d5f4p-43,
    0x1.1054a7f09d5f4p-43, 0x1.054a7f09d5f48p-47, 0x1.054a7f09d5f48p-47, 0x1.054a7f09d5f48p-47,
    0x1.054a7f09d5f48p-47, 0x1.529fc2757d1f5p-53, 0x1.529fc2757d1f5p-53, 0x1.529fc2757d1f5p-53,
    0x1.529fc2757d1f5p-53, 0x1.529fc2757d1f5p-53, 0x1.529fc2757d1f5p-53, 0x1.4a7f09d5f47d5p-55,
    0x1.4a7f09d5f47d5p-55, 0x1.29fc2757d1f53p-57, 0x1.29fc2757d1f53p-57, 0x1.4fe13abe8fa9ap-60,
    0x1.4fe13abe8fa9ap-60, 0x1.4fe13abe8fa9ap-60, 0x1.3f84eafa3ea6ap-62, 0x1.3f84eafa3ea6ap-62,
    0x1.fc2757d1f534ep-65, 0x1.fc2757d1f534ep-65, 0x1.fc2757d1f534ep-65, 0x1.f84eafa3ea69cp-66,
    0x1.f09d5f47d4d37p-67, 0x1.e13abe8fa9a6fp-68, 0x1.c2757d1f534dep-69, 0x1.84eafa3ea69bcp-70,
    0x1.09d5f47d4d377p-71, 0x1.3abe8fa9a6eep-76, 0x1.3abe8fa9a6eep-76, 0x1.3abe8fa9a6eep-76,
    0x1.3abe8fa9a6eep-76, 0x1.3abe8fa9a6eep-76, 0x1.d5f47d4d37703p-79, 0x1.d5f47d4d37703p-79,
    0x1.d5f47d4d37703p-79, 0x1.abe8fa9a6ee07p-80, 0x1.57d1f534ddc0ep-81, 0x1.5f47d4d377037p-83,
    0x1.5f47d4d377037p-83, 0x1.7d1f534ddc0dbp-85, 0x1.7d1f534ddc0dbp-85, 0x1.f47d4d377036ep-87,
    0x1.f47d4d377036ep-87, 0x1.e8fa9a6ee06dbp-88, 0x1.d1f534ddc0db6p-89, 0x1.a3ea69bb81b6cp-90,
    0x1.47d4d377036d9p-91, 0x1.1f534ddc0db63p-93, 0x1.1f534ddc0db63p-93, 0x1.f534ddc0db629p-97,
    0x1.f534ddc0db629p-97, 0x1.f534ddc0db629p-97, 0x1.f534ddc0db629p-97, 0x1.ea69bb81b6c53p-98,
    0x1.d4d377036d8a5p-99, 0x1.a9a6ee06db14bp-100, 0x1.534ddc0db6296p-101,
    0x1.4d377036d8a56p-103, 0x1.4d377036d8a56p-103, 0x1.34ddc0db6295ap-105,
    0x1.34ddc0db6295ap-105, 0x1.a6ee06db14acdp-108, 0x1.a6ee06db14acdp-108,
    0x1.a6ee06db14acdp-108, 0x1.4ddc0db629599p-109, 0x1.377036d8a5665p-111,
    0x1.377036d8a5665p-111, 0x1.bb81b6c52b328p-114, 0x1.bb81b6c52b328p-114,
    0x1.bb81b6c52b328p-114, 0x1.77036d8a5664fp-115, 0x1.dc0db6295993cp-117,
    0x1.dc0db6295993cp-117, 0x1.b81b6c52b3279p-118, 0x1.7036d8a5664f1p-119,
    0x1.c0db6295993c4p-121, 0x1.c0db6295993c4p-121, 0x1.81b6c52b32788p-122,
    0x1.036d8a5664f11p-123, 0x1.b6c52b3278872p-130, 0x1.b6c52b3278872p-130,
    0x1.b6c52b3278872p-130, 0x1.b6c52b3278872p-130, 0x1.b6c52b3278872p-130,
    0x1.b6c52b3278872p-130, 0x1.b6c52b3278872p-130, 0x1.6d8a5664f10e4p-131,
    0x1.b6295993c439p-133, 0x1.b6295993c439p-133};

/* x / pi - shift = n + f; the low bit of t is n's. Of the sum f the first part is exact. */
#define gg_reduce_pi(x, shift, t, first, second)                                                 \
    int64_t row_of_it = (int64_t)((gg_bits_f32(x) >> 23) & 255) - 152;                            \
    row_of_it = row_of_it < 0 ? 0 : row_of_it;                                                    \
    row_of_it = row_of_it > 102 ? 102 : row_of_it;                                                \
    double turns = (double)(x)*gg_over_pi_1[row_of_it] - (shift);                                \
    double t = turns + GG_ROUND_F64, first = turns - (t - GG_ROUND_F64);                          \
    double second = (double)(x)*gg_over_pi_2[row_of_it]

/* sin(a) / a for |a| <= pi / 2, of a^2, off by 2.4e-11 */
GG_INLINE double gg_sin_over_f64(double r) {
    double p = -0x1.9a678308ab8f9p-26;
    gg_poly_step_f64(0x1.717074da90d8fp-19);
    gg_poly_step_f64(-0x1.a017d94a7f518p-13);
    gg_poly_step_f64(0x1.11110c4901c64p-7);
    gg_poly_step_f64(-0x1.5555554765bfep-3);
    gg_poly_step_f64(1.0);
    return p;
}

#define GG_PI 0x1.921fb54442d18p+1

/* +-value, negative where the low bit of `flag` is set */
GG_INLINE double gg_signed_f64(double value, uint64_t flag) {
    return gg_from_bits_f64(gg_bits_f64(value) ^ (flag << 63));
}

GG_INLINE float gg_sin_f32(float x) {
    gg_reduce_pi(x, 0.0, t, first, second);
    double a = (first + second) * GG_PI;
    float found = (float)gg_signed_f64(a * gg_sin_over_f64(a * a), gg_bits_f64(t));
    found = x == 0.0f ? x : found;
    return __builtin_fabsf(x) < INFINITY ? found : NAN;
}

GG_INLINE float gg_cos_f32(float x) {
    float size = __builtin_fabsf(x);
    gg_reduce_pi(size, 0.5, t, first, second);
    double a = (first + second) * GG_PI;
    float found = (float)gg_signed_f64(a * gg_sin_over_f64(a * a), gg_bits_f64(t) + 1);
    return size < INFINITY ? found : NAN;
}

/* Of |f| > 1/4, in turns of pi, 1 / tan of the rest to +-1/2. */
GG_INLINE float gg_tan_f32(float x) {
    gg_reduce_pi(x, 0.0, t, first, second);
    (void)t;
    int far = __builtin_fabs(first) > 0.25;
    double base = far ? __builtin_copysign(0.5, first) - first : first;
    double a = (base + (far ? -second : second)) * GG_PI, r = a * a;
    double p = -0x1.241e6ac87b2f4p-22; /* cos(a) on |a| <= pi / 4, off by 1.2e-13 */
    gg_poly_step_f64(0x1.a010dde09ebd1p-16);
    gg_poly_step_f64(-0x1.6c16b828a7b23p-10);
    gg_poly_step_f64(0x1.5555554ed82e8p-5);
    gg_poly_step_f64(-0.5);
    gg_poly_step_f64(1.0);
    double sine = a * gg_sin_over_f64(r);
    float found = (float)(far ? p / sine : sine / p);
    found = x == 0.0f ? x : found;
    return __builtin_fabsf(x) < INFINITY ? found : NAN;
}

/* -- inverse functions of float */

/* atan of numerator / denominator, 0 <= numerator <= denominator, both finite and not 0 / 0: above
   tan(pi / 8) pi / 4 + atan((n - d) / (n + d)); then q + q^3 P(q^2), off by 6.8e-10. */
GG_INLINE float gg_atan_ratio_f32(float numerator, float denominator) {
    int is_far = numerator > 0.41421357f * denominator;
    float n = is_far ? numerator - denominator : numerator;
    float d = is_far ? numerator + denominator : denominator;
    float q = n / d, r = q * q;
    float p = -0x1.f1ed72p-5f;
    gg_poly_step_f32(0x1.b1ec2cp-4f);
    gg_poly_step_f32(-0x1.23b522p-3f);
    gg_poly_step_f32(0x1.999196p-3f);
    gg_poly_step_f32(-0x1.55554ap-2f);
    float found = gg_fma_f32(q * r, p, q);
    return is_far ? 0x1.921fb6p-1f + (found + -0x1.777a5cp-26f) : found;
}

GG_INLINE float gg_atan_f32(float x) {
    float size = __builtin_fabsf(x), inside = size > 0x1p100f ? 0x1p100f : size;
    int is_large = inside > 1.0f;
    float found = gg_atan_ratio_f32(is_large ? 1.0f : inside, is_large ? inside : 1.0f);
    found = is_large ? 0x1.921fb6p+0f - (found + 0x1.777a5cp-25f) : found;
    return size != size ? x : __builtin_copysignf(found, x);
}

/* The larger of both sizes is scaled to [1, 2) where it is 0, infinite, or near the limits. */
GG_INLINE float gg_atan2_f32(float y, float x) {
    float high = __builtin_fabsf(y), wide = __builtin_fabsf(x);
    int is_steep = high > wide;
    float large = is_steep ? high : wide, small = is_steep ? wide : high;
    float scale = large > 0x1p100f ? 0x1p-60f : 1.0f;
    scale = large < 0x1p-100f ? 0x1p60f : scale;
    float denominator = large * scale, numerator = small * scale;
    numerator = large == INFINITY ? (small == INFINITY ? 1.0f : 0.0f) : numerator;
    denominator = (large == INFINITY) | (large == 0.0f) ? 1.0f : denominator;
    float found = gg_atan_ratio_f32(numerator, denominator);
    found = is_steep ? 0x1.921fb6p+0f - (found + 0x1.777a5cp-25f) : found;
    found = gg_bits_f32(x) >> 31 ? 0x1.921fb6p+1f - (found + 0x1.777a5cp-24f) : found;
    return (x != x) | (y != y) ? x + y : __builtin_copysignf(found, y);
}

/* (asin(s) - s) / s^3 of r = s^2 <= 1 / 4: asin(s) is off by 2.8e-10. */
GG_INLINE float gg_asin_tail_f32(float r) {
    float p = 0x1.33bc1p-5f;
    gg_poly_step_f32(0x1.d7f17cp-7f);
    gg_poly_step_f32(0x1.04a664p-5f);
    gg_poly_step_f32(0x1.6cac3ap-5f);
    gg_poly_step_f32(0x1.33388ep-4f);
    gg_poly_step_f32(0x1.55554cp-3f);
    return p;
}

/* Above 1 / 2 by the half angle, whose sine is sqrt((1 - x) / 2). */
#define gg_half_angle_f32(x, size, is_far, r, found)                                               \
    float size = __builtin_fabsf(x);                                                               \
    int is_far = size > 0.5f;                                                                      \
    float r = is_far ? 0.5f - 0.5f * size : size * size;                                           \
    float s_of_it = is_far ? __builtin_sqrtf(r) : size;                                            \
    float found = gg_fma_f32(s_of_it * r, gg_asin_tail_f32(r), s_of_it)

GG_INLINE float gg_asin_f32(float x) {
    gg_half_angle_f32(x, size, is_far, r, found);
    found = is_far ? 0x1.921fb6p+0f - 2.0f * (found + 0x1.777a5cp-26f) : found;
    return size <= 1.0f ? __builtin_copysignf(found, x) : NAN;
}

GG_INLINE float gg_acos_f32(float x) {
    gg_half_angle_f32(x, size, is_far, r, found);
    float near = 0x1.921fb6p+0f - (__builtin_copysignf(found, x) + 0x1.777a5cp-25f);
    float far = x > 0.0f ? 2.0f * found : 0x1.921fb6p+1f - 2.0f * (found + 0x1.777a5cp-25f);
    return size <= 1.0f ? (is_far ? far : near) : NAN;
}

/* -- hyperbolic functions and their inverses, of both types */

#define GG_HYPERBOLIC(real, name, exp_of, expm1_of, log_of, log1p_of, suffix, large)               \
    /* (t + t / (t + 1)) / 2 of t = exp(|x|) - 1; for large numbers exp(|x| / 2)^2 / 2 */           \
    GG_INLINE real gg_sinh_##name(real x) {                                                        \
        real size = __builtin_fabs##suffix(x), inside = size > 20 ? 20 : size;                      \
        real t = expm1_of(inside), root = exp_of(size / 2);                                         \
        real found = size > 20 ? root / 2 * root : (t + t / (t + 1)) / 2;                           \
        return __builtin_copysign##suffix(found, x);                                               \
    }                                                                                              \
    GG_INLINE real gg_cosh_##name(real x) {                                                        \
        real size = __builtin_fabs##suffix(x), root = exp_of(size / 2), e = root * root;            \
        return size > 20 ? root / 2 * root : e / 2 + 1 / (2 * e);                                   \
    }                                                                                              \
    /* log1p(x + x^2 / (1 + sqrt(x^2 + 1))) */                                                     \
    GG_INLINE real gg_asinh_##name(real x) {                                                       \
        real size = __builtin_fabs##suffix(x), inside = size > large ? large : size;                \
        real square = inside * inside;                                                             \
        real near = log1p_of(inside + square / (1 + __builtin_sqrt##suffix(square + 1)));           \
        real found = size > large ? log_of(size) + (real)0.693147180559945309417 : near;            \
        return size != size ? x : __builtin_copysign##suffix(found, x);                            \
    }                                                                                              \
    GG_INLINE real gg_acosh_##name(real x) {                                                       \
        real t = (x > large ? large : x) - 1;                                                      \
        real near = log1p_of(t + __builtin_sqrt##suffix(2 * t + t * t));                            \
        real found = x > large ? log_of(x) + (real)0.693147180559945309417 : near;                  \
        return x >= 1 ? found : NAN;                                                               \
    }                                                                                              \
    GG_INLINE real gg_atanh_##name(real x) {                                                       \
        real size = __builtin_fabs##suffix(x);                                                     \
        real found = log1p_of(2 * size / (1 - size)) / 2;                                          \
        return size <= 1 ? __builtin_copysign##suffix(found, x) : NAN;                             \
    }

GG_HYPERBOLIC(float, f32, gg_exp_f32, gg_expm1_f32, gg_log_f32, gg_log1p_f32, f, 0x1p30f)
GG_HYPERBOLIC(double, f64, gg_exp_f64, gg_expm1_f64, gg_log_f64, gg_log1p_f64, , 0x1p60)

#define sin(x) gg_choose(x, gg_sin_f32, __builtin_sin)(x)
#define cos(x) gg_choose(x, gg_cos_f32, __builtin_cos)(x)
#define tan(x) gg_choose(x, gg_tan_f32, __builtin_tan)(x)
#define asin(x) gg_choose(x, gg_asin_f32, __builtin_asin)(x)
#define acos(x) gg_choose(x, gg_acos_f32, __builtin_acos)(x)
#define atan(x) gg_choose(x, gg_atan_f32, atan)(x)
#define atan2(y, x) gg_choose(x, gg_atan2_f32, atan2)(y, x)
#define sinh(x) gg_choose(x, gg_sinh_f32, gg_sinh_f64)(x)
#define cosh(x) gg_choose(x, gg_cosh_f32, gg_cosh_f64)(x)
#define asinh(x) gg_choose(x, gg_asinh_f32, gg_asinh_f64)(x)
#define acosh(x) gg_choose(x, gg_acosh_f32, gg_acosh_f64)(x)
#define atanh(x) gg_choose(x, gg_atanh_f32, gg_atanh_f64)(x)
