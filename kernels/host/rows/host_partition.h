/* The rows of an array that are distributed among several arrays by number: bytes of any dtype.

   Parameters: the number of results, the rows, the elements of a row, the bytes of an element, the
   room of each result. Arrays: the rows, the number (int32) of the result of each, the results,
   the rows of each result. A number without a result ends it with GG_FAILED. */

#ifndef GG_PARTITION
#define GG_PARTITION

#define GG_PARTITION_ROWS(type)                                                                    \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            ((type *)to[part[i]])[rows[part[i]]++] = ((const type *)from)[i];                      \
        return;                                                                                    \
    }

typedef struct {
    uint64_t words[2];
} gg_partition_16;

static void gg_distribute(char **to, int64_t *rows, const char *from, const int32_t *part,
                          int64_t count, int64_t row) {
    switch (row) {
        case 1: GG_PARTITION_ROWS(uint8_t)
        case 2: GG_PARTITION_ROWS(uint16_t)
        case 4: GG_PARTITION_ROWS(uint32_t)
        case 8: GG_PARTITION_ROWS(uint64_t)
        case 16: GG_PARTITION_ROWS(gg_partition_16)
    }
    for (int64_t i = 0; i < count; i++)
        gg_copy_bytes(to[part[i]] + rows[part[i]]++ * row, from + i * row, row);
}

/* Returns whether each number has a result. */
static int gg_count_parts(int64_t *rows, int64_t results, const int32_t *part, int64_t count) {
    memset(rows, 0, (size_t)results * sizeof *rows);
    for (int64_t i = 0; i < count; i++) {
        if (part[i] < 0 || part[i] >= results) return 0;
        rows[part[i]]++;
    }
    return 1;
}
#endif

void GG_NAME(gg_partition_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[1] * n[2];
    source->count[1] = n[1];
    for (int64_t k = 0; k < n[0]; k++) source->count[2 + k] = n[4 + k] * n[2];
    source->count[2 + n[0]] = n[0];
    source->scratch_bytes = 0;
    gg_set_work(source, n[1] * (6 + n[2] * n[3] * 0.15));
    source->threads = 1;
}

int GG_NAME(gg_partition)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    int64_t *rows = source->at[2 + n[0]];
    if (!gg_count_parts(rows, n[0], source->at[1], n[1])) return GG_FAILED;
    for (int64_t k = 0; k < n[0]; k++)
        if (rows[k] > n[4 + k]) return GG_FAILED;
    memset(rows, 0, (size_t)n[0] * sizeof *rows);
    gg_distribute((char **)source->at + 2, rows, source->at[0], source->at[1], n[1], n[2] * n[3]);
    return GG_DONE;
}

/* Only the rows of each result. Arrays: the rows, the number of the result of each, the rows of
   each result. */

void GG_NAME(gg_partition_count_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[1] * n[2];
    source->count[1] = n[1];
    source->count[2] = n[0];
    source->scratch_bytes = 0;
    gg_set_work(source, 2.0 * n[1]);
    source->threads = 1;
}

int GG_NAME(gg_partition_count)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    return gg_count_parts(source->at[2], n[0], source->at[1], n[1]) ? GG_DONE : GG_FAILED;
}
