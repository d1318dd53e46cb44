/* Images that are resized by tables of weights, one per axis: out = rows @ image @ columns^T for
   each channel, where the rows of both matrices have few weights.

   Parameters: batch, height, width, channels, new height, new width, the pixels' dtype, whether
   columns come first, the number of rows of which results are kept then, and the two tables. A table
   has the number of its weights; the first weight of each new pixel, and the end; their columns;
   the weights, the bits of doubles. Arrays: images, out (and between them images that are not read). */

#include "host_rows.h"
#include "host_pixels.h"

#ifndef GG_RESIZE
#define GG_RESIZE

#define GG_RESIZE_NUMBERS 9
#define GG_RESIZE_FEW 4 /* channels in registers */

typedef struct {
    int64_t count, size;
    const int64_t *starts, *columns, *bits;
} gg_taps;

static const int64_t *gg_taps_of(const int64_t *at, int64_t size, gg_taps *taps) {
    *taps = (gg_taps){at[0], size, at + 1, at + 2 + size, at + 2 + size + at[0]};
    return taps->bits + taps->count;
}

typedef struct {
    gg_source *source;
    int64_t batch, height, width, channels, new_height, new_width, kind, columns_first, kept;
    gg_taps y, x;
    int64_t rows_each, blocks, slot_bytes;
    const char *from;
    char *slots;
    void *to, *y_weights, *x_weights;
} gg_resizing;

static gg_resizing gg_resizing_of(gg_source *source, int64_t item) {
    const int64_t *n = source->parameters;
    gg_resizing r = {.source = source, .batch = n[0], .height = n[1], .width = n[2],
                     .channels = n[3], .new_height = n[4], .new_width = n[5], .kind = n[6],
                     .columns_first = n[7], .kept = n[8]};
    gg_taps_of(gg_taps_of(n + GG_RESIZE_NUMBERS, r.new_height, &r.y), r.new_width, &r.x);
    r.rows_each = gg_max(8, gg_ceil(16384, gg_max(r.new_width * r.channels, 1)));
    r.blocks = gg_ceil(r.new_height, r.rows_each);
    const int64_t wide = r.width * r.channels, narrow = r.new_width * r.channels;
    r.slot_bytes = 2 * gg_lines(wide * item) +
                   (r.columns_first ? r.kept * (8 + gg_lines(narrow * item)) + GG_LINE : 0);
    return r;
}
#endif

GG_ALWAYS void GG_NAME(gg_across_few)(const int64_t channels, const gg_taps *x,
                                      const gg_real *weights, const gg_real *from, gg_real *to) {
    for (int64_t new = 0; new < x->size; new++, to += channels) {
        gg_real sums[GG_RESIZE_FEW] = {0};
        for (int64_t t = x->starts[new]; t < x->starts[new + 1]; t++) {
            const gg_real *pixel = from + x->columns[t] * channels;
            for (int64_t k = 0; k < channels; k++) sums[k] += weights[t] * pixel[k];
        }
        for (int64_t k = 0; k < channels; k++) to[k] = sums[k];
    }
}

/* to = the sum of rows, each with its weight; rows are `apart` numbers apart. */
static void GG_NAME(gg_weigh)(const gg_real *const *rows, const gg_real *weights, int64_t taps,
                              int64_t count, gg_real *to) {
    if (taps == 2) {
        const gg_real *one = rows[0], *two = rows[1], a = weights[0], b = weights[1];
        GG_LOOP for (int64_t i = 0; i < count; i++) to[i] = a * one[i] + b * two[i];
        return;
    }
    if (!taps) memset(to, 0, (size_t)count * sizeof(gg_real));
    for (int64_t t = 0; t < taps; t++) {
        const gg_real *row = rows[t], weight = weights[t];
        if (t)
            GG_LOOP for (int64_t i = 0; i < count; i++) to[i] += weight * row[i];
        else
            GG_LOOP for (int64_t i = 0; i < count; i++) to[i] = weight * row[i];
    }
}

static void GG_NAME(gg_across)(const gg_resizing *r, const gg_real *from, gg_real *to) {
    const gg_taps *x = &r->x;
    const gg_real *weights = r->x_weights;
    const int64_t channels = r->channels;
    switch (channels) {
        case 1: GG_NAME(gg_across_few)(1, x, weights, from, to); return;
        case 2: GG_NAME(gg_across_few)(2, x, weights, from, to); return;
        case 3: GG_NAME(gg_across_few)(3, x, weights, from, to); return;
        case 4: GG_NAME(gg_across_few)(4, x, weights, from, to); return;
    }
    for (int64_t new = 0; new < x->size; new++, to += channels) {
        memset(to, 0, (size_t)channels * sizeof(gg_real));
        for (int64_t t = x->starts[new]; t < x->starts[new + 1]; t++) {
            const gg_real *pixel = from + x->columns[t] * channels, weight = weights[t];
            GG_LOOP for (int64_t k = 0; k < channels; k++) to[k] += weight * pixel[k];
        }
    }
}

/* The row of an image as numbers, in place if it has the functions' type. */
static const gg_real *GG_NAME(gg_pixel_row)(const gg_resizing *r, int64_t image, int64_t row,
                                            gg_real *buffer) {
    const int64_t count = r->width * r->channels;
    const char *at = r->from + (image * r->height + row) * count * gg_pixel_bytes[r->kind];
    if (r->kind == (sizeof(gg_real) == 4 ? GG_F32 : GG_F64)) return (const gg_real *)at;
    GG_NAME(gg_pixels)(r->kind, at, count, buffer);
    return buffer;
}

/* Columns first: each row of the image is resized once, and kept while new rows need it. */
static void GG_NAME(gg_resize_columns_first)(const gg_resizing *r, int64_t image, int64_t first,
                                             int64_t last, char *slot) {
    const int64_t wide = gg_lines(r->width * r->channels * (int64_t)sizeof(gg_real));
    const int64_t count = r->new_width * r->channels;
    gg_real *buffer = (gg_real *)slot, *to = r->to;
    int64_t *held = (int64_t *)(slot + 2 * wide);
    char *rows = (char *)(held + r->kept) + GG_LINE - (r->kept * 8) % GG_LINE;
    for (int64_t i = 0; i < r->kept; i++) held[i] = -1;
    for (int64_t new = first; new < last; new++) {
        const int64_t start = r->y.starts[new], taps = r->y.starts[new + 1] - start;
        const gg_real *chosen[taps + 1];
        for (int64_t t = 0; t < taps; t++) {
            const int64_t row = r->y.columns[start + t], place = row % r->kept;
            gg_real *resized = (gg_real *)(rows + place * gg_lines(count * (int64_t)sizeof(gg_real)));
            chosen[t] = resized;
            if (held[place] == row) continue;
            held[place] = row;
            GG_NAME(gg_across)(r, GG_NAME(gg_pixel_row)(r, image, row, buffer), resized);
        }
        GG_NAME(gg_weigh)(chosen, (const gg_real *)r->y_weights + start, taps, count,
                          to + (image * r->new_height + new) * count);
    }
}

static void GG_NAME(gg_resize_rows_first)(const gg_resizing *r, int64_t image, int64_t first,
                                          int64_t last, char *slot) {
    const int64_t count = r->width * r->channels;
    gg_real *sum = (gg_real *)slot, *to = r->to;
    gg_real *buffer = (gg_real *)(slot + gg_lines(count * (int64_t)sizeof(gg_real)));
    for (int64_t new = first; new < last; new++) {
        const gg_real *weights = r->y_weights;
        memset(sum, 0, (size_t)count * sizeof(gg_real));
        for (int64_t t = r->y.starts[new]; t < r->y.starts[new + 1]; t++) {
            const gg_real weight = weights[t];
            const gg_real *row = GG_NAME(gg_pixel_row)(r, image, r->y.columns[t], buffer);
            GG_LOOP for (int64_t i = 0; i < count; i++) sum[i] += weight * row[i];
        }
        GG_NAME(gg_across)(r, sum, to + (image * r->new_height + new) * r->new_width * r->channels);
    }
}

static void GG_NAME(gg_resize_part)(void *block, int64_t which) {
    const gg_resizing *r = block;
    const int64_t image = which / r->blocks, first = which % r->blocks * r->rows_each;
    const int64_t last = gg_min(first + r->rows_each, r->new_height);
    char *slot = gg_take(r->source, r->slots, r->slot_bytes);
    if (r->columns_first)
        GG_NAME(gg_resize_columns_first)(r, image, first, last, slot);
    else
        GG_NAME(gg_resize_rows_first)(r, image, first, last, slot);
    gg_give(slot);
}

static void GG_NAME(gg_resize_sized)(gg_source *source, int is_back) {
    gg_resizing r = gg_resizing_of(source, sizeof(gg_real));
    const int64_t pixels = r.batch * r.channels, of_row = r.width * r.channels;
    const int64_t out = pixels * r.new_height * r.new_width;
    source->count[0] = pixels * r.height * r.width;
    source->count[1 + is_back] = out;
    if (is_back) source->count[1] = out; /* the images before resizing: as many as results */
    const double across = r.columns_first ? gg_min(r.height, r.y.count) : r.new_height;
    gg_set_work(source, r.batch * (across * r.x.count * r.channels * 0.5 +
                                   (double)r.y.count * of_row * 0.06));
    source->scratch_bytes = gg_slots_bytes(source, r.slot_bytes) +
                            (r.y.count + r.x.count) * (int64_t)sizeof(gg_real) + GG_LINE;
}

static int GG_NAME(gg_resize_run)(gg_source *source, int is_back) {
    gg_resizing r = gg_resizing_of(source, sizeof(gg_real));
    gg_real *weights = (gg_real *)(source->scratch + gg_slots_bytes(source, r.slot_bytes));
    r.y_weights = weights, r.x_weights = weights + r.y.count;
    for (int64_t i = 0; i < r.y.count + r.x.count; i++) {
        double weight;
        memcpy(&weight, i < r.y.count ? r.y.bits + i : r.x.bits + i - r.y.count, 8);
        weights[i] = (gg_real)weight;
    }
    r.from = source->at[0], r.to = source->at[1 + is_back], r.slots = source->scratch;
    gg_free_slots(source, r.slots, r.slot_bytes);
    source->parallel(GG_NAME(gg_resize_part), &r, r.batch * r.blocks, source->threads);
    return GG_DONE;
}

void GG_NAME(gg_resize_plan)(gg_source *source) { GG_NAME(gg_resize_sized)(source, 0); }
int GG_NAME(gg_resize)(void *block) { return GG_NAME(gg_resize_run)(block, 0); }
void GG_NAME(gg_resize_back_plan)(gg_source *source) { GG_NAME(gg_resize_sized)(source, 1); }
int GG_NAME(gg_resize_back)(void *block) { return GG_NAME(gg_resize_run)(block, 1); }
