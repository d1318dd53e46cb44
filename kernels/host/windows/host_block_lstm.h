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
    source->scratch_bytes = 4 * n[3] * (int64_t)sizeof(gg_real);
    gg_set_work(source, 0.5 * n[0] * n[1] * (double)((n[2] + n[3]) * 4 + 60) * n[3]);
    source->threads = 1;
    return k;
}

GG_ALWAYS gg_real GG_NAME(gg_lstm_open)(gg_real x) { return 1 / (1 + exp(-x)); }

/* to += by * from */
static void GG_NAME(gg_lstm_add)(gg_real *restrict to, const gg_real *from, gg_real by,
                                 int64_t count) {
    GG_LOOP for (int64_t i = 0; i < count; i++) to[i] += by * from[i];
}

/* One row of one step. */
static void GG_NAME(gg_lstm_row)(const GG_NAME(gg_lstm) * l, const gg_real *x,
                                 const gg_real *before, const gg_real *output, gg_real *gates,
                                 gg_real *const parts[GG_LSTM_PARTS]) {
    const gg_real *w = l->at[3], *wci = l->at[4], *wcf = l->at[5], *wco = l->at[6], *b = l->at[7];
    const int64_t size = l->size, wide = 4 * size;
    memset(gates, 0, (size_t)wide * sizeof(gg_real));
    for (int64_t k = 0; k < l->inputs; k++) GG_NAME(gg_lstm_add)(gates, w + k * wide, x[k], wide);
    for (int64_t k = 0; k < size; k++)
        GG_NAME(gg_lstm_add)(gates, w + (l->inputs + k) * wide, output[k], wide);
    GG_NAME(gg_lstm_add)(gates, b, 1, wide);
    const gg_real *in = gates + l->order[0] * size, *new = gates + l->order[1] * size;
    const gg_real *kept = gates + l->order[2] * size, *out = gates + l->order[3] * size;
    const gg_real peeps = l->peeps ? 1 : 0, clip = l->clip;
    for (int64_t j = 0; j < size; j++) {
        const gg_real own = peeps ? before[j] : 0; /* a peephole at infinity is no NaN without it */
        const gg_real i = GG_NAME(gg_lstm_open)(peeps ? in[j] + wci[j] * own : in[j]);
        const gg_real f = GG_NAME(gg_lstm_open)(
            peeps ? kept[j] + l->bias + wcf[j] * own : kept[j] + l->bias);
        const gg_real ci = tanh(new[j]);
        gg_real cs = ci * i + before[j] * f;
        if (clip > 0) cs = cs < -clip ? -clip : cs > clip ? clip : cs;
        const gg_real o = GG_NAME(gg_lstm_open)(peeps ? out[j] + cs * wco[j] : out[j]);
        const gg_real co = tanh(cs);
        parts[GG_LSTM_I][j] = i, parts[GG_LSTM_CS][j] = cs, parts[GG_LSTM_F][j] = f;
        parts[GG_LSTM_O][j] = o, parts[GG_LSTM_CI][j] = ci, parts[GG_LSTM_CO][j] = co;
        parts[GG_LSTM_H][j] = o * co;
    }
}

void GG_NAME(gg_block_lstm_plan)(gg_source *source) {
    const int64_t *n = source->parameters, first = GG_NAME(gg_lstm_sized)(source);
    for (int64_t k = 0; k < GG_LSTM_PARTS; k++) source->count[first + k] = n[0] * n[1] * n[3];
}

int GG_NAME(gg_block_lstm)(void *block) {
    gg_source *source = block;
    const GG_NAME(gg_lstm) l = GG_NAME(gg_lstm_of)(source);
    const int64_t area = l.batch * l.size, whole = source->parameters[0] * area;
    for (int64_t k = 0; k < GG_LSTM_PARTS; k++)
        memset((gg_real *)l.at[8 + k] + l.steps * area, 0,
               (size_t)(whole - l.steps * area) * sizeof(gg_real));
    for (int64_t row = 0; row < l.steps * l.batch; row++) {
        const int64_t at = row * l.size, before = at - area;
        gg_real *parts[GG_LSTM_PARTS];
        for (int64_t k = 0; k < GG_LSTM_PARTS; k++) parts[k] = (gg_real *)l.at[8 + k] + at;
        const int is_first = row < l.batch;
        const gg_real *state = is_first ? (gg_real *)l.at[1] + at : (gg_real *)l.at[9] + before;
        const gg_real *output = is_first ? (gg_real *)l.at[2] + at : (gg_real *)l.at[14] + before;
        GG_NAME(gg_lstm_row)(&l, (gg_real *)l.at[0] + row * l.inputs, state, output,
                             (gg_real *)source->scratch, parts);
    }
    return GG_DONE;
}

/* -- the gradient of sequences, whose columns are in the order i, ci, f, o */

static gg_real GG_NAME(gg_lstm_product)(const gg_real *a, const gg_real *b, int64_t count) {
    const int64_t lanes = GG_REAL_LANES;
    GG_NAME(gg_vector) sums = {0};
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const GG_NAME(gg_vector) one = *(const GG_NAME(gg_vector) *)(a + i);
        const GG_NAME(gg_vector) other = *(const GG_NAME(gg_vector) *)(b + i);
        GG_ADD_PRODUCT(sums, one, other);
    }
    gg_real sum = 0;
    for (int64_t k = 0; k < lanes; k++) sum += sums[k];
    for (; i < count; i++) sum += a[i] * b[i];
    return sum;
}

typedef struct {
    const gg_real *x, *before, *output, *d_state, *d_output;
    const gg_real *parts[GG_LSTM_PARTS];
    gg_real *d_x, *d_before, *d_last; /* d_before, d_last: summed so far, then for the step before */
} GG_NAME(gg_lstm_step);

static void GG_NAME(gg_lstm_row_back)(const GG_NAME(gg_lstm) * l, const GG_NAME(gg_lstm_step) * s,
                                      gg_real *gates, void *const *out) {
    const gg_real *w = l->at[3], *wci = l->at[4], *wcf = l->at[5], *wco = l->at[6];
    gg_real *d_w = out[3], *d_wci = out[4], *d_wcf = out[5], *d_wco = out[6], *d_b = out[7];
    const int64_t size = l->size, wide = 4 * size;
    for (int64_t j = 0; j < size; j++) {
        const gg_real i = s->parts[GG_LSTM_I][j], f = s->parts[GG_LSTM_F][j];
        const gg_real o = s->parts[GG_LSTM_O][j], ci = s->parts[GG_LSTM_CI][j];
        const gg_real co = s->parts[GG_LSTM_CO][j], before = s->before[j];
        const gg_real dh = s->d_output[j] + s->d_last[j];
        const gg_real d_o = o * (1 - o) * dh * co;
        gg_real dc = (1 - co * co) * dh * o + (s->d_state[j] + s->d_before[j]);
        if (l->peeps) dc += d_o * wco[j];
        const gg_real d_f = f * (1 - f) * dc * before, d_i = i * (1 - i) * dc * ci;
        gates[j] = d_i, gates[size + j] = (1 - ci * ci) * dc * i;
        gates[2 * size + j] = d_f, gates[3 * size + j] = d_o;
        s->d_before[j] = dc * f;
        if (l->peeps) {
            s->d_before[j] += d_i * wci[j] + d_f * wcf[j];
            d_wci[j] += d_i * before, d_wcf[j] += d_f * before;
            d_wco[j] += d_o * s->parts[GG_LSTM_CS][j];
        }
    }
    for (int64_t k = 0; k < l->inputs + size; k++) {
        const int64_t own = k - l->inputs;
        const gg_real slope = GG_NAME(gg_lstm_product)(gates, w + k * wide, wide);
        *(own < 0 ? s->d_x + k : s->d_last + own) = slope;
        GG_NAME(gg_lstm_add)(d_w + k * wide, gates, own < 0 ? s->x[k] : s->output[own], wide);
    }
    GG_NAME(gg_lstm_add)(d_b, gates, 1, wide);
}

void GG_NAME(gg_block_lstm_back_plan)(gg_source *source) {
    const int64_t *n = source->parameters, first = GG_NAME(gg_lstm_sized)(source);
    for (int64_t k = 0; k < GG_LSTM_PARTS + 2; k++) source->count[first + k] = n[0] * n[1] * n[3];
    for (int64_t k = 0; k < 8; k++) source->count[first + 9 + k] = source->count[first - 8 + k];
}

int GG_NAME(gg_block_lstm_back)(void *block) {
    gg_source *source = block;
    const GG_NAME(gg_lstm) l = GG_NAME(gg_lstm_of)(source);
    const int64_t area = l.batch * l.size, *counts = source->count + source->parameters[11];
    void *const *out = l.at + 17;
    for (int64_t k = 0; k < 8; k++) memset(out[k], 0, (size_t)counts[k] * sizeof(gg_real));
    for (int64_t row = l.steps * l.batch - 1; row >= 0; row--) {
        const int64_t at = row * l.size, own = row % l.batch * l.size;
        const int is_first = row < l.batch;
        GG_NAME(gg_lstm_step) s = {
            .x = (gg_real *)l.at[0] + row * l.inputs,
            .before = is_first ? (gg_real *)l.at[1] + at : (gg_real *)l.at[9] + at - area,
            .output = is_first ? (gg_real *)l.at[2] + at : (gg_real *)l.at[14] + at - area,
            .d_state = (gg_real *)l.at[15] + at,
            .d_output = (gg_real *)l.at[16] + at,
            .d_x = (gg_real *)out[0] + row * l.inputs,
            .d_before = (gg_real *)out[1] + own,
            .d_last = (gg_real *)out[2] + own,
        };
        for (int64_t k = 0; k < GG_LSTM_PARTS; k++) s.parts[k] = (gg_real *)l.at[8 + k] + at;
        GG_NAME(gg_lstm_row_back)(&l, &s, (gg_real *)source->scratch, out);
    }
    return GG_DONE;
}
