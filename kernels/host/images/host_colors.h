/* Colours along the last axis, as in gpugraph/ops/image/color_adjustments.py.

   Parameters of gg_colors: the number of pixels, the conversion; of gg_contrast: the images, their
   pixels, their channels. Arrays: the colours, the factor (float32, if there is one), the result. */

#include "host_rows.h"

#ifndef GG_COLORS
#define GG_COLORS
enum { GG_TO_HSV, GG_TO_RGB, GG_SATURATION, GG_HUE };
#define GG_COLORS_AT_ONCE 64
#define GG_COLORS_OF_PART 4096
#define GG_CONTRAST_LANES 16
#define GG_CONTRAST_ROWS 64 /* that are added in the functions' type */
#endif

typedef struct {
    const gg_real *from;
    gg_real *to, by;
    int64_t count, kind;
} GG_NAME(gg_coloring);

/* Three lines of GG_COLORS_AT_ONCE numbers. */
typedef gg_real GG_NAME(gg_color_lines)[3][GG_COLORS_AT_ONCE];

static void GG_NAME(gg_hsv_of)(GG_NAME(gg_color_lines) x) {
    GG_LOOP for (int64_t i = 0; i < GG_COLORS_AT_ONCE; i++) {
        const gg_real r = x[0][i], g = x[1][i], b = x[2][i];
        const gg_real high = r > g ? r : g, low = r < g ? r : g;
        const int is_nan = (r != r) | (g != g) | (b != b);
        const gg_real value = is_nan ? (gg_real)NAN : high > b ? high : b;
        const gg_real span = value - (low < b ? low : b);
        const gg_real safe = span > 0 ? span : 1;
        const gg_real red = (g - b) / safe, green = 2 + (b - r) / safe, blue = 4 + (r - g) / safe;
        gg_real hue = (r == value ? red : g == value ? green : blue) / 6;
        hue = span > 0 ? hue : 0;
        x[0][i] = hue < 0 ? hue + 1 : hue;
        x[1][i] = value > 0 ? span / value : 0;
        x[2][i] = value;
    }
}

static inline gg_real GG_NAME(gg_within_1)(gg_real x) {
    const gg_real low = x < 0 ? 0 : x;
    return low > 1 ? 1 : low;
}
/* Each loop has one selection: compilers branch at two, and do not vectorize. */
static void GG_NAME(gg_rgb_of)(GG_NAME(gg_color_lines) x) {
    GG_NAME(gg_color_lines) share;
    GG_LOOP for (int64_t i = 0; i < GG_COLORS_AT_ONCE; i++) {
        const gg_real sector = x[0][i] * 6;
        share[0][i] = 2 - (3 - (gg_real)__builtin_fabs(sector - 3));
        share[1][i] = 2 - (gg_real)__builtin_fabs(sector - 2);
        share[2][i] = 2 - (gg_real)__builtin_fabs(sector - 4);
    }
    gg_real *all = share[0];
    GG_LOOP for (int64_t i = 0; i < 3 * GG_COLORS_AT_ONCE; i++) all[i] = all[i] < 0 ? 0 : all[i];
    GG_LOOP for (int64_t i = 0; i < 3 * GG_COLORS_AT_ONCE; i++) all[i] = all[i] > 1 ? 1 : all[i];
    GG_LOOP for (int64_t i = 0; i < GG_COLORS_AT_ONCE; i++) {
        const gg_real s = x[1][i], v = x[2][i];
        for (int k = 0; k < 3; k++) x[k][i] = (1 - s + s * share[k][i]) * v;
    }
}

static void GG_NAME(gg_color_block)(const GG_NAME(gg_coloring) * c, int64_t first, int64_t count) {
    GG_NAME(gg_color_lines) x = {{0}};
    const gg_real *from = c->from + 3 * first, by = c->by;
    gg_real *to = c->to + 3 * first;
    for (int64_t i = 0; i < count; i++)
        x[0][i] = from[3 * i], x[1][i] = from[3 * i + 1], x[2][i] = from[3 * i + 2];
    if (c->kind != GG_TO_RGB) GG_NAME(gg_hsv_of)(x);
    if (c->kind == GG_SATURATION)
        GG_LOOP for (int64_t i = 0; i < GG_COLORS_AT_ONCE; i++)
            x[1][i] = GG_NAME(gg_within_1)(x[1][i] * by);
    if (c->kind == GG_HUE)
        for (int64_t i = 0; i < GG_COLORS_AT_ONCE; i++) {
            const gg_real turned = x[0][i] + by;
            x[0][i] = turned - (gg_real)floor(turned);
        }
    if (c->kind != GG_TO_HSV) GG_NAME(gg_rgb_of)(x);
    for (int64_t i = 0; i < count; i++)
        to[3 * i] = x[0][i], to[3 * i + 1] = x[1][i], to[3 * i + 2] = x[2][i];
}

static void GG_NAME(gg_color_part)(void *block, int64_t which) {
    const GG_NAME(gg_coloring) *c = block;
    const int64_t end = gg_min(c->count, (which + 1) * GG_COLORS_OF_PART);
    for (int64_t at = which * GG_COLORS_OF_PART; at < end; at += GG_COLORS_AT_ONCE)
        GG_NAME(gg_color_block)(c, at, gg_min(GG_COLORS_AT_ONCE, end - at));
}

void GG_NAME(gg_colors_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    const int changes = n[1] >= GG_SATURATION;
    source->count[0] = source->count[1 + changes] = 3 * n[0];
    if (changes) source->count[1] = 1;
    source->scratch_bytes = 0;
    gg_set_work(source, 3.0 * n[0]);
}

int GG_NAME(gg_colors)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    const int changes = n[1] >= GG_SATURATION;
    GG_NAME(gg_coloring) c = {source->at[0], source->at[1 + changes], 0, n[0], n[1]};
    if (changes) c.by = *(const float *)source->at[1];
    source->parallel(GG_NAME(gg_color_part), &c, gg_ceil(n[0], GG_COLORS_OF_PART), source->threads);
    return GG_DONE;
}

/* -- contrast: distances from the mean of a channel are multiplied; a part is an image */

typedef struct {
    const gg_real *from;
    gg_real *to, by;
    int64_t pixels, channels;
    char *means; /* two lines of `wide` numbers for each image */
    int64_t wide;
} GG_NAME(gg_contrasting);

static void GG_NAME(gg_contrast_part)(void *block, int64_t image) {
    const GG_NAME(gg_contrasting) *c = block;
    const int64_t lanes = c->wide, count = c->pixels * c->channels, whole = count / lanes * lanes;
    const gg_real *from = c->from + image * count, by = c->by;
    gg_real *to = c->to + image * count;
    double *sums = (double *)(c->means + image * gg_lines(lanes * 16));
    gg_real *mean = (gg_real *)(sums + lanes);
    for (int64_t i = 0; i < lanes; i++) sums[i] = 0;
    for (int64_t start = 0; start < whole; start += lanes * GG_CONTRAST_ROWS) {
        const int64_t end = gg_min(whole, start + lanes * GG_CONTRAST_ROWS);
        for (int64_t i = 0; i < lanes; i++) mean[i] = 0;
        for (int64_t at = start; at < end; at += lanes)
            GG_LOOP for (int64_t i = 0; i < lanes; i++) mean[i] += from[at + i];
        for (int64_t i = 0; i < lanes; i++) sums[i] += (double)mean[i];
    }
    for (int64_t i = whole; i < count; i++) sums[i - whole] += (double)from[i];
    for (int64_t k = 0; k < c->channels; k++) {
        double sum = 0;
        for (int64_t i = k; i < lanes; i += c->channels) sum += sums[i];
        for (int64_t i = k; i < lanes; i += c->channels)
            mean[i] = (gg_real)(sum / (double)c->pixels);
    }
    for (int64_t at = 0; at < count; at += lanes) {
        const int64_t many = gg_min(lanes, count - at);
        GG_LOOP for (int64_t i = 0; i < many; i++)
            to[at + i] = (from[at + i] - mean[i]) * by + mean[i];
    }
}

static inline int64_t GG_NAME(gg_contrast_lanes)(int64_t channels) { return channels * GG_CONTRAST_LANES; }

void GG_NAME(gg_contrast_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = source->count[2] = n[0] * n[1] * n[2];
    source->count[1] = 1;
    source->scratch_bytes = n[0] * gg_lines(GG_NAME(gg_contrast_lanes)(n[2]) * 16);
    gg_set_work(source, 0.5 * source->count[0]);
}

int GG_NAME(gg_contrast)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    GG_NAME(gg_contrasting) c = {source->at[0], source->at[2], *(const float *)source->at[1],
                                 n[1], n[2], source->scratch, GG_NAME(gg_contrast_lanes)(n[2])};
    source->parallel(GG_NAME(gg_contrast_part), &c, n[0], source->threads);
    return GG_DONE;
}
