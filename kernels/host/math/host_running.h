/* Running sums and products along an axis, in order, as NumPy's `accumulate`.

   Parameters: the elements before the axis, along it, and after it; whether to multiply; whether
   an element is left out of its own total; whether to start from the end. */

#ifndef GG_RUNNING
#define GG_RUNNING

#define GG_RUNNING_COLUMNS 512 /* maximum columns of a part */

typedef struct {
    gg_source *source;
    int64_t outer, size, inner, multiplies, exclusive, reverse, across;
} gg_running_axis;

static gg_running_axis gg_running_of(gg_source *source) {
    const int64_t *n = source->parameters;
    return (gg_running_axis){source, n[0], n[1], n[2], n[3], n[4], n[5],
                             gg_ceil(n[2], GG_RUNNING_COLUMNS)};
}
#endif

void GG_NAME(gg_running_plan)(gg_source *source) {
    const gg_running_axis r = gg_running_of(source);
    source->count[0] = source->count[1] = r.outer * r.size * r.inner;
    source->scratch_bytes = 0;
    gg_set_work(source, (double)source->count[0] * (r.inner > 1 ? 0.5 : 1.5));
}

GG_ALWAYS void GG_NAME(gg_running_lines)(const int multiplies, const gg_running_axis *r,
                                         int64_t start, int64_t columns) {
    const gg_real *x = (const gg_real *)r->source->at[0] + start;
    gg_real *out = (gg_real *)r->source->at[1] + start;
    gg_real total[GG_RUNNING_COLUMNS];
    for (int64_t c = 0; c < columns; c++) total[c] = multiplies;
    for (int64_t i = 0; i < r->size; i++) {
        const int64_t at = (r->reverse ? r->size - 1 - i : i) * r->inner;
        GG_LOOP for (int64_t c = 0; c < columns; c++) {
            const gg_real before = total[c], element = x[at + c];
            total[c] = multiplies ? before * element : before + element;
            out[at + c] = r->exclusive ? before : total[c];
        }
    }
}

static void GG_NAME(gg_running_part)(void *block, int64_t which) {
    const gg_running_axis *r = block;
    const int64_t first = which % r->across * GG_RUNNING_COLUMNS;
    const int64_t columns = gg_min(GG_RUNNING_COLUMNS, r->inner - first);
    const int64_t start = which / r->across * r->size * r->inner + first;
    if (r->multiplies) GG_NAME(gg_running_lines)(1, r, start, columns);
    else GG_NAME(gg_running_lines)(0, r, start, columns);
}

int GG_NAME(gg_running)(void *block) {
    gg_running_axis r = gg_running_of(block);
    r.source->parallel(GG_NAME(gg_running_part), &r, r.outer * r.across, r.source->threads);
    return GG_DONE;
}
