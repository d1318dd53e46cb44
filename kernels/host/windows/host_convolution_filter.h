/* The gradient of a convolution by its filter (see host_convolution.h).

   The matrix is the gradient of the results, its rows the windows; lines go from window to
   window. Rows of windows are divided into groups that fit in a cache; each group has a partial
   sum, and these are added up in order. */

#ifndef GG_CONVOLUTION_FILTER
#define GG_CONVOLUTION_FILTER

#define GG_CONV_SECOND_CACHE 786432 /* bytes of images and gradient in a group */
#define GG_CONV_SUMMED 8192         /* elements of a part of the addition of groups */

/* Divides into parts by rows of the filter and by groups of rows of windows. */
typedef struct {
    gg_conv c;
    int64_t low_y, low_x, height, width; /* of the images with padding */
    int64_t is_padded;
    int64_t lines;                     /* rows of windows of all images */
    int64_t groups, lines_each;        /* groups of them: each has a partial sum */
    int64_t filter_parts, filter_each; /* places in the filter per part */
    int64_t sums;                      /* offset in scratch */
    const char *from, *matrix;
} gg_conv_filter;

/* Places in parts of some tiles; groups that fit in the cache, but of at least some 256 windows,
   since each has a sum, and as few as are enough for 32 parts. */
static void gg_conv_filter_cut(gg_conv_filter *f, int64_t size) {
    gg_conv *c = &f->c;
    int64_t tile = GG_CONV_PLACES(gg_min(gg_max(c->vectors, 1), GG_CONV_VECTORS));
    int64_t tiles = gg_ceil(c->depth, tile), in_parts = gg_min(gg_max(tiles / 8, 1), 16);
    f->filter_each = gg_max(gg_ceil(tiles, in_parts), 1) * tile;
    f->filter_parts = gg_ceil(c->depth, f->filter_each);
    f->lines = c->images * c->y.result;
    int64_t line = (c->y.stride * c->x.stride * c->channels + c->outputs) * c->x.result * size;
    int64_t held = GG_CONV_SECOND_CACHE / gg_max(line, 1);
    held = gg_min(held, gg_ceil(f->lines * f->filter_parts, 32));
    held = gg_max(held, gg_ceil(256, gg_max(c->x.result, 1)));
    held = gg_max(held, gg_ceil(f->lines, 64));
    f->groups = gg_ceil(f->lines, gg_max(held, 1));
    f->lines_each = gg_max(gg_ceil(f->lines, gg_max(f->groups, 1)), 1);
    f->groups = gg_ceil(f->lines, f->lines_each);
}

/* The windows in which the element at this distance from their beginning is inside the images. */
static void gg_conv_inside(const gg_conv_axis *axis, int64_t offset, int64_t *first,
                           int64_t *last) {
    *first = gg_max(gg_min(gg_ceil(-offset, axis->stride), axis->result), 0);
    *last = gg_min(gg_ceil(axis->source - offset, axis->stride), axis->result);
    *last = gg_max(*first, *last);
}

static gg_conv_filter gg_conv_filter_of(gg_source *source, int64_t size) {
    gg_conv_filter f = {gg_conv_of(source, 0, size)};
    gg_conv *c = &f.c;
    c->is_turned = 0;
    f.low_y = gg_conv_low(&c->y, 0), f.low_x = gg_conv_low(&c->x, 0);
    int64_t high_y = gg_conv_high(&c->y, c->y.result - 1);
    int64_t high_x = gg_conv_high(&c->x, c->x.result - 1);
    f.is_padded = f.low_y < 0 || f.low_x < 0 || high_y >= c->y.source || high_x >= c->x.source;
    if (!f.is_padded) f.low_y = f.low_x = 0;
    int64_t tile = GG_CONV_PLACES(gg_min(gg_max(c->vectors, 1), GG_CONV_VECTORS));
    c->has_padding = !f.is_padded || c->channels < tile; /* otherwise nothing would be gained */
    f.height = f.is_padded ? high_y - f.low_y + 1 : c->y.source;
    f.width = f.is_padded ? high_x - f.low_x + 1 : c->x.source;
    gg_conv_filter_cut(&f, size);
    int64_t padded = f.is_padded ? c->images * f.height * f.width * c->channels * size : 0;
    int64_t windows = c->images * c->y.result * c->x.result;
    c->pad = 0;
    c->packed = gg_lines(padded);
    f.sums = c->packed + (c->is_plain ? 0 : gg_lines(windows * c->vectors * GG_VECTOR));
    c->slots = f.sums + (f.groups > 1 ? gg_lines(f.groups * c->depth * c->outputs * size) : 0);
    c->segments = 0;
    c->stripes = gg_lines(f.lines_each * sizeof(gg_segment));
    c->boxes = c->stripes + gg_lines(f.lines_each * sizeof(gg_stripe));
    c->places = c->boxes + gg_lines((f.filter_each / gg_max(c->channels, 1) + 2) * sizeof(gg_box));
    c->slot_bytes = c->places + 2 * gg_lines(f.filter_each * sizeof(int64_t));
    return f;
}
#endif

/* An image with its padding, and the gradient's rows as rows of the packed matrix. */
static void GG_NAME(gg_conv_prepare_part)(void *at, int64_t which) {
    gg_conv_filter *f = at;
    gg_conv *c = &f->c;
    char *scratch = c->source->scratch;
    int64_t each = c->y.result * c->x.result;
    const gg_real *slope = c->source->at[1];
    if (!c->has_padding) {
        int64_t size = each * c->outputs;
        if (!GG_NAME(gg_are_finite)(slope + which * size, size)) c->is_infinite = 1;
    }
    if (f->is_padded) {
        int64_t size = c->y.source * c->x.source * c->channels;
        int64_t padded = f->height * f->width * c->channels;
        const gg_real *image = (const gg_real *)c->source->at[0] + which * size;
        GG_NAME(gg_conv_pad)(c, image, f->low_y, f->height, f->low_x, f->width,
                             (gg_real *)(scratch + c->pad) + which * padded);
    }
    for (int64_t row = which * each; !c->is_plain && row < (which + 1) * each; row++)
        GG_NAME(gg_conv_pack_row)(c->outputs, (gg_real *)(scratch + c->packed), c->images * each,
                                  row, slope + row * c->outputs, 1);
}

/* Places in the filter from `first` to `last`; a box for each element of the window, of the windows
   in which that is inside the images. */
static void GG_NAME(gg_conv_filter_places)(const gg_conv_filter *f, int64_t first, int64_t last,
                                           gg_box *boxes, int64_t *from_at, int64_t *to_at,
                                           GG_NAME(gg_lines_by_matrix) * m) {
    const gg_conv *c = &f->c;
    for (int64_t place = first; place < last; m->box_count++) {
        int64_t tap = place / c->channels, end = gg_min((tap + 1) * c->channels, last);
        int64_t y = tap / c->x.window * c->y.dilation - c->y.before;
        int64_t x = tap % c->x.window * c->x.dilation - c->x.before;
        int64_t from = ((y - f->low_y) * f->width + x - f->low_x) * c->channels;
        gg_box box = {place - first, 0, c->y.result, 0, c->x.result};
        if (!c->has_padding && !c->is_infinite) {
            gg_conv_inside(&c->y, y, &box.first_y, &box.last_y);
            gg_conv_inside(&c->x, x, &box.first_x, &box.last_x);
        }
        boxes[m->box_count] = box;
        for (; place < end; place++) {
            from_at[place - first] = from + place % c->channels;
            to_at[place - first] = place * c->outputs;
        }
    }
}

/* Some places in the filter, over a group of rows of windows. */
static void GG_NAME(gg_conv_filter_part)(void *at, int64_t which) {
    const gg_conv_filter *f = at;
    const gg_conv *c = &f->c;
    int64_t group = which / f->filter_parts, step = c->x.stride * c->channels;
    int64_t first = which % f->filter_parts * f->filter_each;
    int64_t last = gg_min(first + f->filter_each, c->depth);
    int64_t line = group * f->lines_each, end = gg_min(line + f->lines_each, f->lines);
    char *slot = gg_take(c->source, c->source->scratch + c->slots, c->slot_bytes);
    gg_stripe *stripes = (gg_stripe *)(slot + c->stripes);
    gg_box *boxes = (gg_box *)(slot + c->boxes);
    int64_t *from_at = (int64_t *)(slot + c->places);
    int64_t *to_at = from_at + (c->slot_bytes - c->places) / (2 * sizeof(int64_t));
    for (int64_t each = line; each < end; each++) {
        int64_t row = each / c->y.result * f->height + each % c->y.result * c->y.stride;
        stripes[each - line] = (gg_stripe){
            row * f->width * c->channels, (each - line) * c->x.result, each % c->y.result};
    }
    gg_real *sums = (gg_real *)(c->source->scratch + f->sums) + group * c->depth * c->outputs;
    GG_NAME(gg_lines_by_matrix) m = {
        .from = (const gg_real *)f->from, .from_at = from_at, .to_at = to_at,
        .places = last - first,
        .to = f->groups > 1 ? sums : c->source->at[2], .outputs = c->outputs,
        .segments = (gg_segment *)(slot + c->segments), .stripes = stripes,
        .stripe_count = end - line, .cell_offset = step, .cell_rows = 1, .step = step,
        .boxes = boxes, .matrix = (const gg_real *)f->matrix, .rows = f->lines * c->x.result,
        .first_row = line * c->x.result, .depth = (end - line) * c->x.result,
        .last_block = gg_conv_blocks(c->vectors)};
    GG_NAME(gg_conv_filter_places)(f, first, last, boxes, from_at, to_at, &m);
    GG_NAME(gg_conv_multiply)(&m);
    gg_give(slot);
}

GG_BRIEF_END

static void GG_NAME(gg_conv_sum_part)(void *at, int64_t which) {
    const gg_conv_filter *f = at;
    int64_t all = f->c.depth * f->c.outputs, first = which * GG_CONV_SUMMED;
    int64_t count = gg_min(GG_CONV_SUMMED, all - first);
    const gg_real *from = (const gg_real *)(f->c.source->scratch + f->sums) + first;
    gg_real *to = (gg_real *)f->c.source->at[2] + first;
    memcpy(to, from, count * sizeof(gg_real));
    for (int64_t group = 1; group < f->groups; group++) {
        from += all;
        GG_LOOP for (int64_t each = 0; each < count; each++) to[each] += from[each];
    }
}

GG_BRIEF

void GG_NAME(gg_conv2d_back_filter_plan)(gg_source *source) {
    gg_conv_set_count(source, 0, 2, 1);
    gg_conv_filter f = gg_conv_filter_of(source, sizeof(gg_real));
    gg_conv_set_work(&f.c);
    source->scratch_bytes = f.c.slots + gg_slots_bytes(source, f.c.slot_bytes);
}

/* images, gradient of the results -> gradient by the filter */
int GG_NAME(gg_conv2d_back_filter)(void *block) {
    gg_source *source = block;
    gg_conv_filter f = gg_conv_filter_of(source, sizeof(gg_real));
    gg_conv *c = &f.c;
    int64_t results = c->depth * c->outputs;
    if (!results) return GG_DONE;
    if (!f.lines || !c->x.result) {
        memset(source->at[2], 0, results * sizeof(gg_real));
        return GG_DONE;
    }
    gg_free_slots(source, source->scratch + c->slots, c->slot_bytes);
    f.from = f.is_padded ? source->scratch + c->pad : source->at[0];
    f.matrix = c->is_plain ? source->at[1] : source->scratch + c->packed;
    if (f.is_padded || !c->is_plain)
        source->parallel(GG_NAME(gg_conv_prepare_part), &f, c->images, source->threads);
    source->parallel(GG_NAME(gg_conv_filter_part), &f, f.groups * f.filter_parts, source->threads);
    if (f.groups > 1)
        source->parallel(GG_NAME(gg_conv_sum_part), &f, gg_ceil(results, GG_CONV_SUMMED),
                         results > 32768 ? source->threads : 1);
    return GG_DONE;
}
