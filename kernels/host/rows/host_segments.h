/* Rows by segments whose numbers ascend: those of a matrix, or those at indices in it.

   Parameters: the number of rows; whether their segments' numbers are int64; a row's width; the
   number of segments; the rule; the value of a segment without rows; the divisor of totals; rows
   of the matrix; whether there are indices, and are int64; whether an array for a count follows.
   Arrays: matrix, perhaps indices, numbers, out, perhaps the count.

   Parts are ranges of segments. Numbers that descend, or are out of range, end it with GG_FAILED,
   before anything is written. */

#include "host_rows.h"

#ifndef GG_SEGMENTS
#define GG_SEGMENTS

enum { GG_ADD, GG_SUB, GG_MUL, GG_MIN, GG_MAX };
enum { GG_WHOLE, GG_MEAN, GG_ROOT_OF_COUNT };

#define GG_NARROW 32
#define GG_SEGMENT_PART 65536 /* bytes of a part, about */

typedef struct {
    gg_source *source;
    int64_t count, wide, width, segments, rule, empty, divided, rows, indexed, wide_index, counted;
    int64_t segments_each;
    const void *ids, *indices;
} gg_segments;

static gg_segments gg_segments_of(gg_source *source, int64_t item) {
    const int64_t *n = source->parameters;
    gg_segments s = {source, n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10]};
    const double bytes = (double)(s.count + s.segments) * s.width * item;
    const int64_t parts = (int64_t)(bytes / GG_SEGMENT_PART) + 1;
    s.segments_each = gg_max(1, gg_ceil(s.segments, gg_min(parts, 256)));
    s.indices = source->at ? source->at[1] : NULL;
    s.ids = source->at ? source->at[1 + s.indexed] : NULL;
    return s;
}

/* Whether numbers are at least 0 and do not descend. */
#define GG_ASCEND(type)                                                                            \
    static int gg_ascend_##type(const type *ids, int64_t count) {                                  \
        int falls = count && ids[0] < 0;                                                           \
        for (int64_t i = 1; i < count; i++) falls |= ids[i] < ids[i - 1];                          \
        return !falls;                                                                             \
    }                                                                                              \
    static int64_t gg_run_end_##type(const type *ids, int64_t row, int64_t count) {                \
        const type id = ids[row];                                                                  \
        for (row++; row + 8 <= count && ids[row + 7] == id;) row += 8;                             \
        while (row < count && ids[row] == id) row++;                                               \
        return row;                                                                                \
    }

GG_ASCEND(int32_t)
GG_ASCEND(int64_t)

static int gg_segments_are_sound(const gg_segments *s) {
    int64_t outside = 0;
    for (int64_t i = 0; i < s->count && s->indexed; i++)
        outside |= (uint64_t)gg_index(s->indices, s->wide_index, i) >= (uint64_t)s->rows;
    const int ascend = s->wide ? gg_ascend_int64_t(s->ids, s->count) : gg_ascend_int32_t(s->ids, s->count);
    return ascend && !outside && (!s->count || gg_index(s->ids, s->wide, s->count - 1) < s->segments);
}

/* The first row after those of the segment of `row`; `row` if that is not `segment`. */
static int64_t gg_run_end(const gg_segments *s, int64_t row, int64_t segment) {
    if (row >= s->count || gg_index(s->ids, s->wide, row) != segment) return row;
    return s->wide ? gg_run_end_int64_t(s->ids, row, s->count) : gg_run_end_int32_t(s->ids, row, s->count);
}

/* The first of the rows whose segment is `id` or a later one. */
static int64_t gg_first_row(const gg_segments *s, int64_t id) {
    int64_t low = 0, high = s->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (gg_index(s->ids, s->wide, middle) < id) low = middle + 1;
        else high = middle;
    }
    return low;
}
#endif

GG_ALWAYS gg_real GG_NAME(gg_of_two)(const int rule, gg_real a, gg_real b) {
    if (rule == GG_ADD) return a + b;
    if (rule == GG_MUL) return a * b;
    const gg_real one = rule == GG_MIN ? (a < b ? a : b) : (a > b ? a : b);
    return a != a ? a : one; /* two steps: a condition with `||` would branch */
}

/* Rows that follow each other, of 1, 2, 4 or 8 elements: GG_NARROW elements at a time. */
GG_ALWAYS void GG_NAME(gg_fold_rows)(const int rule, const gg_real *from, int64_t rows,
                                     int64_t width, gg_real *to) {
    const int64_t count = rows * width;
    gg_real all[GG_NARROW];
    int64_t lanes = gg_min(count, GG_NARROW), i = lanes;
    memcpy(all, from, (size_t)lanes * sizeof *all);
    for (; i + GG_NARROW <= count; i += GG_NARROW)
        GG_LOOP for (int64_t k = 0; k < GG_NARROW; k++)
            all[k] = GG_NAME(gg_of_two)(rule, all[k], from[i + k]);
    for (int64_t k = 0; i + k < count; k++) all[k] = GG_NAME(gg_of_two)(rule, all[k], from[i + k]);
    for (int64_t k = width; k < lanes; k++)
        all[k % width] = GG_NAME(gg_of_two)(rule, all[k % width], all[k]);
    memcpy(to, all, (size_t)width * sizeof *all);
}

static void GG_NAME(gg_divide_row)(gg_real *row, int64_t width, int64_t divided, int64_t count) {
    const gg_real by = divided == GG_MEAN ? (gg_real)count : (gg_real)GG_ROOT((gg_real)count);
    GG_LOOP for (int64_t c = 0; c < width; c++) row[c] /= by;
}

typedef gg_real GG_NAME(gg_segment_vector)
    __attribute__((vector_size(GG_VECTOR), aligned(4), may_alias));
#define GG_SEGMENT_LANES ((int64_t)(GG_VECTOR / sizeof(gg_real)))

GG_ALWAYS GG_NAME(gg_segment_vector) GG_NAME(gg_of_two_vectors)(const int rule,
                                                                GG_NAME(gg_segment_vector) a,
                                                                GG_NAME(gg_segment_vector) b) {
    if (rule == GG_ADD) return a + b;
    if (rule == GG_MUL) return a * b;
    typedef __typeof__(a < b) mask;
    const mask first = (rule == GG_MIN ? a < b : a > b) | (a != a);
    return (GG_NAME(gg_segment_vector))((first & (mask)a) | (~first & (mask)b));
}

/* `rows` rows that follow each other, at some columns: their values stay in registers. Row i goes
   to value i modulo `ways`, so that an operation need not wait for the one before. */
GG_ALWAYS void GG_NAME(gg_fold_columns)(const int rule, const int vectors, const int ways,
                                        const gg_real *from, int64_t rows, int64_t width,
                                        gg_real *to) {
    GG_NAME(gg_segment_vector) all[4][4];
    GG_UNROLL for (int way = 0; way < ways; way++)
        GG_UNROLL for (int v = 0; v < vectors; v++)
            all[way][v] = way && rule == GG_ADD
                              ? -(GG_NAME(gg_segment_vector)){0}
                              : *(const GG_NAME(gg_segment_vector) *)(from + v * GG_SEGMENT_LANES);
    from += width;
    int64_t row = 1;
    for (; row + ways <= rows; row += ways)
        GG_UNROLL for (int way = 0; way < ways; way++, from += width)
            GG_UNROLL for (int v = 0; v < vectors; v++)
                all[way][v] = GG_NAME(gg_of_two_vectors)(
                    rule, all[way][v],
                    *(const GG_NAME(gg_segment_vector) *)(from + v * GG_SEGMENT_LANES));
    for (; row < rows; row++, from += width)
        GG_UNROLL for (int v = 0; v < vectors; v++)
            all[0][v] = GG_NAME(gg_of_two_vectors)(
                rule, all[0][v],
                *(const GG_NAME(gg_segment_vector) *)(from + v * GG_SEGMENT_LANES));
    GG_UNROLL for (int v = 0; v < vectors; v++) {
        GG_UNROLL for (int way = 1; way < ways; way++)
            all[0][v] = GG_NAME(gg_of_two_vectors)(rule, all[0][v], all[way][v]);
        *(GG_NAME(gg_segment_vector) *)(to + v * GG_SEGMENT_LANES) = all[0][v];
    }
}

/* Products keep their order, as NumPy's. */
GG_ALWAYS void GG_NAME(gg_fold_wide_rows)(const int rule, const gg_real *from, int64_t rows,
                                          int64_t width, gg_real *to) {
    const int two = rule == GG_MUL ? 1 : 2, four = rule == GG_MUL ? 1 : 4;
    int64_t c = 0;
    for (; c + 4 * GG_SEGMENT_LANES <= width; c += 4 * GG_SEGMENT_LANES)
        GG_NAME(gg_fold_columns)(rule, 4, 1, from + c, rows, width, to + c);
    for (; c + 2 * GG_SEGMENT_LANES <= width; c += 2 * GG_SEGMENT_LANES)
        GG_NAME(gg_fold_columns)(rule, 2, two, from + c, rows, width, to + c);
    for (; c + GG_SEGMENT_LANES <= width; c += GG_SEGMENT_LANES)
        GG_NAME(gg_fold_columns)(rule, 1, four, from + c, rows, width, to + c);
    for (; c < width; c++) {
        gg_real all = from[c];
        for (int64_t row = 1; row < rows; row++)
            all = GG_NAME(gg_of_two)(rule, all, from[row * width + c]);
        to[c] = all;
    }
}

GG_ALWAYS void GG_NAME(gg_segments_wide)(const int rule, const int64_t width, const gg_segments *s,
                                         int64_t first, int64_t end) {
    const gg_real *data = s->source->at[0];
    int64_t row = gg_first_row(s, first);
    for (int64_t segment = first; segment < end; segment++) {
        gg_real *to = (gg_real *)s->source->at[2 + s->indexed] + segment * width;
        const int64_t start = row;
        if (rule != GG_MUL && !s->indexed && s->rows == s->count && width <= 8 &&
            !(width & (width - 1))) { /* products keep their order */
            row = gg_run_end(s, row, segment);
            if (row > start)
                GG_NAME(gg_fold_rows)(rule, data + start * width, row - start, width, to);
        } else if (!s->indexed && s->rows == s->count) {
            row = gg_run_end(s, row, segment);
            if (row > start)
                GG_NAME(gg_fold_wide_rows)(rule, data + start * width, row - start, width, to);
        } else for (; row < s->count && gg_index(s->ids, s->wide, row) == segment; row++) {
            int64_t place = row;
            if (s->indexed) place = gg_index(s->indices, s->wide_index, row);
            if ((uint64_t)place >= (uint64_t)s->rows) continue; /* changed by another run */
            const gg_real *from = data + place * width;
            if (row == start) memcpy(to, from, (size_t)width * sizeof *to);
            else
                GG_LOOP for (int64_t c = 0; c < width; c++)
                    to[c] = GG_NAME(gg_of_two)(rule, to[c], from[c]);
        }
        if (row == start)
            for (int64_t c = 0; c < width; c++) to[c] = (gg_real)s->empty;
        else if (s->divided) GG_NAME(gg_divide_row)(to, width, s->divided, row - start);
    }
}

/* Rows of one or two elements have loops of their own. */
GG_ALWAYS void GG_NAME(gg_segment_rows)(const int rule, const gg_segments *s, int64_t first,
                                        int64_t end) {
    if (s->width == 1)
        GG_NAME(gg_segments_wide)(rule, 1, s, first, end);
    else if (s->width == 2)
        GG_NAME(gg_segments_wide)(rule, 2, s, first, end);
    else
        GG_NAME(gg_segments_wide)(rule, s->width, s, first, end);
}

static void GG_NAME(gg_segments_part)(void *block, int64_t which) {
    const gg_segments *s = block;
    const int64_t first = which * s->segments_each, end = gg_min(s->segments, first + s->segments_each);
    switch (s->rule) {
        case GG_ADD: GG_NAME(gg_segment_rows)(GG_ADD, s, first, end); return;
        case GG_MUL: GG_NAME(gg_segment_rows)(GG_MUL, s, first, end); return;
        case GG_MIN: GG_NAME(gg_segment_rows)(GG_MIN, s, first, end); return;
        case GG_MAX: GG_NAME(gg_segment_rows)(GG_MAX, s, first, end); return;
    }
}

void GG_NAME(gg_segments_plan)(gg_source *source) {
    const gg_segments s = gg_segments_of(source, sizeof(gg_real));
    source->count[0] = s.rows * s.width;
    source->count[1] = source->count[1 + s.indexed] = s.count;
    source->count[2 + s.indexed] = s.segments * s.width;
    if (s.counted) source->count[3 + s.indexed] = 1;
    source->scratch_bytes = 0;
    const double row = (double)s.width * sizeof(gg_real);
    gg_set_work(source, gg_row_work(s.count, row) + s.segments * row * 0.1);
}

int GG_NAME(gg_segments)(void *block) {
    gg_segments s = gg_segments_of(block, sizeof(gg_real));
    if (!gg_segments_are_sound(&s)) return GG_FAILED;
    if (s.counted) *(int64_t *)s.source->at[3 + s.indexed] = s.segments;
    const int64_t parts = gg_ceil(s.segments, s.segments_each);
    s.source->parallel(GG_NAME(gg_segments_part), &s, parts, s.source->threads);
    return GG_DONE;
}

/* Only the number of segments. Arrays: matrix, perhaps indices, numbers, the count. */

void GG_NAME(gg_segments_count_plan)(gg_source *source) {
    const gg_segments s = gg_segments_of(source, sizeof(gg_real));
    source->count[0] = s.rows * s.width;
    source->count[1] = source->count[1 + s.indexed] = s.count;
    source->count[2 + s.indexed] = 1;
    source->scratch_bytes = 0;
    gg_set_work(source, 1);
}

int GG_NAME(gg_segments_count)(void *block) {
    const gg_segments s = gg_segments_of(block, sizeof(gg_real));
    const int64_t last = s.count ? gg_index(s.ids, s.wide, s.count - 1) : -1;
    *(int64_t *)s.source->at[2 + s.indexed] = gg_max(0, last + 1);
    return GG_DONE;
}
