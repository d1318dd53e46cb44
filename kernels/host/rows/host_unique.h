/* The distinct elements of a vector of integers, in order of appearance, by a hash table. */

#include "host_rows.h"

/* Parameters: the number of elements; whether they, and their places, are int64 (or int32);
   whether to count. Arrays: x, y, places, perhaps counts, then their number. */

static int64_t gg_table_size(int64_t count) {
    int64_t size = 16;
    while (size < 2 * count) size *= 2;
    return size;
}

void GG_NAME(gg_unique_plan)(gg_source *source) {
    const int64_t count = source->parameters[0], counted = source->parameters[3];
    source->count[0] = source->count[1] = source->count[2] = count;
    if (counted) source->count[3] = count;
    source->count[3 + counted] = 1;
    source->scratch_bytes = gg_table_size(count) * 4;
    gg_set_work(source, 6.0 * count);
    source->threads = 1;
}

static inline void gg_set_index(void *at, int64_t wide, int64_t i, int64_t value) {
    if (wide) ((int64_t *)at)[i] = value;
    else ((int32_t *)at)[i] = (int32_t)value;
}

GG_ALWAYS int64_t gg_find_unique(gg_source *source, const int wide) {
    const int64_t count = source->parameters[0], wide_place = source->parameters[2];
    const int64_t counted = source->parameters[3], size = gg_table_size(count);
    const int shift = 64 - __builtin_ctzll((uint64_t)size);
    int32_t *table = (int32_t *)source->scratch; /* numbers of elements of y, from 1 on */
    void *y = source->at[1];
    int64_t different = 0;
    memset(table, 0, (size_t)size * 4);
    for (int64_t i = 0; i < count; i++) {
        const int64_t x = gg_index(source->at[0], wide, i);
        uint64_t slot = (uint64_t)x * 0x9E3779B97F4A7C15u >> shift;
        while (table[slot] && gg_index(y, wide, table[slot] - 1) != x)
            slot = (slot + 1) & (uint64_t)(size - 1);
        if (!table[slot]) {
            gg_set_index(y, wide, different, x);
            if (counted) gg_set_index(source->at[3], wide_place, different, 0);
            table[slot] = (int32_t)++different;
        }
        const int64_t place = table[slot] - 1;
        gg_set_index(source->at[2], wide_place, i, place);
        if (counted)
            gg_set_index(source->at[3], wide_place, place,
                         gg_index(source->at[3], wide_place, place) + 1);
    }
    return different;
}

int GG_NAME(gg_unique)(void *block) {
    gg_source *source = block;
    const int wide = source->parameters[1] != 0;
    int64_t *count = source->at[3 + source->parameters[3]];
    *count = wide ? gg_find_unique(source, 1) : gg_find_unique(source, 0);
    return GG_DONE;
}
