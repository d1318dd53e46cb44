/* The gradients of pooling (see host_pooling.h).

   Contributions of windows to one element are added in the order of the window's elements, as in
   NumPy: so windows are processed from the last to the first, except for disjoint ones, which go
   in the order of memory. The work is divided into parts by rows of the images; windows on the
   border of two parts are processed in both. */

/* -- the gradient of the maximum */

/* For some channels, the number (within the part that is inside) of each window's maximum:
   the first until a larger one comes, also if it is NaN; -1 if nothing is inside. `place`
   holds whole vectors. */
static void GG_NAME(gg_find_places)(const GG_NAME(gg_pool_work) * work, int64_t from,
                                    const gg_window *w, int64_t channels, gg_real *place) {
    const gg_pool *p = work->p;
    int64_t row = p->x.size * p->channels;
    for (int64_t c = 0; c < channels; c += GG_REAL_LANES) {
        GG_NAME(gg_vector) best = -(gg_real)INFINITY - (GG_NAME(gg_vector)){0}, found, number;
        found = number = (GG_NAME(gg_vector)){0};
        if (w->rows > 0 && w->columns > 0 && !p->of_volume)
            best = GG_NAME(gg_first)(work->images + from + c, channels - c, work->images_end);
        else
            found -= 1;
        for (int64_t i = 0; i < w->rows; i++)
            for (int64_t j = 0; j < w->columns; j++, number += 1) {
                const gg_real *at = work->images + from + i * row + j * p->channels + c;
                GG_NAME(gg_vector) x = GG_NAME(gg_first)(at, channels - c, work->images_end);
                GG_NAME(gg_mask) is_larger = x > best;
                best = GG_NAME(gg_chosen)(is_larger, x, best);
                found = GG_NAME(gg_chosen)(is_larger, number, found);
            }
        *(GG_NAME(gg_vector) *)(place + c) = found;
    }
}

/* Both at once for two by two elements that are in no other window, their rows `row` apart, for
   all channels, which fill vectors. */
static void GG_NAME(gg_max_back_four)(const gg_real *images, const gg_real *given, int64_t channels,
                                      int64_t row, gg_real *out) {
    int64_t at[4] = {0, channels, row, row + channels};
    GG_NAME(gg_vector) nothing = {0};
    for (int64_t c = 0; c + GG_REAL_LANES <= channels; c += GG_REAL_LANES) {
        GG_NAME(gg_vector) best = *(const GG_NAME(gg_vector) *)(images + c), found = nothing;
        GG_NAME(gg_vector) slope = *(const GG_NAME(gg_vector) *)(given + c);
        GG_UNROLL for (int e = 1; e < 4; e++) {
            GG_NAME(gg_vector) x = *(const GG_NAME(gg_vector) *)(images + at[e] + c);
            GG_NAME(gg_mask) is_larger = x > best;
            best = GG_NAME(gg_chosen)(is_larger, x, best);
            found = GG_NAME(gg_chosen)(is_larger, (gg_real)e - nothing, found);
        }
        GG_UNROLL for (int e = 0; e < 4; e++)
            *(GG_NAME(gg_vector) *)(out + at[e] + c) =
                GG_NAME(gg_chosen)(found == (gg_real)e - nothing, slope, nothing);
    }
}

static void GG_NAME(gg_max_back_tile)(const GG_NAME(gg_pool_work) * work, const gg_window *w,
                                      int64_t first, int64_t last) {
    const gg_pool *p = work->p;
    const int64_t from = w->from * p->channels;
    (void)first, (void)last; /* a part has whole windows */
    GG_NAME(gg_max_back_four)(work->images + from, work->given + w->to * p->channels, p->channels,
                              p->x.size * p->channels, work->out + from);
}

/* -- of other windows: the numbers of the maxima of all windows that contain a row of the image are
   kept, for some channels. Each element of the row then sums the gradients of its windows. */

GG_BRIEF_END

#ifndef GG_POOLING_GRADIENTS
#define GG_POOLING_GRADIENTS

/* The windows along one axis that contain a position: how many, and the last one. */
static int64_t gg_pool_holding(const gg_pool_axis *axis, int64_t position, int64_t *last) {
    const int64_t at = position + axis->before;
    const int64_t low = gg_max(-gg_floor(axis->window - 1 - at, axis->stride), 0);
    *last = gg_min(gg_floor(at, axis->stride), axis->windows - 1);
    return gg_max(*last - low + 1, 0);
}

static int64_t gg_pool_kept_rows(const gg_pool *p) { return gg_ceil(p->y.window, p->y.stride); }

#endif

#define GG_KEPT_CHANNELS (4 * GG_REAL_LANES)

/* The number of a window's maximum, as in gg_find_places, for one vector of channels. Numbers are
   those in a window without padding. */
GG_ALWAYS GG_NAME(gg_mask) GG_NAME(gg_place_of)(const gg_pool *p, const int64_t rows,
                                                const int64_t columns, const gg_window *w,
                                                const int is_whole, const gg_real *from,
                                                int64_t count, const gg_real *end) {
    const int64_t row = p->x.size * p->channels, width = p->x.window;
    GG_NAME(gg_mask) found = {0};
    if (rows <= 0 || columns <= 0) return found - 1;
    found += (int)(w->i * width + w->j);
    GG_NAME(gg_vector) best = is_whole ? *(const GG_NAME(gg_vector) *)from
                                       : GG_NAME(gg_first)(from, count, end);
    if (p->of_volume) {
        best = -(gg_real)INFINITY - (GG_NAME(gg_vector)){0};
        found = (GG_NAME(gg_mask)){0} - 1;
    }
    GG_UNROLL for (int64_t i = 0; i < rows; i++)
        GG_UNROLL for (int64_t j = 0; j < columns; j++) {
            const gg_real *at = from + i * row + j * p->channels;
            const GG_NAME(gg_vector) x = is_whole ? *(const GG_NAME(gg_vector) *)at
                                                  : GG_NAME(gg_first)(at, count, end);
            const GG_NAME(gg_mask) is_larger = x > best;
            const GG_NAME(gg_mask) number = (GG_NAME(gg_mask)){0} + (int)((w->i + i) * width + w->j + j);
            best = GG_NAME(gg_chosen)(is_larger, x, best);
            found = (is_larger & number) | (~is_larger & found);
        }
    return found;
}

/* Those of a row of windows, for the channels from `start` on. */
static void GG_NAME(gg_keep_places)(const GG_NAME(gg_pool_work) * work, int64_t image, int64_t oy,
                                    int64_t start, int64_t channels, GG_NAME(gg_mask) * kept) {
    const gg_pool *p = work->p;
    for (int64_t ox = 0; ox < p->x.windows; ox++, kept += GG_KEPT_CHANNELS / GG_REAL_LANES) {
        const gg_window w = gg_window_of(p, image, oy, ox);
        const gg_real *from = work->images + w.from * p->channels + start;
        const int is_three = w.rows == 3 && w.columns == 3;
        int64_t c = 0;
        for (; is_three && c + GG_REAL_LANES <= channels; c += GG_REAL_LANES)
            kept[c / GG_REAL_LANES] = GG_NAME(gg_place_of)(p, 3, 3, &w, 1, from + c, 0, NULL);
        for (; c + GG_REAL_LANES <= channels; c += GG_REAL_LANES)
            kept[c / GG_REAL_LANES] =
                GG_NAME(gg_place_of)(p, w.rows, w.columns, &w, 1, from + c, 0, NULL);
        if (c < channels)
            kept[c / GG_REAL_LANES] = GG_NAME(gg_place_of)(p, w.rows, w.columns, &w, 0, from + c,
                                                           channels - c, work->images_end);
    }
}

/* The windows that contain an element: `rows` times `columns`, from the last one down. */
typedef struct {
    const GG_NAME(gg_mask) *kept[2]; /* of the last window of the last two rows of windows */
    const gg_real *given[2], *given_end;
    int64_t number[2]; /* the element's number in these */
    int64_t stride, channels; /* from window to window: of numbers, of the gradient */
} GG_NAME(gg_holding);

/* One vector of sums for an element; the `count` first ones if it is not whole. */
GG_ALWAYS void GG_NAME(gg_sum_vector)(const GG_NAME(gg_holding) * h, const int rows,
                                      const int64_t columns, const int adds, const int is_whole,
                                      int64_t c, int64_t count, gg_real *out) {
    const int64_t each = GG_KEPT_CHANNELS / GG_REAL_LANES;
    GG_NAME(gg_vector) sum = {0};
    if (adds) sum = is_whole ? *(GG_NAME(gg_vector) *)out : GG_NAME(gg_first)(out, count, out);
    GG_UNROLL for (int a = 0; a < rows; a++)
        for (int64_t b = 0; b < columns; b++) {
            const gg_real *given = h->given[a] - b * h->channels + c;
            const GG_NAME(gg_mask) number =
                (GG_NAME(gg_mask)){0} + (int)(h->number[a] + b * h->stride);
            const GG_NAME(gg_mask) here = h->kept[a][c / GG_REAL_LANES - b * each] == number;
            const GG_NAME(gg_vector) slope = is_whole
                                                 ? *(const GG_NAME(gg_vector) *)given
                                                 : GG_NAME(gg_first)(given, count, h->given_end);
            sum += (GG_NAME(gg_vector))(here & (GG_NAME(gg_mask))slope);
        }
    if (is_whole)
        *(GG_NAME(gg_vector) *)out = sum;
    else
        GG_NAME(gg_put_first)(sum, count, out);
}

/* Sums for the `channels` of an element; adds to `out` if there are earlier sums. */
GG_ALWAYS void GG_NAME(gg_sum_windows)(const GG_NAME(gg_holding) * h, const int rows,
                                       const int64_t columns, const int adds, int64_t channels,
                                       gg_real *out) {
    int64_t c = 0;
    for (; c + GG_REAL_LANES <= channels; c += GG_REAL_LANES)
        GG_NAME(gg_sum_vector)(h, rows, columns, adds, 1, c, GG_REAL_LANES, out + c);
    if (c < channels)
        GG_NAME(gg_sum_vector)(h, rows, columns, adds, 0, c, channels - c, out + c);
}

static void GG_NAME(gg_max_back_row)(const GG_NAME(gg_pool_work) * work, int64_t image, int64_t y,
                                     int64_t start, int64_t channels,
                                     const GG_NAME(gg_mask) * kept) {
    const gg_pool *p = work->p;
    const int64_t each = GG_KEPT_CHANNELS / GG_REAL_LANES, ring = gg_pool_kept_rows(p);
    gg_real *out = work->out + (image * p->y.size + y) * p->x.size * p->channels + start;
    int64_t oy, ox = -1, low = 0, rows = gg_pool_holding(&p->y, y, &oy);
    for (int64_t x = 0; x < p->x.size; x++, out += p->channels) {
        while (ox + 1 < p->x.windows && (ox + 1) * p->x.stride <= x + p->x.before) ox++;
        while (low * p->x.stride + p->x.window <= x + p->x.before) low++;
        const int64_t columns = gg_max(ox - low + 1, 0);
        GG_NAME(gg_holding) h = {.given_end = work->given_end, .stride = p->x.stride,
                                 .channels = p->channels};
        for (int64_t first = 0; first < gg_max(rows, 1); first += 2) {
            const int64_t some = rows > 0 ? gg_min(rows - first, 2) : 0;
            for (int64_t a = 0; a < some; a++) {
                const int64_t row = oy - first - a;
                h.kept[a] = kept + (row % ring * p->x.windows + ox) * each;
                h.given[a] = work->given + start +
                             ((image * p->y.windows + row) * p->x.windows + ox) * p->channels;
                h.number[a] = (y + p->y.before - row * p->y.stride) * p->x.window + x +
                              p->x.before - ox * p->x.stride;
            }
            if (first || some == 0)
                GG_NAME(gg_sum_windows)(&h, (int)some, columns, first > 0, channels, out);
            else if (some == 1 && columns == 1)
                GG_NAME(gg_sum_windows)(&h, 1, 1, 0, channels, out);
            else if (some == 1)
                GG_NAME(gg_sum_windows)(&h, 1, columns, 0, channels, out);
            else if (columns == 1)
                GG_NAME(gg_sum_windows)(&h, 2, 1, 0, channels, out);
            else if (columns == 2)
                GG_NAME(gg_sum_windows)(&h, 2, 2, 0, channels, out);
            else
                GG_NAME(gg_sum_windows)(&h, 2, columns, 0, channels, out);
        }
    }
}

GG_BRIEF

/* The windows with some of the rows `first` to `last`, in reverse order. */
static void GG_NAME(gg_pool_back)(const GG_NAME(gg_pool_work) * work, int64_t image, int64_t first,
                                  int64_t last,
                                  void (*give)(const GG_NAME(gg_pool_work) *, const gg_window *,
                                               int64_t, int64_t)) {
    const gg_pool *p = work->p;
    int64_t low = -gg_floor(p->y.window - 1 - p->y.before - first, p->y.stride);
    int64_t high = gg_floor(last - 1 + p->y.before, p->y.stride), row = p->x.size * p->channels;
    gg_real *out = work->out + (image * p->y.size + first) * row;
    if (!p->is_tiled) memset(out, 0, (last - first) * row * sizeof(gg_real));
    low = gg_max(low, 0), high = gg_min(high, p->y.windows - 1);
    for (int64_t i = low; i <= high; i++)
        for (int64_t j = 0; j < p->x.windows; j++) {
            int64_t oy = p->is_tiled ? i : low + high - i;
            int64_t ox = p->is_tiled ? j : p->x.windows - 1 - j;
            gg_window w = gg_window_of(p, image, oy, ox);
            give(work, &w, first, last);
        }
}

static int64_t GG_NAME(gg_kept_bytes)(const gg_pool *p) {
    return gg_pool_kept_rows(p) * p->x.windows * GG_KEPT_CHANNELS * (int64_t)sizeof(gg_real);
}

static void GG_NAME(gg_max_back_rows)(const GG_NAME(gg_pool_work) * work, int64_t image,
                                      int64_t first, int64_t last) {
    const gg_pool *p = work->p;
    const int is_four = p->is_tiled && p->y.window == 2 && p->x.window == 2;
    if (is_four && p->channels % GG_REAL_LANES == 0) {
        GG_NAME(gg_pool_back)(work, image, first, last, GG_NAME(gg_max_back_tile));
        return;
    }
    const int64_t each = p->x.windows * GG_KEPT_CHANNELS / GG_REAL_LANES;
    char *slot = gg_take(p->source, p->source->scratch, GG_NAME(gg_kept_bytes)(p));
    GG_NAME(gg_mask) *kept = (GG_NAME(gg_mask) *)slot;
    for (int64_t start = 0; start < p->channels; start += GG_KEPT_CHANNELS) {
        const int64_t channels = gg_min(p->channels - start, GG_KEPT_CHANNELS);
        int64_t last_row, next = -1;
        for (int64_t y = first; y < last; y++) {
            const int64_t rows = gg_pool_holding(&p->y, y, &last_row);
            for (next = gg_max(next, last_row - rows + 1); next <= last_row; next++)
                GG_NAME(gg_keep_places)(work, image, next, start, channels,
                                        kept + next % gg_pool_kept_rows(p) * each);
            GG_NAME(gg_max_back_row)(work, image, y, start, channels, kept);
        }
    }
    gg_give(slot);
}

void GG_NAME(gg_max_pool_back_plan)(gg_source *source) {
    gg_pool_set_count(source, 0, 1);
    gg_pool_set_count(source, 3, 2);
    gg_pool_plan(source, 0);
    const gg_pool p = gg_pool_of(source, 0);
    source->scratch_bytes = gg_slots_bytes(source, GG_NAME(gg_kept_bytes)(&p));
}

/* images, windows, gradient of the windows -> gradient by the images */
int GG_NAME(gg_max_pool_back)(void *block) {
    gg_source *source = block;
    const gg_pool p = gg_pool_of(source, 0);
    gg_free_slots(source, source->scratch, GG_NAME(gg_kept_bytes)(&p));
    return GG_NAME(gg_pool_run)(block, 0, 0, 2, 3, GG_NAME(gg_max_back_rows));
}

/* -- and the gradient of that */

static void GG_NAME(gg_max_back_back_rows)(const GG_NAME(gg_pool_work) * work, int64_t image,
                                           int64_t first, int64_t last) {
    const gg_pool *p = work->p;
    gg_real place[GG_POOL_CHANNELS];
    for (int64_t oy = first; oy < last; oy++)
        for (int64_t at = 0; at < p->x.windows * p->channels; at++) {
            int64_t start = at % p->channels;
            if (start % GG_POOL_CHANNELS) continue;
            gg_window w = gg_window_of(p, image, oy, at / p->channels);
            int64_t channels = gg_min(p->channels - start, GG_POOL_CHANNELS);
            int64_t from = w.from * p->channels + start;
            gg_real *to = work->out + w.to * p->channels + start;
            GG_NAME(gg_find_places)(work, from, &w, channels, place);
            for (int64_t c = 0; c < channels; c++) {
                int64_t found = (int64_t)place[c], columns = gg_max(w.columns, 1);
                int64_t element = found / columns * p->x.size + found % columns;
                to[c] = found < 0 ? 0 : work->given[from + element * p->channels + c];
            }
        }
}

void GG_NAME(gg_max_pool_back_back_plan)(gg_source *source) {
    gg_pool_set_count(source, 0, 1);
    gg_pool_set_count(source, 2, 3);
    gg_pool_plan(source, 1);
}

/* images, windows, gradient of the gradient by the images -> gradient of the windows' gradient */
int GG_NAME(gg_max_pool_back_back)(void *block) {
    return GG_NAME(gg_pool_run)(block, 1, 0, 2, 3, GG_NAME(gg_max_back_back_rows));
}

/* -- the gradient of the mean */

/* to = or += given * share. */
GG_ALWAYS void GG_NAME(gg_give_shares)(const int is_first, const gg_real *given, gg_real share,
                                       int64_t channels, gg_real *to) {
    int64_t c = 0;
    for (; c + GG_REAL_LANES <= channels; c += GG_REAL_LANES) {
        GG_NAME(gg_vector) more = *(const GG_NAME(gg_vector) *)(given + c) * share;
        if (!is_first) more += *(GG_NAME(gg_vector) *)(to + c);
        *(GG_NAME(gg_vector) *)(to + c) = more;
    }
    for (; c < channels; c++) to[c] = is_first ? given[c] * share : to[c] + given[c] * share;
}

static void GG_NAME(gg_mean_back_window)(const GG_NAME(gg_pool_work) * work, const gg_window *w,
                                         int64_t first, int64_t last) {
    const gg_pool *p = work->p;
    const gg_real *given = work->given + w->to * p->channels;
    gg_real share = (gg_real)gg_window_share(w);
    for (int64_t i = gg_max(first - w->y, 0); i < gg_min(w->rows, last - w->y); i++)
        for (int64_t j = 0; j < w->columns; j++) {
            gg_real *to = work->out + (w->from + i * p->x.size + j) * p->channels;
            if (p->is_tiled)
                GG_NAME(gg_give_shares)(1, given, share, p->channels, to);
            else
                GG_NAME(gg_give_shares)(0, given, share, p->channels, to);
        }
}

static void GG_NAME(gg_mean_back_rows)(const GG_NAME(gg_pool_work) * work, int64_t image,
                                       int64_t first, int64_t last) {
    GG_NAME(gg_pool_back)(work, image, first, last, GG_NAME(gg_mean_back_window));
}

void GG_NAME(gg_mean_pool_back_plan)(gg_source *source) {
    gg_pool_set_count(source, 1, 0);
    gg_pool_plan(source, 0);
}

/* gradient of the windows -> gradient by the images */
int GG_NAME(gg_mean_pool_back)(void *block) {
    return GG_NAME(gg_pool_run)(block, 0, -1, 0, 1, GG_NAME(gg_mean_back_rows));
}
