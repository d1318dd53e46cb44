/* The largest elements of rows, the largest first; of equal ones the first comes first, and NaN is the
   largest. */

#include "host_rows.h"

/* Parameters: how many rows, their size, how many elements of each. Arrays: x, values, indices. */

#define GG_TOP_STRIDE 16 /* elements that are compared with the least of the chosen at once */

void GG_NAME(gg_top_k_plan)(gg_source *source) {
    const int64_t rows = source->parameters[0], size = source->parameters[1];
    const int64_t k = source->parameters[2];
    source->count[0] = rows * size;
    source->count[1] = source->count[2] = rows * k;
    gg_set_work(source, rows * (0.2 * size + 20.0 * k));
}

/* Whether x comes before y, which is in front of it. */
GG_ALWAYS int GG_NAME(gg_is_before)(gg_real x, gg_real y) { return x > y || (x != x && y == y); }

static void GG_NAME(gg_top_of_row)(const gg_real *x, int64_t size, int64_t k, gg_real *values,
                          int32_t *indices) {
    int64_t chosen = 0, i = 0;
    while (i < size) {
        if (chosen == k && i + GG_TOP_STRIDE <= size) {
            const gg_real least = values[k - 1];
            int any = 0;
            for (int64_t j = 0; j < GG_TOP_STRIDE; j++) any |= !(x[i + j] <= least);
            if (!any) {
                i += GG_TOP_STRIDE;
                continue;
            }
        }
        const int64_t end = gg_min(i + GG_TOP_STRIDE, size);
        for (; i < end; i++) {
            const gg_real value = x[i];
            if (chosen == k && !GG_NAME(gg_is_before)(value, values[k - 1])) continue;
            int64_t place = chosen < k ? chosen++ : k - 1;
            for (; place && GG_NAME(gg_is_before)(value, values[place - 1]); place--) {
                values[place] = values[place - 1];
                indices[place] = indices[place - 1];
            }
            values[place] = value;
            indices[place] = (int32_t)i;
        }
    }
}

static void GG_NAME(gg_top_k_part)(void *block, int64_t row) {
    gg_source *source = block;
    const int64_t size = source->parameters[1], k = source->parameters[2];
    GG_NAME(gg_top_of_row)((const gg_real *)source->at[0] + row * size, size, k,
                  (gg_real *)source->at[1] + row * k, (int32_t *)source->at[2] + row * k);
}

int GG_NAME(gg_top_k)(void *block) {
    gg_source *source = block;
    source->parallel(GG_NAME(gg_top_k_part), source, source->parameters[0], source->threads);
    return GG_DONE;
}
