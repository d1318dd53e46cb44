/* sin, cos and tan of any float, branch-free, for fused CPU kernels (see host_math.h).

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

#define sin(x) gg_choose(x, gg_sin_f32, __builtin_sin)(x)
#define cos(x) gg_choose(x, gg_cos_f32, __builtin_cos)(x)
#define tan(x) gg_choose(x, gg_tan_f32, __builtin_tan)(x)
