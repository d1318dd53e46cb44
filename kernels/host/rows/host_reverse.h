/* Sequences of different lengths, each reversed. */

#include "host_rows.h"

/* Parameters: the sizes of the axes before the first of two axes, of the first, between them, of
   the second, and behind it; the bytes of an element; whether the batch is the first of the two
   (or the sequence); whether lengths are int64 (or int32). Arrays: x, lengths, result. */

void GG_NAME(gg_reverse_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    const int64_t rows = n[0] * n[1] * n[2] * n[3];
    source->count[0] = source->count[2] = rows * n[4];
    source->count[1] = n[6] ? n[1] : n[3];
    source->scratch_bytes = 0;
    gg_set_work(source, gg_row_work((double)rows, (double)n[4] * n[5]));
}

static void gg_reverse_part(void *block, int64_t which) {
    const gg_source *source = block;
    const int64_t *n = source->parameters;
    const int64_t first = n[1], middle = n[2], second = n[3], bytes = n[4] * n[5];
    const int64_t stride = n[6] ? bytes : middle * second * bytes; /* along the sequence */
    const char *from = (const char *)source->at[0] + which * middle * second * bytes;
    char *to = (char *)source->at[2] + which * middle * second * bytes;
    for (int64_t row = 0; row < middle * second; row++) {
        const int64_t batch = n[6] ? which % first : row % second;
        const int64_t place = n[6] ? row % second : which % first;
        const int64_t length = gg_index(source->at[1], n[7], batch);
        const int64_t other = place < length ? length - 1 - place : place;
        memcpy(to + row * bytes, from + row * bytes + (other - place) * stride, (size_t)bytes);
    }
}

int GG_NAME(gg_reverse)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, size = n[6] ? n[3] : n[1];
    for (int64_t each = 0; each < source->count[1]; each++) {
        const int64_t length = gg_index(source->at[1], n[7], each);
        if (length < 0 || length > size) return GG_FAILED;
    }
    source->parallel(gg_reverse_part, source, n[0] * n[1], source->threads);
    return GG_DONE;
}
