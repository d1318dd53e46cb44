/* Equations with tridiagonal matrices, as in gpugraph/ops/linalg/tridiagonal_solve.py: elimination
   of the lower diagonal, optionally with exchanges of neighbouring rows.

   Parameters: matrices, their size, the columns of the right side, whether rows are exchanged.
   Arrays: the diagonals above, of and below each matrix; right sides; solutions, which are NaN for
   a singular matrix. A part is a matrix. */

#include "host_rows.h"

typedef struct {
    gg_source *source;
    int64_t size, columns, exchanges;
} GG_NAME(gg_tridiagonal_work);

void GG_NAME(gg_tridiagonal_plan)(gg_source *source) {
    const int64_t *n = source->parameters, rows = n[0] * n[1];
    source->count[0] = 3 * rows, source->count[1] = source->count[2] = rows * n[2];
    source->scratch_bytes = 4 * rows * (int64_t)sizeof(gg_real);
    gg_set_work(source, rows * (8.0 + 2.0 * n[2]));
}

static void GG_NAME(gg_swap)(gg_real *a, gg_real *b, int64_t count) {
    GG_LOOP for (int64_t i = 0; i < count; i++) {
        const gg_real kept = a[i];
        a[i] = b[i], b[i] = kept;
    }
}

/* row -= factor * other */
GG_ALWAYS void GG_NAME(gg_subtract_row)(gg_real *restrict row, const gg_real *restrict other,
                                        gg_real factor, int64_t count) {
    GG_LOOP for (int64_t i = 0; i < count; i++) row[i] -= factor * other[i];
}

static void GG_NAME(gg_tridiagonal_part)(void *block, int64_t which) {
    const GG_NAME(gg_tridiagonal_work) *w = block;
    const int64_t size = w->size, columns = w->columns;
    gg_real *above = (gg_real *)w->source->scratch + 4 * size * which;
    gg_real *main = above + size, *below = main + size, *second = below + size;
    gg_real *x = (gg_real *)w->source->at[2] + which * size * columns;
    memcpy(above, (const gg_real *)w->source->at[0] + 3 * size * which,
           (size_t)(3 * size) * sizeof(gg_real));
    memcpy(x, (const gg_real *)w->source->at[1] + which * size * columns,
           (size_t)(size * columns) * sizeof(gg_real));
    memset(second, 0, (size_t)size * sizeof(gg_real));
    for (int64_t row = 0; row + 1 < size; row++) {
        gg_real *here = x + row * columns, *next = here + columns;
        const gg_real lower = below[row + 1], pivot = main[row];
        if (w->exchanges && (lower < 0 ? -lower : lower) > (pivot < 0 ? -pivot : pivot)) {
            GG_NAME(gg_swap)(main + row, below + row + 1, 1);
            GG_NAME(gg_swap)(above + row, main + row + 1, 1);
            GG_NAME(gg_swap)(second + row, above + row + 1, 1);
            GG_NAME(gg_swap)(here, next, columns);
        }
        const gg_real factor = below[row + 1] / main[row];
        main[row + 1] -= factor * above[row];
        above[row + 1] -= factor * second[row];
        GG_NAME(gg_subtract_row)(next, here, factor, columns);
    }
    int is_singular = 0;
    for (int64_t row = size - 1; row >= 0; row--) {
        gg_real *here = x + row * columns;
        is_singular |= main[row] == 0;
        if (row + 1 < size) GG_NAME(gg_subtract_row)(here, here + columns, above[row], columns);
        if (row + 2 < size)
            GG_NAME(gg_subtract_row)(here, here + 2 * columns, second[row], columns);
        GG_LOOP for (int64_t i = 0; i < columns; i++) here[i] /= main[row];
    }
    if (is_singular)
        for (int64_t i = 0; i < size * columns; i++) x[i] = (gg_real)NAN;
}

int GG_NAME(gg_tridiagonal)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    GG_NAME(gg_tridiagonal_work) w = {source, n[1], n[2], n[3]};
    source->parallel(GG_NAME(gg_tridiagonal_part), &w, n[0], source->threads);
    return GG_DONE;
}
