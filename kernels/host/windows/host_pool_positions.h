/* The largest element of each window of images (n, h, w, c) and its position; its gradients.

   As in gpugraph/ops/nn/pooling/max_pool_with_argmax.py: of equal elements the first is the
   largest, and NaN only if it is the first. A position that is outside its image is refused.

   Parameters: n, h, w, c, kh, kw, oh, ow, then stride and padding before, each for y and x; whether
   positions are int64, and whether they count from the first image. */

#include "host_rows.h"

#ifndef GG_POOL_POSITIONS
#define GG_POOL_POSITIONS
enum { GG_POSITION_WIDE = 12, GG_POSITION_BATCH };

static inline void gg_put_index(void *at, int64_t wide, int64_t i, int64_t value) {
    if (wide)
        ((int64_t *)at)[i] = value;
    else
        ((int32_t *)at)[i] = (int32_t)value;
}

/* Elements of an image, and of its windows. */
static inline int64_t gg_position_size(const int64_t *n) { return n[1] * n[2] * n[3]; }
static inline int64_t gg_position_windows(const int64_t *n) { return n[6] * n[7] * n[3]; }

static void gg_positions_work(gg_source *source, double each) {
    const int64_t *n = source->parameters;
    source->scratch_bytes = 0;
    gg_set_work(source, (double)n[0] * gg_position_windows(n) * each);
}
#endif

/* Vectors of channels at a time. */
#define GG_POSITION_LANES 64

static void GG_NAME(gg_positions_of)(const int64_t *n, const gg_real *image, int64_t top,
                                     int64_t left, int64_t channels, gg_real *best,
                                     int32_t *found) {
    int is_first = 1;
    for (int64_t y = gg_max(top, 0); y < gg_min(top + n[4], n[1]); y++)
        for (int64_t x = gg_max(left, 0); x < gg_min(left + n[5], n[2]); x++) {
            const int64_t from = (y * n[2] + x) * n[3];
            const gg_real *at = image + from;
            const int32_t place = (int32_t)from;
            if (is_first) {
                for (int64_t c = 0; c < channels; c++) best[c] = at[c], found[c] = place;
                is_first = 0;
                continue;
            }
            GG_LOOP for (int64_t c = 0; c < channels; c++) {
                const int is_larger = at[c] > best[c];
                best[c] = is_larger ? at[c] : best[c];
                found[c] = is_larger ? place : found[c];
            }
        }
}

/* A row of windows. */
static void GG_NAME(gg_positions_part)(void *block, int64_t which) {
    gg_source *source = block;
    const int64_t *n = source->parameters, wide = n[GG_POSITION_WIDE], size = gg_position_size(n);
    const int64_t number = which / n[6], oy = which % n[6];
    const int64_t first = n[GG_POSITION_BATCH] ? number * size : 0;
    const gg_real *image = (const gg_real *)source->at[0] + number * size;
    gg_real best[GG_POSITION_LANES], *out = source->at[1];
    int32_t found[GG_POSITION_LANES];
    for (int64_t ox = 0; ox < n[7]; ox++)
        for (int64_t start = 0; start < n[3]; start += GG_POSITION_LANES) {
            const int64_t channels = gg_min(n[3] - start, GG_POSITION_LANES);
            const int64_t to = (which * n[7] + ox) * n[3] + start;
            GG_NAME(gg_positions_of)(n, image + start, oy * n[8] - n[10], ox * n[9] - n[11],
                                     channels, best, found);
            for (int64_t c = 0; c < channels; c++) {
                out[to + c] = best[c];
                gg_put_index(source->at[2], wide, to + c, first + start + c + found[c]);
            }
        }
}

void GG_NAME(gg_positions_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[0] * gg_position_size(n);
    source->count[1] = source->count[2] = n[0] * gg_position_windows(n);
    gg_positions_work(source, 0.2 * n[4] * n[5] + 1);
}

int GG_NAME(gg_positions)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    source->parallel(GG_NAME(gg_positions_part), source, n[0] * n[6], source->threads);
    return GG_DONE;
}

/* -- gradients: images, the gradient, positions, the result */

typedef struct {
    gg_source *source;
    int refused[1];
} GG_NAME(gg_position_work);

/* Adds each window's gradient at its position, or takes the number that is there. */
GG_ALWAYS void GG_NAME(gg_at_positions)(const int is_taken, void *block, int64_t image) {
    GG_NAME(gg_position_work) *work = block;
    gg_source *source = work->source;
    const int64_t *n = source->parameters, size = gg_position_size(n);
    const int64_t windows = gg_position_windows(n), wide = n[GG_POSITION_WIDE];
    const int64_t first = n[GG_POSITION_BATCH] ? image * size : 0;
    const gg_real *given = (const gg_real *)source->at[1] + image * (is_taken ? size : windows);
    gg_real *out = (gg_real *)source->at[3] + image * (is_taken ? windows : size);
    if (!is_taken) memset(out, 0, (size_t)size * sizeof *out);
    int outside = 0;
    for (int64_t i = 0; i < windows; i++) {
        const int64_t at = gg_index(source->at[2], wide, image * windows + i) - first;
        const int is_outside = (uint64_t)at >= (uint64_t)size;
        outside |= is_outside;
        if (is_outside) continue;
        if (is_taken)
            out[i] = given[at];
        else
            out[at] += given[i];
    }
    if (outside) atomic_store((_Atomic int *)work->refused, 1);
}

static void GG_NAME(gg_positions_back_part)(void *block, int64_t image) {
    GG_NAME(gg_at_positions)(0, block, image);
}

static void GG_NAME(gg_positions_back_back_part)(void *block, int64_t image) {
    GG_NAME(gg_at_positions)(1, block, image);
}

static int GG_NAME(gg_each_image)(void *block, gg_part part) {
    GG_NAME(gg_position_work) work = {block, {0}};
    work.source->parallel(part, &work, work.source->parameters[0], work.source->threads);
    return work.refused[0] ? GG_FAILED : GG_DONE;
}

void GG_NAME(gg_positions_back_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = source->count[3] = n[0] * gg_position_size(n);
    source->count[1] = source->count[2] = n[0] * gg_position_windows(n);
    gg_positions_work(source, 2);
}

int GG_NAME(gg_positions_back)(void *block) {
    return GG_NAME(gg_each_image)(block, GG_NAME(gg_positions_back_part));
}

void GG_NAME(gg_positions_back_back_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = source->count[1] = n[0] * gg_position_size(n);
    source->count[2] = source->count[3] = n[0] * gg_position_windows(n);
    gg_positions_work(source, 2);
}

int GG_NAME(gg_positions_back_back)(void *block) {
    return GG_NAME(gg_each_image)(block, GG_NAME(gg_positions_back_back_part));
}
