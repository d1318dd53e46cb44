/* The coordinates of a tensor's non-zero elements, in order. */

#include "host_rows.h"

/* Parameters: the number of elements; of axes; the bytes of a word; the words of an element;
   the kind of words: 1 where -0 is zero, 2 where all are 0 or 1; the room for coordinates;
   the sizes. Arrays: x, coordinates, their number. */

#define GG_WHERE_AXES 8
#define GG_FLOATS 1
#define GG_TRUTHS 2
#define GG_WHERE_AT_ONCE 64
#define GG_WHERE_MANY 12 /* of 64: all are written, each over the last, without branches */

void GG_NAME(gg_where_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[0];
    source->count[1] = n[5] * n[1];
    source->count[2] = 1;
    source->scratch_bytes = 0;
    gg_set_work(source, (double)n[0] + 2.0 * n[5] * n[1]);
    source->threads = 1;
}

/* A bit for each of 64 bytes that is not zero, eight at a time. */
static uint64_t gg_where_bytes(const uint8_t *x, int are_bits) {
    const uint64_t ones = 0x0101010101010101, places = 0x0102040810204080;
    uint64_t bits = 0, eight[8];
    memcpy(eight, x, sizeof eight);
    if (!(eight[0] | eight[1] | eight[2] | eight[3] | eight[4] | eight[5] | eight[6] | eight[7]))
        return 0;
    for (int i = 0; i < 8; i++) {
        uint64_t truths = eight[i];
        if (!are_bits) {
            truths |= truths >> 4 & 15 * ones;
            truths |= truths >> 2 & 3 * ones;
            truths = (truths | (truths >> 1 & ones)) & ones;
        }
        bits |= truths * places >> 56 << 8 * i;
    }
    return bits;
}

/* A bit for each of the words from `first` on that is not zero. */
#define GG_WHERE_BITS(type, ignored)                                                               \
    {                                                                                              \
        const type *words = (const type *)x + first;                                               \
        for (int64_t i = 0; i < count; i++)                                                        \
            bits |= (uint64_t)((words[i] & (type)~(ignored)) != 0) << i;                           \
        return bits;                                                                               \
    }

static uint64_t gg_where_bits(const void *x, int64_t first, int64_t count, int64_t bytes,
                              int64_t kind) {
    const int floats = kind == GG_FLOATS;
    uint64_t bits = 0;
    if (bytes == 1 && count == 64)
        return gg_where_bytes((const uint8_t *)x + first, kind == GG_TRUTHS);
    switch (bytes) {
        case 1: GG_WHERE_BITS(uint8_t, 0)
        case 2: GG_WHERE_BITS(uint16_t, floats ? 1u << 15 : 0)
        case 4: GG_WHERE_BITS(uint32_t, floats ? 1u << 31 : 0)
        default: GG_WHERE_BITS(uint64_t, floats ? (uint64_t)1 << 63 : 0)
    }
}

/* A bit for each of up to 64 elements with a non-zero word. */
static uint64_t gg_where_elements(const int64_t *n, const void *x, int64_t first, int64_t count) {
    if (n[3] == 1) return gg_where_bits(x, first, count, n[2], n[4]);
    uint64_t bits = 0;
    for (int64_t i = 0; i < count; i++)
        bits |= (uint64_t)(gg_where_bits(x, (first + i) * n[3], n[3], n[2], n[4]) != 0) << i;
    return bits;
}

int GG_NAME(gg_where)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, *sizes = n + 6;
    const int64_t axes = n[1], width = axes ? sizes[axes - 1] : 1, room = n[5];
    int64_t coordinates[GG_WHERE_AXES] = {0}, chosen = 0;
    int64_t *out = (int64_t *)source->at[1];
    for (int64_t row = 0; row < n[0]; row += width) {
        for (int64_t start = 0; start < width; start += GG_WHERE_AT_ONCE) {
            const int64_t count = gg_min(GG_WHERE_AT_ONCE, width - start);
            uint64_t bits = gg_where_elements(n, source->at[0], row + start, count);
            if (axes == 1 && room - chosen >= 64 && __builtin_popcountll(bits) > GG_WHERE_MANY) {
                for (int64_t i = 0; i < count; i++, bits >>= 1) {
                    out[chosen] = start + i;
                    chosen += bits & 1;
                }
            }
            int64_t *to = out + chosen * axes;
            for (; bits && chosen < room; bits &= bits - 1, chosen++) {
                for (int64_t axis = 0; axis + 1 < axes; axis++) *to++ = coordinates[axis];
                if (axes) *to++ = start + __builtin_ctzll(bits);
            }
        }
        for (int64_t axis = axes - 2; axis >= 0 && ++coordinates[axis] == sizes[axis]; axis--)
            coordinates[axis] = 0;
    }
    *(int64_t *)source->at[2] = chosen;
    return GG_DONE;
}

/* Only the number of non-zero elements. Arrays: x, the number. */

void GG_NAME(gg_where_count_plan)(gg_source *source) {
    source->count[0] = source->parameters[0];
    source->count[1] = 1;
    source->scratch_bytes = 0;
    gg_set_work(source, (double)source->parameters[0]);
    source->threads = 1;
}

int GG_NAME(gg_where_count)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    int64_t chosen = 0;
    for (int64_t start = 0; start < n[0]; start += GG_WHERE_AT_ONCE) {
        const int64_t count = gg_min(GG_WHERE_AT_ONCE, n[0] - start);
        chosen += __builtin_popcountll(gg_where_elements(n, source->at[0], start, count));
    }
    *(int64_t *)source->at[1] = chosen;
    return GG_DONE;
}
