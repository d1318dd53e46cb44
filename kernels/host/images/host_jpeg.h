/* JPEG files as most programs write them: 8 bits, Huffman codes, one scan (baseline) or progressive,
   grey or YCbCr, chroma of full, half or quarter size. All other files, and damaged ones, end a call with
   GG_FAILED; the caller then reads them otherwise.

   The only array holds the numbers of a call and of its requests, so that a call is bound once. A
   first call reads the sizes, a second one the pixels of a window. Each request has a status: a file
   that is refused does not affect the others. Blocks far from the window are not transformed. */

#include "host_jpeg_codes.h"
#include "host_jpeg_pixels.h"

#define GG_JPEG_REQUESTS 64
#define GG_JPEG_MOST_PIXELS (1 << 26)

typedef struct {
    int64_t is_refused;     /* set by both calls */
    const uint8_t *data;
    int64_t bytes;
    int64_t height, width;  /* set by the first call */
    int64_t components;     /* of the file, set by the first call */
    int64_t channels;       /* of the pixels: 1 or 3 */
    int64_t space;          /* the bytes of `planes`, set by the first call */
    uint8_t *planes;        /* scratch memory, set by the second call */
    uint8_t *out;           /* [rows, columns, channels] */
    int64_t top, left, rows, columns; /* the window */
    int64_t is_fast;        /* whether the transform is the fast one */
    int64_t is_fancy;       /* whether chroma of less than full size is interpolated */
} gg_jpeg_request;

#define GG_JPEG_NUMBERS ((int64_t)(sizeof(gg_jpeg_request) / sizeof(int64_t)))

typedef struct {
    int64_t count;          /* of requests */
    int64_t slots;          /* the number of files that may be decoded at the same time */
    int64_t slot_bytes;     /* the scratch memory of a file, at least its `space` */
    char *scratch;          /* the slots, each after a line (gg_take) */
    int64_t threads;        /* the limit, set by the first call */
    gg_jpeg_request requests[GG_JPEG_REQUESTS];
} gg_jpeg_call;

/* Blocks that wait for their transform. */
typedef struct {
    int16_t blocks[64 * GG_JPEG_BLOCKS] __attribute__((aligned(64)));
    int16_t fast_steps[64 * GG_JPEG_BLOCKS] __attribute__((aligned(64)));
    uint16_t steps[64];     /* in the order of rows */
    uint8_t *to[GG_JPEG_BLOCKS];
    int count;
} gg_jpeg_queue;

typedef struct {
    int id, across, down;   /* the blocks of an MCU */
    int steps, dc, ac;      /* the numbers of tables */
    int before;             /* the last DC coefficient */
    int64_t width, height;  /* in samples */
    int64_t stride;
    uint8_t *plane;
    gg_jpeg_queue queue;
    int16_t *coefficients;  /* of a progressive file */
    int8_t places[64];      /* of the last bits of each coefficient, -1 before the first one */
} gg_jpeg_component;

typedef struct {
    gg_jpeg_component parts[3];
    int count;
    int64_t height, width;
    int across, down;       /* the largest numbers of blocks */
    int64_t columns, rows;  /* of MCUs */
    int interval;           /* MCUs between restarts, or 0 */
    int is_fast, is_fancy, reads_sizes, is_progressive;
    int is_jfif, transform; /* -1 without Adobe's marker */
    uint16_t steps[4][64];
    int has_steps[4];
    gg_jpeg_codes codes[2][4];
    const uint8_t *at, *end;
    uint8_t *copy;          /* the data of the scan between restarts */
    int64_t top, left, lines, pixels;       /* the window */
    int64_t from_row, to_row, from_column, to_column; /* the MCUs near it */
} gg_jpeg;

GG_ALWAYS int gg_jpeg_two(const uint8_t *at) { return at[0] << 8 | at[1]; }

static int gg_jpeg_tables(gg_jpeg *j, const uint8_t *at, const uint8_t *end) {
    for (; at < end; at += 65) {
        if (end - at < 65 || at[0] > 3) return 0; /* more than 8 bits are refused */
        for (int i = 0; i < 64; i++) j->steps[at[0]][i] = at[1 + i];
        j->has_steps[at[0]] = 1;
    }
    return 1;
}

static int gg_jpeg_all_codes(gg_jpeg *j, const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        int64_t count = 0;
        if (end - at < 17 || at[0] & 0xEC) return 0;
        for (int i = 1; i <= 16; i++) count += at[i];
        if (count > 256 || end - at < 17 + count) return 0;
        gg_jpeg_codes *codes = &j->codes[at[0] >> 4][at[0] & 3];
        const int kind = j->is_progressive ? GG_JPEG_PLAIN : at[0] >> 4 ? GG_JPEG_AC : GG_JPEG_DC;
        if (!gg_jpeg_set_codes(codes, at + 1, at + 17, kind)) return 0;
        at += 17 + count;
    }
    return 1;
}

/* Reads a frame header. */
static int gg_jpeg_frame(gg_jpeg *j, const uint8_t *at, const uint8_t *end) {
    if (j->count || end - at < 6 || at[0] != 8) return 0;
    j->height = gg_jpeg_two(at + 1), j->width = gg_jpeg_two(at + 3), j->count = at[5];
    if (!j->height || !j->width || j->height * j->width > GG_JPEG_MOST_PIXELS) return 0;
    if ((j->count != 1 && j->count != 3) || end - at != 6 + 3 * j->count) return 0;
    for (int i = 0; i < j->count; i++) {
        gg_jpeg_component *part = &j->parts[i];
        const uint8_t *three = at + 6 + 3 * i;
        part->id = three[0], part->steps = three[2];
        part->across = j->count == 1 ? 1 : three[1] >> 4;
        part->down = j->count == 1 ? 1 : three[1] & 15;
        if (part->steps > 3 || part->across < 1 || part->across > 2) return 0;
        if (part->down < 1 || part->down > 2) return 0;
    }
    j->across = j->parts[0].across, j->down = j->parts[0].down;
    for (int i = 1; i < j->count; i++)
        if (j->parts[i].across != 1 || j->parts[i].down != 1) return 0;
    return j->across >= j->down;
}

static int gg_jpeg_scan(gg_jpeg *j, const uint8_t *at, const uint8_t *end) {
    if (!j->count || end - at != 4 + 2 * j->count || at[0] != j->count) return 0;
    for (int i = 0; i < j->count; i++) {
        gg_jpeg_component *part = &j->parts[i];
        const int tables = at[2 + 2 * i];
        part->dc = tables >> 4, part->ac = tables & 15;
        if (at[1 + 2 * i] != part->id || part->dc > 3 || part->ac > 3) return 0;
        if (!j->has_steps[part->steps]) return 0;
        if (j->reads_sizes) continue;
        if (!j->codes[0][part->dc].is_set || !j->codes[1][part->ac].is_set) return 0;
    }
    const uint8_t *rest = at + 1 + 2 * j->count;
    return rest[0] == 0 && rest[1] == 63 && rest[2] == 0;
}

/* Reads a segment. Returns whether it is one that files of this kind have. */
static int gg_jpeg_segment(gg_jpeg *j, int marker, const uint8_t *at, const uint8_t *end) {
    if (marker == 0xDB) return gg_jpeg_tables(j, at, end);
    if (marker == 0xC4) return j->reads_sizes || gg_jpeg_all_codes(j, at, end);
    if (marker == 0xC2) j->is_progressive = 1;
    if (marker >= 0xC0 && marker <= 0xC2) return gg_jpeg_frame(j, at, end);
    if (marker == 0xDD) return end - at == 2 ? (j->interval = gg_jpeg_two(at), 1) : 0;
    if (marker == 0xE0 && end - at >= 14 && !memcmp(at, "JFIF", 5)) j->is_jfif = 1;
    if (marker == 0xEE && end - at >= 12 && !memcmp(at, "Adobe", 5)) j->transform = at[11];
    return marker == 0xFE || (marker >= 0xE0 && marker <= 0xEF);
}

static int gg_jpeg_is_ycc(const gg_jpeg *j) {
    if (j->count == 1 || j->is_jfif) return 1;
    if (j->transform >= 0) return j->transform == 1;
    return j->parts[0].id == 1 && j->parts[1].id == 2 && j->parts[2].id == 3;
}

/* Reads all segments up to the first scan, whose data begins at `j->at`. */
static int gg_jpeg_header(gg_jpeg *j, const uint8_t *at, const uint8_t *end) {
    j->count = j->interval = j->is_jfif = j->is_progressive = 0, j->transform = -1;
    memset(j->has_steps, 0, sizeof j->has_steps);
    for (int i = 0; i < 8; i++) j->codes[i / 4][i % 4].is_set = 0;
    if (end - at < 4 || at[0] != 0xFF || at[1] != 0xD8) return 0;
    for (at += 2; end - at >= 4 && at[0] == 0xFF;) {
        const int marker = at[1], size = gg_jpeg_two(at + 2);
        if (size < 2 || size > end - at - 2) return 0;
        const uint8_t *first = at + 4, *last = at + 2 + size;
        if (marker == 0xDA) {
            j->at = last, j->end = end;
            return (j->is_progressive || gg_jpeg_scan(j, first, last)) && gg_jpeg_is_ycc(j);
        }
        if (!gg_jpeg_segment(j, marker, first, last)) return 0;
        at = last;
    }
    return 0;
}

/* The bytes of a row of chroma with room for strips. */
GG_ALWAYS int64_t gg_jpeg_row_space(const gg_jpeg *j) {
    return gg_lines(j->columns * 16 + 2 * GG_JPEG_STRIP) + GG_LINE;
}

/* Sets the sizes of planes and returns the bytes of scratch memory: the planes, 4 rows, the
   coefficients of a progressive file, and a copy of a scan's data. */
static int64_t gg_jpeg_lay_out(gg_jpeg *j, uint8_t *planes) {
    int64_t space = 0;
    j->columns = gg_ceil(j->width, 8 * j->across), j->rows = gg_ceil(j->height, 8 * j->down);
    for (int i = 0; i < j->count; i++) {
        gg_jpeg_component *part = &j->parts[i];
        part->stride = j->columns * 8 * part->across;
        part->width = gg_ceil(j->width * part->across, j->across);
        part->height = gg_ceil(j->height * part->down, j->down);
        part->plane = planes + space;
        part->before = 0;
        space += part->stride * j->rows * 8 * part->down;
    }
    space = gg_lines(space + 4 * gg_jpeg_row_space(j));
    for (int i = 0; j->is_progressive && i < j->count; i++) {
        j->parts[i].coefficients = (int16_t *)(planes + space);
        space += j->parts[i].stride * j->rows * 8 * j->parts[i].down * 2;
    }
    j->copy = planes + space;
    return space + (j->end - j->at) + GG_JPEG_PAD;
}

/* Sets the window. Returns whether it is in the picture. */
static int gg_jpeg_set_window(gg_jpeg *j, const gg_jpeg_request *r) {
    j->top = r->top, j->left = r->left, j->lines = r->rows, j->pixels = r->columns;
    j->from_row = j->top / (8 * j->down) - 1, j->from_column = j->left / (8 * j->across) - 1;
    j->to_row = (j->top + j->lines) / (8 * j->down) + 1;
    j->to_column = (j->left + j->pixels) / (8 * j->across) + 1;
    return j->top >= 0 && j->left >= 0 && j->lines > 0 && j->pixels > 0 &&
           j->lines <= j->height - j->top && j->pixels <= j->width - j->left;
}

/* Transforms the waiting blocks. Returns 0 if this fails. */
static int gg_jpeg_flush(const gg_jpeg *j, gg_jpeg_component *part) {
    gg_jpeg_queue *queue = &part->queue;
    int is_done = 1;
    if (!queue->count) return 1;
    if (j->is_fast)
        gg_jpeg_fast(queue->blocks, queue->fast_steps, queue->count, queue->to, part->stride);
    else
        for (int b = 0; b < queue->count; b++)
            is_done &= gg_jpeg_accurate(queue->blocks, b, queue->steps, queue->to[b], part->stride);
    memset(queue->blocks, 0, sizeof queue->blocks);
    queue->count = 0;
    return is_done;
}

static void gg_jpeg_start_queue(gg_jpeg *j, gg_jpeg_component *part) {
    gg_jpeg_queue *queue = &part->queue;
    memset(queue->blocks, 0, sizeof queue->blocks);
    queue->count = 0;
    for (int k = 0; k < 64; k++) {
        const int place = gg_jpeg_order[k], step = j->steps[part->steps][k];
        queue->steps[place] = (uint16_t)step;
        for (int b = 0; b < GG_JPEG_BLOCKS; b++)
            queue->fast_steps[GG_JPEG_PLACE(place) + 8 * b] = gg_jpeg_fast_step(step, place);
    }
}

/* Writes the pixels of a block of one value. */
static void gg_jpeg_fill_block(int value, uint8_t *out, int64_t stride) {
    const uint64_t bytes = gg_jpeg_byte(value) * 0x0101010101010101u;
    for (int y = 0; y < 8; y++) memcpy(out + y * stride, &bytes, 8);
}

/* Adds the block behind the last one to the queue, and transforms the blocks if the queue is full.
   `last` is 0 if only the first coefficient is not 0. */
static int gg_jpeg_put_block(gg_jpeg *j, gg_jpeg_component *part, int last, uint8_t *to) {
    gg_jpeg_queue *queue = &part->queue;
    int16_t *block = queue->blocks + 8 * queue->count;
    if (!last) {
        const int value = block[0] * queue->steps[0];
        const int fast = (int16_t)(block[0] * queue->fast_steps[0]) >> 5;
        if (!j->is_fast && abs(value) > GG_JPEG_MOST_SUM) return 0;
        gg_jpeg_fill_block((j->is_fast ? fast : (value + 4) >> 3) + 128, to, part->stride);
        block[0] = 0;
    } else {
        queue->to[queue->count++] = to;
        if (queue->count == GG_JPEG_BLOCKS) return gg_jpeg_flush(j, part);
    }
    return 1;
}

/* Reads a block. Without an address for its pixels, it is dropped. */
static int gg_jpeg_next_block(gg_jpeg *j, gg_jpeg_bits *b, gg_jpeg_component *part, uint8_t *to) {
    int16_t *block = part->queue.blocks + 8 * part->queue.count;
    const int last = gg_jpeg_block(b, &j->codes[0][part->dc], &j->codes[1][part->ac],
                                   &part->before, block);
    if (last < 0) return 0;
    if (to) return gg_jpeg_put_block(j, part, last, to);
    for (int y = 0; y < 8; y++) memset(block + y * 8 * GG_JPEG_BLOCKS, 0, 16);
    return 1;
}

GG_ALWAYS int gg_jpeg_is_near(const gg_jpeg *j, int64_t row, int64_t column) {
    return row >= j->from_row && row <= j->to_row && column >= j->from_column &&
           column <= j->to_column;
}

static int gg_jpeg_mcu(gg_jpeg *j, gg_jpeg_bits *b, int64_t row, int64_t column, int is_grey) {
    const int is_near = gg_jpeg_is_near(j, row, column);
    for (int i = 0; i < j->count; i++) {
        gg_jpeg_component *part = &j->parts[i];
        const int is_needed = is_near && (!is_grey || !i);
        for (int down = 0; down < part->down; down++) {
            uint8_t *to = part->plane + 8 * ((row * part->down + down) * part->stride +
                                             column * part->across);
            for (int across = 0; across < part->across; across++)
                if (!gg_jpeg_next_block(j, b, part, is_needed ? to + 8 * across : NULL)) return 0;
        }
    }
    return 1;
}

/* Goes on behind marker `number` of a restart, or at the start of the data. */
static int gg_jpeg_restart(gg_jpeg *j, gg_jpeg_bits *b, int64_t number) {
    if (number) {
        const int64_t rest = gg_jpeg_rest(b);
        if (rest < 0 || rest > 7 || j->end - j->at < 2) return 0;
        if (j->at[0] != 0xFF || j->at[1] != 0xD0 + ((number - 1) & 7)) return 0;
        j->at += 2;
    }
    const uint8_t *end = gg_jpeg_copy_data(&j->at, j->end, j->copy);
    *b = (gg_jpeg_bits){j->copy, j->copy, end, 0, 0};
    for (int i = 0; i < j->count; i++) j->parts[i].before = 0;
    return 1;
}

/* Decodes the scan into planes. Returns whether it is undamaged, and the file ends behind it. */
static int gg_jpeg_planes(gg_jpeg *j, int is_grey) {
    gg_jpeg_bits b;
    int64_t number = 0, left = 1;
    for (int i = 0; i < j->count; i++) gg_jpeg_start_queue(j, &j->parts[i]);
    for (int64_t row = 0; row < j->rows; row++)
        for (int64_t column = 0; column < j->columns; column++) {
            if (!--left) {
                if (!gg_jpeg_restart(j, &b, number++)) return 0;
                left = j->interval ? j->interval : INT64_MAX;
            }
            if (!gg_jpeg_mcu(j, &b, row, column, is_grey)) return 0;
        }
    for (int i = 0; i < j->count; i++)
        if (!gg_jpeg_flush(j, &j->parts[i])) return 0;
    const int64_t rest = gg_jpeg_rest(&b);
    return rest >= 0 && rest < 8 && j->end - j->at >= 2 && j->at[0] == 0xFF && j->at[1] == 0xD9;
}

#include "host_jpeg_progressive.h"

static void gg_jpeg_add(const uint8_t *restrict near, const uint8_t *restrict far, int64_t count,
                        int16_t *restrict sums) {
    for (int64_t i = 0; i < count; i++) sums[i] = (int16_t)(3 * near[i] + far[i]);
}

/* The first column that libjpeg decodes for the window, the first one of an MCU. */
GG_ALWAYS int64_t gg_jpeg_first_column(const gg_jpeg *j) {
    return j->left / (8 * j->across) * (8 * j->across);
}

/* Returns the pixels of the window in a row of a chroma plane, in `to` if they must be computed. As
   in libjpeg, interpolation does not use samples outside the columns that are decoded. */
static const uint8_t *gg_jpeg_chroma(const gg_jpeg *j, int number, int64_t row, uint8_t *to,
                                     int16_t *sums) {
    const gg_jpeg_component *part = &j->parts[number];
    const uint8_t *near = part->plane + row / j->down * part->stride;
    if (j->across == 1) return near + j->left;
    const int64_t first = gg_jpeg_first_column(j), skipped = first / 2;
    const int64_t width = gg_ceil(j->left + j->pixels - first, 2);
    near += skipped;
    const uint8_t *pixels = to + j->left - first;
    if (part->width <= 2 || width < 2 || !j->is_fancy) {
        for (int64_t i = 0; i < width; i++) to[2 * i] = to[2 * i + 1] = near[i];
        return pixels;
    }
    if (j->down == 1) {
        for (int64_t i = 0; i < width; i++) sums[i] = near[i];
        gg_jpeg_widen(sums, width, 0, to);
        return pixels;
    }
    const int64_t other = row / 2 + (row % 2 ? 1 : -1);
    const int64_t last = part->height - 1;
    const uint8_t *far = part->plane + (other < 0 ? 0 : gg_min(other, last)) * part->stride;
    gg_jpeg_add(near, far + skipped, width, sums);
    gg_jpeg_widen(sums, width, 2, to);
    return pixels;
}

/* Writes the pixels of the window. */
static void gg_jpeg_write(const gg_jpeg *j, int64_t channels, uint8_t *rows, uint8_t *out) {
    const gg_jpeg_component *light = &j->parts[0];
    const int64_t size = gg_jpeg_row_space(j);
    for (int64_t y = j->top; y < j->top + j->lines; y++, out += j->pixels * channels) {
        const uint8_t *grey = light->plane + y * light->stride + j->left;
        if (channels == 1) {
            memcpy(out, grey, (size_t)j->pixels);
        } else if (j->count == 1) {
            for (int64_t x = 0; x < j->pixels; x++)
                out[3 * x] = out[3 * x + 1] = out[3 * x + 2] = grey[x];
        } else {
            int16_t *sums = (int16_t *)(rows + 2 * size + GG_LINE);
            const uint8_t *blue = gg_jpeg_chroma(j, 1, y, rows, sums);
            const uint8_t *red = gg_jpeg_chroma(j, 2, y, rows + size, sums);
            gg_jpeg_colors(grey, blue, red, j->pixels, out);
        }
    }
}

/* Serves a request. Returns whether the file is supported and undamaged. */
static int gg_jpeg_serve(gg_jpeg *j, gg_jpeg_request *r, int reads_sizes) {
    j->reads_sizes = reads_sizes, j->is_fast = (int)r->is_fast, j->is_fancy = (int)r->is_fancy;
    if (!gg_jpeg_header(j, r->data, r->data + r->bytes)) return 0;
    uint8_t *planes = (uint8_t *)(((uintptr_t)r->planes + 63) / 64 * 64);
    const int64_t space = gg_jpeg_lay_out(j, planes);
    if (reads_sizes) {
        r->height = j->height, r->width = j->width, r->components = j->count, r->space = space + 64;
        return 1;
    }
    const int has_room = r->space >= space + 64 && r->height == j->height && r->width == j->width;
    if (!has_room || !gg_jpeg_set_window(j, r)) return 0;
    const int is_grey = r->channels == 1;
    if (j->is_progressive ? !gg_jpeg_progressive_planes(j, r->data + 2, is_grey)
                          : !gg_jpeg_planes(j, is_grey))
        return 0;
    const gg_jpeg_component *last = &j->parts[j->count - 1];
    gg_jpeg_write(j, r->channels, last->plane + last->stride * j->rows * 8 * last->down, r->out);
    return 1;
}

static void gg_jpeg_decode(void *block, int64_t which) {
    gg_source *source = block;
    gg_jpeg_call *call = source->at[0];
    gg_jpeg_request *request = &call->requests[which];
    if (request->is_refused) return;
    gg_jpeg j;
    request->planes = (uint8_t *)gg_take(source, call->scratch, call->slot_bytes);
    request->is_refused = !gg_jpeg_serve(&j, request, 0);
    gg_give((char *)request->planes);
}

/* Reads sizes: the GIL stays held. */
void GG_NAME(gg_jpeg_sizes_plan)(gg_source *source) {
    source->count[0] = sizeof(gg_jpeg_call) / sizeof(int64_t);
    source->scratch_bytes = 0;
    source->nanoseconds = 1000;
}

int GG_NAME(gg_jpeg_sizes)(void *block) {
    gg_jpeg_call *call = ((gg_source *)block)->at[0];
    gg_jpeg j;
    for (gg_jpeg_request *r = call->requests; r < call->requests + call->count; r++)
        r->is_refused = !gg_jpeg_serve(&j, r, 1);
    return GG_DONE;
}

void GG_NAME(gg_jpeg_pixels_plan)(gg_source *source) {
    GG_NAME(gg_jpeg_sizes_plan)(source);
    source->nanoseconds = 1000000;
}

/* A file is a part. Its pixels are the same in any slot. */
int GG_NAME(gg_jpeg_pixels)(void *block) {
    gg_source *source = block;
    gg_jpeg_call *call = source->at[0];
    if (!call->threads) call->threads = source->threads;
    source->threads = gg_min(call->threads, call->slots);
    gg_free_slots(source, call->scratch, call->slot_bytes);
    source->parallel(gg_jpeg_decode, source, call->count, source->threads);
    return GG_DONE;
}
