/* Complex numbers of their parts. Parameters: elements, bytes of a part, whether the real part, and
   the imaginary one, is a single number. Arrays: both parts, out. */

#include "host_rows.h"

#ifndef GG_COMPLEX
#define GG_COMPLEX
#define GG_COMPLEX_PART 16384

#define GG_JOINED(type, x, y)                                                                      \
    GG_LOOP for (int64_t i = 0; i < count; i++) ((type *)to)[2 * i] = (x), ((type *)to)[2 * i + 1] = (y)

#define GG_JOIN(type)                                                                              \
    {                                                                                              \
        type *to = (type *)source->at[2] + 2 * first;                                              \
        const type *a = (const type *)source->at[0] + (n[2] ? 0 : first);                          \
        const type *b = (const type *)source->at[1] + (n[3] ? 0 : first);                          \
        const type real = *a, imaginary = *b;                                                      \
        if (n[2]) GG_JOINED(type, real, b[i]);                                                     \
        else if (n[3]) GG_JOINED(type, a[i], imaginary);                                           \
        else GG_JOINED(type, a[i], b[i]);                                                          \
    }

static void gg_complex_part(void *block, int64_t which) {
    gg_source *source = block;
    const int64_t *n = source->parameters, first = which * GG_COMPLEX_PART;
    const int64_t count = gg_min(n[0] - first, GG_COMPLEX_PART);
    if (n[1] == 4) GG_JOIN(uint32_t)
    else GG_JOIN(uint64_t)
}
#endif

void GG_NAME(gg_complex_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[2] ? 1 : n[0], source->count[1] = n[3] ? 1 : n[0];
    source->count[2] = n[0];
    source->scratch_bytes = 0;
    gg_set_work(source, (double)n[0] * n[1] * 0.1);
}

int GG_NAME(gg_complex)(void *block) {
    gg_source *source = block;
    const int64_t parts = gg_ceil(source->parameters[0], GG_COMPLEX_PART);
    source->parallel(gg_complex_part, source, parts, source->threads);
    return GG_DONE;
}
