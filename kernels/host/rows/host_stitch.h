/* Rows of several arrays that are put at the indices of each: bytes of any dtype.

   Parameters: the number of arrays, the rows of the result, the elements of a row, the bytes of an
   element, the number of indices of each array. Arrays: the indices (int32) of each, the rows of each,
   out, the number of rows. Negative indices end it with GG_FAILED. */

#ifndef GG_STITCH
#define GG_STITCH

#define GG_STITCH_ROWS(type)                                                                       \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++) ((type *)to)[at[i]] = ((const type *)from)[i];         \
        return;                                                                                    \
    }

typedef struct {
    uint64_t words[2];
} gg_stitch_16;

static void gg_put_rows(char *to, const char *from, const int32_t *at, int64_t count, int64_t row) {
    switch (row) {
        case 1: GG_STITCH_ROWS(uint8_t)
        case 2: GG_STITCH_ROWS(uint16_t)
        case 4: GG_STITCH_ROWS(uint32_t)
        case 8: GG_STITCH_ROWS(uint64_t)
        case 16: GG_STITCH_ROWS(gg_stitch_16)
    }
    for (int64_t i = 0; i < count; i++) gg_copy_bytes(to + at[i] * row, from + i * row, row);
}
#endif

void GG_NAME(gg_stitch_plan)(gg_source *source) {
    const int64_t *n = source->parameters, arrays = n[0];
    double count = 0;
    for (int64_t k = 0; k < arrays; k++) {
        source->count[k] = n[4 + k], source->count[arrays + k] = n[4 + k] * n[2];
        count += (double)n[4 + k];
    }
    source->count[2 * arrays] = n[1] * n[2], source->count[2 * arrays + 1] = 1;
    source->scratch_bytes = 0;
    gg_set_work(source, count * (4 + n[2] * n[3] * 0.15));
    source->threads = 1;
}

int GG_NAME(gg_stitch)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, arrays = n[0], row = n[2] * n[3];
    char *out = source->at[2 * arrays];
    for (int64_t k = 0; k < arrays; k++) {
        const int32_t *at = source->at[k];
        int outside = 0;
        for (int64_t i = 0; i < n[4 + k]; i++) outside |= (at[i] < 0) | (at[i] >= n[1]);
        if (outside) return GG_FAILED;
    }
    memset(out, 0, (size_t)(n[1] * row));
    for (int64_t k = 0; k < arrays; k++)
        gg_put_rows(out, source->at[arrays + k], source->at[k], n[4 + k], row);
    *(int64_t *)source->at[2 * arrays + 1] = n[1];
    return GG_DONE;
}

/* Only the rows of the result. Arrays: the indices of each, the rows of each, the number of rows. */

void GG_NAME(gg_stitch_count_plan)(gg_source *source) {
    const int64_t *n = source->parameters, arrays = n[0];
    double count = 0;
    for (int64_t k = 0; k < arrays; k++) {
        source->count[k] = n[4 + k], source->count[arrays + k] = n[4 + k] * n[2];
        count += (double)n[4 + k];
    }
    source->count[2 * arrays] = 1;
    source->scratch_bytes = 0;
    gg_set_work(source, count);
    source->threads = 1;
}

int GG_NAME(gg_stitch_count)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, arrays = n[0];
    int32_t last = -1;
    for (int64_t k = 0; k < arrays; k++) {
        const int32_t *at = source->at[k];
        for (int64_t i = 0; i < n[4 + k]; i++) last = at[i] > last ? at[i] : last;
    }
    *(int64_t *)source->at[2 * arrays] = (int64_t)last + 1;
    return GG_DONE;
}
