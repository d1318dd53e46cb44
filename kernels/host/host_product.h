/* Products of lines of numbers, which need not be in one piece in memory, with a matrix: each
   line's numbers times the rows of the matrix, summed up. A tile, so many lines by so many vectors
   of the matrix's columns, stays in registers.

   The matrix is packed: blocks of columns, as many as a tile has, filled up with zeros, each with
   all rows. Products are contracted with sums where the processor can; sums are of GG_CONV_BYTES of
   the matrix at most, added up in order. A complete result may get a bias by column, and Relu or
   Relu6, before it leaves the registers. */

#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("O2", "fp-contract=fast")
#endif

#ifndef GG_PRODUCT
#define GG_PRODUCT

#define GG_CONV_BYTES 131072 /* of the matrix at a time: part of a second cache */
#define GG_CONV_SEGMENTS 64  /* of lines at a time */
#define GG_CONV_VECTORS (GG_REGISTERS == 32 ? 4 : 2)

/* Places of a tile of so many vectors: sums, one row of the matrix and one number fit the vector
   registers, and the places' addresses the others. */
#define GG_CONV_SUMS (GG_REGISTERS == 32 ? 24 : 12)
#define GG_CONV_MOST_PLACES 10
#define GG_CONV_PLACES(vectors)                                                                    \
    (GG_CONV_SUMS / (vectors) < GG_CONV_MOST_PLACES ? GG_CONV_SUMS / (vectors)                     \
                                                    : GG_CONV_MOST_PLACES)

enum { GG_UNCUT, GG_CUT, GG_CUT_AT_6 }; /* not, as Relu, as Relu6 */

typedef struct {
    int64_t offset, count;
} gg_segment;

static int64_t gg_conv_blocks(int64_t vectors) { return gg_ceil(vectors, GG_CONV_VECTORS); }

/* Adds a segment, or makes the last one longer. */
static int64_t gg_conv_add(gg_segment *all, int64_t have, int64_t step, gg_segment one) {
    gg_segment *last = all + have - 1;
    if (have && last->offset + last->count * step == one.offset) {
        last->count += one.count;
        return have;
    }
    all[have] = one;
    return have + 1;
}
#endif

typedef struct {
    const gg_real *from;
    const int64_t *from_at; /* of each place, where its line begins */
    gg_real *to;
    const int64_t *to_at;
    int64_t places, outputs;
    const gg_segment *segments; /* of each line, from its beginning */
    int64_t segment_count, step;
    const gg_real *matrix; /* blocks of columns, each with all rows */
    int64_t rows, first_row; /* of the packed matrix, and the one that lines begin with */
    const gg_real *bias;     /* of each output, or none */
    int64_t cut;
} GG_NAME(gg_lines_by_matrix);

typedef struct {
    gg_segment segments[GG_CONV_SEGMENTS];
    int64_t count, step;
    const gg_real *matrix;
    int64_t cut;
    int is_first, is_last;
} GG_NAME(gg_conv_piece);

/* A sum with its bias and Relu: the results of the expressions of BiasAdd, Relu and Relu6. */
GG_ALWAYS gg_real GG_NAME(gg_cut)(gg_real x, gg_real bias, int64_t cut) {
    x += bias;
    if (cut != GG_UNCUT && x < 0) return 0;
    return cut == GG_CUT_AT_6 && x > 6 ? 6 : x;
}

GG_ALWAYS GG_NAME(gg_vector) GG_NAME(gg_cuts)(GG_NAME(gg_vector) x, GG_NAME(gg_vector) bias,
                                              int64_t cut) {
    const GG_NAME(gg_vector) zero = {0}, six = zero + 6;
    x += bias;
    if (cut == GG_UNCUT) return x;
    x = (GG_NAME(gg_vector))((GG_NAME(gg_mask))x & ~(GG_NAME(gg_mask))(x < zero));
    if (cut == GG_CUT) return x;
    GG_NAME(gg_mask) above = x > six;
    return (GG_NAME(gg_vector))(((GG_NAME(gg_mask))x & ~above) | ((GG_NAME(gg_mask))six & above));
}

/* One tile: to[place][column] = or += the sum of line[place][k] * matrix[k][column], which is whole
   where there is a bias. */
GG_ALWAYS void GG_NAME(gg_conv_tile)(const int vectors, const int places,
                                     const GG_NAME(gg_conv_piece) * piece,
                                     const gg_real *const *from, gg_real *const *to,
                                     const gg_real *bias) {
    GG_NAME(gg_vector) sum[GG_CONV_MOST_PLACES][4];
    const gg_real *line[GG_CONV_MOST_PLACES];
    const gg_real *matrix = piece->matrix;
    int64_t step = piece->step;
    GG_UNROLL for (int p = 0; p < places; p++) {
        line[p] = from[p];
        GG_UNROLL for (int v = 0; v < vectors; v++) sum[p][v] = (GG_NAME(gg_vector)){0};
    }
    for (int64_t s = 0; s < piece->count; s++) {
        int64_t at = piece->segments[s].offset;
        for (int64_t left = piece->segments[s].count; left; left--) {
            GG_NAME(gg_vector) row[4];
            GG_UNROLL for (int v = 0; v < vectors; v++)
                row[v] = ((const GG_NAME(gg_vector) *)matrix)[v];
            GG_UNROLL for (int p = 0; p < places; p++) {
                GG_NAME(gg_vector) x = line[p][at] - (GG_NAME(gg_vector)){0};
                GG_UNROLL for (int v = 0; v < vectors; v++) GG_ADD_PRODUCT(sum[p][v], x, row[v]);
            }
            at += step;
            matrix += vectors * GG_REAL_LANES;
        }
    }
    GG_UNROLL for (int p = 0; p < places; p++) {
        GG_NAME(gg_vector) *out = (GG_NAME(gg_vector) *)to[p];
        GG_UNROLL for (int v = 0; v < vectors; v++) {
            GG_NAME(gg_vector) whole = sum[p][v];
            if (!piece->is_first) whole += out[v];
            if (bias)
                whole = GG_NAME(gg_cuts)(whole, ((const GG_NAME(gg_vector) *)bias)[v], piece->cut);
            out[v] = whole;
        }
    }
}

/* Separate functions, so that they have all registers. */
#define GG_CONV_TILE(vectors)                                                                      \
    static __attribute__((noinline)) void GG_NAME(gg_conv_tile_##vectors)(                         \
        const GG_NAME(gg_conv_piece) * piece, const gg_real *const *from, gg_real *const *to,      \
        const gg_real *bias) {                                                                     \
        GG_NAME(gg_conv_tile)(vectors, GG_CONV_PLACES(vectors), piece, from, to, bias);            \
    }
GG_CONV_TILE(1)
GG_CONV_TILE(2)
#if GG_REGISTERS == 32
GG_CONV_TILE(3)
GG_CONV_TILE(4)
#endif

static void (*const GG_NAME(gg_conv_tile_of)[])(const GG_NAME(gg_conv_piece) *,
                                                const gg_real *const *, gg_real *const *,
                                                const gg_real *) = {
    GG_NAME(gg_conv_tile_1), GG_NAME(gg_conv_tile_2),
#if GG_REGISTERS == 32
    GG_NAME(gg_conv_tile_3), GG_NAME(gg_conv_tile_4),
#endif
};

/* All places, by `columns` of the matrix from column `first` on. A tile that is not whole in memory
   is computed elsewhere, and copied. */
static void GG_NAME(gg_conv_tiles)(const GG_NAME(gg_lines_by_matrix) * m,
                                   const GG_NAME(gg_conv_piece) * piece, int64_t vectors,
                                   int64_t first, int64_t columns) {
    gg_real rest[GG_CONV_MOST_PLACES * 4 * GG_REAL_LANES], biases[4 * GG_REAL_LANES];
    const gg_real *from[GG_CONV_MOST_PLACES], *bias = 0;
    gg_real *to[GG_CONV_MOST_PLACES];
    int64_t places = GG_CONV_PLACES(vectors), width = vectors * GG_REAL_LANES;
    if (m->bias && piece->is_last) {
        bias = biases;
        for (int64_t each = 0; each < width; each++)
            biases[each] = each < columns ? m->bias[first + each] : 0;
    }
    for (int64_t start = 0; start < m->places; start += places) {
        int64_t count = gg_min(places, m->places - start);
        int is_whole = count == places && columns == width;
        for (int64_t p = 0; p < places; p++) {
            int64_t place = start + gg_min(p, count - 1);
            gg_real *out = m->to + m->to_at[place] + first;
            from[p] = m->from + m->from_at[place];
            to[p] = is_whole ? out : rest + p * width;
            for (int64_t each = 0; !is_whole && !piece->is_first && each < width; each++)
                to[p][each] = each < columns ? out[each] : 0;
        }
        GG_NAME(gg_conv_tile_of)[vectors - 1](piece, from, to, bias);
        for (int64_t p = 0; !is_whole && p < count; p++) {
            gg_real *out = m->to + m->to_at[start + p] + first;
            for (int64_t each = 0; each < columns; each++) out[each] = to[p][each];
        }
    }
}

static void GG_NAME(gg_conv_block)(const GG_NAME(gg_lines_by_matrix) * m, int64_t vectors,
                                   int64_t first, const gg_real *matrix) {
    GG_NAME(gg_conv_piece) piece = {.step = m->step, .cut = m->cut, .is_first = 1};
    int64_t width = vectors * GG_REAL_LANES, columns = gg_min(width, m->outputs - first), depth = 0;
    for (int64_t s = 0; s < m->segment_count; s++) depth += m->segments[s].count;
    int64_t most = GG_CONV_BYTES / (vectors * GG_VECTOR);
    most = gg_ceil(gg_max(depth, 1), gg_ceil(gg_max(depth, 1), most));
    for (int64_t s = 0, done = 0; s < m->segment_count || piece.is_first; piece.is_first = 0) {
        int64_t rows = 0;
        piece.matrix = matrix;
        piece.count = 0;
        while (s < m->segment_count && piece.count < GG_CONV_SEGMENTS && rows < most) {
            gg_segment whole = m->segments[s];
            int64_t take = gg_min(whole.count - done, most - rows);
            piece.segments[piece.count++] = (gg_segment){whole.offset + done * m->step, take};
            rows += take, done += take;
            if (done == whole.count) s++, done = 0;
        }
        piece.is_last = s == m->segment_count;
        matrix += rows * width;
        GG_NAME(gg_conv_tiles)(m, &piece, vectors, first, columns);
    }
}

static void GG_NAME(gg_conv_multiply)(const GG_NAME(gg_lines_by_matrix) * m) {
    int64_t all = gg_ceil(m->outputs, GG_REAL_LANES), blocks = gg_conv_blocks(all), before = 0;
    for (int64_t block = 0; block < blocks; block++) {
        int64_t vectors = all / blocks + (block < all % blocks), width = vectors * GG_REAL_LANES;
        const gg_real *matrix = m->matrix + before * m->rows + m->first_row * width;
        GG_NAME(gg_conv_block)(m, vectors, before, matrix);
        before += width;
    }
}

/* Writes a row of a packed matrix of so many `rows`: `outputs` numbers that are `step` apart. */
static void GG_NAME(gg_conv_pack_row)(int64_t outputs, gg_real *packed, int64_t rows, int64_t row,
                                      const gg_real *from, int64_t step) {
    int64_t vectors = gg_ceil(outputs, GG_REAL_LANES), blocks = gg_conv_blocks(vectors), before = 0;
    for (int64_t block = 0; block < blocks; block++) {
        int64_t width = (vectors / blocks + (block < vectors % blocks)) * GG_REAL_LANES;
        gg_real *to = packed + before * rows + row * width;
        int64_t columns = gg_min(width, outputs - before);
        if (step == 1)
            memcpy(to, from + before, columns * sizeof(gg_real));
        else
            for (int64_t each = 0; each < columns; each++) to[each] = from[(before + each) * step];
        for (int64_t each = columns; each < width; each++) to[each] = 0;
        before += width;
    }
}

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
