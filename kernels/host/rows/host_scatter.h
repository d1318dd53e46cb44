/* Rows that are updated by others, one after the other: sums, products and extremes by row.

   Parts are ranges of the updated rows, so that the updates of a row are made in order. */

#include "host_rows.h"

#ifndef GG_SCATTER
#define GG_SCATTER

enum { GG_ADD, GG_SUB, GG_MUL, GG_MIN, GG_MAX, GG_DIV, GG_SET };
enum { GG_IN_PLACE, GG_OF_TENSOR, GG_OF_NUMBER }; /* the initial values of rows */

typedef struct {
    gg_places places;
    int64_t rows, width, rule, start, parts;
    int64_t out, indices, updates, tensor; /* the numbers of these arrays */
    int64_t number;                        /* the bits of the initial value of all elements */
} gg_scattering;

static gg_scattering gg_scattering_of(gg_source *source) {
    const int64_t *n = source->parameters + GG_PLACES;
    gg_scattering s = {gg_places_of(source->parameters), n[0], n[1], n[2], n[3], 1, n[4], n[5],
                       n[6], n[7], n[8]};
    return s;
}
#endif

typedef struct {
    gg_scattering s;
    const int64_t *numbers;
    const gg_real *updates, *tensor;
    gg_real *out;
} GG_NAME(gg_scatter_work);

void GG_NAME(gg_scatter_plan)(gg_source *source) {
    gg_scattering s = gg_scattering_of(source);
    const double row = (double)s.width * sizeof(gg_real);
    source->count[s.indices] = s.places.count * s.places.depth;
    source->count[s.updates] = s.places.count * s.width;
    if (s.tensor >= 0) source->count[s.tensor] = s.rows * s.width;
    source->count[s.out] = s.rows * s.width;
    if (s.start == GG_IN_PLACE) source->count[3] = s.rows * s.width; /* the reference */
    source->scratch_bytes = s.places.count * 8;
    const double whole = s.start == GG_IN_PLACE ? 0 : s.rows * row * 0.1;
    gg_set_work(source, gg_row_work(s.places.count, 2 * row) + whole);
}

GG_ALWAYS gg_real GG_NAME(gg_combined)(const int rule, gg_real a, gg_real b) {
    if (rule == GG_ADD) return a + b;
    if (rule == GG_SUB) return a - b;
    if (rule == GG_MUL) return a * b;
    if (rule == GG_DIV) return a / b; /* floating-point numbers only */
    if (rule == GG_SET) return b;
    if (rule == GG_MIN) return b < a ? b : a; /* NaN changes nothing */
    return b > a ? b : a;
}

GG_ALWAYS void GG_NAME(gg_scatter_wide)(const int rule, const int64_t width,
                                        const GG_NAME(gg_scatter_work) * work, int64_t first,
                                        int64_t last) {
    const int64_t count = work->s.places.count;
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = work->numbers[i];
        if (row < first || row >= last) continue;
        gg_real *to = work->out + row * width;
        const gg_real *from = work->updates + i * width;
        GG_LOOP for (int64_t c = 0; c < width; c++)
            to[c] = GG_NAME(gg_combined)(rule, to[c], from[c]);
    }
}

/* Rows of one or two elements have loops of their own. */
GG_ALWAYS void GG_NAME(gg_scatter_rows)(const int rule, const GG_NAME(gg_scatter_work) * work,
                                        int64_t first, int64_t last) {
    if (work->s.width == 1)
        GG_NAME(gg_scatter_wide)(rule, 1, work, first, last);
    else if (work->s.width == 2)
        GG_NAME(gg_scatter_wide)(rule, 2, work, first, last);
    else
        GG_NAME(gg_scatter_wide)(rule, work->s.width, work, first, last);
}

static void GG_NAME(gg_scatter_part)(void *block, int64_t which) {
    const GG_NAME(gg_scatter_work) *work = block;
    const gg_scattering *s = &work->s;
    const int64_t first = s->rows * which / s->parts, last = s->rows * (which + 1) / s->parts;
    gg_real *to = work->out + first * s->width;
    const int64_t elements = (last - first) * s->width;
    if (s->start == GG_OF_TENSOR && work->tensor != work->out)
        memcpy(to, work->tensor + first * s->width, (size_t)elements * sizeof(gg_real));
    if (s->start == GG_OF_NUMBER) {
        gg_real number;
        memcpy(&number, &s->number, sizeof number);
        for (int64_t i = 0; i < elements; i++) to[i] = number;
    }
    switch (s->rule) {
        case GG_ADD: GG_NAME(gg_scatter_rows)(GG_ADD, work, first, last); return;
        case GG_SUB: GG_NAME(gg_scatter_rows)(GG_SUB, work, first, last); return;
        case GG_MUL: GG_NAME(gg_scatter_rows)(GG_MUL, work, first, last); return;
        case GG_MIN: GG_NAME(gg_scatter_rows)(GG_MIN, work, first, last); return;
        case GG_MAX: GG_NAME(gg_scatter_rows)(GG_MAX, work, first, last); return;
        case GG_DIV: GG_NAME(gg_scatter_rows)(GG_DIV, work, first, last); return;
        case GG_SET: GG_NAME(gg_scatter_rows)(GG_SET, work, first, last); return;
    }
}

int GG_NAME(gg_scatter)(void *block) {
    gg_source *source = block;
    GG_NAME(gg_scatter_work) work = {gg_scattering_of(source)};
    gg_scattering *s = &work.s;
    work.numbers = (int64_t *)source->scratch;
    work.updates = source->at[s->updates], work.out = source->at[s->out];
    work.tensor = s->tensor >= 0 ? source->at[s->tensor] : NULL;
    if (!gg_row_numbers(&s->places, source->at[s->indices], (int64_t *)source->scratch))
        return GG_FAILED;
    s->parts = gg_row_parts(s->rows, s->width * (int64_t)sizeof(gg_real));
    source->parallel(GG_NAME(gg_scatter_part), &work, s->parts, source->threads);
    return GG_DONE;
}
