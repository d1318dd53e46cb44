/* The distinct rows of a matrix, or elements of a vector, in order of appearance, by a hash table. */

#include "host_rows.h"

/* Parameters: the number of rows, the kind of an element, whether places are int64 (or int32),
   whether to count, the elements of a row, the numbers of the axis (-1: there is no axis), whether
   it is int64. Arrays: x, perhaps the axis, y, places, perhaps counts, then their number. Zeros of
   both signs are equal, NaN equals nothing. An axis that is not the first ends the function with
   GG_FAILED. */

enum { GG_WORD8, GG_WORD16, GG_WORD32, GG_WORD64, GG_FLOAT32, GG_FLOAT64 };

typedef struct {
    gg_source *source;
    int64_t count, kind, wide_place, counted, width, axes, wide_axis, first; /* first: y's array */
} gg_unique_work;

static gg_unique_work gg_unique_of(gg_source *source) {
    const int64_t *n = source->parameters;
    return (gg_unique_work){source, n[0], n[1], n[2], n[3], n[4], n[5], n[6], 1 + (n[5] >= 0)};
}

static int64_t gg_table_size(int64_t count) {
    int64_t size = 16;
    while (size < 2 * count) size *= 2;
    return size;
}

void GG_NAME(gg_unique_plan)(gg_source *source) {
    const gg_unique_work w = gg_unique_of(source);
    source->count[0] = source->count[w.first] = w.count * w.width;
    if (w.axes >= 0) source->count[1] = w.axes;
    source->count[w.first + 1] = w.count;
    if (w.counted) source->count[w.first + 2] = w.count;
    source->count[w.first + 2 + w.counted] = 1;
    source->scratch_bytes = gg_table_size(w.count) * 4;
    gg_set_work(source, (5.0 + w.width) * w.count);
    source->threads = 1;
}

static inline void gg_set_index(void *at, int64_t wide, int64_t i, int64_t value) {
    if (wide) ((int64_t *)at)[i] = value;
    else ((int32_t *)at)[i] = (int32_t)value;
}

static const int gg_item_bytes[] = {1, 2, 4, 8, 4, 8};

/* A word that is the same for equal elements. */
GG_ALWAYS uint64_t gg_unique_word(const int kind, const void *at, int64_t i) {
    if (kind == GG_WORD8) return ((const uint8_t *)at)[i];
    if (kind == GG_WORD16) return ((const uint16_t *)at)[i];
    if (kind == GG_WORD32) return ((const uint32_t *)at)[i];
    if (kind == GG_WORD64) return ((const uint64_t *)at)[i];
    if (kind == GG_FLOAT32) {
        const uint32_t word = ((const uint32_t *)at)[i];
        return word == 0x80000000u ? 0 : word;
    }
    const uint64_t word = ((const uint64_t *)at)[i];
    return word == 0x8000000000000000u ? 0 : word;
}

GG_ALWAYS int gg_unique_differ(const int kind, const void *x, int64_t i, const void *y, int64_t k) {
    if (kind == GG_FLOAT32) return ((const float *)x)[i] != ((const float *)y)[k];
    if (kind == GG_FLOAT64) return ((const double *)x)[i] != ((const double *)y)[k];
    return gg_unique_word(kind, x, i) != gg_unique_word(kind, y, k);
}

GG_ALWAYS int64_t gg_find_unique(const gg_unique_work *w, const int kind, const int64_t width) {
    void **at = w->source->at + w->first;
    const void *x = w->source->at[0];
    char *y = at[0];
    void *places = at[1], *counts = w->counted ? at[2] : NULL;
    const int64_t size = gg_table_size(w->count), bytes = width * gg_item_bytes[kind];
    const int shift = 64 - __builtin_ctzll((uint64_t)size);
    int32_t *table = (int32_t *)w->source->scratch; /* numbers of rows of y, from 1 on */
    int64_t different = 0;
    memset(table, 0, (size_t)size * 4);
    for (int64_t i = 0; i < w->count; i++) {
        uint64_t hash = 0;
        for (int64_t c = 0; c < width; c++) {
            if (gg_unique_differ(kind, x, i * width + c, x, i * width + c)) hash += (uint64_t)i;
            hash = ((hash >> 29) ^ hash ^ gg_unique_word(kind, x, i * width + c)) * 0x9E3779B97F4A7C15u;
        }
        uint64_t slot = hash >> shift;
        for (; table[slot]; slot = (slot + 1) & (uint64_t)(size - 1)) {
            int differ = 0;
            for (int64_t c = 0; c < width && !differ; c++)
                differ = gg_unique_differ(kind, x, i * width + c, y, (table[slot] - 1) * width + c);
            if (!differ) break;
        }
        if (!table[slot]) {
            memcpy(y + different * bytes, (const char *)x + i * bytes, (size_t)bytes);
            if (counts) gg_set_index(counts, w->wide_place, different, 0);
            table[slot] = (int32_t)++different;
        }
        const int64_t place = table[slot] - 1;
        gg_set_index(places, w->wide_place, i, place);
        if (counts)
            gg_set_index(counts, w->wide_place, place, gg_index(counts, w->wide_place, place) + 1);
    }
    return different;
}

static int64_t gg_unique_rows(const gg_unique_work *w) {
    const int single = w->width == 1;
    switch (w->kind) {
        case GG_WORD8: return gg_find_unique(w, GG_WORD8, w->width);
        case GG_WORD16: return gg_find_unique(w, GG_WORD16, w->width);
        case GG_WORD32:
            return single ? gg_find_unique(w, GG_WORD32, 1) : gg_find_unique(w, GG_WORD32, w->width);
        case GG_WORD64:
            return single ? gg_find_unique(w, GG_WORD64, 1) : gg_find_unique(w, GG_WORD64, w->width);
        case GG_FLOAT32: return gg_find_unique(w, GG_FLOAT32, w->width);
        default: return gg_find_unique(w, GG_FLOAT64, w->width);
    }
}

int GG_NAME(gg_unique)(void *block) {
    const gg_unique_work w = gg_unique_of(block);
    void **at = w.source->at;
    if (w.axes > 0 && gg_index(at[1], w.wide_axis, 0)) return GG_FAILED;
    *(int64_t *)at[w.first + 2 + w.counted] = gg_unique_rows(&w);
    return GG_DONE;
}
