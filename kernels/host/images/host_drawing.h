/* The edges of boxes, drawn into images, as in gpugraph/ops/image/draw_bounding_boxes.py.

   Parameters: images, height, width, channels, boxes of an image, colours and their channels; no
   colours are the ten usual ones, white in grey images. Arrays: images, boxes, perhaps colours, out.
   A part is an image. */

#ifndef GG_DRAWING
#define GG_DRAWING

static const float gg_usual_colors[10][4] = {
    {1, 1, 0, 1},     {0, 0, 1, 1},    {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5f, 0, 0.5f, 1},
    {0.5f, 0.5f, 0, 1}, {0.5f, 0, 0, 1}, {0, 0, 0.5f, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};

typedef struct {
    int64_t low[2], high[2]; /* rows, columns: the edges, which may be outside */
} gg_edges;

/* A fraction of an image as a number of a pixel, rounded towards 0. */
static int64_t gg_edge(float fraction, int64_t size) {
    const float place = fraction * (float)(size - 1);
    return place > -9e18f && place < 9e18f ? (int64_t)place : INT64_MIN;
}

/* Returns whether some of the box is inside. */
static int gg_set_edges(gg_edges *e, const float *box, const int64_t *sizes) {
    int inside = 1;
    for (int axis = 0; axis < 2; axis++) {
        e->low[axis] = gg_edge(box[axis], sizes[axis]);
        e->high[axis] = gg_edge(box[2 + axis], sizes[axis]);
        inside &= e->low[axis] <= e->high[axis] && e->low[axis] < sizes[axis] && e->high[axis] >= 0;
    }
    return inside;
}
#endif

/* Draws pixels from `low` to `high` of a line, `step` pixels apart. */
static void GG_NAME(gg_draw_line)(gg_real *at, int64_t low, int64_t high, int64_t step,
                                  int64_t channels, const float *color) {
    for (int64_t i = low; i <= high; i++)
        for (int64_t c = 0; c < channels; c++) at[i * step * channels + c] = (gg_real)color[c];
}

static void GG_NAME(gg_draw_box)(gg_real *image, const float *box, const int64_t *sizes,
                                 int64_t channels, const float *color) {
    gg_edges e;
    if (!gg_set_edges(&e, box, sizes)) return;
    for (int axis = 0; axis < 2; axis++) {
        const int64_t along = axis ? 0 : 1, step = axis ? sizes[1] : 1;
        const int64_t across = (axis ? 1 : sizes[1]) * channels;
        const int64_t low = gg_max(e.low[along], 0), high = gg_min(e.high[along], sizes[along] - 1);
        const int64_t edges[2] = {e.low[axis], e.high[axis]};
        for (int k = 0; k < 2; k++)
            if (edges[k] >= 0 && edges[k] < sizes[axis])
                GG_NAME(gg_draw_line)(image + edges[k] * across, low, high, step, channels, color);
    }
}

static void GG_NAME(gg_draw_part)(void *block, int64_t which) {
    gg_source *source = block;
    const int64_t *n = source->parameters, channels = n[3], size = n[1] * n[2] * channels;
    const float *boxes = (const float *)source->at[1] + which * n[4] * 4;
    const float white[1] = {1}, *colors = n[5] ? source->at[2] : gg_usual_colors[0];
    gg_real *image = (gg_real *)source->at[n[7]] + which * size;
    const int64_t usual = channels > 1 ? 10 : 1, count = n[5] ? n[5] : usual;
    const int64_t width = n[5] ? n[6] : 4;
    if (!n[5] && channels == 1) colors = white;
    memcpy(image, (const gg_real *)source->at[0] + which * size, (size_t)size * sizeof *image);
    for (int64_t i = 0; i < n[4]; i++)
        GG_NAME(gg_draw_box)(image, boxes + 4 * i, n + 1, channels, colors + i % count * width);
}

void GG_NAME(gg_draw_boxes_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = source->count[n[7]] = n[0] * n[1] * n[2] * n[3];
    source->count[1] = n[0] * n[4] * 4;
    if (n[7] == 3) source->count[2] = n[5] * n[6];
    source->scratch_bytes = 0;
    gg_set_work(source, (double)source->count[0] * 0.3 + n[0] * n[4] * 20.0);
}

int GG_NAME(gg_draw_boxes)(void *block) {
    gg_source *source = block;
    source->parallel(GG_NAME(gg_draw_part), source, source->parameters[0], source->threads);
    return GG_DONE;
}
