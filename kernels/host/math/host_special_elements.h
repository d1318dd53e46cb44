/* A special function of each element: GG_SPECIAL_FUNCTION of host_special.h.

   Parameters: the number of elements, of inputs, the nanoseconds of an element, and the size of each
   input, which is repeated. Arrays: the inputs, out. */

#ifndef GG_SPECIAL_ELEMENTS
#define GG_SPECIAL_ELEMENTS
#include "host_special.h"
#define GG_SPECIAL_PART 2048
#endif

typedef struct {
    gg_source *source;
    int refused[1];
} GG_NAME(gg_special_work);

static void GG_NAME(gg_special_part)(void *block, int64_t which) {
    GG_NAME(gg_special_work) *work = block;
    const int64_t *n = work->source->parameters, inputs = n[1];
    const int64_t end = gg_min(n[0], (which + 1) * GG_SPECIAL_PART);
    double x[3][GG_SPECIAL], out[GG_SPECIAL];
    int refused = 0;
    gg_special_block b = {x[0], x[1], x[2], out, sizeof(gg_real) == 4 ? 1e-10 : 1e-17, &refused};
    gg_real *to = work->source->at[inputs];
    for (int64_t first = which * GG_SPECIAL_PART; first < end; first += GG_SPECIAL) {
        const int64_t count = gg_min(GG_SPECIAL, end - first);
        for (int64_t input = 0; input < inputs; input++) {
            const gg_real *from = work->source->at[input];
            int64_t at = first % n[3 + input];
            if (at + count <= n[3 + input])
                GG_LOOP for (int64_t i = 0; i < count; i++) x[input][i] = (double)from[at + i];
            else
            for (int64_t i = 0; i < count; i++) {
                x[input][i] = (double)from[at];
                if (++at == n[3 + input]) at = 0;
            }
            for (int64_t i = count; i < GG_SPECIAL; i++) x[input][i] = x[input][0];
        }
        GG_SPECIAL_FUNCTION(&b);
        for (int64_t i = 0; i < count; i++) to[first + i] = (gg_real)out[i];
    }
    if (refused) atomic_store((_Atomic int *)work->refused, 1);
}

void GG_NAME(gg_special_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    for (int64_t input = 0; input < n[1]; input++) source->count[input] = n[3 + input];
    source->count[n[1]] = n[0];
    source->scratch_bytes = 0;
    gg_set_work(source, (double)n[0] * n[2]);
}

int GG_NAME(gg_special)(void *block) {
    gg_source *source = block;
    GG_NAME(gg_special_work) work = {source, {0}};
    const int64_t parts = gg_ceil(source->parameters[0], GG_SPECIAL_PART);
    source->parallel(GG_NAME(gg_special_part), &work, parts, source->threads);
    return work.refused[0] ? GG_FAILED : GG_DONE;
}
