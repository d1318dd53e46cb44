/* Included by host_special.h: the incomplete gamma function, and its slope by the parameter. Large parameters near x have
   other expansions: refused. Numbers of one kind are computed together, a vector at a time: as many
   terms as the slowest one needs. */

enum { GG_LOWER, GG_UPPER, GG_SLOPE, GG_SAMPLE };

#define GG_CHECKED 4 /* terms between two tests of convergence */

/* The number of terms of a continued fraction that matter. */
static int gg_fraction_terms(const double *a, const double *b) {
    double largest = 0;
    for (int64_t i = 0; i < GG_SPECIAL; i++) largest = fmax(largest, fmax(a[i], b[i]));
    return (int)fmin(GG_SPECIAL_TERMS, 120 + 6 * sqrt(fmin(largest, 1e12)));
}

/* Sums and their slopes, in `value` and `slope`. */
GG_ALWAYS void gg_gamma_series(const int sloped, const double *a, const double *x, double close,
                               double *value, double *slope) {
    double term[GG_SPECIAL], step[GG_SPECIAL];
    GG_EACH term[i] = value[i] = 1, step[i] = slope[i] = 0;
    for (int n = 1; n < GG_SPECIAL_TERMS;) {
        for (int end = n + GG_CHECKED; n < end; n++) GG_EACH {
            const double inverse = 1 / (a[i] + n), ratio = x[i] * inverse;
            if (sloped) {
                step[i] = step[i] * ratio - term[i] * ratio * inverse;
                slope[i] += step[i];
            }
            const double next = term[i] * ratio;
            term[i] = next < 1e-200 ? 0 : next; /* denormals are slow */
            value[i] += term[i];
        }
        int more = 0;
        GG_EACH more |= term[i] > close * value[i];
        if (sloped) GG_EACH more |= fabs(step[i]) > close * fabs(slope[i]);
        if (!more) return;
    }
}

/* The continued fraction's convergents A / B, by the recurrence of both, and of their slopes. */
GG_ALWAYS void gg_gamma_fraction(const int sloped, const double *a, const double *x, double close,
                                 double *value, double *slope) {
    double up[2][GG_SPECIAL], down[2][GG_SPECIAL], up_slope[2][GG_SPECIAL];
    double down_slope[2][GG_SPECIAL];
    GG_EACH {
        up[0][i] = 0, up[1][i] = 1, down[0][i] = 1, down[1][i] = x[i] + 1 - a[i];
        up_slope[0][i] = up_slope[1][i] = down_slope[0][i] = 0, down_slope[1][i] = -1;
        value[i] = up[1][i] / down[1][i], slope[i] = value[i] * value[i];
    }
    for (int k = 1, most = gg_fraction_terms(a, a); k < most;) {
        for (int end = k + GG_CHECKED; k < end; k++) GG_EACH {
            const double above = k * (a[i] - k), b = x[i] + (2 * k + 1) - a[i];
            const double top = b * up[1][i] + above * up[0][i];
            const double low = b * down[1][i] + above * down[0][i];
            const double by = fabs(low) > 1e100 ? 1e-100 : 1;
            if (sloped) {
                const double top_slope =
                    b * up_slope[1][i] - up[1][i] + above * up_slope[0][i] + k * up[0][i];
                const double low_slope =
                    b * down_slope[1][i] - down[1][i] + above * down_slope[0][i] + k * down[0][i];
                up_slope[0][i] = up_slope[1][i] * by, up_slope[1][i] = top_slope * by;
                down_slope[0][i] = down_slope[1][i] * by, down_slope[1][i] = low_slope * by;
            }
            up[0][i] = up[1][i] * by, up[1][i] = top * by;
            down[0][i] = down[1][i] * by, down[1][i] = low * by;
        }
        int more = 0;
        GG_EACH {
            const double next = up[1][i] / down[1][i], near = close + 1e-15;
            more |= fabs(next - value[i]) > near * fabs(next);
            value[i] = next;
            if (sloped) {
                const double tilt = (up_slope[1][i] - next * down_slope[1][i]) / down[1][i];
                more |= fabs(tilt - slope[i]) > 8 * near * fabs(tilt);
                slope[i] = tilt;
            }
        }
        if (!more) return;
    }
}

/* The fraction and its slope backwards, which is more precise, and slower. */
static void gg_gamma_backwards(const double *a, const double *x, double *value, double *slope) {
    const int count = gg_fraction_terms(a, a);
    GG_EACH value[i] = x[i] + (2 * count + 1) - a[i], slope[i] = -1;
    for (int k = count; k > 0; k--) GG_EACH {
        const double above = k * (a[i] - k), inverse = 1 / value[i];
        slope[i] = -1 + k * inverse - above * slope[i] * inverse * inverse;
        value[i] = x[i] + (2 * k - 1) - a[i] + above * inverse;
    }
    GG_EACH slope[i] = -slope[i] / (value[i] * value[i]);
    GG_EACH value[i] = 1 / value[i];
}

/* Numbers above 0 that are finite, all near (x <= 1 or x <= a) or all far. */
GG_ALWAYS void gg_gamma_together(const int what, const int near, const double *a, const double *x,
                                 double close, double *out) {
    double value[GG_SPECIAL], slope[GG_SPECIAL];
    if (near) gg_gamma_series(what >= GG_SLOPE, a, x, close, value, slope);
    else if (what >= GG_SLOPE && close < 1e-12) gg_gamma_backwards(a, x, value, slope);
    else gg_gamma_fraction(what >= GG_SLOPE, a, x, close, value, slope);
    double gammas[GG_SPECIAL] = {0}, above[GG_SPECIAL];
    GG_EACH above[i] = near ? a[i] + 1 : a[i];
    if (what != GG_SAMPLE) gg_lgammas_above(close, above, gammas);
    GG_EACH {
        const double of = above[i], logs = log(x[i]);
        const double front = exp(a[i] * logs - x[i] - gammas[i]);
        const double moved = value[i] * (logs - gg_digamma_of_above(of)) + slope[i];
        if (what == GG_SAMPLE) out[i] = near ? -(x[i] / a[i]) * moved : x[i] * moved;
        else if (what == GG_SLOPE) out[i] = near ? front * moved : -front * moved;
        else out[i] = near == (what == GG_LOWER) ? front * value[i] : 1 - front * value[i];
    }
}

GG_ALWAYS void gg_incomplete_gammas(const int what, const gg_special_block *b) {
    double a[2][GG_SPECIAL], x[2][GG_SPECIAL], found[GG_SPECIAL];
    int64_t at[2][GG_SPECIAL], count[2] = {0, 0};
    for (int64_t i = 0; i < GG_SPECIAL; i++) {
        const double p = b->x[i], y = b->y[i];
        double edge = (double)NAN;
        if (p > 0 && y > 0 && isfinite(p) && isfinite(y)) {
            const int side = y <= 1 || y <= p;
            if (p > 1e4 && y > p / 2 && y < 2 * p) *b->refused = 1;
            a[side][count[side]] = p, x[side][count[side]] = y, at[side][count[side]++] = i;
        } else if (what <= GG_UPPER) {
            const double zero = what == GG_UPPER;
            if (p > 0 && y == (double)INFINITY) edge = (1 - zero) * isfinite(p);
            const int is_zero = y == 0 || (p == (double)INFINITY && y > 0 && isfinite(y));
            if ((p > 0 || zero == 0) && is_zero) edge = zero;
        } else if (what == GG_SLOPE && p > 0 && (y == 0 || y == (double)INFINITY)) edge = 0;
        b->out[i] = edge;
    }
    for (int side = 0; side < 2 && !*b->refused; side++) {
        if (!count[side]) continue;
        for (int64_t i = count[side]; i < GG_SPECIAL; i++) a[side][i] = a[side][0], x[side][i] = x[side][0];
        if (side) gg_gamma_together(what, 1, a[1], x[1], b->close, found);
        else gg_gamma_together(what, 0, a[0], x[0], b->close, found);
        for (int64_t i = 0; i < count[side]; i++) b->out[at[side][i]] = found[i];
    }
}

GG_SPECIAL_BLOCK(gg_igammas) { gg_incomplete_gammas(GG_LOWER, b); }
GG_SPECIAL_BLOCK(gg_igammacs) { gg_incomplete_gammas(GG_UPPER, b); }
GG_SPECIAL_BLOCK(gg_igamma_slopes) { gg_incomplete_gammas(GG_SLOPE, b); }
GG_SPECIAL_BLOCK(gg_gamma_sample_slopes) { gg_incomplete_gammas(GG_SAMPLE, b); }

/* -- the incomplete beta function: the convergents of its continued fraction */

static void gg_beta_fraction(const double *a, const double *b, const double *x, double close,
                             double *value) {
    double up[2][GG_SPECIAL], down[2][GG_SPECIAL];
    GG_EACH {
        up[0][i] = up[1][i] = down[0][i] = 1, down[1][i] = 1 - (a[i] + b[i]) * x[i] / (a[i] + 1);
        value[i] = 1 / down[1][i];
    }
    for (int m = 1, most = gg_fraction_terms(a, b); m < most; m++) {
        int more = 0;
        GG_EACH {
            const double at = a[i] + 2 * m;
            const double even = m * (b[i] - m) * x[i] / ((at - 1) * at);
            const double odd = -(a[i] + m) * (a[i] + b[i] + m) * x[i] / (at * (at + 1));
            const double top = up[1][i] + even * up[0][i], low = down[1][i] + even * down[0][i];
            const double next_top = top + odd * up[1][i], next_low = low + odd * down[1][i];
            const double by = fabs(next_low) > 1e100 ? 1e-100 : 1;
            up[0][i] = top * by, down[0][i] = low * by;
            up[1][i] = next_top * by, down[1][i] = next_low * by;
            const double next = up[1][i] / down[1][i];
            more |= fabs(next - value[i]) > (close + 1e-15) * fabs(next);
            value[i] = next;
        }
        if (!more) return;
    }
}

GG_SPECIAL_BLOCK(gg_betaincs) {
    double p[GG_SPECIAL], q[GG_SPECIAL], z[GG_SPECIAL], part[GG_SPECIAL], both[GG_SPECIAL];
    double one[GG_SPECIAL], other[GG_SPECIAL];
    GG_EACH { /* numbers that are out of range are replaced */
        const double a = b->x[i], c = b->y[i], x = b->z[i];
        const int inside = (a > 0) & (c > 0) & (x > 0) & (x < 1) & (a < 1e100) & (c < 1e100);
        const int turned = inside & (x > (a + 1) / (a + c + 2));
        p[i] = inside ? (turned ? c : a) : 1, q[i] = inside ? (turned ? a : c) : 1;
        z[i] = inside ? (turned ? 1 - x : x) : 0.5;
    }
    gg_beta_fraction(p, q, z, b->close, part);
    GG_EACH both[i] = p[i] + q[i];
    gg_lgammas_above(b->close, p, one);
    gg_lgammas_above(b->close, q, other);
    gg_lgammas_above(b->close, both, both);
    GG_EACH {
        const double logs = p[i] * log(z[i]) + q[i] * log1p(-z[i]);
        part[i] *= exp(logs + (both[i] - one[i] - other[i])) / p[i];
    }
    for (int64_t i = 0; i < GG_SPECIAL; i++) {
        const double a = b->x[i], c = b->y[i], x = b->z[i];
        const int positive = a > 0 && c > 0;
        double value = positive && (x == 0 || x == 1) ? x : (double)NAN;
        if (positive && x > 0 && x < 1 && isfinite(a) && isfinite(c)) {
            if (!(a < 1e100 && c < 1e100)) *b->refused = 1;
            value = x > (a + 1) / (a + c + 2) ? 1 - part[i] : part[i];
        }
        b->out[i] = value;
    }
}
