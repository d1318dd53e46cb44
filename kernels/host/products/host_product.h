/* Products of lines of numbers, which need not be contiguous in memory, with a matrix: each
   line's numbers times the rows of the matrix, summed up. A tile, some lines by some vectors
   of the matrix's columns, stays in registers.

   The matrix is packed: blocks of columns, as many as a tile has, filled up with zeros, each with
   all rows. Products are contracted with sums if the processor can; sums are over at most
   GG_CONV_BYTES of the matrix, added up in order. A complete result may be normalized, and get a
   bias by column, an addend, and Relu or Relu6, before it leaves the registers (gg_epilogue).

   A line consists of stripes, a stripe of cells: the numbers of a window, including padding.
   Lines with padding in the same stripes and cells have one box, which leaves these out; a tile
   is computed over the smallest box that contains those of all its lines. Only products of zeros
   are left out, so that no bit depends on it. */

#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("O2", "fp-contract=fast")
#endif

#ifndef GG_PRODUCT
#define GG_PRODUCT

#define GG_CONV_BYTES 131072 /* of the matrix at a time: part of a second cache */
#define GG_CONV_VECTORS (GG_REGISTERS == 32 ? 4 : 2)

/* The places of a tile, by its number of vectors: sums, one row of the matrix and one number fit
   the vector registers, and the places' addresses the others. */
#define GG_CONV_SUMS (GG_REGISTERS == 32 ? 24 : 12)
#define GG_CONV_MOST_PLACES 10
#define GG_CONV_PLACES(vectors)                                                                    \
    (GG_CONV_SUMS / (vectors) < GG_CONV_MOST_PLACES ? GG_CONV_SUMS / (vectors)                     \
                                                    : GG_CONV_MOST_PLACES)

enum { GG_UNCUT, GG_CUT, GG_CUT_AT_6 }; /* not, as Relu, as Relu6 */

/* What happens to a complete result x, if there is a bias:
   cut((x - mean) / sqrt(variance + epsilon) * scale + bias + addend). */
typedef struct {
    const void *bias;                    /* of each column, or none */
    const void *scale, *mean, *variance; /* of each column, or none */
    double epsilon;
    const void *addend; /* of each result, or none */
    int64_t cut;
} gg_epilogue;

/* Some numbers of a line, from an offset on, and the rows of the matrix that they are multiplied
   by. */
typedef struct {
    int64_t offset, row, count;
} gg_segment;

/* The starts of a stripe's cells, in lines and in rows; `y` is its coordinate in boxes. */
typedef struct {
    int64_t offset, row, y;
} gg_stripe;

/* The stripes and cells that lines need: for `places` from the one `from` on. */
typedef struct {
    int64_t from, first_y, last_y, first_x, last_x; /* last: the one after it */
} gg_box;

static int64_t gg_conv_blocks(int64_t vectors) { return gg_ceil(vectors, GG_CONV_VECTORS); }

/* Adds the part of a segment in the rows from `low` to `high`, or makes the last one longer. */
static int64_t gg_conv_add(gg_segment *all, int64_t have, int64_t step, gg_segment one,
                           int64_t low, int64_t high) {
    int64_t first = gg_max(one.row, low), last = gg_min(one.row + one.count, high);
    if (first >= last) return have;
    one = (gg_segment){one.offset + (first - one.row) * step, first, last - first};
    gg_segment *before = all + have - 1;
    if (have && before->row + before->count == first &&
        before->offset + before->count * step == one.offset) {
        before->count += one.count;
        return have;
    }
    all[have] = one;
    return have + 1;
}

/* The smallest box that contains both. */
static gg_box gg_box_of_both(gg_box a, const gg_box *b) {
    a.first_y = gg_min(a.first_y, b->first_y), a.last_y = gg_max(a.last_y, b->last_y);
    a.first_x = gg_min(a.first_x, b->first_x), a.last_x = gg_max(a.last_x, b->last_x);
    return a;
}

static int gg_is_same_box(const gg_box *a, const gg_box *b) {
    return a->first_y == b->first_y && a->last_y == b->last_y && a->first_x == b->first_x &&
           a->last_x == b->last_x;
}
#endif

typedef struct {
    const gg_real *from;
    const int64_t *from_at; /* for each place, the start of its line */
    gg_real *to;
    const int64_t *to_at;
    int64_t places, outputs;
    const gg_stripe *stripes; /* of each line, from its beginning */
    int64_t stripe_count;
    int64_t cell_offset, cell_rows; /* from one cell to the next, and in each of them */
    int64_t step;                   /* from one number to the next */
    const gg_box *boxes;            /* of places in order */
    int64_t box_count;
    int is_apart; /* whether a tile is of one box */
    gg_segment *segments; /* room for those of all stripes and cells */
    const gg_real *matrix; /* blocks of columns, each with all rows */
    int64_t rows, first_row, depth; /* of the packed matrix; those of lines */
    const gg_epilogue *end;
    int64_t first_block, last_block; /* of columns: the one after the last */
} GG_NAME(gg_lines_by_matrix);

/* The rows of the matrix from `low` to `high`, which belong to the stripes from `stripe` to
   `end`. */
typedef struct {
    const gg_segment *segments;
    int64_t count, step, low, high, stripe, end;
    const gg_real *matrix;
    int is_first, is_last;
} GG_NAME(gg_conv_piece);

/* The epilogue of some columns: vectors of means, of factors and of biases. */
typedef struct {
    gg_real mean[4 * GG_REAL_LANES], factor[4 * GG_REAL_LANES], bias[4 * GG_REAL_LANES];
    const gg_real *addend; /* at the results' places, or none */
    int64_t cut;
} GG_NAME(gg_conv_end);

/* The segments of a piece in a box. */
static int64_t GG_NAME(gg_conv_find_segments)(const GG_NAME(gg_lines_by_matrix) * m,
                                              const GG_NAME(gg_conv_piece) * piece,
                                              const gg_box *box) {
    int64_t have = 0, cells = box->last_x - box->first_x;
    int is_one = m->cell_offset == m->cell_rows * m->step;
    for (int64_t s = piece->stripe; s < piece->end; s++) {
        const gg_stripe *stripe = m->stripes + s;
        if (stripe->y < box->first_y || stripe->y >= box->last_y) continue;
        for (int64_t cell = 0; cell < cells; cell += is_one ? cells : 1) {
            int64_t x = box->first_x + cell;
            gg_segment one = {stripe->offset + x * m->cell_offset, stripe->row + x * m->cell_rows,
                              is_one ? cells * m->cell_rows : m->cell_rows};
            have = gg_conv_add(m->segments, have, m->step, one, piece->low, piece->high);
        }
    }
    return have;
}

/* Sets the epilogue of a column, the `which`th of a tile. */
GG_ALWAYS void GG_NAME(gg_set_end)(GG_NAME(gg_conv_end) * end, const gg_epilogue *all,
                                   int64_t which, int64_t column) {
    end->mean[which] = 0, end->factor[which] = 1;
    end->bias[which] = ((const gg_real *)all->bias)[column];
    if (!all->scale) return;
    const gg_real variance = ((const gg_real *)all->variance)[column] + (gg_real)all->epsilon;
    end->mean[which] = ((const gg_real *)all->mean)[column];
    end->factor[which] = 1 / GG_ROOT(variance) * ((const gg_real *)all->scale)[column];
}

/* The results of the expressions of Relu and Relu6. */
GG_ALWAYS gg_real GG_NAME(gg_cut)(gg_real x, int64_t cut) {
    if (cut != GG_UNCUT && x < 0) return 0;
    return cut == GG_CUT_AT_6 && x > 6 ? 6 : x;
}

GG_ALWAYS GG_NAME(gg_vector) GG_NAME(gg_cuts)(GG_NAME(gg_vector) x, int64_t cut) {
    const GG_NAME(gg_vector) zero = {0}, six = zero + 6;
    if (cut == GG_UNCUT) return x;
    x = (GG_NAME(gg_vector))((GG_NAME(gg_mask))x & ~(GG_NAME(gg_mask))(x < zero));
    if (cut == GG_CUT) return x;
    GG_NAME(gg_mask) above = x > six;
    return (GG_NAME(gg_vector))(((GG_NAME(gg_mask))x & ~above) | ((GG_NAME(gg_mask))six & above));
}

/* One tile: to[place][column] = or += the sum of line[place][k] * matrix[k][column], which is
   complete if there is an epilogue. */
GG_ALWAYS void GG_NAME(gg_conv_tile)(const int vectors, const int places,
                                     const GG_NAME(gg_conv_piece) * piece,
                                     const gg_real *from, const int64_t *from_at, gg_real *to,
                                     const int64_t *to_at,
                                     const GG_NAME(gg_conv_end) * end) {
    GG_NAME(gg_vector) sum[GG_CONV_MOST_PLACES][4];
    const gg_real *line[GG_CONV_MOST_PLACES];
    int64_t step = piece->step;
    GG_UNROLL for (int p = 0; p < places; p++) {
        line[p] = from + from_at[p];
        GG_UNROLL for (int v = 0; v < vectors; v++) {
            sum[p][v] = (GG_NAME(gg_vector)){0};
            __builtin_prefetch(to + to_at[p] + v * GG_REAL_LANES, 1);
        }
    }
    for (int64_t s = 0; s < piece->count; s++) {
        int64_t at = piece->segments[s].offset;
        const gg_real *matrix = piece->matrix + piece->segments[s].row * vectors * GG_REAL_LANES;
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
        GG_NAME(gg_vector) *out = (GG_NAME(gg_vector) *)(to + to_at[p]);
        GG_UNROLL for (int v = 0; v < vectors; v++) {
            GG_NAME(gg_vector) whole = sum[p][v];
            if (!piece->is_first) whole += out[v];
            if (end) {
                whole -= ((const GG_NAME(gg_vector) *)end->mean)[v];
                whole = whole * ((const GG_NAME(gg_vector) *)end->factor)[v] +
                        ((const GG_NAME(gg_vector) *)end->bias)[v];
                if (end->addend)
                    whole += ((const GG_NAME(gg_vector) *)(end->addend + to_at[p]))[v];
                whole = GG_NAME(gg_cuts)(whole, end->cut);
            }
            out[v] = whole;
        }
    }
}

/* Separate functions, so that each has all registers. */
#define GG_CONV_TILE(vectors)                                                                      \
    static __attribute__((noinline)) void GG_NAME(gg_conv_tile_##vectors)(                         \
        const GG_NAME(gg_conv_piece) * piece, const gg_real *from, const int64_t *from_at,         \
        gg_real *to, const int64_t *to_at, const GG_NAME(gg_conv_end) * end) {                     \
        GG_NAME(gg_conv_tile)(vectors, GG_CONV_PLACES(vectors), piece, from, from_at, to, to_at,   \
                              end);                                                                \
    }
GG_CONV_TILE(1)
GG_CONV_TILE(2)
#if GG_REGISTERS == 32
GG_CONV_TILE(3)
GG_CONV_TILE(4)
#endif

static void (*const GG_NAME(gg_conv_tile_of)[])(const GG_NAME(gg_conv_piece) *, const gg_real *,
                                                const int64_t *, gg_real *, const int64_t *,
                                                const GG_NAME(gg_conv_end) *) = {
    GG_NAME(gg_conv_tile_1), GG_NAME(gg_conv_tile_2),
#if GG_REGISTERS == 32
    GG_NAME(gg_conv_tile_3), GG_NAME(gg_conv_tile_4),
#endif
};

/* A tile that is not whole in memory, of `count` places: computed elsewhere, and copied. */
static void GG_NAME(gg_conv_part_of_tile)(const GG_NAME(gg_lines_by_matrix) * m,
                                          const GG_NAME(gg_conv_piece) * piece, int64_t vectors,
                                          int64_t start, int64_t count, int64_t first,
                                          int64_t columns, const GG_NAME(gg_conv_end) * end) {
    gg_real rest[GG_CONV_MOST_PLACES * 4 * GG_REAL_LANES];
    gg_real addend[GG_CONV_MOST_PLACES * 4 * GG_REAL_LANES];
    GG_NAME(gg_conv_end) part_end;
    int64_t from_at[GG_CONV_MOST_PLACES], to_at[GG_CONV_MOST_PLACES];
    int64_t places = GG_CONV_PLACES(vectors), width = vectors * GG_REAL_LANES;
    for (int64_t p = 0; p < places; p++) {
        int64_t place = start + gg_min(p, count - 1);
        const gg_real *out = m->to + m->to_at[place] + first;
        from_at[p] = m->from_at[place];
        to_at[p] = p * width;
        for (int64_t each = 0; !piece->is_first && each < width; each++)
            rest[to_at[p] + each] = each < columns ? out[each] : 0;
        for (int64_t each = 0; end && end->addend && each < width; each++)
            addend[to_at[p] + each] = each < columns ? end->addend[m->to_at[place] + each] : 0;
    }
    if (end && end->addend) part_end = *end, part_end.addend = addend, end = &part_end;
    GG_NAME(gg_conv_tile_of)[vectors - 1](piece, m->from, from_at, rest, to_at, end);
    for (int64_t p = 0; p < count; p++)
        memcpy(m->to + m->to_at[start + p] + first, rest + to_at[p], columns * sizeof(gg_real));
}

/* All places, by `columns` of the matrix from column `first` on. */
static void GG_NAME(gg_conv_tiles)(const GG_NAME(gg_lines_by_matrix) * m,
                                   GG_NAME(gg_conv_piece) * piece, int64_t vectors, int64_t first,
                                   int64_t columns) {
    GG_NAME(gg_conv_end) columns_end, *tile_end = 0;
    int64_t places = GG_CONV_PLACES(vectors), width = vectors * GG_REAL_LANES;
    const gg_box *box = m->boxes, *end = box + m->box_count;
    gg_box before = {.first_y = -1};
    if (m->end && piece->is_last) {
        tile_end = &columns_end;
        tile_end->cut = m->end->cut;
        tile_end->addend = m->end->addend ? (const gg_real *)m->end->addend + first : 0;
        for (int64_t each = 0; each < width; each++)
            GG_NAME(gg_set_end)(tile_end, m->end, each, first + gg_min(each, columns - 1));
    }
    for (int64_t start = 0, count; start < m->places; start += count) {
        count = gg_min(places, m->places - start);
        while (box + 1 < end && box[1].from <= start) box++;
        if (m->is_apart && box + 1 < end) count = gg_min(count, box[1].from - start);
        gg_box whole = *box;
        for (const gg_box *next = box + 1; next < end && next->from < start + count; next++)
            whole = gg_box_of_both(whole, next);
        if (!gg_is_same_box(&whole, &before)) {
            piece->count = GG_NAME(gg_conv_find_segments)(m, piece, &whole);
            before = whole;
        }
        if (count == places && columns == width)
            GG_NAME(gg_conv_tile_of)[vectors - 1](piece, m->from, m->from_at + start, m->to + first,
                                                  m->to_at + start, tile_end);
        else
            GG_NAME(gg_conv_part_of_tile)(m, piece, vectors, start, count, first, columns, tile_end);
    }
}

static void GG_NAME(gg_conv_block)(const GG_NAME(gg_lines_by_matrix) * m, int64_t vectors,
                                   int64_t first, const gg_real *matrix) {
    GG_NAME(gg_conv_piece) piece = {
        .segments = m->segments, .step = m->step, .matrix = matrix, .is_first = 1};
    int64_t columns = gg_min(vectors * GG_REAL_LANES, m->outputs - first);
    int64_t most = GG_CONV_BYTES / (vectors * GG_VECTOR);
    most = gg_ceil(gg_max(m->depth, 1), gg_ceil(gg_max(m->depth, 1), most));
    for (; piece.is_first || piece.low < m->depth; piece.low = piece.high, piece.is_first = 0) {
        piece.high = gg_min(piece.low + most, m->depth);
        piece.is_last = piece.high == m->depth;
        while (piece.stripe + 1 < m->stripe_count && m->stripes[piece.stripe + 1].row <= piece.low)
            piece.stripe++;
        for (piece.end = piece.stripe; piece.end < m->stripe_count; piece.end++)
            if (m->stripes[piece.end].row >= piece.high) break;
        GG_NAME(gg_conv_tiles)(m, &piece, vectors, first, columns);
    }
}

static void GG_NAME(gg_conv_multiply)(const GG_NAME(gg_lines_by_matrix) * m) {
    int64_t all = gg_ceil(m->outputs, GG_REAL_LANES), blocks = gg_conv_blocks(all), before = 0;
    for (int64_t block = 0; block < m->last_block; block++) {
        int64_t vectors = all / blocks + (block < all % blocks), width = vectors * GG_REAL_LANES;
        const gg_real *matrix = m->matrix + before * m->rows + m->first_row * width;
        if (block >= m->first_block) GG_NAME(gg_conv_block)(m, vectors, before, matrix);
        before += width;
    }
}

/* Writes a row of a packed matrix of `rows` rows: `outputs` numbers that are `step` apart. */
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
