/* Windows over images, one dimension at a time, for convolutions and their gradients by the images.

   Parameters: n, h, w, c, kh, kw, outputs, oh, ow, then stride, dilation and padding before, each
   of y and x. In the gradient by the images with strides, positions under the same elements of the
   windows form a phase. */

#ifndef GG_WINDOWS
#define GG_WINDOWS

#define GG_WINDOW_PARAMETERS 15

/* One dimension: the positions of the results' windows in the source. */
typedef struct {
    int64_t source, result, window, stride, dilation, before;
    int64_t phases; /* the stride for the gradient by the images, whose source are windows; or 1 */
    int64_t step;   /* in the source, from one result of a phase to the next */
    int is_back;
} gg_conv_axis;

static gg_conv_axis gg_conv_axis_of(const int64_t *at, int is_x, int is_back) {
    int64_t images = at[1 + is_x], windows = at[7 + is_x], stride = at[9 + is_x];
    gg_conv_axis axis = {images, windows, at[4 + is_x], stride, at[11 + is_x], at[13 + is_x]};
    axis.is_back = is_back;
    axis.phases = is_back ? stride : 1;
    axis.step = is_back ? 1 : stride;
    if (is_back) axis.source = windows, axis.result = images;
    return axis;
}

/* The first and the last position of the source in the windows of the results `first` to `last`. */
static int64_t gg_conv_low(const gg_conv_axis *axis, int64_t first) {
    if (!axis->is_back) return first * axis->stride - axis->before;
    return -gg_floor((axis->window - 1) * axis->dilation - axis->before - first, axis->stride);
}

static int64_t gg_conv_high(const gg_conv_axis *axis, int64_t last) {
    if (axis->is_back) return gg_floor(last + axis->before, axis->stride);
    return last * axis->stride - axis->before + (axis->window - 1) * axis->dilation;
}

/* Whether the window of some result extends beyond the source. */
static int gg_conv_is_padded(const gg_conv_axis *axis) {
    return gg_conv_low(axis, 0) < 0 || gg_conv_high(axis, axis->result - 1) >= axis->source;
}

/* The source's position of the window's element `tap` for the first result of a phase, if any. */
static int gg_conv_sees(const gg_conv_axis *axis, int64_t phase, int64_t tap, int64_t *position) {
    int64_t at = phase + axis->before - tap * axis->dilation;
    *position = axis->is_back ? at / axis->stride : -at;
    return !axis->is_back || at % axis->stride == 0;
}

/* The element that is `order`th in the source. */
static int64_t gg_conv_tap(const gg_conv_axis *axis, int64_t order) {
    return axis->is_back ? axis->window - 1 - order : order;
}

/* The elements of the window for a phase, in the source's order: their number, the position of
   the first one for its first result, and the distance to the next one. */
typedef struct {
    int64_t count, first, apart;
} gg_conv_taps;

static gg_conv_taps gg_conv_taps_of(const gg_conv_axis *axis, int64_t phase) {
    gg_conv_taps taps = {.apart = 1};
    for (int64_t order = 0, position; order < axis->window; order++) {
        if (!gg_conv_sees(axis, phase, gg_conv_tap(axis, order), &position)) continue;
        if (!taps.count++)
            taps.first = position;
        else if (taps.count == 2)
            taps.apart = position - taps.first;
    }
    return taps;
}

/* The first and last of these that are inside the source for the result `at` of the phase; and
   the last result, at most `end`, for which they are the same. Goes down if the end is below. */
static int64_t gg_conv_alike(const gg_conv_axis *axis, const gg_conv_taps *taps, int64_t at,
                             int64_t end, int64_t *first, int64_t *last) {
    int64_t start = at, step = at < end ? 1 : -1;
    for (; at != end; at += step) {
        int64_t position = taps->first + at * axis->step;
        int64_t low = gg_max(gg_min(gg_ceil(-position, taps->apart), taps->count), 0);
        int64_t high = gg_min(gg_ceil(axis->source - position, taps->apart), taps->count);
        high = gg_max(high, low);
        if (at == start)
            *first = low, *last = high;
        else if (*first != low || *last != high)
            break;
    }
    return at;
}

/* The maximum number of such groups of results in a phase. */
static int64_t gg_conv_groups(const gg_conv_axis *axis, int64_t results) {
    return gg_min(2 * axis->window + 1, gg_ceil(results, axis->phases));
}

/* The numbers of elements of images, filter and windows, by their indices among the arrays. */
static void gg_conv_set_count(gg_source *source, int images, int filter, int windows) {
    const int64_t *at = source->parameters;
    source->count[images] = at[0] * at[1] * at[2] * at[3];
    source->count[filter] = at[4] * at[5] * at[3] * at[6];
    source->count[windows] = at[0] * at[7] * at[8] * at[6];
}
#endif
