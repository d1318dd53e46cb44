/* Images whose pixels are copies of others: bytes of any dtype.

   Parameters: batch, height, width, new height, new width, the bytes of a pixel, of an element,
   then the row of each new row and the column of each new column. Arrays: images, out. */

#include "host_rows.h"

typedef struct {
    int64_t height, width, new_height, new_width, pixel, rows_each, blocks;
    const int64_t *rows, *columns;
    const char *from;
    char *to;
} gg_nearest_pixels;

static gg_nearest_pixels gg_nearest_of(gg_source *source) {
    const int64_t *n = source->parameters;
    gg_nearest_pixels p = {.height = n[1], .width = n[2], .new_height = n[3], .new_width = n[4],
                           .pixel = n[5], .rows = n + 7, .columns = n + 7 + n[3]};
    p.rows_each = gg_max(4, gg_ceil(65536, gg_max(p.new_width * p.pixel, 1)));
    p.blocks = gg_ceil(p.new_height, p.rows_each);
    return p;
}

void GG_NAME(gg_nearest_plan)(gg_source *source) {
    gg_nearest_pixels p = gg_nearest_of(source);
    const int64_t *n = source->parameters;
    source->count[0] = n[0] * p.height * p.width * p.pixel / gg_max(n[6], 1);
    source->count[1] = n[0] * p.new_height * p.new_width * p.pixel / gg_max(n[6], 1);
    source->scratch_bytes = 0;
    gg_set_work(source, (double)n[0] * p.new_height * p.new_width * (1 + p.pixel * 0.05));
}

GG_ALWAYS void gg_nearest_row(const int64_t pixel, const gg_nearest_pixels *p, const char *from,
                              char *to) {
    for (int64_t x = 0; x < p->new_width; x++)
        memcpy(to + x * pixel, from + p->columns[x] * pixel, (size_t)pixel);
}

static void gg_nearest_part(void *block, int64_t which) {
    const gg_nearest_pixels *p = block;
    const int64_t image = which / p->blocks, first = which % p->blocks * p->rows_each;
    const int64_t row_bytes = p->new_width * p->pixel;
    for (int64_t y = first; y < gg_min(first + p->rows_each, p->new_height); y++) {
        char *to = p->to + (image * p->new_height + y) * row_bytes;
        const char *from = p->from + (image * p->height + p->rows[y]) * p->width * p->pixel;
        if (y > first && p->rows[y] == p->rows[y - 1]) {
            memcpy(to, to - row_bytes, (size_t)row_bytes);
            continue;
        }
        switch (p->pixel) {
            case 1: gg_nearest_row(1, p, from, to); break;
            case 3: gg_nearest_row(3, p, from, to); break;
            case 4: gg_nearest_row(4, p, from, to); break;
            case 12: gg_nearest_row(12, p, from, to); break;
            default: gg_nearest_row(p->pixel, p, from, to);
        }
    }
}

int GG_NAME(gg_nearest)(void *block) {
    gg_source *source = block;
    gg_nearest_pixels p = gg_nearest_of(source);
    p.from = source->at[0], p.to = source->at[1];
    source->parallel(gg_nearest_part, &p, source->parameters[0] * p.blocks, source->threads);
    return GG_DONE;
}
