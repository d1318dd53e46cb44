/* Boxes of images that are resized to crops, and the gradients by the images and by the boxes, as in
   gpugraph/ops/image/crop_and_resize.py. A box is y1, x1, y2, x2 in fractions of its image.

   Parameters: boxes, images, height, width, channels, new height, new width, the pixels' dtype,
   whether pixels are interpolated (or the nearest), the bits of the value outside (a float).
   Arrays of gg_crop: images, boxes, the images' numbers (int32), crops; of gg_crop_back: grads,
   boxes, numbers, the images' gradient; of gg_box_back: grads, images, boxes, numbers, the boxes'
   gradient. Numbers are checked before anything is written. */

#include "host_rows.h"
#include "host_pixels.h"

#define GG_CROP_PIXELS 128 /* of a part */

typedef struct {
    gg_source *source;
    int64_t boxes, images, height, width, channels, new_height, new_width, kind, bilinear;
    float outside;
    int64_t slot_bytes, each; /* each: the boxes of a part */
    const char *from;
    const float *grads, *corners;
    const int32_t *numbers;
    float *to;
} gg_cropping;

/* One new row or column: the two source positions, the share of the second one. */
typedef struct {
    int64_t low, high;
    float share;
    int inside;
} gg_crop_place;

static gg_cropping gg_cropping_of(gg_source *source) {
    const int64_t *n = source->parameters;
    gg_cropping c = {.source = source, .boxes = n[0], .images = n[1], .height = n[2],
                     .width = n[3], .channels = n[4], .new_height = n[5], .new_width = n[6],
                     .kind = n[7], .bilinear = n[8]};
    const int32_t bits = (int32_t)n[9];
    memcpy(&c.outside, &bits, 4);
    c.slot_bytes = gg_lines((c.new_height + c.new_width) * (int64_t)sizeof(gg_crop_place)) +
                   4 * gg_lines(c.channels * 4);
    c.each = gg_max(1, GG_CROP_PIXELS / gg_max(1, c.new_height * c.new_width));
    return c;
}

static void gg_crop_sized(gg_source *source, double factor) {
    gg_cropping c = gg_cropping_of(source);
    source->scratch_bytes = gg_slots_bytes(source, c.slot_bytes);
    const double pixels = (double)c.boxes * c.new_height * c.new_width;
    gg_set_work(source, pixels * (3 + factor * c.channels));
    source->scratch_bytes = gg_slots_bytes(source, c.slot_bytes);
}

static int gg_crop_starts(gg_cropping *c, const void *corners, const void *numbers) {
    c->corners = corners, c->numbers = numbers;
    for (int64_t i = 0; i < c->boxes; i++)
        if (c->numbers[i] < 0 || c->numbers[i] >= c->images) return 0;
    gg_free_slots(c->source, c->source->scratch, c->slot_bytes);
    return 1;
}

static void gg_crop_places(float first, float last, int64_t size, int64_t new, int bilinear,
                           gg_crop_place *places) {
    const float end = (float)(size - 1);
    const float step = new > 1 ? (last - first) * end / (float)(new - 1) : 0;
    for (int64_t i = 0; i < new; i++) {
        const float at = new > 1 ? first * end + (float)i * step : 0.5f * (first + last) * end;
        gg_crop_place *place = places + i;
        place->inside = at >= 0 && at <= end;
        if (!place->inside) continue;
        place->low = (int64_t)floorf(bilinear ? at : at + 0.5f);
        place->high = bilinear ? (int64_t)ceilf(at) : place->low;
        place->share = bilinear ? at - (float)place->low : 0;
    }
}

/* The places of a box's rows, followed by those of its columns. */
static const gg_crop_place *gg_crop_lines(const gg_cropping *c, int64_t box, char *slot) {
    gg_crop_place *places = (gg_crop_place *)slot;
    const float *corner = c->corners + box * 4;
    gg_crop_places(corner[0], corner[2], c->height, c->new_height, (int)c->bilinear, places);
    gg_crop_places(corner[1], corner[3], c->width, c->new_width, (int)c->bilinear,
                   places + c->new_height);
    return places;
}

/* The pixel of an image as floats, in place if it has these. */
GG_ALWAYS const float *gg_crop_pixel(const gg_cropping *c, const int kind, int64_t image, int64_t y,
                                     int64_t x, float *buffer) {
    const int64_t at = ((image * c->height + y) * c->width + x) * c->channels;
    const char *from = c->from + at * gg_pixel_bytes[kind];
    if (kind == GG_F32) return (const float *)from;
    if (kind == GG_F64)
        for (int64_t k = 0; k < c->channels; k++) buffer[k] = (float)((const double *)from)[k];
    else GG_NAME(gg_pixels)(kind, from, c->channels, buffer);
    return buffer;
}

/* The four pixels around a place: above left and right, below left and right. */
GG_ALWAYS void gg_crop_around(const gg_cropping *c, const int kind, int64_t image, gg_crop_place y,
                              gg_crop_place x, char *buffers, const float *four[4]) {
    const int64_t apart = gg_lines(c->channels * 4);
    GG_UNROLL for (int i = 0; i < 4; i++)
        four[i] = gg_crop_pixel(c, kind, image, i & 2 ? y.high : y.low, i & 1 ? x.high : x.low,
                                (float *)(buffers + i * apart));
}

/* Calls `box` for the boxes of a part, with the kind of pixels as a constant for the usual ones. */
#define GG_BOXES_OF_PART(name, box)                                                                \
    static void name(void *block, int64_t part) {                                                  \
        const gg_cropping *c = block;                                                              \
        char *slot = gg_take(c->source, c->source->scratch, c->slot_bytes);                        \
        const int64_t end = gg_min(c->boxes, (part + 1) * c->each);                                \
        for (int64_t i = part * c->each; i < end; i++) {                                           \
            if (c->kind == GG_F32) box(c, GG_F32, i, slot);                                        \
            else if (c->kind == GG_F64) box(c, GG_F64, i, slot);                                   \
            else box(c, (int)c->kind, i, slot);                                                    \
        }                                                                                          \
        gg_give(slot);                                                                             \
    }

static char *gg_crop_buffers(const gg_cropping *c, char *slot) {
    return slot + gg_lines((c->new_height + c->new_width) * (int64_t)sizeof(gg_crop_place));
}

static void gg_crop_fill(float *to, int64_t count, float value) {
    for (int64_t i = 0; i < count; i++) to[i] = value;
}

GG_ALWAYS void gg_crop_box(const gg_cropping *c, const int kind, int64_t box, char *slot) {
    const gg_crop_place *rows = gg_crop_lines(c, box, slot), *columns = rows + c->new_height;
    const int64_t image = c->numbers[box], channels = c->channels;
    float *to = c->to + box * c->new_height * c->new_width * channels;
    for (int64_t y = 0; y < c->new_height; y++) {
        if (!rows[y].inside) {
            gg_crop_fill(to, c->new_width * channels, c->outside);
            to += c->new_width * channels;
            continue;
        }
        for (int64_t x = 0; x < c->new_width; x++, to += channels) {
            if (!columns[x].inside) {
                gg_crop_fill(to, channels, c->outside);
                continue;
            }
            const float *four[4], down = rows[y].share, right = columns[x].share;
            gg_crop_around(c, kind, image, rows[y], columns[x], gg_crop_buffers(c, slot), four);
            const float *a = four[0], *b = four[1], *d = four[2], *e = four[3];
            GG_LOOP for (int64_t k = 0; k < channels; k++) {
                const float above = a[k] + (b[k] - a[k]) * right;
                const float below = d[k] + (e[k] - d[k]) * right;
                to[k] = above + (below - above) * down;
            }
        }
    }
}

GG_BOXES_OF_PART(gg_crop_part, gg_crop_box)

void GG_NAME(gg_crop_plan)(gg_source *source) {
    gg_cropping c = gg_cropping_of(source);
    source->count[0] = c.images * c.height * c.width * c.channels;
    source->count[1] = 4 * c.boxes, source->count[2] = c.boxes;
    source->count[3] = c.boxes * c.new_height * c.new_width * c.channels;
    gg_crop_sized(source, 0.5);
}

int GG_NAME(gg_crop)(void *block) {
    gg_source *source = block;
    gg_cropping c = gg_cropping_of(source);
    if (!gg_crop_starts(&c, source->at[1], source->at[2])) return GG_FAILED;
    c.from = source->at[0], c.to = source->at[3];
    source->parallel(gg_crop_part, &c, gg_ceil(c.boxes, c.each), source->threads);
    return GG_DONE;
}

/* -- the gradient by the images: a part is an image, its boxes come in order */

static void gg_crop_add(float *to, const float *grads, float weight, int64_t count) {
    GG_LOOP for (int64_t k = 0; k < count; k++) to[k] += weight * grads[k];
}

static void gg_crop_box_back(const gg_cropping *c, int64_t box, char *slot) {
    const gg_crop_place *rows = gg_crop_lines(c, box, slot), *columns = rows + c->new_height;
    const int64_t channels = c->channels, line = c->width * channels;
    float *image = c->to + c->numbers[box] * c->height * line;
    const float *grads = c->grads + box * c->new_height * c->new_width * channels;
    for (int64_t y = 0; y < c->new_height; y++) {
        for (int64_t x = 0; x < c->new_width; x++, grads += channels) {
            const gg_crop_place row = rows[y], column = columns[x];
            if (!row.inside || !column.inside) continue;
            float *above = image + row.low * line, *below = image + row.high * line;
            const int64_t left = column.low * channels, right = column.high * channels;
            const float up = 1 - row.share, down = row.share, share = column.share;
            gg_crop_add(above + left, grads, up * (1 - share), channels);
            if (share != 0) gg_crop_add(above + right, grads, up * share, channels);
            if (down != 0) gg_crop_add(below + left, grads, down * (1 - share), channels);
            if (down != 0 && share != 0) gg_crop_add(below + right, grads, down * share, channels);
        }
    }
}

static void gg_crop_back_part(void *block, int64_t image) {
    const gg_cropping *c = block;
    const int64_t size = c->height * c->width * c->channels;
    memset(c->to + image * size, 0, (size_t)size * 4);
    char *slot = gg_take(c->source, c->source->scratch, c->slot_bytes);
    for (int64_t box = 0; box < c->boxes; box++)
        if (c->numbers[box] == image) gg_crop_box_back(c, box, slot);
    gg_give(slot);
}

void GG_NAME(gg_crop_back_plan)(gg_source *source) {
    gg_cropping c = gg_cropping_of(source);
    source->count[0] = c.boxes * c.new_height * c.new_width * c.channels;
    source->count[1] = 4 * c.boxes, source->count[2] = c.boxes;
    source->count[3] = c.images * c.height * c.width * c.channels;
    gg_crop_sized(source, 1);
}

int GG_NAME(gg_crop_back)(void *block) {
    gg_source *source = block;
    gg_cropping c = gg_cropping_of(source);
    if (!gg_crop_starts(&c, source->at[1], source->at[2])) return GG_FAILED;
    c.grads = source->at[0], c.to = source->at[3];
    source->parallel(gg_crop_back_part, &c, c.images, source->threads);
    return GG_DONE;
}

/* -- the gradient by the boxes */

GG_ALWAYS void gg_box_back_box(const gg_cropping *c, const int kind, int64_t box, char *slot) {
    const gg_crop_place *rows = gg_crop_lines(c, box, slot), *columns = rows + c->new_height;
    const int64_t channels = c->channels;
    const float *grads = c->grads + box * c->new_height * c->new_width * channels;
    const double each_row = 1 / (double)gg_max(c->new_height - 1, 1);
    const double each_column = 1 / (double)gg_max(c->new_width - 1, 1);
    double sums[4] = {0};
    for (int64_t y = 0; y < c->new_height; y++) {
        for (int64_t x = 0; x < c->new_width; x++, grads += channels) {
            const gg_crop_place row = rows[y], column = columns[x];
            if (!row.inside || !column.inside) continue;
            const float *four[4];
            char *buffers = gg_crop_buffers(c, slot);
            gg_crop_around(c, kind, c->numbers[box], row, column, buffers, four);
            double down = 0, right = 0;
            for (int64_t k = 0; k < channels; k++) {
                const double a = four[0][k], b = four[1][k], d = four[2][k], e = four[3][k];
                down += grads[k] * ((d - a) + ((e - d) - (b - a)) * column.share);
                right += grads[k] * ((b - a) + ((e - d) - (b - a)) * row.share);
            }
            const double along = c->new_height > 1 ? (double)y * each_row : 0.5;
            const double across = c->new_width > 1 ? (double)x * each_column : 0.5;
            sums[0] += down * (1 - along), sums[2] += down * along;
            sums[1] += right * (1 - across), sums[3] += right * across;
        }
    }
    for (int i = 0; i < 4; i++)
        c->to[box * 4 + i] = (float)(sums[i] * (double)((i & 1 ? c->width : c->height) - 1));
}

GG_BOXES_OF_PART(gg_box_back_part, gg_box_back_box)

void GG_NAME(gg_box_back_plan)(gg_source *source) {
    gg_cropping c = gg_cropping_of(source);
    source->count[0] = c.boxes * c.new_height * c.new_width * c.channels;
    source->count[1] = c.images * c.height * c.width * c.channels;
    source->count[2] = 4 * c.boxes, source->count[3] = c.boxes, source->count[4] = 4 * c.boxes;
    gg_crop_sized(source, 3);
}

int GG_NAME(gg_box_back)(void *block) {
    gg_source *source = block;
    gg_cropping c = gg_cropping_of(source);
    if (!gg_crop_starts(&c, source->at[2], source->at[3])) return GG_FAILED;
    c.grads = source->at[0], c.from = source->at[1], c.to = source->at[4];
    source->parallel(gg_box_back_part, &c, gg_ceil(c.boxes, c.each), source->threads);
    return GG_DONE;
}
