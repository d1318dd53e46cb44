/* Attention: softmax(scale * query @ key + mask) @ value, for each entry of a batch.

   Queries are columns: as many as a tile has. Their scores with all keys are in memory, key by
   key, in the order in which the second product reads them; its result is transposed at the end.
   A part is some queries of one entry, and packs the keys and values of that entry.

   Query, key, value and out are contiguous. */

#include "host_matmul_tile.h"

#ifndef GG_ATTENTION
#define GG_ATTENTION

#include "host_math.h"

typedef struct {
    int64_t batch, m, n, d, dv;
    int64_t key_line, key_k; /* steps from key to key, and along a key */
    int64_t masked, mask_count, inner, mask_outer, mask_inner, mask_row, mask_column;
    int64_t scale; /* the bits of a double */
} gg_attention_sizes;

typedef struct {
    gg_source *source;
    const gg_attention_sizes *p;
    double scale;
    int64_t rows_each, chunks; /* of queries */
    int64_t columns; /* keys, to the end of a vector */
    int64_t keys, values, queries, scores, mask, turned, slot_bytes; /* offsets in a slot */
} gg_attention;

static gg_attention gg_attention_of(gg_source *source, int64_t item) {
    const gg_attention_sizes *p = (const gg_attention_sizes *)source->parameters;
    gg_attention a = {.source = source, .p = p};
    memcpy(&a.scale, &p->scale, sizeof(double));
    int64_t wanted = gg_max(1, gg_ceil(4 * source->threads, gg_max(p->batch, 1)));
    if (p->batch >= 2 * source->threads) wanted = 1;
    int64_t columns = GG_TILE_VECTORS * GG_VECTOR / item, even = GG_TILE_ROWS;
    a.rows_each = gg_ceil(gg_ceil(p->m, wanted), columns) * columns;
    a.chunks = gg_ceil(p->m, a.rows_each);
    a.values = a.keys + gg_lines((p->n + even) * p->d * item);
    a.queries = a.values + gg_lines((p->dv + even) * p->n * item);
    a.scores = a.queries + gg_lines(columns * p->d * item);
    a.mask = a.scores + gg_lines(columns * p->n * item);
    a.turned = a.mask + gg_lines(columns * p->n * item * p->masked);
    a.slot_bytes = a.turned + gg_lines((p->dv + columns) * columns * item);
    return a;
}
#endif

/* exp(x - largest) of each column of scores in place, and their sums. */
static void GG_NAME(gg_softmax_columns)(const gg_attention *a, gg_real *scores, int64_t width,
                                        const gg_real *mask, gg_real *sums) {
    const gg_real scale = a->scale;
    for (int64_t first = 0; first < width; first += GG_REAL_LANES) {
        GG_NAME(gg_vector) most = {0}, sum = {0};
        gg_real largest[GG_REAL_LANES];
        for (int64_t k = 0; k < a->p->n; k++) {
            GG_NAME(gg_vector) *at = (GG_NAME(gg_vector) *)(scores + k * width + first);
            GG_NAME(gg_vector) x = *at * scale;
            if (mask) x += *(const GG_NAME(gg_vector) *)(mask + k * width + first);
            GG_NAME(gg_mask) more = k ? (x > most) | (x != x) : (x == x) | (x != x);
            most = (GG_NAME(gg_vector))(((GG_NAME(gg_mask))x & more) |
                                        ((GG_NAME(gg_mask))most & ~more));
            *at = x;
        }
        *(GG_NAME(gg_vector) *)largest = most;
        for (int64_t k = 0; k < a->p->n; k++) {
            gg_real *at = scores + k * width + first;
            GG_LOOP for (int lane = 0; lane < GG_REAL_LANES; lane++)
                at[lane] = GG_NAME(gg_exp)(at[lane] - largest[lane]);
            sum += *(GG_NAME(gg_vector) *)at;
        }
        *(GG_NAME(gg_vector) *)(sums + first) = sum;
    }
}

/* Packs `lines` rows of an operand, panel by panel. */
static void GG_NAME(gg_attention_pack)(gg_real *to, const gg_real *from, int64_t line_step,
                                       int64_t k_step, int64_t lines, int64_t depth) {
    for (int64_t first = 0; first < lines; first += GG_TILE_ROWS) {
        int64_t count = gg_min(GG_TILE_ROWS, lines - first);
        GG_NAME(gg_pack)(to + first * depth, gg_ceil(count, 2) * 2, from + first * line_step,
                         line_step, k_step, count, depth);
    }
}

/* out = all rows of a packed operand times `width` columns. */
static void GG_NAME(gg_attention_product)(gg_real *out, const gg_real *factor, int64_t rows,
                                          int64_t depth, const gg_real *columns, int64_t width) {
    GG_NAME(gg_tile_end) end = {.c_row = width};
    for (int64_t first = 0; first < rows; first += GG_TILE_ROWS) {
        int64_t count = gg_min(GG_TILE_ROWS, rows - first);
        end.c = out + first * width;
        GG_NAME(gg_run_tile)(count, width, depth, factor + first * depth, gg_ceil(count, 2) * 2,
                             columns, width, &end);
    }
}

/* The results of some queries, which are columns, divided by their sums, as rows. */
static void GG_NAME(gg_attention_store)(gg_real *out, int64_t dv, gg_real *turned, int64_t width,
                                        int64_t count, const gg_real *sums) {
    gg_real *block = turned + dv * width;
    for (int64_t j = 0; j < dv; j++)
        for (int64_t column = 0; column < width; column += GG_REAL_LANES)
            *(GG_NAME(gg_vector) *)(turned + j * width + column) /=
                *(const GG_NAME(gg_vector) *)(sums + column);
    for (int64_t first = 0; first < dv; first += GG_TILE_COLUMNS) {
        int64_t lines = gg_min(GG_TILE_COLUMNS, dv - first);
        GG_NAME(gg_pack)(block, lines, turned + first * width, width, 1, lines, count);
        for (int64_t query = 0; query < count; query++)
            memcpy(out + query * dv + first, block + query * lines, lines * sizeof(gg_real));
    }
}

static void GG_NAME(gg_attention_part)(void *at, int64_t which) {
    const gg_attention *a = at;
    const gg_attention_sizes *p = a->p;
    int64_t one = which / a->chunks, first = which % a->chunks * a->rows_each;
    int64_t last = gg_min(first + a->rows_each, p->m);
    char *slot = gg_take(a->source, a->source->scratch, a->slot_bytes);
    gg_real *keys = (gg_real *)(slot + a->keys), *values = (gg_real *)(slot + a->values);
    gg_real *scores = (gg_real *)(slot + a->scores), *masks = (gg_real *)(slot + a->mask);
    gg_real *queries = (gg_real *)(slot + a->queries), *turned = (gg_real *)(slot + a->turned);
    gg_real sums[GG_TILE_COLUMNS];
    const gg_real *query = (const gg_real *)a->source->at[0] + one * p->m * p->d, *mask = 0;
    gg_real *out = (gg_real *)a->source->at[3 + p->masked] + one * p->m * p->dv;
    GG_NAME(gg_attention_pack)(keys, (const gg_real *)a->source->at[1] + one * p->n * p->d,
                               p->key_line, p->key_k, p->n, p->d);
    GG_NAME(gg_attention_pack)(values, (const gg_real *)a->source->at[2] + one * p->n * p->dv, 1,
                               p->dv, p->dv, p->n);
    if (p->masked)
        mask = (const gg_real *)a->source->at[3] + one / p->inner * p->mask_outer +
               one % p->inner * p->mask_inner;
    for (int64_t row = first; row < last; row += GG_TILE_COLUMNS) {
        int64_t count = gg_min(GG_TILE_COLUMNS, last - row);
        int64_t width = gg_ceil(count, GG_REAL_LANES) * GG_REAL_LANES;
        GG_NAME(gg_pack)(queries, width, query + row * p->d, p->d, 1, count, p->d);
        if (mask)
            GG_NAME(gg_pack)(masks, width, mask + row * p->mask_row, p->mask_row, p->mask_column,
                             count, p->n);
        GG_NAME(gg_attention_product)(scores, keys, p->n, p->d, queries, width);
        GG_NAME(gg_softmax_columns)(a, scores, width, mask ? masks : 0, sums);
        GG_NAME(gg_attention_product)(turned, values, p->dv, p->n, scores, width);
        GG_NAME(gg_attention_store)(out + row * p->dv, p->dv, turned, width, count, sums);
    }
    gg_give(slot);
}

void GG_NAME(gg_attention_plan)(gg_source *source) {
    const gg_attention_sizes *p = (const gg_attention_sizes *)source->parameters;
    double scores = (double)p->batch * p->m * p->n;
    source->count[0] = p->batch * p->m * p->d;
    source->count[1] = p->batch * p->n * p->d;
    source->count[2] = p->batch * p->n * p->dv;
    if (p->masked) source->count[3] = p->mask_count;
    source->count[3 + p->masked] = p->batch * p->m * p->dv;
    gg_set_work(source, scores * (p->d + p->dv) * sizeof(gg_real) / 120 + scores);
    source->scratch_bytes = gg_slots_bytes(
        source, gg_attention_of(source, sizeof(gg_real)).slot_bytes);
}

/* query (batch, m, d), key (batch, n, d) or (batch, d, n), value (batch, n, dv), an optional mask
   -> out (batch, m, dv). The parameters are those of gg_attention_sizes. */
int GG_NAME(gg_attention)(void *block) {
    gg_source *source = block;
    gg_attention a = gg_attention_of(source, sizeof(gg_real));
    gg_free_slots(source, source->scratch, a.slot_bytes);
    source->parallel(GG_NAME(gg_attention_part), &a, a.p->batch * a.chunks, source->threads);
    return GG_DONE;
}
