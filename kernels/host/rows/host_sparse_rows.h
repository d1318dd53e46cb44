/* Empty rows of sparse tensors that get an element, and the gradient; slices of sparse tensors; as
   in gpugraph/ops/sparse/sparse_reshape_concat_split.py.

   Parameters of gg_fill_rows: elements, rank, rows, the bytes of an element. Arrays: positions,
   values, sizes, the element to add, new positions, new values, which rows were empty, the new
   places of the elements, the number of new elements. Of gg_fill_rows_back: elements, new elements.
   Arrays: new places, the gradient of new values, of values, of the added element. Of gg_cut:
   elements, rank, the bytes of an element. Arrays: positions, values, sizes, the start and the
   sizes of the slice; positions, values and sizes of the result, the number of its elements.
   Positions that are out of range end a function with GG_FAILED. */

#include "host_rows.h"

void GG_NAME(gg_fill_rows_plan)(gg_source *source) {
    const int64_t *n = source->parameters, room = n[0] + n[2];
    source->count[0] = n[0] * n[1], source->count[1] = n[0], source->count[2] = n[1];
    source->count[3] = 1, source->count[4] = room * n[1], source->count[5] = room;
    source->count[6] = n[2], source->count[7] = n[0], source->count[8] = 1;
    source->scratch_bytes = (n[2] + 1) * 8;
    gg_set_work(source, 8.0 * room);
    source->threads = 1;
}

GG_ALWAYS void gg_put_item(char *to, const char *from, int64_t bytes) {
    if (bytes == 4) memcpy(to, from, 4);
    else if (bytes == 8) memcpy(to, from, 8);
    else memcpy(to, from, (size_t)bytes);
}

int GG_NAME(gg_fill_rows)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, rank = n[1], bytes = n[3];
    const int64_t *at = source->at[0], *sizes = source->at[2];
    const char *values = source->at[1], *added = source->at[3];
    int64_t *to = source->at[4], *places = source->at[7], *starts = (int64_t *)source->scratch;
    char *filled = source->at[5];
    uint8_t *empty = source->at[6];
    int outside = 0;
    for (int64_t i = 0; i < n[0]; i++)
        for (int64_t axis = 0; axis < rank; axis++)
            outside |= (uint64_t)at[i * rank + axis] >= (uint64_t)sizes[axis];
    if (outside) return GG_FAILED;
    memset(starts, 0, (size_t)(n[2] + 1) * 8);
    for (int64_t i = 0; i < n[0]; i++) starts[at[i * rank] + 1]++;
    for (int64_t row = 0; row < n[2]; row++) {
        empty[row] = starts[row + 1] == 0;
        starts[row + 1] += starts[row] + empty[row];
        if (!empty[row]) continue;
        memset(to + starts[row] * rank, 0, (size_t)rank * 8);
        to[starts[row] * rank] = row;
        gg_put_item(filled + starts[row] * bytes, added, bytes);
    }
    *(int64_t *)source->at[8] = starts[n[2]];
    for (int64_t i = 0; i < n[0]; i++) {
        const int64_t place = starts[at[i * rank]]++;
        for (int64_t axis = 0; axis < rank; axis++) to[place * rank + axis] = at[i * rank + axis];
        gg_put_item(filled + place * bytes, values + i * bytes, bytes);
        places[i] = place;
    }
    return GG_DONE;
}

void GG_NAME(gg_fill_rows_back_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = source->count[2] = n[0], source->count[1] = n[1], source->count[3] = 1;
    source->scratch_bytes = n[1];
    gg_set_work(source, 3.0 * (n[0] + n[1]));
    source->threads = 1;
}

int GG_NAME(gg_fill_rows_back)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, *places = source->at[0];
    const gg_real *grads = source->at[1];
    gg_real *out = source->at[2], *rest = source->at[3];
    char *taken = source->scratch;
    int outside = 0;
    for (int64_t i = 0; i < n[0]; i++) outside |= (uint64_t)places[i] >= (uint64_t)n[1];
    if (outside) return GG_FAILED;
    memset(taken, 0, (size_t)n[1]);
    for (int64_t i = 0; i < n[0]; i++) out[i] = grads[places[i]], taken[places[i]] = 1;
    gg_real sums[8] = {0};
    for (int64_t i = 0; i < n[1]; i++) sums[i & 7] += taken[i] ? 0 : grads[i];
    *rest = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    return GG_DONE;
}

void GG_NAME(gg_cut_plan)(gg_source *source) {
    const int64_t *n = source->parameters, rank = n[1];
    source->count[0] = source->count[5] = n[0] * rank, source->count[1] = source->count[6] = n[0];
    source->count[2] = source->count[3] = source->count[4] = source->count[7] = rank;
    source->count[8] = 1;
    source->scratch_bytes = 0;
    gg_set_work(source, 3.0 * n[0]);
    source->threads = 1;
}

/* Every element is written, and the next one over it unless it is in the slice. */
GG_ALWAYS int64_t gg_cut_elements(gg_source *source, const int64_t rank, const int64_t bytes,
                                  const int64_t *last) {
    const int64_t count = source->parameters[0], *at = source->at[0], *start = source->at[3];
    const char *values = source->at[1];
    int64_t *to = source->at[5], kept = 0;
    char *moved = source->at[6];
    for (int64_t i = 0; i < count; i++) {
        int inside = 1;
        for (int64_t axis = 0; axis < rank; axis++) {
            const int64_t x = at[i * rank + axis], first = start[axis];
            inside &= (x >= first) & (x < last[axis]);
            to[kept * rank + axis] = (int64_t)((uint64_t)x - (uint64_t)first);
        }
        gg_put_item(moved + kept * bytes, values + i * bytes, bytes);
        kept += inside;
    }
    return kept;
}

int GG_NAME(gg_cut)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, rank = n[1], bytes = n[2], *at = source->at[0];
    const int64_t *sizes = source->at[2], *start = source->at[3], *size = source->at[4];
    int64_t *cut = source->at[7], last[8];
    int outside = 0;
    for (int64_t i = 0; i < n[0]; i++)
        for (int64_t axis = 0; axis < rank; axis++)
            outside |= (uint64_t)at[i * rank + axis] >= (uint64_t)sizes[axis];
    for (int64_t axis = 0; axis < rank; axis++) {
        if (__builtin_add_overflow(start[axis], size[axis], &last[axis])) return GG_FAILED;
        last[axis] = gg_min(last[axis], sizes[axis]);
        if (__builtin_sub_overflow(last[axis], start[axis], &cut[axis])) return GG_FAILED;
        cut[axis] = gg_max(cut[axis], 0);
    }
    if (outside) return GG_FAILED;
    *(int64_t *)source->at[8] = rank == 2 && bytes == 4   ? gg_cut_elements(source, 2, 4, last)
                                : rank == 2 && bytes == 8 ? gg_cut_elements(source, 2, 8, last)
                                                          : gg_cut_elements(source, rank, bytes, last);
    return GG_DONE;
}
