/* The gradient of means (or sums divided by roots) of rows at indices, by segment: each row gets the
   gradients of its segments, times a factor.

   Parameters: the indices (host_rows.h), the number of segments, a row's width, the divisor. Arrays:
   the segments' gradients, indices, the segments' numbers (int32), out. Parts are ranges of rows. */

#include "host_rows.h"

#ifndef GG_SEGMENT_GRADIENT
#define GG_SEGMENT_GRADIENT
enum { GG_WHOLE, GG_MEAN, GG_ROOT_OF_COUNT };

typedef struct {
    gg_places places;
    int64_t segments, width, divided, parts;
    gg_source *source;
    int64_t *rows, *counts;
} gg_segment_gradient;

static gg_segment_gradient gg_segment_gradient_of(gg_source *source) {
    const int64_t *n = source->parameters;
    gg_segment_gradient g = {gg_places_of(n), n[GG_PLACES], n[GG_PLACES + 1], n[GG_PLACES + 2], 1,
                             source};
    g.rows = (int64_t *)source->scratch, g.counts = g.rows + g.places.count;
    return g;
}
#endif

void GG_NAME(gg_segment_back_plan)(gg_source *source) {
    const gg_segment_gradient g = gg_segment_gradient_of(source);
    const double row = (double)g.width * sizeof(gg_real);
    source->count[0] = g.segments * g.width;
    source->count[1] = source->count[2] = g.places.count;
    source->count[3] = g.places.sizes[0] * g.width;
    source->scratch_bytes = (g.places.count + g.segments) * 8;
    gg_set_work(source, gg_row_work(g.places.count, 2 * row) + g.places.sizes[0] * row * 0.1);
}

static void GG_NAME(gg_segment_back_part)(void *block, int64_t which) {
    const gg_segment_gradient *g = block;
    const int64_t rows = g->places.sizes[0], width = g->width;
    const int64_t first = rows * which / g->parts, last = rows * (which + 1) / g->parts;
    const gg_real *given = g->source->at[0];
    const int32_t *segments = g->source->at[2];
    gg_real *out = g->source->at[3];
    memset(out + first * width, 0, (size_t)((last - first) * width) * sizeof *out);
    for (int64_t i = 0; i < g->places.count; i++) {
        if (g->rows[i] < first || g->rows[i] >= last) continue;
        const double count = (double)g->counts[segments[i]];
        const gg_real by = (gg_real)(1 / (g->divided == GG_MEAN ? count : __builtin_sqrt(count)));
        const gg_real *from = given + segments[i] * width;
        gg_real *to = out + g->rows[i] * width;
        GG_LOOP for (int64_t c = 0; c < width; c++) to[c] += from[c] * by;
    }
}

int GG_NAME(gg_segment_back)(void *block) {
    gg_segment_gradient g = gg_segment_gradient_of(block);
    const int32_t *segments = g.source->at[2];
    int64_t outside = 0;
    for (int64_t i = 0; i < g.places.count; i++)
        outside |= (uint64_t)(int64_t)segments[i] >= (uint64_t)g.segments;
    if (outside || !gg_row_numbers(&g.places, g.source->at[1], g.rows)) return GG_FAILED;
    memset(g.counts, 0, (size_t)g.segments * 8);
    for (int64_t i = 0; i < g.places.count; i++) g.counts[segments[i]]++;
    g.parts = gg_row_parts(g.places.sizes[0], g.width * (int64_t)sizeof(gg_real));
    g.source->parallel(GG_NAME(gg_segment_back_part), &g, g.parts, g.source->threads);
    return GG_DONE;
}
