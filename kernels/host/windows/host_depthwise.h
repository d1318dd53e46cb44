/* Convolution of each channel by itself, with a filter (kh, kw, c, 1), and its two gradients.

   Forward and in the gradient by the images, products are summed in the order of the window's
   elements, each rounded, as in NumPy. In the gradient by the filter, groups of rows of windows
   have partial sums, which are added up in order. Parameters: as in host_windows.h, with one
   output. */

#include "host_half.h"
#include "host_windows.h"

#ifndef GG_DEPTHWISE
#define GG_DEPTHWISE

#define GG_DEPTH_PART 131072 /* products of a part, about */
#define GG_DEPTH_GROUPS 64   /* of rows, at most */

typedef struct {
    gg_source *source;
    gg_conv_axis y, x;
    int64_t images, channels;
    int64_t rows, rows_each, parts; /* of results, or of windows for the gradient by the filter */
    int64_t slot_bytes;
} gg_depthwise;

/* The contribution of one element of the window to a result: the offsets of both factors. */
typedef struct {
    int64_t from, weight;
} gg_depth_tap;

static gg_depthwise gg_depthwise_of(gg_source *source, int is_back) {
    const int64_t *at = source->parameters;
    gg_depthwise d = {source, gg_conv_axis_of(at, 0, is_back), gg_conv_axis_of(at, 1, is_back)};
    d.images = at[0], d.channels = at[3];
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
                             gg_depth_tap *taps) {
    int64_t have = 0, row, column;
    for (int64_t i = 0; i < d->y.window; i++) {
        if (!gg_depth_sees(&d->y, y, i, &row)) continue;
        for (int64_t j = 0; j < d->x.window; j++) {
            if (!gg_depth_sees(&d->x, x, j, &column)) continue;
            taps[have].from = (row * d->x.source + column) * d->channels - base;
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

static void GG_NAME(gg_depth_part)(void *at, int64_t which) {
    const gg_depthwise *d = at;
    void *const *arrays = d->source->at;
    const gg_real *weights = arrays[!d->y.is_back];
    int64_t size = d->y.source * d->x.source * d->channels, end = (which + 1) * d->rows_each;
    char *slot = gg_take(d->source, d->source->scratch, d->slot_bytes);
    gg_depth_tap *taps = (gg_depth_tap *)slot;
    for (int64_t row = which * d->rows_each; row < gg_min(end, d->rows); row++) {
        const gg_real *image = (const gg_real *)arrays[d->y.is_back] + row / d->y.result * size;
        gg_real *to = (gg_real *)arrays[2] + row * d->x.result * d->channels;
        int64_t have = 0;
        for (int64_t x = 0, was_inner = 0; x < d->x.result; x++) {
            int is_inner = gg_depth_is_inner(&d->x, x);
            int64_t base = x * d->x.step * d->channels;
            if (!is_inner || !was_inner) have = gg_depth_taps(d, row % d->y.result, x, base, taps);
            was_inner = is_inner;
            GG_NAME(gg_depth_result)(image + base, weights, taps, have, d->channels,
                                     to + x * d->channels);
        }
    }
    gg_give(slot);
}

static void GG_NAME(gg_depth_plan)(gg_source *source, int is_back) {
    gg_depthwise d = gg_depthwise_of(source, is_back);
    gg_depthwise_set_work(&d);
    source->scratch_bytes = gg_slots_bytes(source, d.slot_bytes);
}

static int GG_NAME(gg_depth_run)(gg_source *source, int is_back) {
    gg_depthwise d = gg_depthwise_of(source, is_back);
    gg_free_slots(source, source->scratch, d.slot_bytes);
    if (d.channels && d.x.result)
        source->parallel(GG_NAME(gg_depth_part), &d, d.parts, source->threads);
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
                const gg_real *from = (const gg_real *)d->source->at[0];
                const gg_real *given = (const gg_real *)d->source->at[1];
                if (first < last)
                    GG_NAME(gg_depth_sum)(
                        from + (row * d->x.source + first * stride + start) * d->channels,
                        stride * d->channels, given + (line * d->x.result + first) * d->channels,
                        last - first, d->channels, sums + (i * d->x.window + j) * d->channels);
            }
        }
}

void GG_NAME(gg_depthwise_back_filter_plan)(gg_source *source) {
    gg_conv_set_count(source, 0, 2, 1);
    source->count[1] *= source->parameters[3]; /* as many outputs as channels */
    gg_depthwise d = gg_depthwise_filter_of(source);
    gg_depthwise_set_work(&d);
    source->scratch_bytes = d.parts * source->count[2] * sizeof(gg_real);
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
    source->parallel(GG_NAME(gg_depth_filter_part), &d, d.parts, source->threads);
    for (int64_t part = 0; part < d.parts; part++, sums += all)
        for (int64_t each = 0; each < all; each++) to[each] += sums[each];
    return GG_DONE;
}
