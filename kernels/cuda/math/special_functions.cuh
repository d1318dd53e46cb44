/* Special functions, as in gpugraph/ops/special_functions/gamma_and_zeta.py: in double precision.
   A file that includes this one has GG_INLINE: gpu_kernel.cuh on GPUs, host_math.h on the host. */

#define GG_FAR 10 /* from here on the asymptotic series hold */
#define GG_PI 3.141592653589793

/* B2, B4, ... B22: Bernoulli's numbers. */
GG_INLINE double gg_bernoulli(int k) {
    const double numbers[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730,
                              7.0 / 6, -3617.0 / 510, 43867.0 / 798, -174611.0 / 330, 854513.0 / 138};
    return numbers[k - 1];
}
#define GG_NUMBERS 11

GG_INLINE double gg_lgamma(double x) { return lgamma(x); }

GG_INLINE double gg_digamma_above(double x) {
    double total = 0;
    for (; x < GG_FAR; x += 1) total -= 1 / x;
    const double inverse = 1 / (x * x);
    double power = inverse, series = 0;
    for (int k = 1; k <= GG_NUMBERS; k++) {
        series += gg_bernoulli(k) / (2 * k) * power;
        power *= inverse;
    }
    return total + (log(x) - 0.5 / x - series);
}

GG_INLINE double gg_digamma(double x) {
    if (!(x <= 0)) return gg_digamma_above(x);
    const double whole = rint(x);
    return x == whole ? (double)NAN : gg_digamma_above(1 - x) - GG_PI / tan(GG_PI * (x - whole));
}

GG_INLINE double gg_zeta(double x, double q) {
    if (x == 1) return INFINITY;
    if (!(x > 1)) return NAN;
    if (q <= 0 && q == floor(q)) return INFINITY;
    if (q <= 0 && x != floor(x)) return NAN;
    if (isinf(q) && q > 0) return 0;
    if (isinf(x) && q > 0) return q < 1 ? (double)INFINITY : q == 1 ? 1 : 0;
    double total = 0;
    for (int k = 0; k < GG_FAR; k++) total += pow(q + k, -x);
    const double at = q + GG_FAR, last = pow(at, -x);
    total += last * at / (x - 1) + last / 2;
    double factor = x, scale = last / at, faculty = 2;
    for (int k = 1; k <= GG_NUMBERS; k++) {
        total += gg_bernoulli(k) / faculty * factor * scale;
        factor *= (x + 2 * k - 1) * (x + 2 * k);
        scale /= at * at;
        faculty *= (2 * k + 1) * (2 * k + 2);
    }
    return total;
}

GG_INLINE double gg_polygamma(double a, double x) {
    if (!(a >= 0 && a == floor(a))) return NAN;
    if (a == 0) return gg_digamma(x);
    const double size = exp(lgamma(a + 1)) * gg_zeta(a + 1, x);
    return fmod(a, 2.0) == 0 ? -size : size;
}
