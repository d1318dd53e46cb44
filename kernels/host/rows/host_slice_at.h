/* The slices of a tensor at one index of an axis. Only bytes are moved.

   Parameters: the slices before the axis, the size of the axis, the bytes of a slice, the place of
   the index in its vector, whether indices have 64 bits, the elements of the vector, the bytes of
   an element. Arrays: the tensor, the vector, the result. An index outside of the axis ends it with
   GG_FAILED. */

#include "host_rows.h"

void GG_NAME(gg_slice_at_plan)(gg_source *source) {
    const int64_t *n = source->parameters, row = n[2] / gg_max(n[6], 1);
    source->count[0] = n[0] * n[1] * row;
    source->count[1] = n[5];
    source->count[2] = n[0] * row;
    source->scratch_bytes = 0;
    gg_set_work(source, gg_row_work(n[0], n[2]));
    source->threads = 1;
}

int GG_NAME(gg_slice_at)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    int64_t index = gg_index(source->at[1], n[4], n[3]);
    if (index < 0) index += n[1];
    if (index < 0 || index >= n[1]) return GG_FAILED;
    const char *from = (const char *)source->at[0] + index * n[2];
    char *to = source->at[2];
    for (int64_t i = 0; i < n[0]; i++, from += n[1] * n[2], to += n[2])
        gg_copy_bytes(to, from, n[2]);
    return GG_DONE;
}
