/* Convolution of each channel by itself, with a filter (kh, kw, c, m), and its two gradients. If m is
   not 1, each channel of the images is repeated m times first.

   Forward and in the gradient by the images, products are summed in the order of the window's
   elements, each rounded, as in NumPy. In the gradient by the filter, groups of rows of windows
   have partial sums, which are added up in order. Parameters: as in host_windows.h, with m
   outputs. */

#include "host_half.h"
#include "host_windows.h"

#ifndef GG_DEPTHWISE
#define GG_DEPTHWISE

#define GG_DEPTH_PART 131072 /* products of a part, about */
#define GG_DEPTH_GROUPS 64   /* of rows, at most */
#define GG_DEPTH_VECTORS 4 /* of results that are summed at once */
#define GG_DEPTH_FEW 64      /* channels whose weights are repeated, at most */
#define GG_DEPTH_REPEATED 65536 /* repeated weights, at most */

typedef struct {
    gg_source *source;
    gg_conv_axis y, x;
    int64_t images, channels; /* channels of results */
    int64_t each;             /* results of a channel of the images */
    const void *from;         /* the images, or the gradient of the results */
    void *to;
    int64_t rows, rows_each, parts; /* of results, or of windows for the gradient by the filter */
    int64_t slot_bytes;
    void *repeated; /* weights, if vectors have channels of several results */
} gg_depthwise;

/* The contribution of one element of the window to a result: the offsets of both factors, the last
   one also among repeated weights. */
typedef struct {
    int64_t from, weight, repeated;
} gg_depth_tap;

static gg_depthwise gg_depthwise_of(gg_source *source, int is_back) {
    const int64_t *at = source->parameters;
    gg_depthwise d = {source, gg_conv_axis_of(at, 0, is_back), gg_conv_axis_of(at, 1, is_back)};
    d.images = at[0], d.each = at[6], d.channels = at[3] * d.each;
    double row = (double)d.x.result * d.y.window * d.x.window * d.channels;
    d.rows = d.images * d.y.result;
    d.rows_each = gg_max((int64_t)(GG_DEPTH_PART / (row + 1)), 1);
    d.parts = gg_ceil(d.rows, d.rows_each);
    d.slot_bytes = d.y.window * d.x.window * sizeof(gg_depth_tap);
    return d;
}

static gg_depthwise gg_depthwise_filter_of(gg_source *source) {
    gg_depthwise d = gg_depthwise_of(source, 0);
    d.rows_each = gg_max(d.rows_each, gg_ceil(d.rows, GG_DEPTH_GROUPS));
    d.parts = gg_ceil(d.rows, d.rows_each);
    return d;
}

/* The bytes of images with repeated channels. */
static int64_t gg_depth_repeated_bytes(const gg_depthwise *d, int64_t item) {
    const int64_t *at = d->source->parameters;
    return d->each == 1 ? 0 : gg_lines(at[0] * at[1] * at[2] * d->channels * item);
}

static void gg_depthwise_set_work(const gg_depthwise *d) {
    double products = (double)d->rows * d->x.result * d->y.window * d->x.window;
    gg_set_work(d->source, products * (d->channels / 8.0 + 1));
}

/* The position of the window's element `tap` for result `at`; whether it is inside. */
static int gg_depth_sees(const gg_conv_axis *axis, int64_t at, int64_t tap, int64_t *position) {
    int sees = gg_conv_sees(axis, axis->is_back ? at : 0, tap, position);
    if (!axis->is_back) *position += at * axis->stride;
    return sees && *position >= 0 && *position < axis->source;
}

/* The elements inside the window of the result at (y, x), by their distance from `base`. */
static int64_t gg_depth_taps(const gg_depthwise *d, int64_t y, int64_t x, int64_t base,
                             int64_t period, gg_depth_tap *taps) {
    int64_t have = 0, row, column;
    for (int64_t i = 0; i < d->y.window; i++) {
        if (!gg_depth_sees(&d->y, y, i, &row)) continue;
        for (int64_t j = 0; j < d->x.window; j++) {
            if (!gg_depth_sees(&d->x, x, j, &column)) continue;
            taps[have].from = (row * d->x.source + column) * d->channels - base;
            taps[have].repeated = (i * d->x.window + j) * period;
            taps[have++].weight = (i * d->x.window + j) * d->channels;
        }
    }
    return have;
}

/* Whether all of a row's elements are inside for the result, as for its neighbour one step on. */
static int gg_depth_is_inner(const gg_conv_axis *axis, int64_t at) {
    if (axis->is_back && axis->stride > 1) return 0;
    return gg_conv_low(axis, at) >= 0 && gg_conv_high(axis, at) < axis->source;
}

/* The number of results from `x` on that have the same elements. */
static int64_t gg_depth_run_of(const gg_depthwise *d, int64_t x) {
    int64_t end = x;
    while (end < d->x.result && gg_depth_is_inner(&d->x, end)) end++;
    return end - x;
}
/* Whether the results of two rows have whole windows that overlap. */
static int gg_depth_are_two(const gg_depthwise *d, int64_t row) {
    const int64_t y = row % d->y.result;
    if (d->y.is_back || d->y.step != 1 || d->y.dilation != 1 || y + 1 >= d->y.result) return 0;
    return gg_depth_is_inner(&d->y, y) && gg_depth_is_inner(&d->y, y + 1);
}

#endif

/* All channels of one result. */
static void GG_NAME(gg_depth_result)(const gg_real *from, const gg_real *weights,
                                     const gg_depth_tap *taps, int64_t count, int64_t channels,
                                     gg_real *to) {
    int64_t c = 0;
    for (; c + GG_REAL_LANES <= channels; c += GG_REAL_LANES) {
        GG_NAME(gg_vector) sum = {0};
        for (int64_t t = 0; t < count; t++)
            sum += *(const GG_NAME(gg_vector) *)(from + taps[t].from + c) *
                   *(const GG_NAME(gg_vector) *)(weights + taps[t].weight + c);
        *(GG_NAME(gg_vector) *)(to + c) = sum;
    }
    for (; c < channels; c++) {
        gg_real sum = 0;
        for (int64_t t = 0; t < count; t++)
            sum += from[taps[t].from + c] * weights[taps[t].weight + c];
        to[c] = sum;
    }
}

/* Repeats each of `count` numbers. */
static void GG_NAME(gg_depth_repeat)(const gg_real *from, int64_t count, int64_t each, gg_real *to) {
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < each; k++) *to++ = from[i];
}

/* Adds up each `each` numbers. */
static void GG_NAME(gg_depth_add_up)(const gg_real *from, int64_t count, int64_t each, gg_real *to) {
    for (int64_t i = 0; i < count; i++, from += each) {
        gg_real sum = from[0];
        for (int64_t k = 1; k < each; k++) sum += from[k];
        to[i] = sum;
    }
}

/* -- rows of results whose channels do not fill vectors: a vector has those of several results */

/* The numbers after which vectors begin at the first channel again; 0 if they are not used. */
static int64_t GG_NAME(gg_depth_period)(const gg_depthwise *d) {
    int64_t channels = d->channels, period = GG_REAL_LANES;
    if (d->x.step != 1 || channels % GG_REAL_LANES == 0 || channels > GG_DEPTH_FEW) return 0;
    while (period % channels) period += GG_REAL_LANES;
    return d->y.window * d->x.window * period <= GG_DEPTH_REPEATED ? period : 0;
}

/* The repeated weights of an element: vectors begin at any of a period's. */
#define GG_DEPTH_SPAN(period) ((period) + GG_REAL_LANES)

/* The bytes of all repeated weights. */
static int64_t GG_NAME(gg_depth_weights_bytes)(const gg_depthwise *d) {
    const int64_t period = GG_NAME(gg_depth_period)(d);
    const int64_t numbers = d->y.window * d->x.window * GG_DEPTH_SPAN(period);
    return period ? gg_lines(numbers * (int64_t)sizeof(gg_real)) : 0;
}

/* Each element's weights, of a period and a vector. */
static void GG_NAME(gg_repeat_weights)(const gg_depthwise *d, const gg_real *weights,
                                       int64_t period, gg_real *to) {
    const int64_t channels = d->channels;
    for (int64_t tap = 0; tap < d->y.window * d->x.window; tap++, weights += channels)
        for (int64_t i = 0, c = 0; i < GG_DEPTH_SPAN(period); i++, c = c + 1 < channels ? c + 1 : 0)
            *to++ = weights[c];
}

/* Several results: some vectors, whose weights are at `part`. */
GG_ALWAYS void GG_NAME(gg_depth_vectors)(const int vectors, const gg_real *from,
                                         const gg_real *repeated, const int64_t *part,
                                         const gg_depth_tap *taps, int64_t have, gg_real *to) {
    GG_NAME(gg_vector) sums[GG_DEPTH_VECTORS];
    GG_UNROLL for (int v = 0; v < vectors; v++) sums[v] = (GG_NAME(gg_vector)){0};
    for (int64_t t = 0; t < have; t++) {
        const GG_NAME(gg_vector) *x = (const GG_NAME(gg_vector) *)(from + taps[t].from);
        const gg_real *weights = repeated + taps[t].repeated;
        GG_UNROLL for (int v = 0; v < vectors; v++)
            sums[v] += x[v] * *(const GG_NAME(gg_vector) *)(weights + part[v]);
    }
    GG_UNROLL for (int v = 0; v < vectors; v++) ((GG_NAME(gg_vector) *)to)[v] = sums[v];
}

/* The same for two rows of results, whose windows share rows of the image: it is read once. */
GG_ALWAYS void GG_NAME(gg_depth_two)(const int vectors, const gg_depthwise *d, const gg_real *from,
                                     const gg_real *repeated, int64_t period, int64_t at,
                                     gg_real *to, gg_real *below) {
    const int64_t rows = d->y.window, columns = d->x.window, span = GG_DEPTH_SPAN(period);
    const int64_t apart = d->x.dilation * d->channels, row = d->x.source * d->channels;
    const gg_real *weights[GG_DEPTH_VECTORS];
    GG_NAME(gg_vector) sums[2][GG_DEPTH_VECTORS];
    GG_UNROLL for (int v = 0; v < vectors; v++) {
        weights[v] = repeated + (at + v * GG_REAL_LANES) % period;
        sums[0][v] = sums[1][v] = (GG_NAME(gg_vector)){0};
    }
    for (int64_t i = 0; i <= rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const GG_NAME(gg_vector) *x =
                (const GG_NAME(gg_vector) *)(from + at + i * row + j * apart);
            const int64_t tap = (i * columns + j) * span, before = tap - columns * span;
            if (i < rows)
                GG_UNROLL for (int v = 0; v < vectors; v++)
                    sums[0][v] += x[v] * *(const GG_NAME(gg_vector) *)(weights[v] + tap);
            if (i > 0)
                GG_UNROLL for (int v = 0; v < vectors; v++)
                    sums[1][v] += x[v] * *(const GG_NAME(gg_vector) *)(weights[v] + before);
        }
    GG_UNROLL for (int v = 0; v < vectors; v++) {
        ((GG_NAME(gg_vector) *)(to + at))[v] = sums[0][v];
        ((GG_NAME(gg_vector) *)(below + at))[v] = sums[1][v];
    }
}

/* Two rows of at least a vector's numbers; the last vector overlaps. */
static void GG_NAME(gg_depth_rows)(const gg_depthwise *d, const gg_real *from,
                                   const gg_real *repeated, int64_t period, int64_t count,
                                   gg_real *to, gg_real *below) {
    int64_t at = 0;
    for (; at + GG_DEPTH_VECTORS * GG_REAL_LANES <= count; at += GG_DEPTH_VECTORS * GG_REAL_LANES)
        GG_NAME(gg_depth_two)(GG_DEPTH_VECTORS, d, from, repeated, period, at, to, below);
    for (; at < count; at += GG_REAL_LANES)
        GG_NAME(gg_depth_two)(1, d, from, repeated, period, gg_min(at, count - GG_REAL_LANES), to, below);
}

/* Several results, `count` numbers. */
static void GG_NAME(gg_depth_results)(const gg_real *from, const gg_real *repeated, int64_t period,
                                      const gg_depth_tap *taps, int64_t have, int64_t count,
                                      gg_real *to) {
    int64_t part[GG_DEPTH_VECTORS], at = 0;
    const int64_t many = GG_DEPTH_VECTORS * GG_REAL_LANES;
    while (at + GG_REAL_LANES <= count) {
        const int is_many = count - at >= many;
        for (int64_t v = 0; v < GG_DEPTH_VECTORS; v++) part[v] = (at + v * GG_REAL_LANES) % period;
        if (is_many)
            GG_NAME(gg_depth_vectors)(GG_DEPTH_VECTORS, from + at, repeated, part, taps, have, to + at);
        else
            GG_NAME(gg_depth_vectors)(1, from + at, repeated, part, taps, have, to + at);
        at += is_many ? many : GG_REAL_LANES;
    }
    if (at < count && count >= GG_REAL_LANES) { /* once more, partly */
        at = count - GG_REAL_LANES, part[0] = at % period;
        GG_NAME(gg_depth_vectors)(1, from + at, repeated, part, taps, have, to + at);
        return;
    }
    for (int64_t i = at % period; at < count; at++, i++) {
        gg_real sum = 0;
        for (int64_t t = 0; t < have; t++)
            sum += from[taps[t].from + at] * repeated[taps[t].repeated + i];
        to[at] = sum;
    }
}

/* A row of results; without those in the middle if these are there. */
static void GG_NAME(gg_depth_row)(const gg_depthwise *d, int64_t row, int64_t period,
                                  const gg_real *repeated, gg_depth_tap *taps, int is_middle_done) {
    const gg_real *weights = d->source->at[!d->y.is_back];
    const int64_t size = d->y.source * d->x.source * d->channels;
    const gg_real *image = (const gg_real *)d->from + row / d->y.result * size;
    gg_real *to = (gg_real *)d->to + row * d->x.result * d->channels;
    int64_t have = 0;
    for (int64_t x = 0, was_inner = 0; x < d->x.result; x++) {
        const int is_inner = gg_depth_is_inner(&d->x, x);
        const int64_t base = x * d->x.step * d->channels;
        const int64_t run = period && is_inner ? gg_depth_run_of(d, x) : 0;
        if (run && is_middle_done) {
            x += run - 1;
            continue;
        }
        if (!is_inner || !was_inner)
            have = gg_depth_taps(d, row % d->y.result, x, base, GG_DEPTH_SPAN(period), taps);
        was_inner = is_inner;
        if (run) {
            GG_NAME(gg_depth_results)(image + base, repeated, period, taps, have,
                                      run * d->channels, to + x * d->channels);
            x += run - 1;
            continue;
        }
        GG_NAME(gg_depth_result)(image + base, weights, taps, have, d->channels,
                                 to + x * d->channels);
    }
}

/* The results in the middle of two rows; whether there are enough. */
static int GG_NAME(gg_depth_middle)(const gg_depthwise *d, int64_t row, int64_t period,
                                    const gg_real *repeated) {
    int64_t x = 0;
    while (x < d->x.result && !gg_depth_is_inner(&d->x, x)) x++;
    const int64_t count = gg_depth_run_of(d, x) * d->channels, width = d->x.result * d->channels;
    if (count < GG_REAL_LANES) return 0;
    const int64_t top = row % d->y.result - d->y.before, left = x - d->x.before;
    const int64_t first = row / d->y.result * d->y.source + top;
    const gg_real *from = (const gg_real *)d->from + (first * d->x.source + left) * d->channels;
    gg_real *to = (gg_real *)d->to + row * width + x * d->channels;
    GG_NAME(gg_depth_rows)(d, from, repeated, period, count, to, to + width);
    return 1;
}

static void GG_NAME(gg_depth_part)(void *at, int64_t which) {
    const gg_depthwise *d = at;
    const int64_t period = GG_NAME(gg_depth_period)(d);
    const int64_t end = gg_min((which + 1) * d->rows_each, d->rows);
    char *slot = gg_take(d->source, d->source->scratch, d->slot_bytes);
    gg_depth_tap *taps = (gg_depth_tap *)slot;
    const gg_real *repeated = d->repeated;
    for (int64_t row = which * d->rows_each; row < end; row++) {
        int is_done = period && row + 1 < end && gg_depth_are_two(d, row);
        is_done = is_done && GG_NAME(gg_depth_middle)(d, row, period, repeated);
        GG_NAME(gg_depth_row)(d, row, period, repeated, taps, is_done);
        if (is_done) GG_NAME(gg_depth_row)(d, ++row, period, repeated, taps, is_done);
    }
    gg_give(slot);
}

static void GG_NAME(gg_depth_plan)(gg_source *source, int is_back) {
    gg_depthwise d = gg_depthwise_of(source, is_back);
    gg_depthwise_set_work(&d);
    source->scratch_bytes = gg_slots_bytes(source, d.slot_bytes);
    source->scratch_bytes += GG_NAME(gg_depth_weights_bytes)(&d);
    source->scratch_bytes += gg_depth_repeated_bytes(&d, sizeof(gg_real));
}

static int GG_NAME(gg_depth_run)(gg_source *source, int is_back) {
    gg_depthwise d = gg_depthwise_of(source, is_back);
    gg_free_slots(source, source->scratch, d.slot_bytes);
    if (!d.channels || !d.x.result) return GG_DONE;
    const int64_t images = source->count[is_back ? 2 : 0];
    const int64_t period = GG_NAME(gg_depth_period)(&d);
    d.repeated = source->scratch + gg_slots_bytes(source, d.slot_bytes);
    gg_real *repeated = (gg_real *)((char *)d.repeated + GG_NAME(gg_depth_weights_bytes)(&d));
    if (period) GG_NAME(gg_repeat_weights)(&d, source->at[!d.y.is_back], period, d.repeated);
    d.from = source->at[is_back], d.to = source->at[2];
    if (d.each > 1 && is_back) d.to = repeated;
    if (d.each > 1 && !is_back) {
        GG_NAME(gg_depth_repeat)(d.from, images, d.each, repeated);
        d.from = repeated;
    }
    source->parallel(GG_NAME(gg_depth_part), &d, d.parts, source->threads);
    if (d.each > 1 && is_back) GG_NAME(gg_depth_add_up)(repeated, images, d.each, source->at[2]);
    return GG_DONE;
}

void GG_NAME(gg_depthwise_plan)(gg_source *source) {
    gg_conv_set_count(source, 0, 1, 2);
    source->count[2] *= source->parameters[3]; /* as many outputs as channels */
    GG_NAME(gg_depth_plan)(source, 0);
}

/* images, filter -> results */
int GG_NAME(gg_depthwise)(void *block) { return GG_NAME(gg_depth_run)(block, 0); }

void GG_NAME(gg_depthwise_back_input_plan)(gg_source *source) {
    gg_conv_set_count(source, 2, 0, 1);
    source->count[1] *= source->parameters[3]; /* as many outputs as channels */
    GG_NAME(gg_depth_plan)(source, 1);
}

/* filter, gradient of the results -> gradient by the images */
int GG_NAME(gg_depthwise_back_input)(void *block) { return GG_NAME(gg_depth_run)(block, 1); }

/* -- the gradient by the filter */

/* The same as below for neighbouring places: vectors have the channels of several places. */
static void GG_NAME(gg_depth_sum_few)(const gg_real *from, const gg_real *given, int64_t count,
                                      int64_t channels, int64_t period, gg_real *sums) {
    gg_real parts[GG_DEPTH_FEW * GG_REAL_LANES];
    for (int64_t i = 0; i < period; i++) parts[i] = 0;
    for (; count >= period; count -= period, from += period, given += period)
        for (int64_t i = 0; i < period; i += GG_REAL_LANES)
            *(GG_NAME(gg_vector) *)(parts + i) += *(const GG_NAME(gg_vector) *)(from + i) *
                                                  *(const GG_NAME(gg_vector) *)(given + i);
    for (int64_t i = 0; i < count; i++) parts[i] += from[i] * given[i];
    for (int64_t i = 0; i < period; i += channels)
        for (int64_t c = 0; c < channels; c++) sums[c] += parts[i + c];
}

/* sums[channel] += over `count` places in a row, `step` channels' numbers apart in the images. */
static void GG_NAME(gg_depth_sum)(const gg_real *from, int64_t step, const gg_real *given,
                                  int64_t count, int64_t channels, gg_real *sums) {
    int64_t c = 0;
    for (; c + GG_REAL_LANES <= channels; c += GG_REAL_LANES) {
        GG_NAME(gg_vector) sum = {0};
        for (int64_t x = 0; x < count; x++)
            sum += *(const GG_NAME(gg_vector) *)(from + x * step + c) *
                   *(const GG_NAME(gg_vector) *)(given + x * channels + c);
        *(GG_NAME(gg_vector) *)(sums + c) += sum;
    }
    for (; c < channels; c++) {
        gg_real sum = 0;
        for (int64_t x = 0; x < count; x++) sum += from[x * step + c] * given[x * channels + c];
        sums[c] += sum;
    }
}

static void GG_NAME(gg_depth_filter_part)(void *at, int64_t which) {
    const gg_depthwise *d = at;
    int64_t all = d->y.window * d->x.window * d->channels, row, end = (which + 1) * d->rows_each;
    const int64_t period = GG_NAME(gg_depth_period)(d);
    gg_real *sums = (gg_real *)d->source->scratch + which * all;
    memset(sums, 0, all * sizeof(gg_real));
    for (int64_t line = which * d->rows_each; line < gg_min(end, d->rows); line++)
        for (int64_t i = 0; i < d->y.window; i++) {
            if (!gg_depth_sees(&d->y, line % d->y.result, i, &row)) continue;
            row += line / d->y.result * d->y.source;
            for (int64_t j = 0; j < d->x.window; j++) {
                int64_t start = j * d->x.dilation - d->x.before, stride = d->x.stride;
                int64_t first = gg_max(-gg_floor(start, stride), 0);
                int64_t last = gg_floor(d->x.source - 1 - start, stride) + 1;
                last = gg_min(last, d->x.result);
                const gg_real *from = d->from;
                const gg_real *given = (const gg_real *)d->source->at[1];
                gg_real *to = sums + (i * d->x.window + j) * d->channels;
                from += (row * d->x.source + first * stride + start) * d->channels;
                given += (line * d->x.result + first) * d->channels;
                if (first >= last) continue;
                const int64_t count = (last - first) * d->channels;
                if (period && stride == 1 && count >= 2 * period)
                    GG_NAME(gg_depth_sum_few)(from, given, count, d->channels, period, to);
                else
                    GG_NAME(gg_depth_sum)(from, stride * d->channels, given, last - first,
                                          d->channels, to);
            }
        }
}

void GG_NAME(gg_depthwise_back_filter_plan)(gg_source *source) {
    gg_conv_set_count(source, 0, 2, 1);
    source->count[1] *= source->parameters[3]; /* as many outputs as channels */
    gg_depthwise d = gg_depthwise_filter_of(source);
    gg_depthwise_set_work(&d);
    source->scratch_bytes = gg_lines(d.parts * source->count[2] * (int64_t)sizeof(gg_real));
    source->scratch_bytes += gg_depth_repeated_bytes(&d, sizeof(gg_real));
}

/* images, gradient of the results -> gradient by the filter */
int GG_NAME(gg_depthwise_back_filter)(void *block) {
    gg_source *source = block;
    gg_depthwise d = gg_depthwise_filter_of(source);
    int64_t all = source->count[2];
    const gg_real *sums = (const gg_real *)source->scratch;
    gg_real *to = source->at[2];
    memset(to, 0, all * sizeof(gg_real));
    if (!all || !d.x.result) return GG_DONE;
    d.from = source->at[0];
    if (d.each > 1) {
        const int64_t bytes = gg_lines(d.parts * all * (int64_t)sizeof(gg_real));
        gg_real *repeated = (gg_real *)(source->scratch + bytes);
        GG_NAME(gg_depth_repeat)(d.from, source->count[0], d.each, repeated);
        d.from = repeated;
    }
    source->parallel(GG_NAME(gg_depth_filter_part), &d, d.parts, source->threads);
    for (int64_t part = 0; part < d.parts; part++, sums += all)
        for (int64_t each = 0; each < all; each++) to[each] += sums[each];
    return GG_DONE;
}
