/* Local response normalization of rows of channels, and its gradient, as in
   gpugraph/ops/nn/normalization/local_response_normalization.py.

   Parameters: rows, channels, the radius, the bits of bias, alpha and beta (doubles). Arrays: images,
   out; of the gradient: the gradient of the outputs, images, outputs, out. A part is a range of rows.
   Sums add the channels in their order. */

#ifndef GG_RESPONSE
#define GG_RESPONSE
#include "host_math.h"

#define GG_RESPONSE_PART 16384 /* elements of a part, about */
#define GG_RESPONSE_ROOT(x) _Generic((x), float: __builtin_sqrtf, default: __builtin_sqrt)(x)

static double gg_response_number(const gg_source *source, int64_t which) {
    double number;
    memcpy(&number, source->parameters + which, sizeof number);
    return number;
}
#endif

typedef struct {
    gg_source *source;
    int64_t rows, channels, radius, rows_each, width;
    gg_real bias, alpha, beta;
} GG_NAME(gg_response);

static GG_NAME(gg_response) GG_NAME(gg_response_of)(gg_source *source) {
    const int64_t *n = source->parameters;
    GG_NAME(gg_response) r = {source, n[0], n[1], gg_min(n[2], n[1] - 1)};
    r.rows_each = gg_max(1, GG_RESPONSE_PART / r.channels);
    r.width = r.channels + 2 * r.radius;
    r.bias = (gg_real)gg_response_number(source, 3), r.alpha = (gg_real)gg_response_number(source, 4);
    r.beta = (gg_real)gg_response_number(source, 5);
    return r;
}

/* The sums of a line over the channels up to `radius` away. The line has as many zeros on both
   sides. */
static void GG_NAME(gg_near)(const GG_NAME(gg_response) * r, const gg_real *line,
                             gg_real *restrict to) {
    for (int64_t c = 0; c < r->channels; c += GG_REAL_LANES) {
        if (c + GG_REAL_LANES <= r->channels) {
            GG_NAME(gg_vector) sum = *(const GG_NAME(gg_vector) *)(line + c);
            for (int64_t k = 1; k <= 2 * r->radius; k++)
                sum += *(const GG_NAME(gg_vector) *)(line + c + k);
            *(GG_NAME(gg_vector) *)(to + c) = sum;
            continue;
        }
        for (int64_t i = c; i < r->channels; i++) {
            gg_real sum = line[i];
            for (int64_t k = 1; k <= 2 * r->radius; k++) sum += line[i + k];
            to[i] = sum;
        }
    }
}

GG_ALWAYS float gg_response_power_f32(float x, float y) { return gg_pow_f32(x, y); }
GG_ALWAYS double gg_response_power_f64(double x, double y) { return pow(x, y); }

/* x ** -beta of `count` numbers, in place. */
static void GG_NAME(gg_shrink)(gg_real *x, int64_t count, gg_real beta) {
    if (beta == (gg_real)0.5)
        GG_LOOP for (int64_t i = 0; i < count; i++) x[i] = 1 / GG_RESPONSE_ROOT(x[i]);
    else if (beta == (gg_real)0.75)
        GG_LOOP for (int64_t i = 0; i < count; i++) {
            const gg_real root = GG_RESPONSE_ROOT(x[i]);
            x[i] = 1 / (root * GG_RESPONSE_ROOT(root));
        }
    else if (beta == 1)
        GG_LOOP for (int64_t i = 0; i < count; i++) x[i] = 1 / x[i];
    else
        GG_LOOP for (int64_t i = 0; i < count; i++)
            x[i] = GG_NAME(gg_response_power)(x[i], -beta);
}

/* Stores bias + alpha * (the sum of squares) of a row. */
static void GG_NAME(gg_norm_row)(const GG_NAME(gg_response) * r, const gg_real *x, gg_real *line,
                                 gg_real *restrict to) {
    GG_LOOP for (int64_t c = 0; c < r->channels; c++) line[r->radius + c] = x[c] * x[c];
    GG_NAME(gg_near)(r, line, to);
    GG_LOOP for (int64_t c = 0; c < r->channels; c++) to[c] = to[c] * r->alpha + r->bias;
}

/* Scratch memory of a part: a line, and two blocks of numbers. */
static int64_t GG_NAME(gg_response_bytes)(const GG_NAME(gg_response) * r) {
    return (r->width + 2 * r->rows_each * r->channels) * (int64_t)sizeof(gg_real);
}

static void GG_NAME(gg_response_part)(void *block, int64_t which) {
    const GG_NAME(gg_response) *r = block;
    const int64_t bytes = GG_NAME(gg_response_bytes)(r), first = which * r->rows_each;
    const int64_t rows = gg_min(r->rows_each, r->rows - first), count = rows * r->channels;
    const gg_real *x = (const gg_real *)r->source->at[0] + first * r->channels;
    gg_real *to = (gg_real *)r->source->at[1] + first * r->channels;
    gg_real *line = (gg_real *)gg_take(r->source, r->source->scratch, bytes), *norm = line + r->width;
    memset(line, 0, (size_t)r->width * sizeof *line);
    for (int64_t row = 0; row < rows; row++)
        GG_NAME(gg_norm_row)(r, x + row * r->channels, line, norm + row * r->channels);
    GG_NAME(gg_shrink)(norm, count, r->beta);
    GG_LOOP for (int64_t i = 0; i < count; i++) to[i] = x[i] * norm[i];
    gg_give((char *)line);
}

static void GG_NAME(gg_response_back_part)(void *block, int64_t which) {
    const GG_NAME(gg_response) *r = block;
    const int64_t bytes = GG_NAME(gg_response_bytes)(r), first = which * r->rows_each;
    const int64_t rows = gg_min(r->rows_each, r->rows - first), count = rows * r->channels;
    const int64_t start = first * r->channels;
    const gg_real *slope = (const gg_real *)r->source->at[0] + start;
    const gg_real *x = (const gg_real *)r->source->at[1] + start;
    const gg_real *y = (const gg_real *)r->source->at[2] + start;
    gg_real *to = (gg_real *)r->source->at[3] + start;
    gg_real *line = (gg_real *)gg_take(r->source, r->source->scratch, bytes), *norm = line + r->width;
    gg_real *total = norm + r->rows_each * r->channels;
    const gg_real twice = 2 * r->alpha * r->beta;
    memset(line, 0, (size_t)r->width * sizeof *line);
    for (int64_t row = 0; row < rows; row++) {
        const int64_t at = row * r->channels;
        GG_NAME(gg_norm_row)(r, x + at, line, norm + at);
        GG_LOOP for (int64_t c = 0; c < r->channels; c++)
            line[r->radius + c] = slope[at + c] * y[at + c] / norm[at + c];
        GG_NAME(gg_near)(r, line, total + at);
    }
    GG_NAME(gg_shrink)(norm, count, r->beta);
    GG_LOOP for (int64_t i = 0; i < count; i++)
        to[i] = norm[i] * slope[i] - total[i] * x[i] * twice;
    gg_give((char *)line);
}

static void GG_NAME(gg_response_set)(gg_source *source, int64_t arrays) {
    const GG_NAME(gg_response) r = GG_NAME(gg_response_of)(source);
    for (int64_t i = 0; i < arrays; i++) source->count[i] = r.rows * r.channels;
    gg_set_work(source, (double)r.rows * r.channels * (1 + 0.1 * r.radius) * (arrays > 2 ? 2 : 1));
    source->scratch_bytes = gg_slots_bytes(source, GG_NAME(gg_response_bytes)(&r));
}

static int GG_NAME(gg_response_run)(gg_source *source, void (*part)(void *, int64_t)) {
    GG_NAME(gg_response) r = GG_NAME(gg_response_of)(source);
    gg_free_slots(source, source->scratch, GG_NAME(gg_response_bytes)(&r));
    source->parallel(part, &r, gg_ceil(r.rows, r.rows_each), source->threads);
    return GG_DONE;
}

void GG_NAME(gg_local_response_plan)(gg_source *source) { GG_NAME(gg_response_set)(source, 2); }

int GG_NAME(gg_local_response)(void *block) {
    return GG_NAME(gg_response_run)(block, GG_NAME(gg_response_part));
}

void GG_NAME(gg_local_response_back_plan)(gg_source *source) {
    GG_NAME(gg_response_set)(source, 4);
}

int GG_NAME(gg_local_response_back)(void *block) {
    return GG_NAME(gg_response_run)(block, GG_NAME(gg_response_back_part));
}
