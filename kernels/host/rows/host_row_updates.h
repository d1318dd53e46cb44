/* An optimizer's update of some rows of a variable and its slots.

   Macros: GG_VARIABLES, the number of updated arrays; GG_SCALARS(X), X(name, type, array) for
   each number; GG_UPDATE, statements that update v0, v1, ... (an element of each array) with g
   (the gradient's) and the numbers. The updates of a row are made in order, as by NumPy. */

#include "host_math.h"
#include "host_rows.h"

typedef gg_real T;
typedef gg_real U;
#define auto __auto_type
#define ELEMENT_LOAD(x) (x)
#define ELEMENT_STORE(x) (x)

/* Parameters: those of the indices, the width of a row, and the numbers of the arrays of the
   gradient and the indices. */
typedef struct {
    gg_source *source;
    gg_places places;
    int64_t width, grad, indices, parts;
    const int64_t *numbers;
} gg_row_update;

static gg_row_update gg_row_update_of(gg_source *source) {
    const int64_t *n = source->parameters + GG_PLACES;
    gg_row_update u = {source, gg_places_of(source->parameters), n[0], n[1], n[2]};
    u.parts = gg_row_parts(u.places.sizes[0], u.width * (int64_t)sizeof(gg_real));
    return u;
}

void GG_NAME(gg_update_rows_plan)(gg_source *source) {
    gg_row_update u = gg_row_update_of(source);
    const int64_t last = source->parameters[GG_PLACES + 3];
    for (int64_t which = 0; which < last; which++) source->count[which] = 1;
    for (int64_t which = 0; which < GG_VARIABLES; which++)
        source->count[which] = u.places.sizes[0] * u.width;
    source->count[last] = source->count[0]; /* the reference to the variable */
    source->count[u.grad] = u.places.count * u.width;
    source->count[u.indices] = u.places.count;
    source->scratch_bytes = u.places.count * 8;
    const double row = (double)u.width * sizeof(gg_real);
    gg_set_work(source, gg_row_work(u.places.count, row * (1 + 2 * GG_VARIABLES)));
}

#define GG_NUMBER(name, type, array) const type name = *(const type *)u->source->at[array];

static void gg_update_rows_part(void *block, int64_t which) {
    const gg_row_update *u = block;
    const int64_t rows = u->places.sizes[0], width = u->width;
    const int64_t first = rows * which / u->parts, last = rows * (which + 1) / u->parts;
    GG_SCALARS(GG_NUMBER)
    for (int64_t i = 0; i < u->places.count; i++) {
        const int64_t row = u->numbers[i];
        if (row < first || row >= last) continue;
        gg_real *at[GG_VARIABLES];
        for (int64_t each = 0; each < GG_VARIABLES; each++)
            at[each] = (gg_real *)u->source->at[each] + row * width;
        const gg_real *grad = (const gg_real *)u->source->at[u->grad] + i * width;
        GG_LOOP for (int64_t c = 0; c < width; c++) {
            const gg_real g = grad[c];
            gg_real v0 = at[0][c];
#if GG_VARIABLES > 1
            gg_real v1 = at[1][c];
#endif
#if GG_VARIABLES > 2
            gg_real v2 = at[2][c];
#endif
#if GG_VARIABLES > 3
            gg_real v3 = at[3][c];
#endif
            GG_UPDATE
            at[0][c] = v0;
#if GG_VARIABLES > 1
            at[1][c] = v1;
#endif
#if GG_VARIABLES > 2
            at[2][c] = v2;
#endif
#if GG_VARIABLES > 3
            at[3][c] = v3;
#endif
        }
    }
}

int GG_NAME(gg_update_rows)(void *block) {
    gg_row_update u = gg_row_update_of(block);
    u.numbers = (int64_t *)u.source->scratch;
    if (!gg_row_numbers(&u.places, u.source->at[u.indices], (int64_t *)u.source->scratch))
        return GG_FAILED;
    u.source->parallel(gg_update_rows_part, &u, u.parts, u.source->threads);
    return GG_DONE;
}
