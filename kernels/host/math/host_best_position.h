/* The position of the largest or smallest element along an axis that has others after it; NaN counts
   as the worst number, and the first of equal ones is chosen.

   Parameters: the elements before the axis, along it, and after it, whether the largest is sought,
   whether positions are int64. Arrays: x, positions. */

#ifndef GG_BEST
#define GG_BEST
#define GG_BEST_COLUMNS 256 /* maximum columns of a part */
#define GG_WORST(x) _Generic((x), float: INFINITY, double: INFINITY, default: 0)
#endif

typedef struct {
    gg_source *source;
    int64_t size, inner, largest, wide, across;
} GG_NAME(gg_best);

GG_ALWAYS void GG_NAME(gg_best_columns)(const int largest, const GG_NAME(gg_best) * b,
                                        const gg_real *x, int64_t columns, int32_t *restrict place) {
    gg_real best[GG_BEST_COLUMNS];
    const gg_real worst = (gg_real)(largest ? -GG_WORST((gg_real)0) : GG_WORST((gg_real)0));
    for (int64_t c = 0; c < columns; c++) best[c] = x[c] != x[c] ? worst : x[c], place[c] = 0;
    for (int64_t i = 1; i < b->size; i++) {
        x += b->inner;
        GG_LOOP for (int64_t c = 0; c < columns; c++) {
            const int better = largest ? x[c] > best[c] : x[c] < best[c];
            best[c] = better ? x[c] : best[c];
            place[c] = better ? (int32_t)i : place[c];
        }
    }
}

static void GG_NAME(gg_best_part)(void *block, int64_t which) {
    const GG_NAME(gg_best) *b = block;
    const int64_t first = which % b->across * GG_BEST_COLUMNS, line = which / b->across;
    const int64_t columns = gg_min(GG_BEST_COLUMNS, b->inner - first);
    const gg_real *x = (const gg_real *)b->source->at[0] + line * b->size * b->inner + first;
    const int64_t at = line * b->inner + first;
    int32_t place[GG_BEST_COLUMNS];
    if (b->largest) GG_NAME(gg_best_columns)(1, b, x, columns, place);
    else GG_NAME(gg_best_columns)(0, b, x, columns, place);
    for (int64_t c = 0; c < columns && b->wide; c++) ((int64_t *)b->source->at[1])[at + c] = place[c];
    if (!b->wide) memcpy((int32_t *)b->source->at[1] + at, place, (size_t)columns * 4);
}

void GG_NAME(gg_best_position_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[0] * n[1] * n[2], source->count[1] = n[0] * n[2];
    source->scratch_bytes = 0;
    gg_set_work(source, (double)source->count[0] * (n[2] > 8 ? 0.4 : 2.0));
}

int GG_NAME(gg_best_position)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    GG_NAME(gg_best) b = {source, n[1], n[2], n[3], n[4], gg_ceil(n[2], GG_BEST_COLUMNS)};
    source->parallel(GG_NAME(gg_best_part), &b, n[0] * b.across, source->threads);
    return GG_DONE;
}
