/* Matrices of which a band stays, and sequences that are reversed: bytes of any dtype.

   gg_band: the elements of matrices inside a band around the diagonal, and zeros outside it.
   Parameters: the number of matrices, rows, columns, the bytes of an element, the diagonals that stay
   below and above. Arrays: matrices, out.

   gg_reverse: the first elements of each sequence in reverse order. Parameters: the sizes outer,
   first, middle, second and inner of the array; whether the batch is `first`, otherwise it is
   `second`; the bytes of an element; whether lengths are int64. Arrays: the array, lengths, out. A
   length out of range ends it with GG_FAILED. */

#include "host_rows.h"

#ifndef GG_KEPT
#define GG_KEPT

#define GG_KEPT_BYTES 65536 /* bytes of a part, about */
#define GG_MASK_BYTES 16384 /* a matrix of at most this size has a mask, which stays in the cache */

typedef struct {
    const char *from;
    char *to;
    const uint8_t *mask;
    int64_t total, rows, row, item, below, above, rows_each; /* row: its bytes */
    int64_t matrices;                                         /* of the mask */
} gg_banding;

/* The number of matrices of the mask, 0 if there is none. */
static int64_t gg_masked(const int64_t *n) {
    const int64_t row = n[2] * n[3];
    return row < 256 && n[1] * row <= GG_MASK_BYTES ? gg_max(1, GG_MASK_BYTES / (n[1] * row)) : 0;
}

/* The bytes of a row that stay. */
static void gg_kept_bytes(const gg_banding *b, int64_t row, int64_t *low, int64_t *high) {
    const int64_t columns = b->row / b->item;
    *low = gg_min(gg_max(row - b->below, 0), columns) * b->item;
    *high = gg_max(gg_min(row + b->above + 1, columns) * b->item, *low);
}

static void gg_band_part(void *block, int64_t which) {
    const gg_banding *b = block;
    const int64_t end = gg_min(b->total, (which + 1) * b->rows_each);
    int64_t at = which * b->rows_each;
    if (b->mask) {
        for (; at < end; at += b->rows * b->matrices) {
            const uint8_t *from = (const uint8_t *)b->from + at * b->row, *mask = b->mask;
            uint8_t *restrict to = (uint8_t *)b->to + at * b->row;
            const int64_t bytes = gg_min(b->rows * b->matrices, end - at) * b->row;
            for (int64_t i = 0; i < bytes; i++) to[i] = from[i] & mask[i];
        }
        return;
    }
    for (; at < end; at++) {
        int64_t low, high;
        const char *from = b->from + at * b->row;
        char *to = b->to + at * b->row;
        gg_kept_bytes(b, at % b->rows, &low, &high);
        memset(to, 0, (size_t)low);
        gg_copy_bytes(to + low, from + low, high - low);
        memset(to + high, 0, (size_t)(b->row - high));
    }
}

typedef struct {
    const char *from;
    char *to;
    const int64_t *lengths;
    int64_t outer, first, middle, second, inner, leads, row, places_each; /* row: bytes of `inner` */
} gg_reversing;

/* Rows whose bytes are those of one number. */
#define GG_REVERSE_ITEMS(type)                                                                     \
    for (int64_t s = 0; s < count; s++) {                                                          \
        const int64_t back = length - 1 - s;                                                       \
        ((type *)to)[s] = ((const type *)from)[back >= 0 ? back : s];                              \
    }                                                                                              \
    return;

/* One sequence whose elements are next to each other. */
static void gg_reverse_near(const char *from, char *to, int64_t length, int64_t count, int64_t row) {
    switch (row) {
        case 1: GG_REVERSE_ITEMS(uint8_t)
        case 2: GG_REVERSE_ITEMS(uint16_t)
        case 4: GG_REVERSE_ITEMS(uint32_t)
        case 8: GG_REVERSE_ITEMS(uint64_t)
    }
    for (int64_t s = 0; s < length; s++)
        gg_copy_bytes(to + s * row, from + (length - 1 - s) * row, row);
    gg_copy_bytes(to + length * row, from + length * row, (count - length) * row);
}

#define GG_REVERSE_COLUMNS(type)                                                                   \
    for (int64_t s = 0; s < r->second; s++) {                                                      \
        const int64_t length = r->lengths[s], other = place < length ? length - 1 - place : place; \
        ((type *)to)[s] = ((const type *)base)[other * step + s];                                  \
    }                                                                                              \
    break;

/* All sequences of a batch that is the last axis but `inner`, at one position. */
static void gg_reverse_far(const gg_reversing *r, const char *base, int64_t place, char *to) {
    const int64_t step = r->middle * r->second;
    switch (r->row) {
        case 1: GG_REVERSE_COLUMNS(uint8_t)
        case 2: GG_REVERSE_COLUMNS(uint16_t)
        case 4: GG_REVERSE_COLUMNS(uint32_t)
        case 8: GG_REVERSE_COLUMNS(uint64_t)
        default:
            for (int64_t s = 0; s < r->second; s++) {
                const int64_t length = r->lengths[s];
                const int64_t other = place < length ? length - 1 - place : place;
                gg_copy_bytes(to + s * r->row, base + (other * step + s) * r->row, r->row);
            }
    }
}

static void gg_reverse_part(void *block, int64_t which) {
    const gg_reversing *r = block;
    const int64_t places = r->outer * r->first * r->middle, line = r->second * r->row;
    const int64_t end = gg_min(places, (which + 1) * r->places_each);
    for (int64_t at = which * r->places_each; at < end; at++) {
        const int64_t middle = at % r->middle, first = at / r->middle % r->first;
        char *to = r->to + at * line;
        if (r->leads) gg_reverse_near(r->from + at * line, to, r->lengths[first], r->second, r->row);
        else {
            const int64_t start = at / r->middle / r->first * r->first * r->middle + middle;
            gg_reverse_far(r, r->from + start * line, first, to);
        }
    }
}
#endif

void GG_NAME(gg_band_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = source->count[1] = n[0] * n[1] * n[2];
    source->scratch_bytes = gg_masked(n) * n[1] * n[2] * n[3];
    gg_set_work(source, (double)n[0] * n[1] * (4 + n[2] * n[3] * 0.1));
}

int GG_NAME(gg_band)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    gg_banding b = {source->at[0], source->at[1], NULL, n[0] * n[1], n[1], n[2] * n[3],
                    n[3], n[4], n[5], 0, gg_masked(n)};
    b.rows_each = gg_max(1, GG_KEPT_BYTES / gg_max(b.row, 1));
    if (b.matrices) {
        uint8_t *mask = (uint8_t *)source->scratch;
        memset(mask, 0, (size_t)(b.matrices * b.rows * b.row));
        for (int64_t row = 0; row < b.rows * b.matrices; row++) {
            int64_t low, high;
            gg_kept_bytes(&b, row % b.rows, &low, &high);
            memset(mask + row * b.row + low, 255, (size_t)(high - low));
        }
        b.mask = mask, b.rows_each = b.rows * b.matrices * 4;
    }
    source->parallel(gg_band_part, &b, gg_ceil(b.total, b.rows_each), source->threads);
    return GG_DONE;
}

void GG_NAME(gg_reverse_plan)(gg_source *source) {
    const int64_t *n = source->parameters, batch = n[5] ? n[1] : n[3];
    const double count = (double)n[0] * n[1] * n[2] * n[3];
    source->count[0] = source->count[2] = n[0] * n[1] * n[2] * n[3] * n[4];
    source->count[1] = batch;
    source->scratch_bytes = batch * 8;
    gg_set_work(source, count * (1 + n[4] * n[6] * 0.1));
}

int GG_NAME(gg_reverse)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, batch = n[5] ? n[1] : n[3], size = n[5] ? n[3] : n[1];
    int64_t *lengths = (int64_t *)source->scratch, outside = 0;
    for (int64_t i = 0; i < batch; i++) {
        lengths[i] = gg_index(source->at[1], n[7], i);
        outside |= (lengths[i] < 0) | (lengths[i] > size);
    }
    if (outside) return GG_FAILED;
    gg_reversing r = {source->at[0], source->at[2], lengths, n[0], n[1], n[2], n[3], n[4], n[5],
                      n[4] * n[6], 0};
    r.places_each = gg_max(1, GG_KEPT_BYTES / gg_max(r.second * r.row, 1));
    source->parallel(gg_reverse_part, &r, gg_ceil(r.outer * r.first * r.middle, r.places_each),
                     source->threads);
    return GG_DONE;
}
