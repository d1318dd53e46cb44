/* LSTMs over short rows, and their gradients, as in gpugraph/ops/nn/recurrent/block_lstm_ops.py.

   Parameters: steps, batch, inputs, the state's size, the places of i, ci, f and o among the blocks
   of columns, whether there are peepholes, the bits of forget_bias and of cell_clip (doubles), the
   number of arrays before x. Arrays: the number of steps to compute (of sequences), x, cs_prev,
   h_prev, w, wci, wcf, wco, b; of the gradient also the outputs and the gradients of cs and h.
   Outputs: i, cs, f, o, ci, co, h; or the gradients by x and the seven others. */

#include "host_math.h"

enum { GG_LSTM_I, GG_LSTM_CS, GG_LSTM_F, GG_LSTM_O, GG_LSTM_CI, GG_LSTM_CO, GG_LSTM_H };
enum { GG_LSTM_PARTS = 7 };

typedef struct {
    int64_t steps, batch, inputs, size, peeps;
    const int64_t *order;
    gg_real bias, clip;
    void *const *at; /* of x on */
} GG_NAME(gg_lstm);

static GG_NAME(gg_lstm) GG_NAME(gg_lstm_of)(const gg_source *source) {
    const int64_t *n = source->parameters, before = n[11];
    GG_NAME(gg_lstm) l = {n[0], n[1], n[2], n[3], n[8], n + 4, 0, 0, source->at + before};
    double numbers[2];
    memcpy(numbers, n + 9, sizeof numbers);
    l.bias = (gg_real)numbers[0], l.clip = (gg_real)numbers[1];
    if (before) l.steps = gg_max(0, gg_min(l.steps, *(const int64_t *)source->at[0]));
    return l;
}

/* Sets the sizes of the arrays before the outputs; returns the number of these arrays. */
static int64_t GG_NAME(gg_lstm_sized)(gg_source *source) {
    const int64_t *n = source->parameters, states = n[1] * n[3];
    const int64_t sizes[] = {n[0] * n[1] * n[2], states, states, (n[2] + n[3]) * 4 * n[3],
                             n[3], n[3], n[3], 4 * n[3]};
    int64_t k = 0;
    if (n[11]) source->count[k++] = 1;
    for (int64_t i = 0; i < 8; i++) source->count[k++] = sizes[i];
    gg_set_work(source, (double)n[0] * n[1] * ((n[2] + n[3]) * 0.2 + 10) * n[3]);
    return k;
}

GG_ALWAYS gg_real GG_NAME(gg_lstm_open)(gg_real x) { return 1 / (1 + exp(-x)); }

/* to += by * from */
static void GG_NAME(gg_lstm_add)(gg_real *restrict to, const gg_real *from, gg_real by,
                                 int64_t count) {
    GG_LOOP for (int64_t i = 0; i < count; i++) to[i] += by * from[i];
}

enum { GG_LSTM_ROWS = 4 }; /* of the batch, that share what they load of w */

/* gates += x w, for GG_LSTM_ROWS rows of `count` numbers. */
static void GG_NAME(gg_lstm_times)(gg_real *restrict gates, const gg_real *const *x,
                                   const gg_real *restrict w, int64_t count, int64_t wide) {
    const int64_t lanes = GG_REAL_LANES;
    int64_t j = 0;
    for (; j + 2 * lanes <= wide; j += 2 * lanes) {
        GG_NAME(gg_vector) sums[GG_LSTM_ROWS][2];
        GG_UNROLL for (int r = 0; r < GG_LSTM_ROWS; r++)
            for (int v = 0; v < 2; v++)
                sums[r][v] = *(const GG_NAME(gg_vector) *)(gates + r * wide + j + v * lanes);
        for (int64_t k = 0; k < count; k++) {
            const gg_real *row = w + k * wide + j;
            const GG_NAME(gg_vector) one = *(const GG_NAME(gg_vector) *)row;
            const GG_NAME(gg_vector) two = *(const GG_NAME(gg_vector) *)(row + lanes);
            GG_UNROLL for (int r = 0; r < GG_LSTM_ROWS; r++) {
                const GG_NAME(gg_vector) each = x[r][k] - (GG_NAME(gg_vector)){0};
                GG_ADD_PRODUCT(sums[r][0], each, one);
                GG_ADD_PRODUCT(sums[r][1], each, two);
            }
        }
        GG_UNROLL for (int r = 0; r < GG_LSTM_ROWS; r++)
            for (int v = 0; v < 2; v++)
                *(GG_NAME(gg_vector) *)(gates + r * wide + j + v * lanes) = sums[r][v];
    }
    for (; j < wide; j++)
        for (int r = 0; r < GG_LSTM_ROWS; r++)
            for (int64_t k = 0; k < count; k++) gates[r * wide + j] += x[r][k] * w[k * wide + j];
}

/* The activations of one row of one step. */
static void GG_NAME(gg_lstm_activate)(const GG_NAME(gg_lstm) * l, const gg_real *restrict gates,
                                      const gg_real *restrict before, int64_t at) {
    const gg_real *restrict wci = l->at[4], *restrict wcf = l->at[5], *restrict wco = l->at[6];
    const int64_t size = l->size;
    const gg_real *in = gates + l->order[0] * size, *new = gates + l->order[1] * size;
    const gg_real *kept = gates + l->order[2] * size, *out = gates + l->order[3] * size;
    gg_real *restrict p[GG_LSTM_PARTS];
    for (int k = 0; k < GG_LSTM_PARTS; k++) p[k] = (gg_real *)l->at[8 + k] + at;
    const gg_real clip = l->clip > 0 ? l->clip : (gg_real)INFINITY, bias = l->bias;
    const int64_t peeps = l->peeps; /* a peephole at infinity is no NaN without it */
    GG_LOOP for (int64_t j = 0; j < size; j++) {
        const gg_real i = GG_NAME(gg_lstm_open)(peeps ? in[j] + wci[j] * before[j] : in[j]);
        const gg_real f = GG_NAME(gg_lstm_open)(
            peeps ? kept[j] + bias + wcf[j] * before[j] : kept[j] + bias);
        const gg_real ci = tanh(new[j]);
        gg_real cs = ci * i + before[j] * f;
        cs = cs < -clip ? -clip : cs > clip ? clip : cs;
        const gg_real o = GG_NAME(gg_lstm_open)(peeps ? out[j] + cs * wco[j] : out[j]);
        const gg_real co = tanh(cs);
        p[GG_LSTM_I][j] = i, p[GG_LSTM_CS][j] = cs, p[GG_LSTM_F][j] = f, p[GG_LSTM_O][j] = o;
        p[GG_LSTM_CI][j] = ci, p[GG_LSTM_CO][j] = co, p[GG_LSTM_H][j] = o * co;
    }
}

void GG_NAME(gg_block_lstm_plan)(gg_source *source) {
    const int64_t *n = source->parameters, first = GG_NAME(gg_lstm_sized)(source);
    for (int64_t k = 0; k < GG_LSTM_PARTS; k++) source->count[first + k] = n[0] * n[1] * n[3];
    source->scratch_bytes =
        gg_slots_bytes(source, GG_LSTM_ROWS * 4 * n[3] * (int64_t)sizeof(gg_real));
}

/* All steps of GG_LSTM_ROWS rows. */
static void GG_NAME(gg_lstm_part)(void *work, int64_t part) {
    gg_source *source = work;
    const GG_NAME(gg_lstm) l = GG_NAME(gg_lstm_of)(source);
    const int64_t wide = 4 * l.size, bytes = GG_LSTM_ROWS * wide * (int64_t)sizeof(gg_real);
    const gg_real *w = l.at[3], *b = l.at[7];
    gg_real *gates = (gg_real *)gg_take(source, source->scratch, bytes);
    for (int64_t step = 0; step < l.steps; step++) {
        const gg_real *x[GG_LSTM_ROWS], *states[GG_LSTM_ROWS], *outputs[GG_LSTM_ROWS];
        int64_t rows[GG_LSTM_ROWS];
        for (int r = 0; r < GG_LSTM_ROWS; r++) { /* after the last row, it is repeated */
            const int64_t own = gg_min(part * GG_LSTM_ROWS + r, l.batch - 1);
            const int64_t row = step * l.batch + own, last = (row - l.batch) * l.size;
            rows[r] = row, x[r] = (gg_real *)l.at[0] + row * l.inputs;
            states[r] = step ? (gg_real *)l.at[9] + last : (gg_real *)l.at[1] + own * l.size;
            outputs[r] = step ? (gg_real *)l.at[14] + last : (gg_real *)l.at[2] + own * l.size;
            memcpy(gates + r * wide, b, (size_t)wide * sizeof(gg_real));
        }
        GG_NAME(gg_lstm_times)(gates, x, w, l.inputs, wide);
        GG_NAME(gg_lstm_times)(gates, outputs, w + l.inputs * wide, l.size, wide);
        for (int r = 0; r < gg_min(GG_LSTM_ROWS, l.batch - part * GG_LSTM_ROWS); r++)
            GG_NAME(gg_lstm_activate)(&l, gates + r * wide, states[r], rows[r] * l.size);
    }
    gg_give((char *)gates);
}

int GG_NAME(gg_block_lstm)(void *block) {
    gg_source *source = block;
    const GG_NAME(gg_lstm) l = GG_NAME(gg_lstm_of)(source);
    const int64_t area = l.batch * l.size, whole = source->parameters[0] * area;
    const int64_t bytes = GG_LSTM_ROWS * 4 * l.size * (int64_t)sizeof(gg_real);
    for (int64_t k = 0; k < GG_LSTM_PARTS; k++)
        memset((gg_real *)l.at[8 + k] + l.steps * area, 0,
               (size_t)(whole - l.steps * area) * sizeof(gg_real));
    gg_free_slots(source, source->scratch, bytes);
    source->parallel(GG_NAME(gg_lstm_part), source, gg_ceil(l.batch, GG_LSTM_ROWS),
                     source->threads);
    return GG_DONE;
}

/* -- the gradient of sequences, whose columns are in the order i, ci, f, o */

/* slopes = gates wᵀ of row k of w, and d_w += gates of the rows times their numbers `by`. */
static void GG_NAME(gg_lstm_row_of_w)(const gg_real *restrict gates, const gg_real *restrict w,
                                      gg_real *restrict d_w, const gg_real *by, int64_t wide,
                                      gg_real *slopes) {
    const int64_t lanes = GG_REAL_LANES;
    GG_NAME(gg_vector) sums[GG_LSTM_ROWS] = {{0}}, each[GG_LSTM_ROWS];
    for (int r = 0; r < GG_LSTM_ROWS; r++) each[r] = by[r] - (GG_NAME(gg_vector)){0};
    int64_t j = 0;
    for (; j + lanes <= wide; j += lanes) {
        const GG_NAME(gg_vector) weights = *(const GG_NAME(gg_vector) *)(w + j);
        GG_NAME(gg_vector) d = *(GG_NAME(gg_vector) *)(d_w + j);
        GG_UNROLL for (int r = 0; r < GG_LSTM_ROWS; r++) {
            const GG_NAME(gg_vector) gate = *(const GG_NAME(gg_vector) *)(gates + r * wide + j);
            GG_ADD_PRODUCT(sums[r], gate, weights);
            GG_ADD_PRODUCT(d, gate, each[r]);
        }
        *(GG_NAME(gg_vector) *)(d_w + j) = d;
    }
    for (int r = 0; r < GG_LSTM_ROWS; r++) {
        slopes[r] = 0;
        for (int64_t k = 0; k < lanes; k++) slopes[r] += sums[r][k];
        for (int64_t i = j; i < wide; i++) {
            slopes[r] += gates[r * wide + i] * w[i];
            d_w[i] += gates[r * wide + i] * by[r];
        }
    }
}

typedef struct {
    const gg_real *x, *before, *output, *d_state, *d_output;
    const gg_real *parts[GG_LSTM_PARTS];
    gg_real *d_x, *d_before, *d_last; /* d_before, d_last: summed so far, then for the step before */
} GG_NAME(gg_lstm_step);

/* The gradients by the gates of one row of one step. */
static void GG_NAME(gg_lstm_gates_back)(const GG_NAME(gg_lstm) * l,
                                        const GG_NAME(gg_lstm_step) * s, gg_real *gates,
                                        void *const *out) {
    const gg_real *restrict wci = l->at[4], *restrict wcf = l->at[5], *restrict wco = l->at[6];
    gg_real *restrict d_wci = out[4], *restrict d_wcf = out[5], *restrict d_wco = out[6];
    gg_real *restrict d_before = s->d_before, *d_b = out[7];
    const gg_real *const *p = s->parts, *before = s->before;
    const int64_t size = l->size, wide = 4 * size, peeps = l->peeps;
    GG_LOOP for (int64_t j = 0; j < size; j++) {
        const gg_real i = p[GG_LSTM_I][j], f = p[GG_LSTM_F][j], o = p[GG_LSTM_O][j];
        const gg_real ci = p[GG_LSTM_CI][j], co = p[GG_LSTM_CO][j];
        const gg_real dh = s->d_output[j] + s->d_last[j], d_o = o * (1 - o) * dh * co;
        gg_real dc = (1 - co * co) * dh * o + (s->d_state[j] + d_before[j]);
        if (peeps) dc += d_o * wco[j];
        const gg_real d_f = f * (1 - f) * dc * before[j], d_i = i * (1 - i) * dc * ci;
        gates[j] = d_i, gates[size + j] = (1 - ci * ci) * dc * i;
        gates[2 * size + j] = d_f, gates[3 * size + j] = d_o;
        d_before[j] = peeps ? dc * f + (d_i * wci[j] + d_f * wcf[j]) : dc * f;
    }
    for (int64_t j = 0; j < (peeps ? size : 0); j++) {
        d_wci[j] += gates[j] * before[j], d_wcf[j] += gates[2 * size + j] * before[j];
        d_wco[j] += gates[3 * size + j] * p[GG_LSTM_CS][j];
    }
    GG_NAME(gg_lstm_add)(d_b, gates, 1, wide);
}

/* The gradients by the inputs, the outputs before and w of `count` rows of one step. */
static void GG_NAME(gg_lstm_rows_back)(const GG_NAME(gg_lstm) * l, GG_NAME(gg_lstm_step) * s,
                                       int64_t count, const gg_real *gates, gg_real *d_w) {
    const gg_real *w = l->at[3];
    const int64_t wide = 4 * l->size;
    for (int64_t k = 0; k < l->inputs + l->size; k++) {
        const int64_t own = k - l->inputs;
        gg_real by[GG_LSTM_ROWS] = {0}, slopes[GG_LSTM_ROWS];
        for (int64_t r = 0; r < count; r++) by[r] = own < 0 ? s[r].x[k] : s[r].output[own];
        GG_NAME(gg_lstm_row_of_w)(gates, w + k * wide, d_w + k * wide, by, wide, slopes);
        for (int64_t r = 0; r < count; r++)
            *(own < 0 ? s[r].d_x + k : s[r].d_last + own) = slopes[r];
    }
}

void GG_NAME(gg_block_lstm_back_plan)(gg_source *source) {
    const int64_t *n = source->parameters, first = GG_NAME(gg_lstm_sized)(source);
    for (int64_t k = 0; k < GG_LSTM_PARTS + 2; k++) source->count[first + k] = n[0] * n[1] * n[3];
    for (int64_t k = 0; k < 8; k++) source->count[first + 9 + k] = source->count[first - 8 + k];
    source->scratch_bytes = GG_LSTM_ROWS * 4 * n[3] * (int64_t)sizeof(gg_real);
    source->threads = 1;
}

int GG_NAME(gg_block_lstm_back)(void *block) {
    gg_source *source = block;
    const GG_NAME(gg_lstm) l = GG_NAME(gg_lstm_of)(source);
    const int64_t area = l.batch * l.size, *counts = source->count + source->parameters[11];
    void *const *out = l.at + 17;
    for (int64_t k = 0; k < 8; k++) memset(out[k], 0, (size_t)counts[k] * sizeof(gg_real));
    gg_real *gates = (gg_real *)source->scratch;
    const int64_t wide = 4 * l.size, groups = gg_ceil(l.batch, GG_LSTM_ROWS);
    for (int64_t group = l.steps * groups - 1; group >= 0; group--) {
        const int64_t step = group / groups, first = group % groups * GG_LSTM_ROWS;
        const int64_t rows = gg_min(GG_LSTM_ROWS, l.batch - first);
        GG_NAME(gg_lstm_step) s[GG_LSTM_ROWS];
        memset(gates, 0, (size_t)(GG_LSTM_ROWS * wide) * sizeof(gg_real));
        for (int64_t r = 0; r < rows; r++) {
            const int64_t row = step * l.batch + first + r, own = (first + r) * l.size;
            const int64_t at = row * l.size;
            s[r] = (GG_NAME(gg_lstm_step)){
                .x = (gg_real *)l.at[0] + row * l.inputs,
                .before = step ? (gg_real *)l.at[9] + at - area : (gg_real *)l.at[1] + own,
                .output = step ? (gg_real *)l.at[14] + at - area : (gg_real *)l.at[2] + own,
                .d_state = (gg_real *)l.at[15] + at,
                .d_output = (gg_real *)l.at[16] + at,
                .d_x = (gg_real *)out[0] + row * l.inputs,
                .d_before = (gg_real *)out[1] + own,
                .d_last = (gg_real *)out[2] + own,
            };
            for (int64_t k = 0; k < GG_LSTM_PARTS; k++)
                s[r].parts[k] = (gg_real *)l.at[8 + k] + at;
            GG_NAME(gg_lstm_gates_back)(&l, s + r, gates + r * wide, out);
        }
        GG_NAME(gg_lstm_rows_back)(&l, s, rows, gates, out[3]);
    }
    return GG_DONE;
}
