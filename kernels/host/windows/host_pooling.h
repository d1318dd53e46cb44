/* Pooling of images (n, h, w, c): the maximum of each window, the mean, their gradients.

   Results are those of the NumPy kernels (gpugraph/ops/nn/pooling/pool_ops.py), except for the
   sign of zeros and the bits of NaN: the maximum is the first element that is greater than all
   before, and a NaN makes the maximum NaN and gets no gradient.

   In volumes a NaN makes the maximum NaN, and gets no gradient; a window without a number above
   -infinity has no largest element. A volume is pooled over height and width, then over depth.

   Parameters: n, h, w, c, kh, kw, oh, ow, then stride and padding before, each for y and x; whether
   they are of a volume. */

#include "host_half.h"
GG_BRIEF

#ifndef GG_POOLING
#define GG_POOLING

#define GG_POOL_PART 65536   /* elements that a part reads, about */
#define GG_POOL_ROWS 6       /* minimum windows along a part's rows, if windows overlap */
#define GG_POOL_CHANNELS 128 /* whose positions are kept at a time */

typedef struct {
    int64_t size, window, windows, stride, before;
} gg_pool_axis;

typedef struct {
    gg_source *source;
    int64_t images, channels;
    gg_pool_axis y, x;
    int64_t of_volume;
    int64_t is_tiled; /* whether each element is in one window, and all windows are inside */
    int64_t by_windows, rows, rows_each, parts; /* rows: of all windows, or of all images */
} gg_pool;

/* One window: the element (first_y, first_x) inside the image, and the number of elements. */
typedef struct {
    int64_t from, to; /* offsets of the first element and of the window, without the channel */
    int64_t i, j;     /* the number of its first element */
    int64_t rows, columns;
    int64_t y; /* the first element's row */
} gg_window;

static int gg_pool_fits(const gg_pool_axis *axis) {
    if (axis->window != axis->stride || axis->before) return 0;
    return axis->size == axis->windows * axis->window;
}

static gg_pool gg_pool_of(gg_source *source, int by_windows) {
    const int64_t *at = source->parameters;
    gg_pool p = {source, at[0], at[3], {at[1], at[4], at[6], at[8], at[10]},
                 {at[2], at[5], at[7], at[9], at[11]}};
    p.of_volume = at[12];
    p.is_tiled = gg_pool_fits(&p.y) && gg_pool_fits(&p.x);
    p.by_windows = by_windows;
    int64_t along = by_windows ? p.y.windows : p.y.size;
    double look = (double)p.x.windows * p.y.window * p.x.window * p.channels;
    if (!by_windows) look = look * p.y.windows / gg_max(p.y.size, 1) + p.x.size * p.channels;
    p.rows = p.images * along;
    int64_t rows = gg_max((int64_t)(GG_POOL_PART / (look + 1)), 1);
    if (!by_windows) /* windows of two parts are searched twice */
        rows = gg_ceil(gg_max(rows, p.is_tiled ? 1 : GG_POOL_ROWS * p.y.window), p.y.stride) * p.y.stride;
    p.rows_each = rows < along ? rows : rows / gg_max(along, 1) * gg_max(along, 1);
    p.parts = gg_ceil(p.rows, p.rows_each);
    return p;
}

static void gg_pool_plan(gg_source *source, int by_windows) {
    gg_pool p = gg_pool_of(source, by_windows);
    double looks = (double)p.images * p.y.windows * p.x.windows * p.y.window * p.x.window;
    looks += (double)p.images * p.y.size * p.x.size;
    gg_set_work(source, looks * p.channels / 4 + looks * 2);
    source->scratch_bytes = 0;
}

static void gg_pool_set_count(gg_source *source, int images, int windows) {
    const int64_t *at = source->parameters;
    source->count[images] = at[0] * at[1] * at[2] * at[3];
    source->count[windows] = at[0] * at[6] * at[7] * at[3];
}

static gg_window gg_window_of(const gg_pool *p, int64_t image, int64_t oy, int64_t ox) {
    int64_t y = oy * p->y.stride - p->y.before, x = ox * p->x.stride - p->x.before;
    gg_window w = {.i = gg_max(-y, 0), .j = gg_max(-x, 0)};
    w.rows = gg_max(gg_min(p->y.window, p->y.size - y) - w.i, 0);
    w.columns = gg_max(gg_min(p->x.window, p->x.size - x) - w.j, 0);
    w.y = y + w.i;
    w.from = (image * p->y.size + w.y) * p->x.size + x + w.j;
    w.to = (image * p->y.windows + oy) * p->x.windows + ox;
    return w;
}

/* 1 / count, as the NumPy kernel has it. */
static double gg_window_share(const gg_window *w) { return 1.0 / gg_max(w->rows * w->columns, 1); }
#endif

typedef struct {
    const gg_pool *p;
    const gg_real *images, *images_end; /* null if there are none */
    const gg_real *given, *given_end;   /* the gradient */
    gg_real *out;
} GG_NAME(gg_pool_work);

typedef void (*GG_NAME(gg_pool_rows))(const GG_NAME(gg_pool_work) *, int64_t image, int64_t first,
                                      int64_t last);

typedef struct {
    GG_NAME(gg_pool_work) work;
    GG_NAME(gg_pool_rows) rows;
} GG_NAME(gg_pool_job);

static void GG_NAME(gg_pool_part)(void *at, int64_t which) {
    const GG_NAME(gg_pool_job) *job = at;
    const gg_pool *p = job->work.p;
    int64_t along = p->by_windows ? p->y.windows : p->y.size;
    int64_t first, last, end = gg_min((which + 1) * p->rows_each, p->rows);
    for (int64_t row = which * p->rows_each; row < end; row += last - first) {
        first = row % along;
        last = gg_min(along, first + end - row);
        job->rows(&job->work, row / along, first, last);
    }
}

/* Runs `rows` over all rows; the last of `count` arrays is written. */
static int GG_NAME(gg_pool_run)(void *block, int by_windows, int images, int given, int out,
                                GG_NAME(gg_pool_rows) rows) {
    gg_source *source = block;
    gg_pool p = gg_pool_of(source, by_windows);
    if (!p.rows || !p.channels || !(by_windows ? p.x.windows : p.x.size)) return GG_DONE;
    GG_NAME(gg_pool_job) job = {{&p, NULL, NULL, NULL, NULL, source->at[out]}, rows};
    GG_NAME(gg_pool_work) *work = &job.work;
    if (images >= 0) work->images_end = (work->images = source->at[images]) + source->count[images];
    if (given >= 0) work->given_end = (work->given = source->at[given]) + source->count[given];
    source->parallel(GG_NAME(gg_pool_part), &job, p.parts, source->threads);
    return GG_DONE;
}

/* -- forward: the largest, or the mean */

GG_ALWAYS GG_NAME(gg_vector) GG_NAME(gg_chosen)(GG_NAME(gg_mask) which, GG_NAME(gg_vector) a,
                                                GG_NAME(gg_vector) b) {
    GG_NAME(gg_mask) chosen = (which & (GG_NAME(gg_mask))a) | (~which & (GG_NAME(gg_mask))b);
    return (GG_NAME(gg_vector))chosen;
}

/* The first `count` elements of a vector; the others are ignored. Reads go beyond these, but
   not beyond the array's end. */
GG_ALWAYS GG_NAME(gg_vector) GG_NAME(gg_first)(const gg_real *from, int64_t count,
                                               const gg_real *end) {
    gg_real first[GG_REAL_LANES];
    if (end - from >= GG_REAL_LANES) return *(const GG_NAME(gg_vector) *)from;
    for (int64_t lane = 0; lane < GG_REAL_LANES; lane++) first[lane] = lane < count ? from[lane] : 0;
    return *(GG_NAME(gg_vector) *)first;
}

GG_ALWAYS void GG_NAME(gg_put_first)(GG_NAME(gg_vector) x, int64_t count, gg_real *to) {
    gg_real first[GG_REAL_LANES];
    if (count >= GG_REAL_LANES) {
        *(GG_NAME(gg_vector) *)to = x;
        return;
    }
    *(GG_NAME(gg_vector) *)first = x;
    for (int64_t lane = 0; lane < count; lane++) to[lane] = first[lane];
}

/* The initial value of a search for the maximum: the lowest number, in volumes -infinity. */
#define GG_LOWEST                                                                                  \
    (is_max == 2 ? (gg_real)-INFINITY                                                              \
                 : sizeof(gg_real) == 4 ? (gg_real)-__FLT_MAX__ : (gg_real)-__DBL_MAX__)

/* One more element of a window, by `is_max`: 0 the sum; 1 the maximum of images, which ignores NaN
   as np.fmax does; 2 that of volumes. */
GG_ALWAYS GG_NAME(gg_vector) GG_NAME(gg_pooled)(const int is_max, GG_NAME(gg_vector) best,
                                                GG_NAME(gg_vector) x) {
    if (!is_max) return best + x;
    if (is_max == 2) return GG_NAME(gg_chosen)((x > best) | (x != x), x, best);
    return GG_NAME(gg_chosen)(x > best, x, best);
}

/* A number of vectors of channels of a window. */
GG_ALWAYS void GG_NAME(gg_pool_vectors)(const int is_max, const int vectors, const gg_pool *p,
                                        const gg_window *w, const gg_real *from, gg_real *to) {
    gg_real start = is_max ? GG_LOWEST : 0, share = (gg_real)gg_window_share(w);
    GG_NAME(gg_vector) best[4];
    GG_UNROLL for (int v = 0; v < vectors; v++) best[v] = start - (GG_NAME(gg_vector)){0};
    for (int64_t i = 0; i < w->rows; i++) {
        const gg_real *at = from + i * p->x.size * p->channels;
        for (int64_t j = 0; j < w->columns; j++, at += p->channels)
            GG_UNROLL for (int v = 0; v < vectors; v++)
                best[v] = GG_NAME(gg_pooled)(is_max, best[v], ((const GG_NAME(gg_vector) *)at)[v]);
    }
    GG_UNROLL for (int v = 0; v < vectors; v++) {
        if (!is_max) best[v] *= share;
        ((GG_NAME(gg_vector) *)to)[v] = best[v];
    }
}

/* The remaining `count` channels, fewer than a vector has. Their maxima are unpredictable,
   so that a branch for each would be slow. */
GG_ALWAYS void GG_NAME(gg_pool_rest)(const int is_max, int64_t count, const gg_pool *p,
                                     const gg_window *w, const gg_real *from, const gg_real *end,
                                     gg_real *to) {
    GG_NAME(gg_vector) best = (is_max ? GG_LOWEST : 0) - (GG_NAME(gg_vector)){0};
    for (int64_t i = 0; i < w->rows; i++) {
        const gg_real *at = from + i * p->x.size * p->channels;
        for (int64_t j = 0; j < w->columns; j++, at += p->channels)
            best = GG_NAME(gg_pooled)(is_max, best, GG_NAME(gg_first)(at, count, end));
    }
    if (!is_max) best *= (gg_real)gg_window_share(w);
    GG_NAME(gg_put_first)(best, count, to);
}

GG_ALWAYS void GG_NAME(gg_pool_window)(const int is_max, const gg_pool *p, const gg_window *w,
                                       const gg_real *from, const gg_real *end, gg_real *to) {
    int64_t c = 0, lanes = GG_REAL_LANES;
    for (; c + 4 * lanes <= p->channels; c += 4 * lanes)
        GG_NAME(gg_pool_vectors)(is_max, 4, p, w, from + c, to + c);
    for (; c + 2 * lanes <= p->channels; c += 2 * lanes)
        GG_NAME(gg_pool_vectors)(is_max, 2, p, w, from + c, to + c);
    for (; c + lanes <= p->channels; c += lanes)
        GG_NAME(gg_pool_vectors)(is_max, 1, p, w, from + c, to + c);
    if (c < p->channels)
        GG_NAME(gg_pool_rest)(is_max, p->channels - c, p, w, from + c, end, to + c);
}

/* Disjoint windows of two by two elements, side by side, of channels that fill vectors. */
GG_ALWAYS void GG_NAME(gg_pool_fours)(const int is_max, const gg_pool *p, const gg_real *from,
                                      gg_real *to) {
    int64_t channels = p->channels, row = p->x.size * channels;
    for (int64_t x = 0; x < p->x.windows; x++, from += 2 * channels, to += channels)
        for (int64_t c = 0; c < channels; c += GG_REAL_LANES) {
            const GG_NAME(gg_vector) *at[4] = {
                (const GG_NAME(gg_vector) *)(from + c),
                (const GG_NAME(gg_vector) *)(from + channels + c),
                (const GG_NAME(gg_vector) *)(from + row + c),
                (const GG_NAME(gg_vector) *)(from + row + channels + c)};
            GG_NAME(gg_vector) best = (is_max ? GG_LOWEST : 0) - (GG_NAME(gg_vector)){0};
            GG_UNROLL for (int e = 0; e < 4; e++) best = GG_NAME(gg_pooled)(is_max, best, *at[e]);
            if (!is_max) best *= (gg_real)0.25;
            *(GG_NAME(gg_vector) *)(to + c) = best;
        }
}

#define GG_POOL_FORWARD(name, is_max)                                                              \
    static void GG_NAME(name##_rows)(const GG_NAME(gg_pool_work) * work, int64_t image,            \
                                     int64_t first, int64_t last) {                                \
        const gg_pool *p = work->p;                                                                \
        int is_four = p->is_tiled && p->y.window == 2 && p->x.window == 2;                         \
        for (int64_t oy = first; oy < last; oy++) {                                                \
            if (is_four && p->channels % GG_REAL_LANES == 0) {                                     \
                gg_window w = gg_window_of(p, image, oy, 0);                                       \
                GG_NAME(gg_pool_fours)(is_max, p, work->images + w.from * p->channels,             \
                                       work->out + w.to * p->channels);                            \
                continue;                                                                          \
            }                                                                                      \
            for (int64_t ox = 0; ox < p->x.windows; ox++) {                                        \
                gg_window w = gg_window_of(p, image, oy, ox);                                      \
                GG_NAME(gg_pool_window)(is_max, p, &w, work->images + w.from * p->channels,        \
                                        work->images_end, work->out + w.to * p->channels);         \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    void GG_NAME(name##_plan)(gg_source * source) {                                                \
        gg_pool_set_count(source, 0, 1);                                                           \
        gg_pool_plan(source, 1);                                                                   \
    }                                                                                              \
    int GG_NAME(name)(void *block) {                                                               \
        return GG_NAME(gg_pool_run)(block, 1, 0, -1, 1, GG_NAME(name##_rows));                     \
    }

/* images -> windows */
GG_POOL_FORWARD(gg_max_pool, 1)
GG_POOL_FORWARD(gg_max_volume, 2)
GG_POOL_FORWARD(gg_mean_pool, 0)

#include "host_pooling_gradients.h"

GG_BRIEF_END
