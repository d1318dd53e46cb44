/* Factors of square matrices (LU with pivots), and equations with triangular ones, for matrices that
   fit the caches; a part is a matrix, or some columns of the right side.

   Parameters of gg_triangular: matrices, their size, the right side's columns, whether the lower
   triangle is read, whether the matrix is transposed. Arrays: matrices, right sides, solutions.
   Parameters of gg_cholesky_back: matrices, size. Arrays: factors, their gradient, the gradient of
   the matrices.
   Parameters of gg_lu: matrices, size, the bytes of an index. Arrays: matrices, factors, the order
   of rows. A 0 on the diagonal ends a function with GG_FAILED: the NumPy kernel raises the error. */

#include "host_rows.h"

#ifndef GG_TRIANGULAR
#define GG_TRIANGULAR
#define GG_TRIANGULAR_VECTORS 4 /* of columns of the right side, in registers */
#endif

typedef struct {
    gg_source *source;
    int64_t count, size, columns, lower, turned, across, each;
} GG_NAME(gg_triangular_work);

static GG_NAME(gg_triangular_work) GG_NAME(gg_triangular_of)(gg_source *source) {
    const int64_t *n = source->parameters;
    GG_NAME(gg_triangular_work) w = {source, n[0], n[1], n[2], n[3], n[4], 0, 0};
    w.each = GG_TRIANGULAR_VECTORS * GG_REAL_LANES;
    w.across = gg_ceil(w.columns, w.each);
    return w;
}

void GG_NAME(gg_triangular_plan)(gg_source *source) {
    GG_NAME(gg_triangular_work) w = GG_NAME(gg_triangular_of)(source);
    source->count[0] = w.count * w.size * w.size;
    source->count[1] = source->count[2] = w.count * w.size * w.columns;
    source->scratch_bytes = 0;
    gg_set_work(source, 0.05 * w.count * w.size * w.size * (double)w.across * w.each * 0.5);
}

/* `vectors` vectors of columns. */
GG_ALWAYS void GG_NAME(gg_triangular_columns)(const int vectors,
                                              const GG_NAME(gg_triangular_work) * w,
                                              const gg_real *matrix, const gg_real *right,
                                              gg_real *out) {
    const int64_t size = w->size, columns = w->columns, lanes = GG_REAL_LANES;
    const int forward = w->lower != w->turned;
    const int64_t row_step = w->turned ? 1 : size, column_step = w->turned ? size : 1;
    for (int64_t step = 0; step < size; step++) {
        const int64_t i = forward ? step : size - 1 - step;
        const int64_t first = forward ? 0 : i + 1, last = forward ? i : size;
        GG_NAME(gg_vector) sums[GG_TRIANGULAR_VECTORS] = {{0}};
        for (int64_t j = first; j < last; j++) {
            const gg_real factor = matrix[i * row_step + j * column_step];
            const GG_NAME(gg_vector) spread = factor - (GG_NAME(gg_vector)){0};
            GG_UNROLL for (int v = 0; v < vectors; v++) {
                const GG_NAME(gg_vector) row =
                    *(const GG_NAME(gg_vector) *)(out + j * columns + v * lanes);
                GG_ADD_PRODUCT(sums[v], spread, row);
            }
        }
        const gg_real diagonal = matrix[i * (size + 1)];
        GG_UNROLL for (int v = 0; v < vectors; v++) {
            gg_real *to = out + i * columns + v * lanes;
            const gg_real *from = right + i * columns + v * lanes;
            *(GG_NAME(gg_vector) *)to = (*(const GG_NAME(gg_vector) *)from - sums[v]) / diagonal;
        }
    }

}

/* Columns that do not fill a vector. */
static void GG_NAME(gg_triangular_rest)(const GG_NAME(gg_triangular_work) * w, int64_t count,
                                        const gg_real *matrix, const gg_real *right, gg_real *out) {
    const int64_t size = w->size, columns = w->columns;
    const int forward = w->lower != w->turned;
    const int64_t row_step = w->turned ? 1 : size, column_step = w->turned ? size : 1;
    for (int64_t step = 0; step < size; step++) {
        const int64_t i = forward ? step : size - 1 - step;
        const int64_t first = forward ? 0 : i + 1, last = forward ? i : size;
        for (int64_t c = 0; c < count; c++) {
            gg_real sum = 0;
            for (int64_t j = first; j < last; j++)
                sum += matrix[i * row_step + j * column_step] * out[j * columns + c];
            out[i * columns + c] = (right[i * columns + c] - sum) / matrix[i * (size + 1)];
        }
    }
}

static void GG_NAME(gg_triangular_part)(void *block, int64_t which) {
    const GG_NAME(gg_triangular_work) *w = block;
    const int64_t number = which / w->across, first = which % w->across * w->each;
    const int64_t count = gg_min(w->each, w->columns - first), whole = count / GG_REAL_LANES;
    const int64_t at = number * w->size * w->columns + first;
    const gg_real *matrix = (const gg_real *)w->source->at[0] + number * w->size * w->size;
    const gg_real *right = (const gg_real *)w->source->at[1] + at;
    gg_real *out = (gg_real *)w->source->at[2] + at;
    switch (whole) {
        case 4: GG_NAME(gg_triangular_columns)(4, w, matrix, right, out); break;
        case 3: GG_NAME(gg_triangular_columns)(3, w, matrix, right, out); break;
        case 2: GG_NAME(gg_triangular_columns)(2, w, matrix, right, out); break;
        case 1: GG_NAME(gg_triangular_columns)(1, w, matrix, right, out); break;
    }
    const int64_t done = whole * GG_REAL_LANES;
    if (count > done)
        GG_NAME(gg_triangular_rest)(w, count - done, matrix, right + done, out + done);
}

int GG_NAME(gg_triangular)(void *block) {
    GG_NAME(gg_triangular_work) w = GG_NAME(gg_triangular_of)(block);
    const gg_real *matrices = w.source->at[0];
    for (int64_t i = 0; i < w.count * w.size; i++)
        if (matrices[i / w.size * w.size * w.size + i % w.size * (w.size + 1)] == 0)
            return GG_FAILED;
    w.source->parallel(GG_NAME(gg_triangular_part), &w, w.count * w.across, w.source->threads);
    return GG_DONE;
}

/* -- the gradient of Cholesky factors L of symmetric matrices: L^-T (P + P^T) / 2 L^-1, where P is
   the lower triangle of L^T slope with half its diagonal. It is symmetric, so that only its lower
   half is computed. Rows are padded to whole vectors. */

typedef struct {
    int64_t size, columns, across, each;
    gg_real *turned, *one, *other; /* of each matrix: L^T, two lines of rows */
    const gg_real *factors, *slopes;
    gg_real *out;
} GG_NAME(gg_cholesky_work);

/* Whether a part computes L^T slope, the first or the second solution. */
enum { GG_NAME(GG_SLOPES), GG_NAME(GG_FIRST), GG_NAME(GG_SECOND) };

GG_ALWAYS void GG_NAME(gg_cholesky_columns)(const int vectors, const int stage,
                                            const GG_NAME(gg_cholesky_work) * w, int64_t at,
                                            const gg_real *turned, const gg_real *right,
                                            gg_real *out) {
    const int64_t size = w->size, columns = w->columns, lanes = GG_REAL_LANES;
    const int64_t stop = stage == GG_NAME(GG_FIRST) ? 0 : at;
    const gg_real *rows = (stage == GG_NAME(GG_SLOPES) ? right : out) + at;
    for (int64_t i = size - 1; i >= stop; i--) {
        GG_NAME(gg_vector) sums[GG_TRIANGULAR_VECTORS] = {{0}};
        for (int64_t k = i + (stage != GG_NAME(GG_SLOPES)); k < size; k++) {
            const GG_NAME(gg_vector) factor = turned[i * size + k] - (GG_NAME(gg_vector)){0};
            GG_UNROLL for (int v = 0; v < vectors; v++) {
                const GG_NAME(gg_vector) row =
                    *(const GG_NAME(gg_vector) *)(rows + k * columns + v * lanes);
                GG_ADD_PRODUCT(sums[v], factor, row);
            }
        }
        GG_UNROLL for (int v = 0; v < vectors; v++) {
            GG_NAME(gg_vector) *to = (GG_NAME(gg_vector) *)(out + i * columns + at + v * lanes);
            const gg_real *from = right + i * columns + at + v * lanes;
            if (stage == GG_NAME(GG_SLOPES)) *to = sums[v];
            else *to = (*(const GG_NAME(gg_vector) *)from - sums[v]) / turned[i * (size + 1)];
        }
    }
}

GG_ALWAYS void GG_NAME(gg_cholesky_part)(const int stage, void *block, int64_t which) {
    const GG_NAME(gg_cholesky_work) *w = block;
    const int64_t matrix = which / w->across, at = which % w->across * w->each;
    const int64_t area = w->size * w->columns, count = gg_min(w->each, w->columns - at);
    const gg_real *turned = w->turned + matrix * w->size * w->size;
    gg_real *one = w->one + matrix * area, *other = w->other + matrix * area;
    const gg_real *right = stage == GG_NAME(GG_FIRST) ? other : one;
    gg_real *out = stage == GG_NAME(GG_FIRST) ? one : other;
    switch (count / GG_REAL_LANES) {
        case 4: GG_NAME(gg_cholesky_columns)(4, stage, w, at, turned, right, out); break;
        case 3: GG_NAME(gg_cholesky_columns)(3, stage, w, at, turned, right, out); break;
        case 2: GG_NAME(gg_cholesky_columns)(2, stage, w, at, turned, right, out); break;
        case 1: GG_NAME(gg_cholesky_columns)(1, stage, w, at, turned, right, out); break;
    }
}

static void GG_NAME(gg_cholesky_slopes)(void *block, int64_t which) {
    GG_NAME(gg_cholesky_part)(GG_NAME(GG_SLOPES), block, which);
}

static void GG_NAME(gg_cholesky_first)(void *block, int64_t which) {
    GG_NAME(gg_cholesky_part)(GG_NAME(GG_FIRST), block, which);
}

static void GG_NAME(gg_cholesky_second)(void *block, int64_t which) {
    GG_NAME(gg_cholesky_part)(GG_NAME(GG_SECOND), block, which);
}

/* Copies the lower triangles of a matrix, the factors transposed. */
static void GG_NAME(gg_cholesky_begin)(void *block, int64_t matrix) {
    const GG_NAME(gg_cholesky_work) *w = block;
    const int64_t size = w->size, area = size * w->columns;
    const gg_real *factors = w->factors + matrix * size * size;
    const gg_real *slopes = w->slopes + matrix * size * size;
    gg_real *turned = w->turned + matrix * size * size, *rows = w->one + matrix * area;
    for (int64_t i = 0; i < size; i++) {
        for (int64_t j = 0; j < size; j++) turned[i * size + j] = j < i ? 0 : factors[j * size + i];
        for (int64_t j = 0; j < w->columns; j++)
            rows[i * w->columns + j] = j > i ? 0 : slopes[i * size + j];
    }
}

/* Adds the transpose to the lower triangle of L^T slope, and halves it. */
static void GG_NAME(gg_cholesky_even)(void *block, int64_t matrix) {
    const GG_NAME(gg_cholesky_work) *w = block;
    gg_real *rows = w->other + matrix * w->size * w->columns;
    for (int64_t i = 0; i < w->size; i++) {
        for (int64_t j = 0; j <= i; j++)
            rows[j * w->columns + i] = rows[i * w->columns + j] *= (gg_real)0.5;
        for (int64_t j = w->size; j < w->columns; j++) rows[i * w->columns + j] = 0;
    }
}

static void GG_NAME(gg_cholesky_turn)(void *block, int64_t matrix) {
    const GG_NAME(gg_cholesky_work) *w = block;
    gg_real *rows = w->one + matrix * w->size * w->columns;
    for (int64_t i = 0; i < w->size; i++)
        for (int64_t j = 0; j < i; j++) {
            gg_real *below = rows + i * w->columns + j, *above = rows + j * w->columns + i, x = *below;
            *below = *above, *above = x;
        }
}

static void GG_NAME(gg_cholesky_end)(void *block, int64_t matrix) {
    const GG_NAME(gg_cholesky_work) *w = block;
    const gg_real *rows = w->other + matrix * w->size * w->columns;
    gg_real *out = w->out + matrix * w->size * w->size;
    for (int64_t i = 0; i < w->size; i++)
        for (int64_t j = 0; j <= i; j++)
            out[j * w->size + i] = out[i * w->size + j] = rows[i * w->columns + j];
}

static GG_NAME(gg_cholesky_work) GG_NAME(gg_cholesky_of)(const gg_source *source) {
    GG_NAME(gg_cholesky_work) w = {.size = source->parameters[1]};
    w.columns = gg_ceil(w.size, GG_REAL_LANES) * GG_REAL_LANES;
    w.each = GG_TRIANGULAR_VECTORS * GG_REAL_LANES;
    w.across = gg_ceil(w.columns, w.each);
    return w;
}

void GG_NAME(gg_cholesky_back_plan)(gg_source *source) {
    const GG_NAME(gg_cholesky_work) w = GG_NAME(gg_cholesky_of)(source);
    const int64_t matrices = source->parameters[0];
    source->count[0] = source->count[1] = source->count[2] = matrices * w.size * w.size;
    const int64_t numbers = matrices * w.size * (w.size + 2 * w.columns);
    source->scratch_bytes = numbers * (int64_t)sizeof(gg_real) + 3 * GG_LINE;
    gg_set_work(source, 0.05 * matrices * w.size * w.size * (double)w.columns);
}

int GG_NAME(gg_cholesky_back)(void *block) {
    gg_source *source = block;
    GG_NAME(gg_cholesky_work) w = GG_NAME(gg_cholesky_of)(source);
    const int64_t matrices = source->parameters[0], area = w.size * w.size;
    w.factors = source->at[0], w.slopes = source->at[1], w.out = source->at[2];
    for (int64_t i = 0; i < matrices * w.size; i++)
        if (w.factors[i / w.size * area + i % w.size * (w.size + 1)] == 0) return GG_FAILED;
    w.turned = (gg_real *)source->scratch;
    w.one = w.turned + matrices * area, w.other = w.one + matrices * w.size * w.columns;
    const int64_t parts = matrices * w.across, threads = source->threads;
    source->parallel(GG_NAME(gg_cholesky_begin), &w, matrices, threads);
    source->parallel(GG_NAME(gg_cholesky_slopes), &w, parts, threads);
    source->parallel(GG_NAME(gg_cholesky_even), &w, matrices, threads);
    source->parallel(GG_NAME(gg_cholesky_first), &w, parts, threads);
    source->parallel(GG_NAME(gg_cholesky_turn), &w, matrices, threads);
    source->parallel(GG_NAME(gg_cholesky_second), &w, parts, threads);
    source->parallel(GG_NAME(gg_cholesky_end), &w, matrices, threads);
    return GG_DONE;
}

/* -- LU */

typedef struct {
    gg_source *source;
    int64_t size, wide;
    _Atomic int singular;
} GG_NAME(gg_lu_work);

static void GG_NAME(gg_lu_part)(void *block, int64_t which) {
    GG_NAME(gg_lu_work) *w = block;
    const int64_t size = w->size;
    gg_real *both = (gg_real *)w->source->at[1] + which * size * size;
    memcpy(both, (const gg_real *)w->source->at[0] + which * size * size,
           (size_t)(size * size) * sizeof(gg_real));
    int64_t *wide = (int64_t *)w->source->at[2] + which * size;
    int32_t *narrow = (int32_t *)w->source->at[2] + which * size;
    for (int64_t i = 0; i < size; i++)
        if (w->wide) wide[i] = i;
        else narrow[i] = (int32_t)i;
    for (int64_t k = 0; k < size; k++) {
        int64_t pivot = k;
        gg_real best = -1;
        for (int64_t i = k; i < size; i++) {
            const gg_real x = both[i * size + k], large = x < 0 ? -x : x;
            if (large != large) { /* as argmax, which finds NaN first */
                pivot = i;
                break;
            }
            if (large > best) best = large, pivot = i;
        }
        gg_real *row = both + k * size, *other = both + pivot * size;
        for (int64_t j = 0; pivot != k && j < size; j++) {
            const gg_real x = row[j];
            row[j] = other[j], other[j] = x;
        }
        if (w->wide) {
            const int64_t x = wide[k];
            wide[k] = wide[pivot], wide[pivot] = x;
        } else {
            const int32_t x = narrow[k];
            narrow[k] = narrow[pivot], narrow[pivot] = x;
        }
        if (row[k] == 0) {
            w->singular = 1;
            return;
        }
        for (int64_t i = k + 1; i < size; i++) {
            gg_real *to = both + i * size;
            const gg_real factor = to[k] /= row[k];
            GG_LOOP for (int64_t j = k + 1; j < size; j++) to[j] -= factor * row[j];
        }
    }
}

void GG_NAME(gg_lu_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = source->count[1] = n[0] * n[1] * n[1];
    source->count[2] = n[0] * n[1];
    source->scratch_bytes = 0;
    gg_set_work(source, 0.06 * n[0] * n[1] * n[1] * (double)n[1]);
}

int GG_NAME(gg_lu)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    GG_NAME(gg_lu_work) w = {source, n[1], n[2] == 8, 0};
    source->parallel(GG_NAME(gg_lu_part), &w, n[0], source->threads);
    return w.singular ? GG_FAILED : GG_DONE;
}
