/* One element of each row differs: rows of bytes of any dtype.

   Parameters: rows, their elements, the bytes of an element, whether indices are int64. Arrays:
   indices, the element at an index, the element elsewhere, out. */

#include "host_rows.h"

#ifndef GG_ONE_HOT
#define GG_ONE_HOT
#define GG_HOT_BYTES 16384 /* of a part, about: it stays in the first cache between two passes */

typedef struct {
    gg_source *source;
    int64_t rows, depth, item, wide, rows_each;
} gg_hot;

#define GG_HOT_PLACES(index)                                                                       \
    for (int64_t i = 0; i < count; i++) {                                                          \
        const int64_t place = ((const index *)h->source->at[0])[first + i];                        \
        if ((uint64_t)place < (uint64_t)depth) to[i * depth + place] = on;                         \
    }

#define GG_HOT_ROWS(type)                                                                          \
    {                                                                                              \
        type *to = (type *)h->source->at[3] + first * h->depth;                                    \
        const type on = *(const type *)h->source->at[1], off = *(const type *)h->source->at[2];    \
        for (int64_t i = 0; i < count * h->depth; i++) to[i] = off;                                \
        const int64_t depth = h->depth;                                                            \
        if (h->wide) GG_HOT_PLACES(int64_t) else GG_HOT_PLACES(int32_t) return;                    \
    }

static void gg_hot_part(void *block, int64_t which) {
    const gg_hot *h = block;
    const int64_t first = which * h->rows_each, count = gg_min(h->rows_each, h->rows - first);
    switch (h->item) {
        case 1: GG_HOT_ROWS(uint8_t)
        case 2: GG_HOT_ROWS(uint16_t)
        case 4: GG_HOT_ROWS(uint32_t)
        case 8: GG_HOT_ROWS(uint64_t)
    }
}
#endif

void GG_NAME(gg_one_hot_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[0], source->count[1] = source->count[2] = 1;
    source->count[3] = n[0] * n[1];
    source->scratch_bytes = 0;
    gg_set_work(source, n[0] * (1.5 + n[1] * n[2] * 0.05));
}

int GG_NAME(gg_one_hot)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    gg_hot h = {source, n[0], n[1], n[2], n[3], gg_max(1, GG_HOT_BYTES / (n[1] * n[2]))};
    source->parallel(gg_hot_part, &h, gg_ceil(h.rows, h.rows_each), source->threads);
    return GG_DONE;
}
