/* Convolution of images (n, h, w, c) with a filter (kh, kw, c, outputs), and its two gradients.

   All three are one product (host_product.h) of places, each with a line of numbers, and a
   matrix:

       forward          place: of a window     line: its elements in the images      matrix: filter
       by the images    place: of the images   line: the windows that contain it     filter^T
       by the filter    place: in the filter   line: its elements in the images      gradient

   With few outputs it is the product of host_narrow_product.h. Images are copied with their
   padding, a part of them at a time, so that no place needs to check edges; without padding they
   are read in place. Places whose windows have padding in the same elements are computed
   together, without these. If the filter or, by the filter, the gradient of the results is not
   finite, padding is multiplied as by NumPy: 0 times infinity is not zero. By the images NumPy
   has no padding at all. Parameters are those of host_windows.h; with an epilogue, the number of arrays
   by column, whether there is an addend, the activation, and the bits of epsilon, a double; forward,
   one more: whether the filter never changes, and scratch memory is zeros at first and this call's
   own. The packed filter then stays there. */

#include "host_half.h"
#include "host_windows.h"
#include "host_product.h"
#include "host_narrow_product.h"

GG_BRIEF

#ifndef GG_CONVOLUTION
#define GG_CONVOLUTION

#define GG_CONV_PART 32e6 /* maximum products of a part, about */
#define GG_CONV_LEAST 5e5 /* and minimum */
enum { GG_KEPT = 1, GG_KEPT_INFINITE = 2 };
#define GG_CONV_LEAST_PARTS 4 /* of a thread, by dividing the outputs too */
#define GG_CONV_PACKED 16384 /* numbers of the filter that a part packs, about */
#define GG_CONV_PARTS 8   /* of a thread, if they are large enough */
typedef struct {
    gg_source *source;
    gg_conv_axis y, x;
    int64_t images, channels, outputs; /* of the source, and of the results */
    int64_t depth;                     /* rows of the matrix */
    int64_t lanes, vectors;            /* vectors: of a row of the matrix */
    int64_t is_plain;                  /* whether the matrix is used as it is */
    int64_t is_turned;                 /* whether vectors lie along the lines (few outputs) */
    int64_t images_each, rows_each, row_parts, column_parts, parts;
    gg_epilogue end;       /* if there is a bias */
    int64_t to;            /* the array of results */
    int64_t kept;          /* whether the packed matrix stays in scratch, behind a line's gg_kept */
    int64_t packed, slots; /* offsets in scratch */
    int64_t segments, stripes, boxes, places, pad, slot_bytes; /* offsets in a slot; its size */
    _Atomic int is_infinite; /* whether the matrix is not finite, so that padding matters */
    int has_padding;         /* whether all of it is multiplied */
} gg_conv;

static gg_conv gg_conv_of(gg_source *source, int is_back, int64_t size) {
    const int64_t *at = source->parameters;
    gg_conv c = {source, gg_conv_axis_of(at, 0, is_back), gg_conv_axis_of(at, 1, is_back), at[0]};
    c.channels = at[is_back ? 6 : 3], c.outputs = at[is_back ? 3 : 6];
    c.depth = at[4] * at[5] * c.channels;
    c.lanes = GG_VECTOR / size;
    c.vectors = gg_ceil(c.outputs, c.lanes);
    c.is_turned = c.outputs <= gg_dot_most(c.lanes) && c.channels % c.lanes == 0;
    c.to = 2;
    c.is_plain = !is_back && c.outputs == c.vectors * c.lanes && c.vectors <= GG_CONV_VECTORS;
    return c;
}

/* Divides into parts of some images or of some rows of one: many images have many places with
   the same padding. No bit of a result depends on its part. */
static void gg_conv_cut(gg_conv *c) {
    double each = (double)gg_max(c->depth, 1) * gg_max(c->vectors * c->lanes, 1);
    double total = each * c->images * c->y.result * c->x.result;
    double wanted = total / (GG_CONV_PARTS * c->source->threads);
    if (wanted > GG_CONV_PART) wanted = GG_CONV_PART;
    if (wanted < GG_CONV_LEAST) wanted = GG_CONV_LEAST;
    int64_t rows = gg_max((int64_t)(wanted / each / gg_max(c->x.result, 1) + 0.5), 1);
    rows = gg_max(rows, gg_ceil(48, gg_max(c->x.result, 1)));
    c->images_each = gg_max(rows / gg_max(c->y.result, 1), 1);
    c->rows_each = gg_max(gg_min(rows, c->y.result), 1);
    c->row_parts = gg_ceil(c->y.result, c->rows_each);
    c->rows_each = gg_ceil(c->y.result, gg_max(c->row_parts, 1));
    if (c->row_parts > 1) c->images_each = 1;
    c->parts = gg_ceil(c->images, c->images_each) * c->row_parts;
    c->column_parts = 1;
    if (!c->is_turned && c->source->threads > 1) { /* few rows: parts have some of the outputs */
        int64_t more = gg_ceil(GG_CONV_LEAST_PARTS * c->source->threads, gg_max(c->parts, 1));
        c->column_parts = gg_max(gg_min(more, gg_conv_blocks(c->vectors)), 1);
    }
    c->parts *= c->column_parts;
}

static void gg_conv_set_work(const gg_conv *c) {
    double lines = (double)c->images * c->y.result * c->x.result;
    if (c->y.is_back) lines = (double)c->images * c->y.source * c->x.source;
    double columns = c->is_turned ? (double)c->outputs / c->lanes : c->vectors;
    gg_set_work(c->source, lines * c->depth * columns / 4);
}

/* The channels of a part of the packing, and the number of parts for an element of the window. */
static int64_t gg_conv_packed_channels(const gg_conv *c) {
    return gg_max(gg_ceil(GG_CONV_PACKED, gg_max(c->outputs, 1)), 16);
}

static int64_t gg_conv_pack_parts(const gg_conv *c) {
    return gg_max(gg_ceil(c->channels, gg_conv_packed_channels(c)), 1);
}

/* Scratch: the packed matrix, then slots with segments, places and padded images. */
static void gg_conv_place(gg_conv *c, int64_t size) {
    c->packed = c->kept ? GG_LINE : 0;
    c->slots = c->packed + (c->is_plain ? 0 : gg_lines(c->depth * c->vectors * GG_VECTOR));
    const gg_conv_axis *y = &c->y, *x = &c->x;
    int64_t rows = gg_conv_high(y, c->rows_each - 1) - gg_conv_low(y, 0) + 2;
    int64_t columns = gg_conv_high(x, x->result - 1) - gg_conv_low(x, 0) + 1;
    int64_t of_a_phase = gg_ceil(c->rows_each, y->phases) * gg_ceil(x->result, x->phases);
    int64_t groups = gg_conv_groups(y, c->rows_each) * gg_conv_groups(x, x->result);
    c->segments = 0;
    c->stripes = gg_lines(y->window * x->window * sizeof(gg_segment));
    c->boxes = c->stripes + gg_lines(y->window * sizeof(gg_stripe));
    c->places = c->boxes + gg_lines(groups * sizeof(gg_box));
    c->pad = c->places + 2 * gg_lines(c->images_each * of_a_phase * sizeof(int64_t));
    int64_t padded = c->images_each * gg_max(rows, 0) * gg_max(columns, 0) * c->channels;
    c->slot_bytes = c->pad + padded * size;
    c->source->scratch_bytes = c->slots + gg_slots_bytes(c->source, c->slot_bytes);
}

#endif

/* Whether all numbers are finite: a product of 0 with any other number is not 0. */
static int GG_NAME(gg_are_finite)(const gg_real *x, int64_t count) {
    GG_NAME(gg_vector) sum[4] = {{0}};
    gg_real rest = 0;
    int64_t each = 0, step = 4 * GG_REAL_LANES;
    for (; each + step <= count; each += step)
        GG_UNROLL for (int v = 0; v < 4; v++)
            sum[v] += ((const GG_NAME(gg_vector) *)(x + each))[v] * 0;
    for (; each < count; each++) rest += x[each] * 0;
    sum[0] += sum[1] + (sum[2] + sum[3]);
    for (int64_t lane = 0; lane < GG_REAL_LANES; lane++) rest += sum[0][lane];
    return rest == 0;
}

/* -- padding */

/* Rows and columns that may be outside of an image, where there are zeros. */
static void GG_NAME(gg_conv_pad)(const gg_conv *c, const gg_real *image, int64_t low_y,
                                 int64_t rows, int64_t low_x, int64_t columns, gg_real *to) {
    int64_t row_size = columns * c->channels;
    int64_t left = gg_min(gg_max(-low_x, 0), columns) * c->channels;
    int64_t first = gg_max(low_x, 0), last = gg_min(low_x + columns, c->x.source);
    int64_t inside = gg_max(last - first, 0) * c->channels;
    for (int64_t y = low_y; y < low_y + rows; y++, to += row_size) {
        if (y < 0 || y >= c->y.source || !inside) {
            memset(to, 0, row_size * sizeof(gg_real));
            continue;
        }
        memset(to, 0, left * sizeof(gg_real));
        const gg_real *from = image + (y * c->x.source + first) * c->channels;
        memcpy(to + left, from, inside * sizeof(gg_real));
        memset(to + left + inside, 0, (row_size - left - inside) * sizeof(gg_real));
    }
}

/* -- forward, and the gradient by the images */

typedef struct {
    const gg_conv *c;
    const gg_real *from; /* the source of the part, where the first position is (low_y, low_x) */
    int64_t low_y, low_x, height, width;
    int64_t image, images, first_row, last_row; /* of the results */
    gg_stripe *stripes;
    gg_box *boxes;
    int64_t *from_at, *to_at;
} GG_NAME(gg_conv_part);

/* The source's places in memory, copied with padding if needed. */
static void GG_NAME(gg_conv_find)(GG_NAME(gg_conv_part) * part, gg_real *pad) {
    const gg_conv *c = part->c;
    int64_t low_y = gg_conv_low(&c->y, part->first_row), low_x = gg_conv_low(&c->x, 0);
    int64_t rows = gg_max(gg_conv_high(&c->y, part->last_row - 1) - low_y + 1, 0);
    int64_t columns = gg_max(gg_conv_high(&c->x, c->x.result - 1) - low_x + 1, 0);
    int64_t size = c->y.source * c->x.source * c->channels;
    const gg_real *images = (const gg_real *)c->source->at[c->y.is_back] + part->image * size;
    part->from = images;
    part->low_y = part->low_x = 0;
    part->height = c->y.source, part->width = c->x.source;
    if (low_y >= 0 && low_x >= 0 && low_y + rows <= c->y.source && low_x + columns <= c->x.source)
        return;
    part->from = pad;
    part->low_y = low_y, part->low_x = low_x;
    part->height = rows, part->width = columns;
    for (int64_t each = 0; each < part->images; each++)
        GG_NAME(gg_conv_pad)(c, images + each * size, low_y, rows, low_x, columns,
                             pad + each * rows * columns * c->channels);
}

/* The elements of the window for the results of a phase: a stripe for each row. */
static void GG_NAME(gg_conv_see)(const GG_NAME(gg_conv_part) * part, const gg_conv_taps *y,
                                 const gg_conv_taps *x, GG_NAME(gg_lines_by_matrix) * m) {
    int64_t channels = part->c->channels;
    for (int64_t i = 0; i < y->count; i++) {
        int64_t at = (y->first + i * y->apart) * part->width + x->first;
        part->stripes[i] = (gg_stripe){at * channels, i * x->count * channels, i};
    }
    m->stripe_count = x->count ? y->count : 0;
    m->cell_offset = x->apart * channels, m->cell_rows = channels;
    m->depth = y->count * x->count * channels;
}

/* Results of a phase with the same elements of the window inside, and the part of the source
   that they depend on: those of rows and columns from `t` and `u` to their ends. */
static int64_t GG_NAME(gg_conv_places)(const GG_NAME(gg_conv_part) * part, const int64_t *phases,
                                       int64_t have, const int64_t *t, const int64_t *u) {
    const gg_conv_axis *y = &part->c->y, *x = &part->c->x;
    int64_t *from_at = part->from_at + have, *to_at = part->to_at + have, columns = u[1] - u[0];
    int64_t step = x->step * part->c->channels, to_step = x->phases * part->c->outputs;
    int64_t from_x = u[0] * x->step - part->low_x, to_x = phases[1] + u[0] * x->phases;
    for (int64_t image = 0; image < part->images; image++)
        for (int64_t row = t[0]; row < t[1]; row++, from_at += columns, to_at += columns) {
            int64_t from = image * part->height + row * y->step - part->low_y;
            int64_t to = (part->image + image) * y->result + phases[0] + row * y->phases;
            from = (from * part->width + from_x) * part->c->channels;
            to = (to * x->result + to_x) * part->c->outputs;
            for (int64_t column = 0; column < columns; column++, from += step, to += to_step)
                from_at[column] = from, to_at[column] = to;
        }
    return to_at - part->to_at;
}

/* All places of a phase, and their boxes: up and down the rows, so that neighbours are alike. */
static void GG_NAME(gg_conv_arrange)(const GG_NAME(gg_conv_part) * part, const int64_t *phases,
                                     const gg_conv_taps *taps, GG_NAME(gg_lines_by_matrix) * m) {
    const gg_conv_axis *y = &part->c->y, *x = &part->c->x;
    int64_t first = gg_ceil(gg_max(part->first_row - phases[0], 0), y->phases);
    int64_t rows = gg_ceil(part->last_row - phases[0], y->phases);
    int64_t columns = gg_ceil(x->result - phases[1], x->phases);
    int is_whole = part->c->has_padding, is_up = 0;
    m->places = m->box_count = 0;
    for (int64_t u[2] = {0}; u[0] < columns; u[0] = u[1], is_up = !is_up) {
        gg_box box = {0, 0, taps[0].count, 0, taps[1].count};
        u[1] = columns;
        if (!is_whole) u[1] = gg_conv_alike(x, taps + 1, u[0], columns, &box.first_x, &box.last_x);
        for (int64_t at = first, next = rows; at < rows; at = next, next = rows) {
            if (!is_whole)
                next = gg_conv_alike(y, taps, is_up ? first + rows - 1 - at : at,
                                     is_up ? first - 1 : rows, &box.first_y, &box.last_y);
            if (!is_whole && is_up) next = first + rows - 1 - next;
            int64_t t[2] = {is_up ? first + rows - next : at, is_up ? first + rows - at : next};
            box.from = m->places;
            part->boxes[m->box_count++] = box;
            m->places = GG_NAME(gg_conv_places)(part, phases, m->places, t, u);
        }
    }
}

static void GG_NAME(gg_conv_run_part)(void *at, int64_t which) {
    const gg_conv *c = at;
    const int64_t rows = which / c->column_parts, column = which % c->column_parts;
    int64_t image = rows / c->row_parts * c->images_each;
    int64_t first = rows % c->row_parts * c->rows_each;
    const int64_t blocks = gg_conv_blocks(c->vectors);
    char *slot = gg_take(c->source, c->source->scratch + c->slots, c->slot_bytes);
    int64_t *places = (int64_t *)(slot + c->places);
    GG_NAME(gg_conv_part) part = {.c = c, .image = image, .first_row = first};
    part.images = gg_min(c->images_each, c->images - image);
    part.last_row = gg_min(first + c->rows_each, c->y.result);
    part.stripes = (gg_stripe *)(slot + c->stripes);
    part.boxes = (gg_box *)(slot + c->boxes);
    part.from_at = places;
    part.to_at = places + (c->pad - c->places) / (2 * sizeof(int64_t));
    GG_NAME(gg_conv_find)(&part, (gg_real *)(slot + c->pad));
    GG_NAME(gg_lines_by_matrix) m = {
        .from = part.from, .from_at = part.from_at, .to = c->source->at[c->to], .to_at = part.to_at,
        .segments = (gg_segment *)(slot + c->segments), .stripes = part.stripes, .boxes = part.boxes,
        .step = 1, .outputs = c->outputs, .rows = c->depth, .end = c->end.bias ? &c->end : 0,
        .is_apart = c->is_infinite,
        .first_block = blocks * column / c->column_parts,
        .last_block = blocks * (column + 1) / c->column_parts};
    m.matrix = c->is_plain ? c->source->at[1] : (void *)(c->source->scratch + c->packed);
    int64_t phases[2];
    for (phases[0] = 0; phases[0] < c->y.phases; phases[0]++)
        for (phases[1] = 0; phases[1] < c->x.phases; phases[1]++) {
            gg_conv_taps taps[2] = {gg_conv_taps_of(&c->y, phases[0]),
                                    gg_conv_taps_of(&c->x, phases[1])};
            GG_NAME(gg_conv_see)(&part, taps, taps + 1, &m);
            GG_NAME(gg_conv_arrange)(&part, phases, taps, &m);
            if (c->is_turned)
                GG_NAME(gg_dots)(&m);
            else
                GG_NAME(gg_conv_multiply)(&m);
            m.first_row += m.depth;
        }
    gg_give(slot);
}

/* One element of the window: its channels from `first` to `last` become rows of the matrix, the
   first channel row `row`. */
static void GG_NAME(gg_conv_pack_tap)(const gg_conv *c, const gg_real *filter, int64_t row,
                                      int64_t first, int64_t last) {
    gg_real *packed = (gg_real *)(c->source->scratch + c->packed);
    int64_t along = c->y.is_back ? 1 : c->outputs, across = c->y.is_back ? c->channels : 1;
    filter += first * along, row += first;
    for (int64_t k = first; k < last; k++, row++, filter += along)
        if (c->is_turned)
            for (int64_t o = 0; o < c->outputs; o++)
                packed[o * c->depth + row] = filter[o * across];
        else
            GG_NAME(gg_conv_pack_row)(c->outputs, packed, c->depth, row, filter, across);
}

/* The filter's rows in the order in which phases need them: a part has some channels of one element
   of the window. */
static void GG_NAME(gg_conv_pack_part)(void *at, int64_t part) {
    gg_conv *c = at;
    const gg_real *filter = c->source->at[!c->y.is_back];
    const int64_t each = gg_conv_packed_channels(c), parts = gg_conv_pack_parts(c);
    const int64_t which = part / parts, from = part % parts * each;
    const int64_t end = gg_min(from + each, c->channels);
    int64_t row = 0, position, size = c->channels * c->outputs;
    const gg_real *checked = filter + which * size + from * c->outputs;
    if (!GG_NAME(gg_are_finite)(checked, (end - from) * c->outputs)) c->is_infinite = 1;
    if (c->is_plain) return;
    for (int64_t phase_y = 0; phase_y < c->y.phases; phase_y++)
        for (int64_t phase_x = 0; phase_x < c->x.phases; phase_x++)
            for (int64_t i = 0; i < c->y.window; i++) {
                int64_t y = gg_conv_tap(&c->y, i);
                if (!gg_conv_sees(&c->y, phase_y, y, &position)) continue;
                for (int64_t j = 0; j < c->x.window; j++) {
                    int64_t x = gg_conv_tap(&c->x, j), tap = y * c->x.window + x;
                    if (!gg_conv_sees(&c->x, phase_x, x, &position)) continue;
                    if (tap == which)
                        GG_NAME(gg_conv_pack_tap)(c, filter + tap * size, row, from, end);
                    row += c->channels;
                }
            }
}

static void GG_NAME(gg_conv_plan)(gg_source *source, int is_back, int64_t kept) {
    gg_conv c = gg_conv_of(source, is_back, sizeof(gg_real));
    c.kept = kept;
    gg_conv_set_work(&c);
    gg_conv_cut(&c);
    gg_conv_place(&c, sizeof(gg_real));
}

static int GG_NAME(gg_conv_run)(gg_source *source, gg_conv c) {
    int64_t results = c.images * c.y.result * c.x.result * c.outputs;
    if (!results) return GG_DONE;
    if (!c.depth || !c.y.source || !c.x.source) {
        memset(source->at[c.to], 0, results * sizeof(gg_real));
        return GG_DONE;
    }
    gg_conv_cut(&c);
    int64_t bytes = source->scratch_bytes;
    gg_conv_place(&c, sizeof(gg_real));
    source->scratch_bytes = bytes;
    gg_free_slots(source, source->scratch + c.slots, c.slot_bytes);
    const int64_t parts = c.y.window * c.x.window * gg_conv_pack_parts(&c);
    int64_t *state = (int64_t *)source->scratch; /* 0 at first */
    if (c.kept && *state)
        c.is_infinite = *state == GG_KEPT_INFINITE;
    else if (!c.is_plain || gg_conv_is_padded(&c.y) || gg_conv_is_padded(&c.x))
        source->parallel(GG_NAME(gg_conv_pack_part), &c, parts,
                         c.depth * c.outputs > 2 * GG_CONV_PACKED ? source->threads : 1);
    if (c.kept) *state = c.is_infinite ? GG_KEPT_INFINITE : GG_KEPT;
    c.has_padding = c.is_infinite && !c.y.is_back;
    source->parallel(GG_NAME(gg_conv_run_part), &c, c.parts, source->threads);
    return GG_DONE;
}

void GG_NAME(gg_conv2d_plan)(gg_source *source) {
    gg_conv_set_count(source, 0, 1, 2);
    GG_NAME(gg_conv_plan)(source, 0, source->parameters[GG_WINDOW_PARAMETERS]);
}

/* images, filter -> results */
int GG_NAME(gg_conv2d)(void *block) {
    gg_source *source = block;
    gg_conv c = gg_conv_of(source, 0, sizeof(gg_real));
    c.kept = source->parameters[GG_WINDOW_PARAMETERS];
    return GG_NAME(gg_conv_run)(source, c);
}

/* The number of arrays by column, and whether there is an addend, from the parameters. */
#define GG_BY_COLUMN(source) ((source)->parameters[GG_WINDOW_PARAMETERS])
#define GG_HAS_ADDEND(source) ((source)->parameters[GG_WINDOW_PARAMETERS + 1])

void GG_NAME(gg_conv2d_fused_plan)(gg_source *source) {
    const int64_t by_column = GG_BY_COLUMN(source), to = 2 + by_column + GG_HAS_ADDEND(source);
    gg_conv_set_count(source, 0, 1, to);
    for (int64_t each = 2; each < 2 + by_column; each++) source->count[each] = source->parameters[6];
    if (GG_HAS_ADDEND(source)) source->count[to - 1] = source->count[to];
    GG_NAME(gg_conv_plan)(source, 0, source->parameters[GG_WINDOW_PARAMETERS + 4]);
}

/* images, filter (neither empty if there are results), a bias or a normalization's scale, offset,
   mean and variance, an addend if there is one -> results */
int GG_NAME(gg_conv2d_fused)(void *block) {
    gg_source *source = block;
    const int64_t by_column = GG_BY_COLUMN(source), *more = source->parameters + GG_WINDOW_PARAMETERS;
    void **at = source->at;
    gg_conv c = gg_conv_of(source, 0, sizeof(gg_real));
    c.end.bias = at[by_column == 1 ? 2 : 3];
    if (by_column == 4) c.end.scale = at[2], c.end.mean = at[4], c.end.variance = at[5];
    if (GG_HAS_ADDEND(source)) c.end.addend = at[2 + by_column];
    c.to = 2 + by_column + GG_HAS_ADDEND(source);
    c.end.cut = more[2], c.kept = more[4];
    memcpy(&c.end.epsilon, more + 3, sizeof c.end.epsilon);
    return GG_NAME(gg_conv_run)(source, c);
}

void GG_NAME(gg_conv2d_back_input_plan)(gg_source *source) {
    gg_conv_set_count(source, 2, 0, 1);
    GG_NAME(gg_conv_plan)(source, 1, 0);
}

/* filter, gradient of the results -> gradient by the images */
int GG_NAME(gg_conv2d_back_input)(void *block) {
    return GG_NAME(gg_conv_run)(block, gg_conv_of(block, 1, sizeof(gg_real)));
}

#include "host_convolution_filter.h"

GG_BRIEF_END
