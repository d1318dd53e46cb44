/* Sparse tensors: their product with a dense matrix, their sum and its gradients, their dense form.

   Positions are int64 or int32 rows of `rank` numbers. Positions that are out of range, or where
   sorted ones are needed not strictly ascending, end a function with GG_FAILED before anything is
   written; the NumPy kernel then raises the error, or sorts. */

#include "host_rows.h"

#ifndef GG_SPARSE
#define GG_SPARSE

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

/* -- the sum of two sparse tensors with ascending positions. Parameters: their numbers of elements,
   the rank. Arrays: positions, values, shape of each, the threshold; positions, values and shape
   of the sum, its number of elements. */

void GG_NAME(gg_sparse_add_plan)(gg_source *source) {
    const int64_t *n = source->parameters, room = n[0] + n[1];
    for (int side = 0; side < 2; side++) {
        source->count[3 * side] = n[side] * n[2];
        source->count[3 * side + 1] = n[side], source->count[3 * side + 2] = n[2];
    }
    source->count[6] = 1, source->count[7] = room * n[2], source->count[8] = room;
    source->count[9] = n[2], source->count[10] = 1;
    source->scratch_bytes = 0;
    gg_set_work(source, 10.0 * room);
    source->threads = 1;
}

int GG_NAME(gg_sparse_add)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, rank = n[2];
    const int64_t *a = source->at[0], *b = source->at[3], *shape = source->at[2];
    const gg_real *x = source->at[1], *y = source->at[4], least = *(gg_real *)source->at[6];
    if (memcmp(shape, source->at[5], (size_t)rank * 8)) return GG_FAILED;
    for (int side = 0; side < 2; side++)
        if (!gg_is_inside(source->at[3 * side], n[side], rank, shape) ||
            !gg_is_ascending(source->at[3 * side], n[side], rank))
            return GG_FAILED;
    int64_t *to = source->at[7], i = 0, j = 0, count = 0;
    gg_real *sums = source->at[8];
    if (rank == 2 && (uint64_t)shape[0] < 1u << 31 && (uint64_t)shape[1] < 1u << 31) {
        const int64_t size = shape[1], first = n[0], second = n[1];
        while (i < first && j < second) { /* by numbers, and without branches */
            const int64_t p = a[2 * i] * size + a[2 * i + 1], q = b[2 * j] * size + b[2 * j + 1];
            const int of_a = p <= q, of_b = q <= p, both = of_a & of_b;
            const int64_t *from = of_a ? a + 2 * i : b + 2 * j;
            const gg_real one = of_a ? x[i] : 0, other = of_b ? y[j] : 0;
            const gg_real sum = both ? one + other : of_a ? one : other;
            to[2 * count] = from[0], to[2 * count + 1] = from[1], sums[count] = sum;
            i += of_a, j += of_b;
            count += !both | ((sum < 0 ? -sum : sum) >= least);
        }
    }
    while (i < n[0] || j < n[1]) {
        const int order = i == n[0]   ? 1
                          : j == n[1] ? -1
                                      : gg_position_order(a + i * rank, b + j * rank, rank);
        const int64_t *from = order > 0 ? b + j * rank : a + i * rank;
        const gg_real sum = order < 0 ? x[i] : order > 0 ? y[j] : x[i] + y[j];
        i += order <= 0, j += order >= 0;
        if (!order && !((sum < 0 ? -sum : sum) >= least)) continue;
        for (int64_t axis = 0; axis < rank; axis++) to[count * rank + axis] = from[axis];
        sums[count++] = sum;
    }
    memcpy(source->at[9], shape, (size_t)rank * 8);
    *(int64_t *)source->at[10] = count;
    return GG_DONE;
}

/* -- its gradients: of each element that of its sum. Parameters: the numbers of elements of both,
   of the sum, the rank. Arrays: the sum's gradient, positions of both and of the sum, gradients. */

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
    const gg_real *given = source->at[0];
    if (!gg_is_ascending(sum, n[2], rank)) return GG_FAILED;
    for (int side = 0; side < 2; side++)
        if (!gg_is_ascending(source->at[1 + side], n[side], rank)) return GG_FAILED;
    for (int side = 0; side < 2; side++) {
        const int64_t *at = source->at[1 + side];
        gg_real *out = source->at[4 + side];
        int64_t i = 0, k = 0;
        while (rank == 2 && i < n[side] && k < n[2]) { /* without branches */
            const int64_t *one = at + 2 * i, *other = sum + 2 * k;
            const int same = one[0] == other[0];
            const int is_before = (one[0] < other[0]) | (same & (one[1] < other[1]));
            const int is_equal = same & (one[1] == other[1]);
            out[i] = is_equal ? given[k] : 0;
            i += is_before | is_equal, k += !is_before;
        }
        for (; i < n[side]; i++) {
            int order = 1;
            while (k < n[2] &&
                   (order = gg_position_order(sum + k * rank, at + i * rank, rank)) < 0)
                k++;
            out[i] = k < n[2] && !order ? given[k] : 0;
        }
    }
    return GG_DONE;
}
