/* Rows that are copied: gathered from a tensor, or put into one. Only bytes are moved. */

#include "host_rows.h"

#ifndef GG_GATHER
#define GG_GATHER

#define GG_GATHER_BYTES 32768 /* bytes written by a part, about */
#define GG_AHEAD 8            /* rows that are prefetched before they are read */

/* params [batches, outer, size, row], indices [batches, each], out [batches, outer, each, row] */
typedef struct {
    gg_places places;
    int64_t item, inner, outer, each, row; /* row: its bytes */
    int64_t total, rows_each;              /* rows of `out`, and of a part */
    const char *from;
    char *to;
    const int64_t *rows;
} gg_gathering;

static gg_gathering gg_gathering_of(gg_source *source) {
    const int64_t *numbers = source->parameters + GG_PLACES;
    gg_gathering g = {.places = gg_places_of(source->parameters), .item = numbers[0],
                      .inner = numbers[1], .outer = numbers[2], .each = numbers[3]};
    g.row = g.item * g.inner;
    g.total = g.places.count * g.outer;
    g.rows_each = gg_max(1, GG_GATHER_BYTES / gg_max(g.row, 1));
    return g;
}

static int64_t gg_size_of(const gg_places *p) {
    int64_t size = 1;
    for (int64_t axis = 0; axis < p->depth; axis++) size *= p->sizes[axis];
    return size;
}

void GG_NAME(gg_gather_plan)(gg_source *source) {
    gg_gathering g = gg_gathering_of(source);
    int64_t batches = g.places.count / gg_max(g.each, 1);
    source->count[0] = batches * g.outer * gg_size_of(&g.places) * g.inner;
    source->count[1] = g.places.count * g.places.depth;
    source->count[2] = g.total * g.inner;
    source->scratch_bytes = g.places.count * 8;
    gg_set_work(source, gg_row_work(g.total, g.row) + g.places.count);
}

typedef struct {
    uint64_t first, second;
} gg_16_bytes;

#define GG_GATHER_ITEMS(type)                                                                      \
    for (int64_t i = 0; i < count; i++) ((type *)to)[i] = ((const type *)from)[rows[i]]

/* Gathers rows of one matrix. */
static void gg_gather_rows(const char *from, char *to, const int64_t *rows, int64_t count,
                           int64_t row) {
    switch (row) {
        case 1: GG_GATHER_ITEMS(uint8_t); return;
        case 2: GG_GATHER_ITEMS(uint16_t); return;
        case 4: GG_GATHER_ITEMS(uint32_t); return;
        case 8: GG_GATHER_ITEMS(uint64_t); return;
        case 16: GG_GATHER_ITEMS(gg_16_bytes); return;
    }
    for (int64_t i = 0; i < count; i++) {
        if (i + GG_AHEAD < count)
            for (int64_t line = 0; line < gg_min(row, 512); line += GG_LINE)
                __builtin_prefetch(from + rows[i + GG_AHEAD] * row + line);
        gg_copy_bytes(to + i * row, from + rows[i] * row, row);
    }
}

static void gg_gather_part(void *block, int64_t which) {
    const gg_gathering *g = block;
    const int64_t size = gg_size_of(&g->places), end = gg_min(g->total, (which + 1) * g->rows_each);
    for (int64_t row = which * g->rows_each, last; row < end; row = last) {
        const int64_t matrix = row / g->each; /* among those that batches and `outer` number */
        last = gg_min(end, (matrix + 1) * g->each);
        const int64_t *rows = g->rows + matrix / g->outer * g->each + row % g->each;
        gg_gather_rows(g->from + matrix * size * g->row, g->to + row * g->row, rows, last - row,
                       g->row);
    }
}

int GG_NAME(gg_gather)(void *block) {
    gg_source *source = block;
    gg_gathering g = gg_gathering_of(source);
    g.from = source->at[0], g.to = source->at[2];
    g.rows = (int64_t *)source->scratch;
    if (!gg_row_numbers(&g.places, source->at[1], (int64_t *)source->scratch)) return GG_FAILED;
    source->parallel(gg_gather_part, &g, gg_ceil(g.total, g.rows_each), source->threads);
    return GG_DONE;
}

/* -- rows of a matrix replaced: of equal rows the last one stays */

typedef struct {
    gg_places places;
    int64_t row, rows, parts, one; /* one: all get the same element */
    const char *from;
    char *to;
    const int64_t *numbers;
} gg_putting;

static gg_putting gg_putting_of(gg_source *source) {
    const int64_t *numbers = source->parameters + GG_PLACES;
    gg_putting p = {.places = gg_places_of(source->parameters), .row = numbers[0] * numbers[1]};
    p.rows = gg_size_of(&p.places);
    p.parts = gg_row_parts(p.rows, p.row);
    return p;
}

/* ref, indices, updates, the reference */
void GG_NAME(gg_put_plan)(gg_source *source) {
    gg_putting p = gg_putting_of(source);
    const int64_t inner = source->parameters[GG_PLACES + 1];
    source->count[0] = source->count[3] = p.rows * inner;
    source->count[1] = p.places.count * p.places.depth;
    source->count[2] = p.places.count * inner;
    source->scratch_bytes = p.places.count * 8;
    gg_set_work(source, gg_row_work(p.places.count, p.row));
}

GG_ALWAYS void gg_put_rows(const gg_putting *p, int64_t first, int64_t last, const int64_t size) {
    for (int64_t i = 0; i < p->places.count; i++) {
        const int64_t row = p->numbers[i];
        if (row < first || row >= last) continue;
        gg_copy_bytes(p->to + row * size, p->from + i * size, size);
    }
}

static void gg_put_part(void *block, int64_t which) {
    const gg_putting *p = block;
    const int64_t first = p->rows * which / p->parts, last = p->rows * (which + 1) / p->parts;
    switch (p->row) { /* short rows are copied by an instruction */
        case 4: gg_put_rows(p, first, last, 4); return;
        case 8: gg_put_rows(p, first, last, 8); return;
        case 16: gg_put_rows(p, first, last, 16); return;
        default: gg_put_rows(p, first, last, p->row);
    }
}

int GG_NAME(gg_put)(void *block) {
    gg_source *source = block;
    gg_putting p = gg_putting_of(source);
    p.to = source->at[0], p.from = source->at[2];
    p.numbers = (int64_t *)source->scratch;
    if (!gg_row_numbers(&p.places, source->at[1], (int64_t *)source->scratch)) return GG_FAILED;
    source->parallel(gg_put_part, &p, p.parts, source->threads);
    return GG_DONE;
}
#endif
