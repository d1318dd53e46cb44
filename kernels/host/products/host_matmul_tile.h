/* The innermost part of matrix products: tiles of the result that stay in registers, and panels
   of packed operands that they read contiguously.

   A tile is up to GG_TILE_ROWS rows by one or two vectors of columns. Each of its elements is
   summed over k in order, by multiplications that are contracted with additions if the processor
   can, whatever the tile's size: the division of a product does not change its bits. */

#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("O2", "fp-contract=fast")
#endif

#ifndef GG_TILE
#define GG_TILE

#define GG_TILE_ROWS (GG_REGISTERS == 32 ? 14 : 6)
#define GG_TILE_VECTORS 2

/* The epilogue of a complete sum, in this order. */
enum { GG_ADD_BIAS = 1, GG_ADD_ADDEND = 2, GG_RELU = 4 };

/* Transposes a square of as many vectors as each has lanes: at each step lanes move by one bit of
   their index to the vector whose index has that bit. */
#define GG_LOW_LANE(lanes, j, bit) ((j) & (bit) ? (lanes) + (j) - (bit) : (j))
#define GG_HIGH_LANE(lanes, j, bit) ((j) & (bit) ? (lanes) + (j) : (j) + (bit))
#define GG_EACH_OF_2(f, lanes, j, bit) f(lanes, j, bit), f(lanes, (j) + 1, bit)
#define GG_EACH_OF_4(f, lanes, j, bit)                                                             \
    GG_EACH_OF_2(f, lanes, j, bit), GG_EACH_OF_2(f, lanes, (j) + 2, bit)
#define GG_EACH_OF_8(f, lanes, j, bit)                                                             \
    GG_EACH_OF_4(f, lanes, j, bit), GG_EACH_OF_4(f, lanes, (j) + 4, bit)
#define GG_EACH_OF_16(f, lanes, j, bit)                                                            \
    GG_EACH_OF_8(f, lanes, j, bit), GG_EACH_OF_8(f, lanes, (j) + 8, bit)
#if defined(__clang__)
#define GG_SHUFFLED(mask, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define GG_SHUFFLED(mask, a, b, ...) __builtin_shuffle(a, b, (mask){__VA_ARGS__})
#endif
#define GG_TURN_STEP(type, lanes, bit)                                                             \
    GG_UNROLL for (int each = 0; bit < lanes && each < lanes; each++)                              \
        if (!(each & bit)) {                                                                       \
            gg_vector_##type low = square[each], high = square[each + bit];                        \
            square[each] = GG_SHUFFLED(gg_mask_##type, low, high,                                  \
                                       GG_EACH_OF_##lanes(GG_LOW_LANE, lanes, 0, bit));            \
            square[each + bit] = GG_SHUFFLED(gg_mask_##type, low, high,                            \
                                             GG_EACH_OF_##lanes(GG_HIGH_LANE, lanes, 0, bit));     \
        }
#define GG_TURN(type, lanes)                                                                       \
    GG_ALWAYS void gg_turn_##type(gg_vector_##type *square) {                                      \
        if (lanes > 8) GG_TURN_STEP(type, lanes, (lanes > 8 ? 8 : 1))                                             \
        if (lanes > 4) GG_TURN_STEP(type, lanes, (lanes > 4 ? 4 : 1))                                             \
        if (lanes > 2) GG_TURN_STEP(type, lanes, (lanes > 2 ? 2 : 1))                                             \
        GG_TURN_STEP(type, lanes, 1)                                                               \
    }
#if GG_VECTOR == 64
GG_TURN(f32, 16)
GG_TURN(f64, 8)
#elif GG_VECTOR == 32
GG_TURN(f32, 8)
GG_TURN(f64, 4)
#else
GG_TURN(f32, 4)
GG_TURN(f64, 2)
#endif

#endif

#define GG_TILE_COLUMNS (GG_TILE_VECTORS * GG_REAL_LANES)

/* The target of a tile's results, and their epilogue. */
typedef struct {
    gg_real *c;
    int64_t c_row;
    int64_t adds; /* to the present values: not the first part of k */
    int64_t ends; /* of GG_ADD_BIAS and so on, for the last part of k */
    const gg_real *bias;
    const gg_real *addend;
    int64_t addend_row;
} GG_NAME(gg_tile_end);

/* c[r][j] = or += the sum of a[k * a_step + r] * b[k * b_step + j]. */
GG_ALWAYS void GG_NAME(gg_tile)(const int rows, const int vectors, int64_t depth, const gg_real *a,
                                int64_t a_step, const gg_real *b, int64_t b_step,
                                const GG_NAME(gg_tile_end) * end) {
    GG_NAME(gg_vector) sum[GG_TILE_ROWS][GG_TILE_VECTORS];
    GG_UNROLL for (int r = 0; r < rows; r++)
        GG_UNROLL for (int v = 0; v < vectors; v++) {
            sum[r][v] = (GG_NAME(gg_vector)){0};
            __builtin_prefetch(end->c + r * end->c_row + v * GG_REAL_LANES, 1);
        }
    for (int64_t left = depth; left; left--) {
        GG_NAME(gg_vector) row[GG_TILE_VECTORS];
        GG_UNROLL for (int v = 0; v < vectors; v++) row[v] = ((const GG_NAME(gg_vector) *)b)[v];
        GG_UNROLL for (int r = 0; r < rows; r++) {
            GG_NAME(gg_vector) x = a[r] - (GG_NAME(gg_vector)){0};
            GG_UNROLL for (int v = 0; v < vectors; v++) GG_ADD_PRODUCT(sum[r][v], x, row[v]);
        }
        a += a_step;
        b += b_step;
    }
    GG_UNROLL for (int r = 0; r < rows; r++) {
        GG_NAME(gg_vector) *out = (GG_NAME(gg_vector) *)(end->c + r * end->c_row);
        GG_UNROLL for (int v = 0; v < vectors; v++) {
            GG_NAME(gg_vector) whole = sum[r][v];
            if (end->adds) whole += out[v];
            if (end->ends & GG_ADD_BIAS) whole += ((const GG_NAME(gg_vector) *)end->bias)[v];
            if (end->ends & GG_ADD_ADDEND)
                whole += ((const GG_NAME(gg_vector) *)(end->addend + r * end->addend_row))[v];
            if (end->ends & GG_RELU) {
                GG_NAME(gg_mask) below = whole < (GG_NAME(gg_vector)){0};
                whole = (GG_NAME(gg_vector))((GG_NAME(gg_mask))whole & ~below);
            }
            out[v] = whole;
        }
    }
}

typedef void (*GG_NAME(gg_tile_function))(int64_t, const gg_real *, int64_t, const gg_real *,
                                          int64_t, const GG_NAME(gg_tile_end) *);

/* Separate functions, so that each has all registers. */
#define GG_TILE_OF(rows, vectors)                                                                  \
    static __attribute__((noinline)) void GG_NAME(gg_tile_##rows##_##vectors)(                     \
        int64_t depth, const gg_real *a, int64_t a_step, const gg_real *b, int64_t b_step,         \
        const GG_NAME(gg_tile_end) * end) {                                                        \
        GG_NAME(gg_tile)(rows, vectors, depth, a, a_step, b, b_step, end);                         \
    }
#define GG_TILES_OF(rows) GG_TILE_OF(rows, 1) GG_TILE_OF(rows, 2)

GG_TILES_OF(2)
GG_TILES_OF(4)
GG_TILES_OF(6)
#if GG_REGISTERS == 32
GG_TILES_OF(8)
GG_TILES_OF(10)
GG_TILES_OF(12)
GG_TILES_OF(14)
#endif

#define GG_TILE_NAMES(rows) {GG_NAME(gg_tile_##rows##_1), GG_NAME(gg_tile_##rows##_2)}

/* By half the rows, and the vectors. */
static const GG_NAME(gg_tile_function) GG_NAME(gg_tiles)[][GG_TILE_VECTORS] = {
    GG_TILE_NAMES(2), GG_TILE_NAMES(4), GG_TILE_NAMES(6),
#if GG_REGISTERS == 32
    GG_TILE_NAMES(8), GG_TILE_NAMES(10), GG_TILE_NAMES(12), GG_TILE_NAMES(14),
#endif
};

/* A tile that is not whole in memory: computed elsewhere, and copied. */
static void GG_NAME(gg_part_of_tile)(int64_t rows, int64_t columns, int64_t depth, const gg_real *a,
                                     int64_t a_step, const gg_real *b, int64_t b_step,
                                     const GG_NAME(gg_tile_end) * end) {
    gg_real rest[3][GG_TILE_ROWS * GG_TILE_COLUMNS] = {0};
    int64_t vectors = gg_ceil(columns, GG_REAL_LANES), width = vectors * GG_REAL_LANES;
    GG_NAME(gg_tile_end) there = *end;
    there.c = rest[0], there.c_row = width;
    for (int64_t r = 0; end->adds && r < rows; r++)
        memcpy(rest[0] + r * width, end->c + r * end->c_row, columns * sizeof(gg_real));
    if (end->ends & GG_ADD_BIAS) {
        memcpy(rest[1], end->bias, columns * sizeof(gg_real));
        there.bias = rest[1];
    }
    if (end->ends & GG_ADD_ADDEND) {
        for (int64_t r = 0; r < rows; r++)
            memcpy(rest[2] + r * width, end->addend + r * end->addend_row,
                   columns * sizeof(gg_real));
        there.addend = rest[2], there.addend_row = width;
    }
    GG_NAME(gg_tiles)[(rows - 1) / 2][vectors - 1](depth, a, a_step, b, b_step, &there);
    for (int64_t r = 0; r < rows; r++)
        memcpy(end->c + r * end->c_row, rest[0] + r * width, columns * sizeof(gg_real));
}

/* One tile of these rows and columns; both panels have the widths that its function computes. */
GG_ALWAYS void GG_NAME(gg_run_tile)(int64_t rows, int64_t columns, int64_t depth, const gg_real *a,
                                    int64_t a_step, const gg_real *b, int64_t b_step,
                                    const GG_NAME(gg_tile_end) * end) {
    if (rows % 2 || columns % GG_REAL_LANES)
        GG_NAME(gg_part_of_tile)(rows, columns, depth, a, a_step, b, b_step, end);
    else
        GG_NAME(gg_tiles)[rows / 2 - 1][columns / GG_REAL_LANES - 1](depth, a, a_step, b, b_step,
                                                                     end);
}

/* -- panels: `lines` of an operand, rows of a or columns of b, as `width` numbers for each of
   `depth` k. The rest of the width is zero. */

static void GG_NAME(gg_pack_slowly)(gg_real *to, int64_t width, const gg_real *from,
                                    int64_t line_step, int64_t k_step, int64_t lines,
                                    int64_t depth) {
    for (int64_t k = 0; k < depth; k++)
        for (int64_t line = 0; line < width; line++)
            to[k * width + line] = line < lines ? from[line * line_step + k * k_step] : 0;
}

/* For lines side by side. */
GG_ALWAYS void GG_NAME(gg_pack_rows)(gg_real *to, const int width, const gg_real *from,
                                     int64_t k_step, int64_t depth) {
    for (int64_t k = 0; k < depth; k++)
        memcpy(to + k * width, from + k * k_step, width * sizeof(gg_real));
}

/* For lines that are contiguous along k: squares are transposed in registers. Vectors that extend
   beyond their target are written first. */
GG_ALWAYS void GG_NAME(gg_pack_turned)(gg_real *to, const int width, const gg_real *from,
                                       int64_t line_step, int64_t depth) {
    const int lanes = GG_REAL_LANES;
    int64_t k = 0;
    for (; k + lanes < depth + (width % lanes == 0); k += lanes)
        GG_UNROLL for (int group = (width - 1) / lanes; group >= 0; group--) {
            GG_NAME(gg_vector) square[GG_REAL_LANES];
            GG_UNROLL for (int line = 0; line < lanes; line++) {
                int64_t real = gg_min(group * lanes + line, width - 1);
                square[line] = *(const GG_NAME(gg_vector) *)(from + real * line_step + k);
            }
            GG_NAME(gg_turn)(square);
            GG_UNROLL for (int each = 0; each < lanes; each++)
                *(GG_NAME(gg_vector) *)(to + (k + each) * width + group * lanes) = square[each];
        }
    GG_NAME(gg_pack_slowly)(to + k * width, width, from + k, line_step, 1, width, depth - k);
}

static void GG_NAME(gg_pack)(gg_real *to, int64_t width, const gg_real *from, int64_t line_step,
                             int64_t k_step, int64_t lines, int64_t depth) {
    if (lines == GG_TILE_ROWS && width == GG_TILE_ROWS && line_step == 1)
        GG_NAME(gg_pack_rows)(to, GG_TILE_ROWS, from, k_step, depth);
    else if (lines == GG_TILE_ROWS && width == GG_TILE_ROWS && k_step == 1)
        GG_NAME(gg_pack_turned)(to, GG_TILE_ROWS, from, line_step, depth);
    else if (lines == GG_TILE_COLUMNS && line_step == 1)
        GG_NAME(gg_pack_rows)(to, GG_TILE_COLUMNS, from, k_step, depth);
    else if (lines == GG_TILE_COLUMNS && k_step == 1)
        GG_NAME(gg_pack_turned)(to, GG_TILE_COLUMNS, from, line_step, depth);
    else
        GG_NAME(gg_pack_slowly)(to, width, from, line_step, k_step, lines, depth);
}

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
