/* Counts of numbers.

   gg_count: how often each of 0, ..., size - 1 occurs, or the sums of weights. Parameters: the number
   of elements, of weights (0: none), size. Arrays: numbers (int32), weights, out. A negative number
   ends it with GG_FAILED.

   gg_histogram: the numbers in each of equal parts of an interval, as in
   gpugraph/ops/reductions/histograms.py. Parameters: the number of elements, parts, whether counts are
   int64. Arrays: numbers, the interval, out. NaN, and an empty interval, end it with GG_FAILED. */

#ifndef GG_COUNTS
#define GG_COUNTS
#define GG_COUNTED_AT_ONCE 256
#define GG_COUNT_TABLES 4 /* equal numbers in a row do not wait for each other */
#define GG_COUNT_MOST 4096 /* parts, for which there are several tables */

static int64_t gg_count_tables(int64_t size) { return size <= GG_COUNT_MOST ? GG_COUNT_TABLES : 1; }

/* Counts numbers; those that are not below `size` are left out. */
static void gg_count_places(const int32_t *numbers, int64_t count, int64_t size, int64_t tables,
                            int64_t *counts) {
    for (int64_t i = 0; i < count; i++)
        if (numbers[i] < size) counts[(i & (tables - 1)) * size + numbers[i]]++;
}

static void gg_join_counts(int64_t *counts, int64_t size, int64_t tables) {
    for (int64_t k = 1; k < tables; k++)
        for (int64_t i = 0; i < size; i++) counts[i] += counts[k * size + i];
}
#endif

void GG_NAME(gg_count_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[0], source->count[1] = n[1], source->count[2] = n[2];
    source->scratch_bytes = gg_count_tables(n[2]) * n[2] * 8;
    gg_set_work(source, n[0] * 1.0 + n[2]);
    source->threads = 1;
}

int GG_NAME(gg_count)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, size = n[2], tables = gg_count_tables(size);
    const int32_t *numbers = source->at[0];
    const gg_real *weights = source->at[1];
    gg_real *out = source->at[2];
    int64_t *counts = (int64_t *)source->scratch;
    int32_t all = 0;
    for (int64_t i = 0; i < n[0]; i++) all |= numbers[i];
    if (all < 0) return GG_FAILED;
    if (n[1]) {
        for (int64_t i = 0; i < size; i++) out[i] = 0;
        for (int64_t i = 0; i < n[0]; i++)
            if (numbers[i] < size) out[numbers[i]] += weights[i];
        return GG_DONE;
    }
    memset(counts, 0, (size_t)(tables * size * 8));
    gg_count_places(numbers, n[0], size, tables, counts);
    gg_join_counts(counts, size, tables);
    for (int64_t i = 0; i < size; i++) out[i] = (gg_real)counts[i];
    return GG_DONE;
}

void GG_NAME(gg_histogram_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[0], source->count[1] = 2, source->count[2] = n[1];
    source->scratch_bytes = gg_count_tables(n[1]) * n[1] * 8;
    gg_set_work(source, n[0] * 2.0 + n[1]);
    source->threads = 1;
}

int GG_NAME(gg_histogram)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, size = n[1], tables = gg_count_tables(size);
    const gg_real *x = source->at[0], *range = source->at[1];
    const double low = (double)range[0], step = ((double)range[1] - low) / (double)size;
    const double last = (double)(size - 1);
    int64_t *counts = (int64_t *)source->scratch;
    int32_t places[GG_COUNTED_AT_ONCE];
    int nan = !(range[0] < range[1]);
    memset(counts, 0, (size_t)(tables * size * 8));
    for (int64_t at = 0; at < n[0] && !nan; at += GG_COUNTED_AT_ONCE) {
        const int64_t count = gg_min(GG_COUNTED_AT_ONCE, n[0] - at);
        GG_LOOP for (int64_t i = 0; i < count; i++) {
            double place = ((double)x[at + i] - low) / step;
            nan |= place != place;
            place = place > 0 ? place : 0;
            places[i] = (int32_t)(place < last ? place : last);
        }
        gg_count_places(places, count, size, tables, counts);
    }
    if (nan) return GG_FAILED;
    gg_join_counts(counts, size, tables);
    for (int64_t i = 0; i < size; i++) {
        if (n[2]) ((int64_t *)source->at[2])[i] = counts[i];
        else ((int32_t *)source->at[2])[i] = (int32_t)counts[i];
    }
    return GG_DONE;
}
