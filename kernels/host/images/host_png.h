/* The rows of PNG files, from the differences to neighbours that the files hold (ISO 15948, 9).

   The only array holds the numbers of a request, so that a call is bound once. */

#include <stdlib.h>

#define GG_PNG_NUMBERS 6

typedef struct {
    int64_t height, size;  /* the rows, and their bytes without the kinds of filters */
    int64_t step;          /* bytes of a pixel, at least 1 */
    const uint8_t *from;   /* [height, 1 + size] */
    uint8_t *to;           /* [height, size] */
    const uint8_t *above;  /* the row above the first one */
} gg_png_request;

GG_ALWAYS int gg_png_nearest(int left, int up, int corner) {
    const int by_left = abs(up - corner), by_up = abs(left - corner);
    const int by_corner = abs(left + up - 2 * corner);
    const int second = by_up <= by_corner ? up : corner;
    return by_left <= by_up && by_left <= by_corner ? left : second;
}

/* Undoes a filter of a row; `up` is the row above. */
GG_ALWAYS void gg_png_row(int kind, const uint8_t *from, const uint8_t *restrict up,
                          uint8_t *restrict to, int64_t size, const int64_t step) {
    const int64_t start = gg_min(step, size);
    if (kind == 0) memcpy(to, from, (size_t)size);
    if (kind == 2)
        for (int64_t i = 0; i < size; i++) to[i] = (uint8_t)(from[i] + up[i]);
    if (kind == 0 || kind == 2) return;
    for (int64_t i = 0; i < start; i++)
        to[i] = (uint8_t)(from[i] + (kind == 1 ? 0 : kind == 3 ? up[i] / 2 : up[i]));
    if (kind == 1)
        for (int64_t i = step; i < size; i++) to[i] = (uint8_t)(from[i] + to[i - step]);
    if (kind == 3)
        for (int64_t i = step; i < size; i++)
            to[i] = (uint8_t)(from[i] + (to[i - step] + up[i]) / 2);
    if (kind != 4) return;
    for (int64_t i = step; i + step <= size; i += step)
        for (int64_t j = i; j < i + step; j++)
            to[j] = (uint8_t)(from[j] + gg_png_nearest(to[j - step], up[j], up[j - step]));
}

static int gg_png_run(void *block) {
    const gg_source *source = block;
    const gg_png_request *r = source->at[0];
    const int64_t size = r->size;
    const uint8_t *up = r->above;
    for (int64_t y = 0; y < r->height; y++) {
        const uint8_t *from = r->from + y * (size + 1) + 1;
        uint8_t *to = r->to + y * size;
        switch (r->step) {
            case 1: gg_png_row(from[-1], from, up, to, size, 1); break;
            case 2: gg_png_row(from[-1], from, up, to, size, 2); break;
            case 3: gg_png_row(from[-1], from, up, to, size, 3); break;
            case 4: gg_png_row(from[-1], from, up, to, size, 4); break;
            case 6: gg_png_row(from[-1], from, up, to, size, 6); break;
            default: gg_png_row(from[-1], from, up, to, size, 8);
        }
        up = to;
    }
    return GG_DONE;
}

void GG_NAME(gg_png_plan)(gg_source *source) {
    source->count[0] = GG_PNG_NUMBERS;
    source->scratch_bytes = 0;
    source->threads = 1;
    source->nanoseconds = 1000000;
}

int GG_NAME(gg_png)(void *block) { return gg_png_run(block); }
