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

/* Adds the gradient to an element of the window, if it is the maximum. */
static void GG_NAME(gg_give_place)(int is_first, const gg_real *place, gg_real number,
                                   const gg_real *given, const gg_real *given_end,
                                   int64_t channels, gg_real *to) {
    GG_NAME(gg_vector) nothing = {0};
    for (int64_t c = 0; c < channels; c += GG_REAL_LANES) {
        int64_t count = channels - c;
        GG_NAME(gg_mask) is_here = *(const GG_NAME(gg_vector) *)(place + c) == number;
        GG_NAME(gg_vector) more = GG_NAME(gg_first)(given + c, count, given_end);
        more = GG_NAME(gg_chosen)(is_here, more, nothing);
        if (!is_first) more += GG_NAME(gg_first)(to + c, count, to + channels);
        GG_NAME(gg_put_first)(more, count, to + c);
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

GG_BRIEF_END

/* Both at once for one vector of channels: the maximum's number stays in a register. The rows `low`
   to `high` of the window get the gradient. */
GG_ALWAYS void GG_NAME(gg_max_back_vector)(const gg_pool *p, const int64_t rows,
                                           const int64_t columns, const int64_t low,
                                           const int64_t high, const gg_real *from,
                                           const gg_real *given, gg_real *out) {
    const int64_t channels = p->channels, row = p->x.size * channels;
    GG_NAME(gg_mask) found = {0}, number = {0};
    GG_NAME(gg_vector) best = *(const GG_NAME(gg_vector) *)from;
    if (p->of_volume) {
        best = -(gg_real)INFINITY - (GG_NAME(gg_vector)){0};
        found -= 1;
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++, number += 1) {
            const GG_NAME(gg_vector) x = *(const GG_NAME(gg_vector) *)(from + i * row + j * channels);
            const GG_NAME(gg_mask) is_larger = x > best;
            best = GG_NAME(gg_chosen)(is_larger, x, best);
            found = (is_larger & number) | (~is_larger & found);
        }
    const GG_NAME(gg_mask) slope = *(const GG_NAME(gg_mask) *)given;
    number = (GG_NAME(gg_mask)){0} + (int)(low * columns);
    for (int64_t i = low; i < high; i++)
        for (int64_t j = 0; j < columns; j++, number += 1) {
            GG_NAME(gg_vector) *to = (GG_NAME(gg_vector) *)(out + i * row + j * channels);
            const GG_NAME(gg_mask) more = (found == number) & slope;
            *to += (GG_NAME(gg_vector))more;
        }
}

static void GG_NAME(gg_max_back_whole)(const GG_NAME(gg_pool_work) * work, const gg_window *w,
                                       int64_t first, int64_t last) {
    const gg_pool *p = work->p;
    const int64_t at = w->from * p->channels, to = w->to * p->channels;
    const int64_t low = gg_max(first - w->y, 0), high = gg_min(w->rows, last - w->y);
    if (w->rows <= 0 || w->columns <= 0) return;
    const gg_real *images = work->images + at, *given = work->given + to;
    gg_real *out = work->out + at;
    const int is_three = w->rows == 3 && w->columns == 3 && low == 0 && high == 3;
    for (int64_t c = 0; is_three && c < p->channels; c += GG_REAL_LANES)
        GG_NAME(gg_max_back_vector)(p, 3, 3, 0, 3, images + c, given + c, out + c);
    for (int64_t c = 0; !is_three && c < p->channels; c += GG_REAL_LANES)
        GG_NAME(gg_max_back_vector)(p, w->rows, w->columns, low, high, images + c, given + c, out + c);
}

GG_BRIEF

/* Adds a window's contribution to the rows `first` to `last` of the image. */
static void GG_NAME(gg_max_back_window)(const GG_NAME(gg_pool_work) * work, const gg_window *w,
                                        int64_t first, int64_t last) {
    const gg_pool *p = work->p;
    gg_real place[GG_POOL_CHANNELS];
    int is_four = p->is_tiled && w->rows == 2 && w->columns == 2;
    int is_inside = first <= w->y && w->y + 2 <= last;
    if (is_four && is_inside && p->channels % GG_REAL_LANES == 0) {
        int64_t from = w->from * p->channels;
        GG_NAME(gg_max_back_four)(work->images + from, work->given + w->to * p->channels,
                                  p->channels, p->x.size * p->channels, work->out + from);
        return;
    }
    if (!p->is_tiled && p->channels % GG_REAL_LANES == 0) {
        GG_NAME(gg_max_back_whole)(work, w, first, last);
        return;
    }
    for (int64_t start = 0; start < p->channels; start += GG_POOL_CHANNELS) {
        int64_t channels = gg_min(p->channels - start, GG_POOL_CHANNELS);
        const gg_real *given = work->given + w->to * p->channels + start;
        GG_NAME(gg_find_places)(work, w->from * p->channels + start, w, channels, place);
        for (int64_t i = gg_max(first - w->y, 0); i < gg_min(w->rows, last - w->y); i++)
            for (int64_t j = 0; j < w->columns; j++)
                GG_NAME(gg_give_place)(
                    p->is_tiled, place, (gg_real)(i * w->columns + j), given, work->given_end,
                    channels,
                    work->out + (w->from + i * p->x.size + j) * p->channels + start);
    }
}

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

static void GG_NAME(gg_max_back_rows)(const GG_NAME(gg_pool_work) * work, int64_t image,
                                      int64_t first, int64_t last) {
    GG_NAME(gg_pool_back)(work, image, first, last, GG_NAME(gg_max_back_window));
}

void GG_NAME(gg_max_pool_back_plan)(gg_source *source) {
    gg_pool_set_count(source, 0, 1);
    gg_pool_set_count(source, 3, 2);
    gg_pool_plan(source, 0);
}

/* images, windows, gradient of the windows -> gradient by the images */
int GG_NAME(gg_max_pool_back)(void *block) {
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
