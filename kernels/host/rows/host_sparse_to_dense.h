/* The dense form of a sparse tensor: bytes of any dtype.

   Parameters: the places of the elements, the bytes of an element, whether there is one value for
   all, whether positions must ascend, the number of elements of the result. Arrays: positions,
   values, the element elsewhere, out. */

#include "host_rows.h"

void GG_NAME(gg_to_dense_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[0] * n[2], source->count[1] = n[GG_PLACES + 1] ? 1 : n[0];
    source->count[2] = 1, source->count[3] = n[GG_PLACES + 3];
    source->scratch_bytes = n[0] * 8;
    gg_set_work(source, 3.0 * n[0] + 0.1 * n[GG_PLACES + 3] * n[GG_PLACES]);
    source->threads = 1;
}

#define GG_TO_DENSE(type)                                                                          \
    {                                                                                              \
        const type *from = source->at[1], other = *(const type *)source->at[2];                    \
        type *to = source->at[3];                                                                  \
        if (other == 0) memset(to, 0, (size_t)n[GG_PLACES + 3] * sizeof(type));                    \
        else                                                                                       \
            for (int64_t i = 0; i < n[GG_PLACES + 3]; i++) to[i] = other;                          \
        for (int64_t i = 0; i < n[0]; i++) to[rows[i]] = from[one ? 0 : i];                        \
        return GG_DONE;                                                                            \
    }

int GG_NAME(gg_to_dense)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, one = n[GG_PLACES + 1];
    const gg_places places = gg_places_of(n);
    int64_t *rows = (int64_t *)source->scratch;
    if (!gg_row_numbers(&places, source->at[0], rows)) return GG_FAILED;
    int ascends = 1;
    for (int64_t i = 1; i < n[0]; i++) ascends &= rows[i] > rows[i - 1];
    if (n[GG_PLACES + 2] && !ascends) return GG_FAILED;
    switch (n[GG_PLACES]) {
        case 1: GG_TO_DENSE(uint8_t)
        case 2: GG_TO_DENSE(uint16_t)
        case 4: GG_TO_DENSE(uint32_t)
    }
    GG_TO_DENSE(uint64_t)
}
