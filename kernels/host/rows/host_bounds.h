/* Places in sorted rows, by bisection, and numbers of boundaries below elements. */

#include "host_rows.h"

#ifndef GG_BOUNDS
#define GG_BOUNDS
#define GG_BOUND_LANES 64 /* values that are searched together */
#define GG_BOUND_PART 2048

static inline void gg_put_bounds(void *out, int64_t wide, int64_t at, const int32_t *found,
                                 int64_t count) {
    for (int64_t i = 0; i < count && wide; i++) ((int64_t *)out)[at + i] = found[i];
    if (!wide) memcpy((int32_t *)out + at, found, (size_t)count * 4);
}
#endif

/* Comparisons with NaN are false. Each step halves what is left of the row, for all lanes. */
GG_ALWAYS void GG_NAME(gg_bounds_of)(const int after_equal, const gg_real *row, int32_t size,
                                     const gg_real *wanted, int32_t *low) {
    int32_t high[GG_BOUND_LANES];
    for (int64_t i = 0; i < GG_BOUND_LANES; i++) low[i] = 0, high[i] = size;
    for (int32_t left = size; left; left >>= 1)
        GG_LOOP for (int64_t i = 0; i < GG_BOUND_LANES; i++) {
            const int32_t middle = (int32_t)((uint32_t)(low[i] + high[i]) >> 1);
            const gg_real seen = row[middle < size ? middle : size - 1];
            const int is_after = after_equal ? !(wanted[i] < seen) : seen < wanted[i];
            const int32_t next = is_after ? middle + 1 : low[i], end = is_after ? high[i] : middle;
            const int is_open = low[i] < high[i];
            low[i] = is_open ? next : low[i];
            high[i] = is_open ? end : high[i];
        }
}

/* Parameters: rows, their elements, values of each, whether equal elements come before a place,
   whether places are int64. Arrays: rows, values, places. */
static void GG_NAME(gg_bounds_part)(void *block, int64_t which) {
    gg_source *source = block;
    const int64_t *n = source->parameters, parts = gg_ceil(n[2], GG_BOUND_PART);
    const int64_t number = which / parts, first = which % parts * GG_BOUND_PART;
    const int64_t end = gg_min(n[2], first + GG_BOUND_PART);
    const gg_real *row = (const gg_real *)source->at[0] + number * n[1];
    const gg_real *values = (const gg_real *)source->at[1] + number * n[2];
    gg_real wanted[GG_BOUND_LANES] = {0};
    int32_t found[GG_BOUND_LANES];
    for (int64_t at = first; at < end; at += GG_BOUND_LANES) {
        const int64_t count = gg_min(GG_BOUND_LANES, end - at);
        memcpy(wanted, values + at, (size_t)count * sizeof *wanted);
        if (n[3]) GG_NAME(gg_bounds_of)(1, row, (int32_t)n[1], wanted, found);
        else GG_NAME(gg_bounds_of)(0, row, (int32_t)n[1], wanted, found);
        gg_put_bounds(source->at[2], n[4], number * n[2] + at, found, count);
    }
}

void GG_NAME(gg_bounds_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[0] * n[1], source->count[1] = source->count[2] = n[0] * n[2];
    source->scratch_bytes = 0;
    gg_set_work(source, (double)n[0] * n[2] * (64 - __builtin_clzll((uint64_t)n[1] | 1)) * 0.7);
}

int GG_NAME(gg_bounds)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    const int64_t parts = n[0] * gg_ceil(n[2], GG_BOUND_PART);
    source->parallel(GG_NAME(gg_bounds_part), source, parts, source->threads);
    return GG_DONE;
}

/* Parameters: elements, the number of boundaries, the bits of each as a double. Arrays: elements,
   the number of boundaries that are not above each. NaN is above all. */
static void GG_NAME(gg_bucket_part)(void *block, int64_t which) {
    gg_source *source = block;
    const int64_t *n = source->parameters, first = which * GG_BOUND_PART;
    const int64_t count = gg_min(n[0] - first, GG_BOUND_PART);
    const gg_real *x = (const gg_real *)source->at[0] + first;
    int32_t *out = (int32_t *)source->at[1] + first;
    memset(out, 0, (size_t)count * 4);
    for (int64_t k = 0; k < n[1]; k++) {
        double limit;
        memcpy(&limit, n + 2 + k, 8);
        if (sizeof(gg_real) == 4 && (gg_real)0.5 != 0) { /* float */
            const float near = (float)limit;
            GG_LOOP for (int64_t i = 0; i < count; i++) out[i] += !((float)x[i] < near);
        } else
            GG_LOOP for (int64_t i = 0; i < count; i++) out[i] += !((double)x[i] < limit);
    }
}

void GG_NAME(gg_buckets_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = source->count[1] = n[0];
    source->scratch_bytes = 0;
    gg_set_work(source, (double)n[0] * (0.2 + 0.06 * n[1]));
}

int GG_NAME(gg_buckets)(void *block) {
    gg_source *source = block;
    const int64_t parts = gg_ceil(source->parameters[0], GG_BOUND_PART);
    source->parallel(GG_NAME(gg_bucket_part), source, parts, source->threads);
    return GG_DONE;
}
