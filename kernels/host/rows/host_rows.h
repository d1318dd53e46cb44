/* The common part of functions over rows of matrices: the numbers of rows, and the division of
   work.

   An index names a row by coordinates. Parameters describe the indices first, by GG_PLACES
   numbers: their number, whether they are int64 (or int32), the number of coordinates of each,
   whether negative ones are dropped, the sizes. All are checked before anything is written; an
   index out of range ends the function with GG_FAILED, and the NumPy kernel raises the error. */

#ifndef GG_ROWS
#define GG_ROWS

#define GG_PLACES 12
#define GG_MOST_PARTS 8

typedef struct {
    int64_t count, wide, depth, drops;
    const int64_t *sizes;
} gg_places;

static gg_places gg_places_of(const int64_t *numbers) {
    return (gg_places){numbers[0], numbers[1], numbers[2], numbers[3], numbers + 4};
}

static inline int64_t gg_index(const void *at, int64_t wide, int64_t i) {
    return wide ? ((const int64_t *)at)[i] : ((const int32_t *)at)[i];
}

GG_ALWAYS int gg_single_numbers(const int wide, const gg_places *p, const void *at, int64_t *rows) {
    const uint64_t size = (uint64_t)p->sizes[0];
    uint64_t outside = 0;
    for (int64_t i = 0; i < p->count; i++) {
        const int64_t row = gg_index(at, wide, i);
        rows[i] = row;
        outside |= (uint64_t)((uint64_t)row >= size) & ~(uint64_t)(p->drops & (row < 0));
    }
    return !outside;
}

/* The number of each row, negative for a dropped one. Returns whether all are in range. */
static __attribute__((unused)) int gg_row_numbers(const gg_places *p, const void *at,
                                                  int64_t *rows) {
    if (p->depth == 1)
        return p->wide ? gg_single_numbers(1, p, at, rows) : gg_single_numbers(0, p, at, rows);
    int outside = 0;
    if (p->depth == 2 && p->wide) { /* the usual positions of matrices */
        const int64_t *of = at;
        for (int64_t i = 0; i < p->count; i++) {
            const int64_t y = of[2 * i], x = of[2 * i + 1];
            outside |= ((uint64_t)y >= (uint64_t)p->sizes[0]) | ((uint64_t)x >= (uint64_t)p->sizes[1]);
            rows[i] = (int64_t)((uint64_t)y * (uint64_t)p->sizes[1] + (uint64_t)x);
        }
        return !outside;
    }
    for (int64_t i = 0; i < p->count; i++) {
        int64_t row = 0;
        for (int64_t axis = 0; axis < p->depth; axis++) {
            const int64_t x = gg_index(at, p->wide, i * p->depth + axis);
            outside |= (uint64_t)x >= (uint64_t)p->sizes[axis];
            row = (int64_t)((uint64_t)row * (uint64_t)p->sizes[axis] + (uint64_t)x);
        }
        rows[i] = row;
    }
    return !outside;
}

/* The number of ranges of rows to update: each part reads all numbers. */
static __attribute__((unused)) int64_t gg_row_parts(int64_t rows, int64_t row_bytes) {
    return gg_max(1, gg_min(gg_min(rows, row_bytes / 64), GG_MOST_PARTS));
}

/* Nanoseconds to read and write a number of rows at random addresses. */
static __attribute__((unused)) double gg_row_work(double count, double row_bytes) {
    return count * (4 + row_bytes * 0.15);
}
#endif
