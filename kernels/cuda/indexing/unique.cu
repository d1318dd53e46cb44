/* The distinct elements of a vector in order of appearance. Inputs are the sorted keys of the
   elements, with the elements' numbers (sort_and_select.cu, radix_sort.cu). Elements with one key
   are a run, which begins with its head; each NaN, which has the largest key, is a run by itself.
   The first element of a run, in the vector's order, represents it; the number of such firsts
   before it is the rank of the run.

       gg_head_counts    the number of heads in each tile
       gg_unique_runs    the run of each element; the first element and the beginning of each run
       gg_first_counts   the number of firsts in each tile
       gg_unique_ranks   the ranks of runs; the elements in order of their ranks
       gg_unique_index   for each element the rank of its run
       gg_unique_sizes   the number of elements of each run, in order of their ranks

   variants: ELEMENT=uint8_t,uint32_t KEY=uint32_t INDEX=int32_t,int64_t
   variants: ELEMENT=uint64_t KEY=uint64_t INDEX=int64_t */

#include "gpu_kernel.cuh"
#include "stream_compaction.cuh"

#ifndef FLOATS
#define FLOATS 0
#define BITS 8
#endif

GG_INLINE bool gg_is_head(const KEY *keys, long long at) {
    if (at == 0 || keys[at] != keys[at - 1]) return true;
    return FLOATS && keys[at] == (KEY)(~(KEY)0) >> (8 * (int)sizeof(KEY) - BITS);
}

extern "C" __global__ void gg_head_counts(const KEY *keys, long long *starts, long long count) {
    gg_tile_count(starts, count, [keys](long long at) { return gg_is_head(keys, at); });
}

extern "C" __global__ void gg_unique_runs(const KEY *keys, const int32_t *numbers, const long long *starts, int32_t *runs, int32_t *first, int32_t *begins, long long count) {
    auto head = [keys](long long at) { return gg_is_head(keys, at); };
    gg_tile_each(starts, count, head, [&](long long at, long long before, bool is) {
        const long long run = is ? before : before - 1;
        runs[numbers[at]] = (int32_t)run;
        if (!is) return;
        first[run] = numbers[at];
        begins[run] = (int32_t)at;
    });
}

extern "C" __global__ void gg_first_counts(const int32_t *runs, const int32_t *first, long long *starts, long long count) {
    gg_tile_count(starts, count, [=](long long at) { return first[runs[at]] == at; });
}

extern "C" __global__ void gg_unique_ranks(const ELEMENT *x, const int32_t *runs, const int32_t *first, const long long *starts, int32_t *ranks, ELEMENT *out, long long count) {
    auto is_first = [=](long long at) { return first[runs[at]] == at; };
    gg_tile_each(starts, count, is_first, [&](long long at, long long rank, bool is) {
        if (!is) return;
        ranks[runs[at]] = (int32_t)rank;
        out[rank] = x[at];
    });
}

extern "C" __global__ void gg_unique_index(const int32_t *runs, const int32_t *ranks, INDEX *index, long long count) {
    GG_WHOLE(at, count) index[at] = (INDEX)ranks[runs[at]];
}

extern "C" __global__ void gg_unique_sizes(const int32_t *begins, const int32_t *ranks, INDEX *sizes, long long count, long long runs) {
    GG_WHOLE(run, runs) sizes[ranks[run]] = (INDEX)((run + 1 < runs ? begins[run + 1] : count) - begins[run]);
}
