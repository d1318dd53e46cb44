/* Special functions of blocks of numbers, in double precision: the arithmetic of
   gpugraph/ops/special_functions and of kernels/cuda/math/special_functions.cuh, which is included.

   A function of a block takes three arrays of GG_SPECIAL numbers, of which it may use fewer, and
   writes a fourth. `close` is the relative size of terms that don't matter: less is needed for
   float. A block whose numbers have no function here sets *refused. */

#include "host_math.h"

#define GG_SPECIAL 64
#define GG_SPECIAL_TERMS 20000

extern double lgamma_r(double x, int *sign);

GG_INLINE double gg_lgamma_of(double x) {
    int sign;
    return lgamma_r(x, &sign);
}
#undef lgamma
#define lgamma(x) gg_lgamma_of(x)
#include "special_functions.cuh"

typedef struct {
    const double *x, *y, *z;
    double *out, close;
    int *refused;
} gg_special_block;

#define GG_EACH GG_LOOP for (int64_t i = 0; i < GG_SPECIAL; i++)

#define GG_SPECIAL_OF_ONE(name, function)                                                          \
    static __attribute__((unused)) void name(const gg_special_block *b) {                          \
        for (int64_t i = 0; i < GG_SPECIAL; i++) b->out[i] = function(b->x[i]);                    \
    }
#define GG_SPECIAL_OF_TWO(name, function)                                                          \
    static __attribute__((unused)) void name(const gg_special_block *b) {                          \
        for (int64_t i = 0; i < GG_SPECIAL; i++) b->out[i] = function(b->x[i], b->y[i]);           \
    }
#define GG_SPECIAL_BLOCK(name)                                                                     \
    static __attribute__((unused)) void name(const gg_special_block *b)

GG_SPECIAL_OF_TWO(gg_atan2s, atan2)

/* -- gamma. Positive numbers are moved above 8 (10), where the asymptotic series hold. */

/* ln gamma(x) for x > 0, off by 5e-15 or a few units of the last place. */
GG_INLINE double gg_lgamma_above(double x) {
    double product = 1;
    for (int step = 0; step < 8; step++) {
        product = x < 8 ? product * x : product;
        x = x < 8 ? x + 1 : x;
    }
    const double w = 1 / x, v = w * w;
    const double series = w * (1.0 / 12 - v * (1.0 / 360 - v * (1.0 / 1260 - v * (1.0 / 1680 -
                               v * (1.0 / 1188 - v * (691.0 / 360360 - v / 156))))));
    return (x - 0.5) * log(x) - x + 0.91893853320467274178 + series - log(product);
}

GG_SPECIAL_BLOCK(gg_lgammas) {
    int usual = b->close > 1e-12; /* near 1 and 2 this is precise enough for float only */
    for (int64_t i = 0; i < GG_SPECIAL; i++) usual &= b->x[i] > 0 && b->x[i] < 1e30;
    if (!usual) {
        for (int64_t i = 0; i < GG_SPECIAL; i++) b->out[i] = gg_lgamma_of(b->x[i]);
        return;
    }
    GG_EACH b->out[i] = gg_lgamma_above(b->x[i]);
}

GG_INLINE double gg_digamma_of_above(double x) {
    double total = 0;
    for (int step = 0; step < GG_FAR; step++) {
        total = x < GG_FAR ? total - 1 / x : total;
        x = x < GG_FAR ? x + 1 : x;
    }
    const double v = 1 / (x * x);
    const double series = v * (1.0 / 12 - v * (1.0 / 120 - v * (1.0 / 252 - v * (1.0 / 240 -
                          v * (5.0 / 660 - v * (691.0 / 32760 - v * (1.0 / 12 -
                          v * (3617.0 / 8160))))))));
    return total + (log(x) - 0.5 / x - series);
}

GG_SPECIAL_BLOCK(gg_digammas) {
    int usual = 1;
    for (int64_t i = 0; i < GG_SPECIAL; i++) usual &= b->x[i] > 0;
    if (!usual) {
        for (int64_t i = 0; i < GG_SPECIAL; i++) b->out[i] = gg_digamma(b->x[i]);
        return;
    }
    GG_EACH b->out[i] = gg_digamma_of_above(b->x[i]);
}

/* ln gamma of a block of numbers above 0. */
GG_ALWAYS void gg_lgammas_above(double close, const double *x, double *out) {
    if (close > 1e-12)
        GG_EACH out[i] = gg_lgamma_above(x[i]);
    else
        for (int64_t i = 0; i < GG_SPECIAL; i++) out[i] = gg_lgamma_of(x[i]);
}

/* -- zeta. Usual arguments have powers x^-s as exp(-s log(x)), which is precise for small
   s log(x) only: for float, whose terms otherwise vanish or overflow. */

GG_ALWAYS double gg_power_below(double base, double s, const int whole) {
    if (!whole) return exp(-s * log(base));
    const double inverse = 1 / base, square = inverse * inverse;
    return whole == 2 ? square : whole == 3 ? square * inverse : square * square;
}

GG_ALWAYS void gg_zeta_block(const int whole, const double *s, const double *q, double *out) {
    double total[GG_SPECIAL], base[GG_SPECIAL], scale[GG_SPECIAL], factor[GG_SPECIAL];
    GG_EACH total[i] = 0, base[i] = q[i];
    for (int k = 0; k < GG_FAR; k++) GG_EACH {
        total[i] += gg_power_below(base[i], s[i], whole);
        base[i] += 1;
    }
    GG_EACH {
        const double last = gg_power_below(base[i], s[i], whole);
        total[i] += last * base[i] / (s[i] - 1) + last / 2;
        factor[i] = s[i], scale[i] = last / base[i];
        base[i] = 1 / (base[i] * base[i]);
    }
    double faculty = 2;
    for (int k = 1; k <= GG_NUMBERS; k++) {
        const double number = gg_bernoulli(k) / faculty;
        GG_EACH {
            total[i] += number * factor[i] * scale[i];
            factor[i] *= (s[i] + (2 * k - 1)) * (s[i] + 2 * k);
            scale[i] *= base[i];
        }
        faculty *= (2 * k + 1) * (2 * k + 2);
    }
    GG_EACH out[i] = total[i];
}

/* Zeta, if all arguments are usual, or nothing. */
static int gg_usual_zetas(const gg_special_block *b, const double *s) {
    int usual = 1, same = 1;
    GG_EACH {
        usual &= (s[i] > 1) & (s[i] <= 40) & (b->y[i] > 1e-7) & (b->y[i] < 1e15);
        same &= s[i] == s[0];
    }
    if (!usual) return 0;
    if (same && s[0] == 2) gg_zeta_block(2, s, b->y, b->out);
    else if (same && s[0] == 3) gg_zeta_block(3, s, b->y, b->out);
    else if (same && s[0] == 4) gg_zeta_block(4, s, b->y, b->out);
    else if (b->close > 1e-12) gg_zeta_block(0, s, b->y, b->out);
    else return 0;
    return 1;
}

GG_SPECIAL_BLOCK(gg_zetas) {
    if (gg_usual_zetas(b, b->x)) return;
    for (int64_t i = 0; i < GG_SPECIAL; i++) b->out[i] = gg_zeta(b->x[i], b->y[i]);
}

GG_SPECIAL_BLOCK(gg_polygammas) {
    double order[GG_SPECIAL], faculty[GG_SPECIAL];
    int usual = 1;
    GG_EACH {
        usual &= (b->x[i] >= 1) & (b->x[i] == floor(b->x[i]));
        order[i] = b->x[i] + 1;
    }
    if (!usual || !gg_usual_zetas(b, order)) {
        for (int64_t i = 0; i < GG_SPECIAL; i++) b->out[i] = gg_polygamma(b->x[i], b->y[i]);
        return;
    }
    gg_lgammas_above(b->close, order, faculty);
    GG_EACH {
        const double size = exp(faculty[i]) * b->out[i], half = b->x[i] / 2;
        b->out[i] = half == floor(half) ? -size : size;
    }
}

/* -- the inverse of the normal distribution's function: M. Wichura, Algorithm AS 241, 1988.
   q is p - 1/2, r the smaller of p and 1 - p. */

#define GG_POLY_8(t, c0, c1, c2, c3, c4, c5, c6, c7)                                               \
    (c0 + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * (c5 + t * (c6 + t * c7)))))))

GG_INLINE double gg_quantile(double q, double r) {
    const double s = 0.180625 - q * q;
    const double middle =
        q * GG_POLY_8(s, 3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427,
                      13731.693765509461125, 45921.953931549871457, 67265.770927008700853,
                      33430.575583588128105, 2509.0809287301226727) /
        GG_POLY_8(s, 1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
                  21213.794301586595867, 39307.895800092710610, 28729.085735721942674,
                  5226.4952788528545610);
    const double root = sqrt(-log(r > 0 ? r : 0.5)), t = root - 1.6, u = root - 5;
    const double near =
        GG_POLY_8(t, 1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
                  3.64784832476320460504, 1.27045825245236838258, 0.241780725177450611770,
                  0.0227238449892691845833, 7.74545014278341407640e-4) /
        GG_POLY_8(t, 1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
                  0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4,
                  1.05075007164441684324e-9);
    const double far =
        GG_POLY_8(u, 6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
                  0.296560571828504891230, 0.0265321895265761230930, 0.00124266094738807843860,
                  2.71155556874348757815e-5, 2.01033439929228813265e-7) /
        GG_POLY_8(u, 1.0, 0.599832206555887937690, 0.136929880922735805310,
                  0.0148753612908506148525, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                  1.42151175831644588870e-7, 2.04426310338993978564e-15);
    const double outer = root <= 5 ? near : far;
    return fabs(q) <= 0.425 ? middle : q < 0 ? -outer : outer;
}

GG_SPECIAL_BLOCK(gg_ndtris) {
    GG_EACH {
        const double p = b->x[i], r = p < 1 - p ? p : 1 - p;
        const double inner = gg_quantile(p - 0.5, r);
        const double edge = p == 0 ? -(double)INFINITY : p == 1 ? (double)INFINITY : (double)NAN;
        b->out[i] = r > 0 ? inner : edge;
    }
}

GG_SPECIAL_BLOCK(gg_erfinvs) {
    GG_EACH {
        const double y = b->x[i], size = fabs(y);
        const double inner = gg_quantile(y / 2, (1 - size) / 2) * 0.70710678118654752440;
        const double edge = size == 1 ? y * (double)INFINITY : (double)NAN;
        b->out[i] = size < 1 ? inner + 0.0 : edge;
    }
}

/* -- Bessel functions. For float: exp(-x) I(x) (of order 1: divided by x) up to 8, and beyond it
   times sqrt(x), as Chebyshev series in x / 4 - 1 and 16 / x - 1, off by 6e-10. */

#define GG_BESSEL_NEAR_TERMS 20
#define GG_BESSEL_FAR_TERMS 8
#define GG_BESSEL_BORDER 8.0

static const double gg_bessel_near[2][GG_BESSEL_NEAR_TERMS] = {
    {0x1.5a84e9035a229p-2, -0x1.37febc057cd8bp-2, 0x1.5f7ac77ac88bdp-3, -0x1.84b70342d06e2p-4,
    0x1.93e8acea8a321p-5, -0x1.84e9ef121b6cap-6, 0x1.59961f3dde38ap-7, -0x1.1b65e201aa7cap-8,
    0x1.adc758a120c80p-10, -0x1.2e2fd1f15ef55p-11, 0x1.8b51b74107555p-13, -0x1.e2b2659c37555p-15,
    0x1.13f58be9a2aaap-16, -0x1.2866fcba35555p-18, 0x1.2bf24977aaaaap-20, -0x1.1ec638eb55555p-22,
    0x1.03b769dd00000p-24, -0x1.beaf691aaaaaap-27, 0x1.6d903a6aaaaaap-29, -0x1.1d4ff00000000p-31},
    {0x1.02a63724a7ff9p-3, -0x1.694d10469192dp-3, 0x1.a46dad536f539p-4, -0x1.b1bbc537c9eb4p-5,
    0x1.951e3e7bb233ap-6, -0x1.5a29f7913a23ap-7, 0x1.1065349d3a15ap-8, -0x1.8cc620b3cd355p-10,
    0x1.0c95db6c6dc55p-11, -0x1.533cad3d69d55p-13, 0x1.911b542c70555p-15, -0x1.bd5f9b8dd8000p-17,
    0x1.d1c4ed511d555p-19, -0x1.cc079835b5555p-21, 0x1.ae344b3080000p-23, -0x1.7dd3e232aaaaap-25,
    0x1.4258e03d55555p-27, -0x1.0361b34aaaaaap-29, 0x1.8ea34c2aaaaaap-32, -0x1.25106a0000000p-34}};
static const double gg_bessel_far[2][GG_BESSEL_FAR_TERMS] = {
    {0x1.9be62aca809cap-2, 0x1.b998ca2e59075p-9, 0x1.20fa378999aaap-14, 0x1.8412bc1032aaap-19,
    0x1.b8007d9b32aaap-23, 0x1.8569281eaaaaap-26, 0x1.d2c64a32aaaaap-29, 0x1.0f9cccaaaaaaap-31},
    {0x1.8ea18b55b1514p-2, -0x1.3fda053fcdb40p-7, -0x1.cfd7f804ab400p-14, -0x1.048df49c92aaap-18,
    -0x1.0dbfd2ea4c000p-22, -0x1.c4153942aaaaap-26, -0x1.0790b9ecaaaaap-28,
    -0x1.334ca4aaaaaaap-31}};

/* The sums of Chebyshev series at `t`. */
GG_ALWAYS void gg_chebyshev(const double *terms, const int count, const double *t, double *out) {
    double before[GG_SPECIAL];
    GG_EACH out[i] = before[i] = 0;
    for (int k = count - 1; k > 0; k--) {
        GG_EACH {
            const double next = 2 * t[i] * out[i] - before[i] + terms[k];
            before[i] = out[i], out[i] = next;
        }
    }
    GG_EACH out[i] = t[i] * out[i] - before[i] + terms[0];
}

GG_ALWAYS void gg_bessel_short(const int order, const int scaled, const gg_special_block *b) {
    double t[GG_SPECIAL], near[GG_SPECIAL], far[GG_SPECIAL];
    int any_far = 0;
    GG_EACH {
        const double size = fabs(b->x[i]);
        t[i] = (size < GG_BESSEL_BORDER ? size : GG_BESSEL_BORDER) / 4 - 1;
        any_far |= size > GG_BESSEL_BORDER;
    }
    gg_chebyshev(gg_bessel_near[order], GG_BESSEL_NEAR_TERMS, t, near);
    if (order) GG_EACH near[i] *= fabs(b->x[i]) <= GG_BESSEL_BORDER ? fabs(b->x[i]) : 1;
    if (any_far) {
        GG_EACH {
            const double size = fabs(b->x[i]);
            t[i] = 16 / (size > GG_BESSEL_BORDER ? size : GG_BESSEL_BORDER) - 1;
        }
        gg_chebyshev(gg_bessel_far[order], GG_BESSEL_FAR_TERMS, t, far);
        GG_EACH {
            const double size = fabs(b->x[i]), root = sqrt(size > GG_BESSEL_BORDER ? size : 1);
            near[i] = size > GG_BESSEL_BORDER ? far[i] / root : near[i];
        }
    }
    if (!scaled) GG_EACH near[i] *= exp(fabs(b->x[i])); /* NaN for infinity, as TensorFlow */
    GG_EACH {
        const double x = b->x[i], value = x != x ? x : near[i];
        const double odd = x == 0 ? 0 : __builtin_copysign(value, x);
        b->out[i] = order ? odd : value;
    }
}

/* For double: the power series up to 20, the asymptotic one beyond. */

#define GG_BESSEL_FAR 20.0

GG_ALWAYS void gg_bessel(const int order, const int scaled, const gg_special_block *b) {
    double square[GG_SPECIAL], term[GG_SPECIAL], total[GG_SPECIAL];
    double far_term[GG_SPECIAL], far[GG_SPECIAL], inverse[GG_SPECIAL];
    int any_far = 0, more = 1;
    if (b->close > 1e-12) {
        gg_bessel_short(order, scaled, b);
        return;
    }
    GG_EACH {
        const double size = fabs(b->x[i]), small = size < GG_BESSEL_FAR ? size : GG_BESSEL_FAR;
        square[i] = small * small / 4;
        term[i] = total[i] = order ? small / 2 : 1;
    }
    for (int k = 1; k < 60 && more; k++) {
        const double by = 1.0 / (k * (k + order));
        double largest = 0;
        GG_EACH {
            term[i] *= square[i] * by;
            total[i] += term[i];
            const double share = term[i] - b->close * total[i];
            largest = share > largest ? share : largest;
        }
        more = largest > 0;
    }
    for (int64_t i = 0; i < GG_SPECIAL; i++) any_far |= fabs(b->x[i]) > GG_BESSEL_FAR;
    if (any_far) {
        GG_EACH {
            const double size = fabs(b->x[i]);
            const int is_far = size > GG_BESSEL_FAR && size < (double)INFINITY;
            inverse[i] = 1 / (is_far ? size : GG_BESSEL_FAR);
            far_term[i] = far[i] = 1;
        }
        for (int k = 1; k < 36; k++) {
            const double by = ((2 * k - 1) * (2 * k - 1) - 4 * order) / (8.0 * k);
            GG_EACH {
                far_term[i] *= by * inverse[i];
                far[i] += far_term[i];
            }
        }
    }
    GG_EACH {
        const double x = b->x[i], size = fabs(x);
        const int is_infinite = size == (double)INFINITY;
        const double half = exp((is_infinite ? 0 : size) / (scaled ? -1 : 2));
        double value = scaled ? total[i] * half : total[i];
        if (any_far && size > GG_BESSEL_FAR) {
            value = far[i] / sqrt(2 * GG_PI / inverse[i]);
            value = scaled ? value : value * half * half;
            value = is_infinite ? (scaled ? 0 : (double)NAN) : value;
        }
        value = x != x ? x : value;
        b->out[i] = !order ? value : x == 0 ? 0 : __builtin_copysign(value, x);
    }
}

GG_SPECIAL_BLOCK(gg_bessel_i0s) { gg_bessel(0, 0, b); }
GG_SPECIAL_BLOCK(gg_bessel_i0es) { gg_bessel(0, 1, b); }
GG_SPECIAL_BLOCK(gg_bessel_i1s) { gg_bessel(1, 0, b); }
GG_SPECIAL_BLOCK(gg_bessel_i1es) { gg_bessel(1, 1, b); }

#include "host_incomplete.h"
