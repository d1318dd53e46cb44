/* Sparse tensors: their product with a dense matrix, two of them combined, gradients.

   Positions are int64 or int32 rows of `rank` numbers. Positions that are out of range, or where
   sorted ones are needed not strictly ascending, end a function with GG_FAILED before anything is
   written; the NumPy kernel then raises the error, or sorts. */

#include "host_rows.h"

#ifndef GG_SPARSE
#define GG_SPARSE

#define GG_MOST_RANK 8

/* -1, 0 or 1: the order of two positions. */
static int gg_position_order(const int64_t *a, const int64_t *b, int64_t rank) {
    for (int64_t axis = 0; axis < rank; axis++)
        if (a[axis] != b[axis]) return a[axis] < b[axis] ? -1 : 1;
    return 0;
}

static __attribute__((unused)) int gg_is_ascending(const int64_t *at, int64_t count, int64_t rank) {
    int falls = 0;
    for (int64_t i = 1; i < count && rank == 2; i++) /* without branches */
        falls |= (at[2 * i - 2] > at[2 * i]) |
                 ((at[2 * i - 2] == at[2 * i]) & (at[2 * i - 1] >= at[2 * i + 1]));
    if (rank == 2) return !falls;
    for (int64_t i = 1; i < count; i++)
        if (gg_position_order(at + (i - 1) * rank, at + i * rank, rank) >= 0) return 0;
    return 1;
}

/* A coordinate relative to a start, which may be any number. */
static inline int64_t gg_moved(int64_t at, int64_t start) {
    return (int64_t)((uint64_t)at - (uint64_t)start);
}

static __attribute__((unused)) int gg_is_inside(const int64_t *at, int64_t count, int64_t rank,
                                                const int64_t *sizes) {
    int outside = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t axis = 0; axis < rank; axis++)
            outside |= (uint64_t)at[i * rank + axis] >= (uint64_t)sizes[axis];
    return !outside;
}
#endif

/* -- the product. Parameters: the places of the matrix's elements (host_rows.h), whether the matrix
   is transposed, the columns of the dense one. Arrays: positions, values, the dense matrix, out.
   A part has a range of rows; sums of one row are in the order of the elements. */

typedef struct {
    gg_places places;
    int64_t turned, columns, rows, inner, parts;
    const void *positions;
    const gg_real *values, *dense;
    gg_real *out;
} GG_NAME(gg_sparse_product_work);

static GG_NAME(gg_sparse_product_work) GG_NAME(gg_sparse_product_of)(gg_source *source) {
    const int64_t *n = source->parameters;
    GG_NAME(gg_sparse_product_work) w = {.places = gg_places_of(n), .turned = n[GG_PLACES],
                                         .columns = n[GG_PLACES + 1]};
    w.rows = w.places.sizes[w.turned != 0], w.inner = w.places.sizes[w.turned == 0];
    w.parts = gg_max(1, gg_min(gg_min(w.rows, GG_MOST_PARTS),
                               w.places.count * w.columns / 65536));
    return w;
}

void GG_NAME(gg_sparse_product_plan)(gg_source *source) {
    GG_NAME(gg_sparse_product_work) w = GG_NAME(gg_sparse_product_of)(source);
    source->count[0] = 2 * w.places.count, source->count[1] = w.places.count;
    source->count[2] = w.inner * w.columns, source->count[3] = w.rows * w.columns;
    source->scratch_bytes = 0;
    gg_set_work(source, w.places.count * (4 + 0.12 * w.columns) + w.rows * w.columns * 0.1);
}

static void GG_NAME(gg_sparse_product_part)(void *block, int64_t which) {
    const GG_NAME(gg_sparse_product_work) *w = block;
    const int64_t first = w->rows * which / w->parts, last = w->rows * (which + 1) / w->parts;
    const int64_t columns = w->columns, wide = w->places.wide;
    memset(w->out + first * columns, 0, (size_t)((last - first) * columns) * sizeof(gg_real));
    for (int64_t i = 0; i < w->places.count; i++) {
        const int64_t row = gg_index(w->positions, wide, 2 * i + (w->turned != 0));
        if (row < first || row >= last) continue;
        const int64_t other = gg_index(w->positions, wide, 2 * i + (w->turned == 0));
        const gg_real value = w->values[i], *from = w->dense + other * columns;
        gg_real *to = w->out + row * columns;
        GG_LOOP for (int64_t c = 0; c < columns; c++) to[c] += value * from[c];
    }
}

int GG_NAME(gg_sparse_product)(void *block) {
    gg_source *source = block;
    GG_NAME(gg_sparse_product_work) w = GG_NAME(gg_sparse_product_of)(source);
    w.positions = source->at[0], w.values = source->at[1], w.dense = source->at[2];
    w.out = source->at[3];
    int outside = 0;
    for (int64_t i = 0; i < 2 * w.places.count; i++)
        outside |= (uint64_t)gg_index(w.positions, w.places.wide, i) >=
                   (uint64_t)w.places.sizes[i & 1];
    if (outside) return GG_FAILED;
    source->parallel(GG_NAME(gg_sparse_product_part), &w, w.parts, source->threads);
    return GG_DONE;
}

/* -- two sparse tensors with ascending positions, combined. Parameters: their numbers of elements,
   the rank, the rule: a sum, the larger or the smaller element. Arrays: positions, values, shape of
   each, of a sum the threshold; positions, values and of a sum the shape; the number of elements. */

enum { GG_NAME(gg_sum), GG_NAME(gg_larger), GG_NAME(gg_smaller) };

void GG_NAME(gg_sparse_pair_plan)(gg_source *source) {
    const int64_t *n = source->parameters, room = n[0] + n[1];
    const int is_sum = n[3] == GG_NAME(gg_sum);
    for (int side = 0; side < 2; side++) {
        source->count[3 * side] = n[side] * n[2];
        source->count[3 * side + 1] = n[side], source->count[3 * side + 2] = n[2];
    }
    int64_t *rest = source->count + 6;
    if (is_sum) *rest++ = 1;
    *rest++ = room * n[2], *rest++ = room;
    if (is_sum) *rest++ = n[2];
    *rest = 1;
    source->scratch_bytes = 0;
    gg_set_work(source, 10.0 * room);
    source->threads = 1;
}

/* As np.maximum and np.minimum: the first of two equal numbers, NaN before others. */
GG_ALWAYS gg_real GG_NAME(gg_combined)(const int64_t rule, gg_real one, gg_real other) {
    if (rule == GG_NAME(gg_sum)) return one + other;
    const int is_first = rule == GG_NAME(gg_larger) ? one >= other : one <= other;
    return is_first | (one != one) ? one : other;
}

GG_ALWAYS int64_t GG_NAME(gg_sparse_merge)(gg_source *source, const int64_t rule, gg_real least,
                                           int64_t *to, gg_real *sums) {
    const int64_t *n = source->parameters, rank = n[2], *shape = source->at[2];
    const int64_t *a = source->at[0], *b = source->at[3];
    const gg_real *x = source->at[1], *y = source->at[4];
    const int is_sum = rule == GG_NAME(gg_sum);
    int64_t i = 0, j = 0, count = 0;
    if (rank == 2 && (uint64_t)shape[0] < 1u << 31 && (uint64_t)shape[1] < 1u << 31) {
        const int64_t size = shape[1], first = n[0], second = n[1];
        while (i < first && j < second) { /* by numbers, and without branches */
            const int64_t p = a[2 * i] * size + a[2 * i + 1], q = b[2 * j] * size + b[2 * j + 1];
            const int of_a = p <= q, of_b = q <= p, both = of_a & of_b;
            const int64_t *from = of_a ? a + 2 * i : b + 2 * j;
            const gg_real one = of_a ? x[i] : 0, other = of_b ? y[j] : 0;
            const gg_real whole = GG_NAME(gg_combined)(rule, one, other);
            const gg_real sum = !is_sum | both ? whole : of_a ? one : other;
            to[2 * count] = from[0], to[2 * count + 1] = from[1], sums[count] = sum;
            i += of_a, j += of_b;
            count += !is_sum | !both | ((sum < 0 ? -sum : sum) >= least);
        }
    }
    while (i < n[0] || j < n[1]) {
        const int order = i == n[0]   ? 1
                          : j == n[1] ? -1
                                      : gg_position_order(a + i * rank, b + j * rank, rank);
        const int64_t *from = order > 0 ? b + j * rank : a + i * rank;
        const gg_real one = order <= 0 ? x[i] : 0, other = order >= 0 ? y[j] : 0;
        const gg_real whole = GG_NAME(gg_combined)(rule, one, other);
        const gg_real sum = !is_sum || !order ? whole : order < 0 ? one : other;
        i += order <= 0, j += order >= 0;
        if (is_sum && !order && !((sum < 0 ? -sum : sum) >= least)) continue;
        for (int64_t axis = 0; axis < rank; axis++) to[count * rank + axis] = from[axis];
        sums[count++] = sum;
    }
    return count;
}

int GG_NAME(gg_sparse_pair)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, rank = n[2], rule = n[3], *shape = source->at[2];
    if (memcmp(shape, source->at[5], (size_t)rank * 8)) return GG_FAILED;
    for (int side = 0; side < 2; side++)
        if (!gg_is_inside(source->at[3 * side], n[side], rank, shape) ||
            !gg_is_ascending(source->at[3 * side], n[side], rank))
            return GG_FAILED;
    if (rule == GG_NAME(gg_sum)) {
        const gg_real least = *(gg_real *)source->at[6];
        *(int64_t *)source->at[10] =
            GG_NAME(gg_sparse_merge)(source, GG_NAME(gg_sum), least, source->at[7], source->at[8]);
        memcpy(source->at[9], shape, (size_t)rank * 8);
        return GG_DONE;
    }
    *(int64_t *)source->at[8] =
        rule == GG_NAME(gg_larger)
            ? GG_NAME(gg_sparse_merge)(source, GG_NAME(gg_larger), 0, source->at[6], source->at[7])
            : GG_NAME(gg_sparse_merge)(source, GG_NAME(gg_smaller), 0, source->at[6], source->at[7]);
    return GG_DONE;
}

/* -- gradients of sums and slices: of each element that of the element of the result which has its
   position, or 0. Positions ascend. */

static void GG_NAME(gg_take_by_position)(const int64_t *at, int64_t count, const int64_t *start,
                                         const int64_t *of, int64_t given_count, int64_t rank,
                                         const gg_real *given, gg_real *out) {
    int64_t i = 0, k = 0;
    while (rank == 2 && i < count && k < given_count) { /* without branches */
        const int64_t y = gg_moved(at[2 * i], start[0]), x = gg_moved(at[2 * i + 1], start[1]);
        const int same = y == of[2 * k];
        const int is_before = (y < of[2 * k]) | (same & (x < of[2 * k + 1]));
        const int is_equal = same & (x == of[2 * k + 1]);
        out[i] = is_equal ? given[k] : 0;
        i += is_before | is_equal, k += !is_before;
    }
    for (; i < count; i++) {
        int64_t place[GG_MOST_RANK];
        for (int64_t axis = 0; axis < rank; axis++)
            place[axis] = gg_moved(at[i * rank + axis], start[axis]);
        int order = 1;
        while (k < given_count && (order = gg_position_order(of + k * rank, place, rank)) < 0) k++;
        out[i] = k < given_count && !order ? given[k] : 0;
    }
}

/* Parameters: the numbers of elements of both, of the sum, the rank. Arrays: the sum's gradient,
   positions of both and of the sum, gradients. */

void GG_NAME(gg_sparse_add_back_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[2], source->count[1] = n[0] * n[3], source->count[2] = n[1] * n[3];
    source->count[3] = n[2] * n[3], source->count[4] = n[0], source->count[5] = n[1];
    source->scratch_bytes = 0;
    gg_set_work(source, 10.0 * (n[0] + n[1] + n[2]));
    source->threads = 1;
}

int GG_NAME(gg_sparse_add_back)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, rank = n[3], *sum = source->at[3];
    static const int64_t start[GG_MOST_RANK];
    if (!gg_is_ascending(sum, n[2], rank)) return GG_FAILED;
    for (int side = 0; side < 2; side++)
        if (!gg_is_ascending(source->at[1 + side], n[side], rank)) return GG_FAILED;
    for (int side = 0; side < 2; side++)
        GG_NAME(gg_take_by_position)(source->at[1 + side], n[side], start, sum, n[2], rank,
                                     source->at[0], source->at[4 + side]);
    return GG_DONE;
}

/* Parameters: the numbers of elements of the tensor and of its slice, the rank. Arrays: the slice's
   gradient, positions of the tensor, the slice's start, its positions, the gradient. */

void GG_NAME(gg_sparse_slice_back_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[1], source->count[1] = n[0] * n[2], source->count[2] = n[2];
    source->count[3] = n[1] * n[2], source->count[4] = n[0];
    source->scratch_bytes = 0;
    gg_set_work(source, 6.0 * (n[0] + n[1]));
    source->threads = 1;
}

int GG_NAME(gg_sparse_slice_back)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, rank = n[2], *at = source->at[1], *of = source->at[3];
    if (!gg_is_ascending(at, n[0], rank) || !gg_is_ascending(of, n[1], rank)) return GG_FAILED;
    GG_NAME(gg_take_by_position)(at, n[0], source->at[2], of, n[1], rank, source->at[0],
                                 source->at[4]);
    return GG_DONE;
}
