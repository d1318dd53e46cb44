/* A reduction over one axis that has others on both sides, in order, as NumPy's `reduce`.

   Macros: GG_MAP of an element `x`, GG_COMBINE of the result so far `a` with an element `b`, and
   GG_FINISH of the result `a` of `n` elements; T is the type. Parameters: the elements before the
   axis, along it, and after it. */

#include "host_math.h"

typedef gg_real T;

#define GG_REDUCED_COLUMNS 512 /* maximum columns of a part */

typedef struct {
    gg_source *source;
    int64_t outer, size, inner, across;
} gg_reduced_axis;

static gg_reduced_axis gg_reduced_of(gg_source *source) {
    const int64_t *n = source->parameters;
    return (gg_reduced_axis){source, n[0], n[1], n[2], gg_ceil(n[2], GG_REDUCED_COLUMNS)};
}

void GG_NAME(gg_reduce_axis_plan)(gg_source *source) {
    const gg_reduced_axis r = gg_reduced_of(source);
    source->count[0] = r.outer * r.size * r.inner;
    source->count[1] = r.outer * r.inner;
    source->scratch_bytes = 0;
    gg_set_work(source, (double)source->count[0] * (r.inner > 8 ? 0.25 : 1.0));
}

static inline T gg_mapped(T x) { return GG_MAP; }

static inline T gg_combined(T a, T b) { return GG_COMBINE; }

static inline T gg_finished(T a, int64_t n) { return n ? GG_FINISH : a; }

static void gg_reduce_axis_part(void *block, int64_t which) {
    const gg_reduced_axis *r = block;
    const int64_t first = which % r->across * GG_REDUCED_COLUMNS;
    const int64_t columns = gg_min(GG_REDUCED_COLUMNS, r->inner - first);
    const int64_t line = which / r->across;
    const T *x = (const T *)r->source->at[0] + line * r->size * r->inner + first;
    T *out = (T *)r->source->at[1] + line * r->inner + first;
    T total[GG_REDUCED_COLUMNS];
    for (int64_t c = 0; c < columns; c++) total[c] = gg_mapped(x[c]);
    for (int64_t i = 1; i < r->size; i++) {
        x += r->inner;
        GG_LOOP for (int64_t c = 0; c < columns; c++)
            total[c] = gg_combined(total[c], gg_mapped(x[c]));
    }
    for (int64_t c = 0; c < columns; c++) out[c] = gg_finished(total[c], r->size);
}

int GG_NAME(gg_reduce_axis)(void *block) {
    gg_reduced_axis r = gg_reduced_of(block);
    r.source->parallel(gg_reduce_axis_part, &r, r.outer * r.across, r.source->threads);
    return GG_DONE;
}
