/* From the coefficients of JPEG files to pixels: the inverse cosine transform, larger chroma planes,
   and colours, all with the bits of libjpeg (dct_method "INTEGER_ACCURATE", fancy upsampling). */

typedef int32_t gg_jpeg_row __attribute__((vector_size(32)));

GG_ALWAYS uint8_t gg_jpeg_byte(int value) {
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* The transform of the columns of 8 rows, rounded to `shift` bits fewer. Constants have 13 bits. */
GG_ALWAYS void gg_jpeg_columns(gg_jpeg_row r[8], int shift) {
    const gg_jpeg_row half = (gg_jpeg_row){} + (1 << (shift - 1));
    const gg_jpeg_row turned = (r[2] + r[6]) * 4433;
    const gg_jpeg_row even2 = turned - r[6] * 15137, even3 = turned + r[2] * 6270;
    const gg_jpeg_row even0 = ((r[0] + r[4]) << 13) + half, even1 = ((r[0] - r[4]) << 13) + half;
    const gg_jpeg_row a0 = even0 + even3, a3 = even0 - even3;
    const gg_jpeg_row a1 = even1 + even2, a2 = even1 - even2;
    const gg_jpeg_row z5 = (r[7] + r[3] + r[5] + r[1]) * 9633;
    const gg_jpeg_row z3 = z5 - (r[7] + r[3]) * 16069, z4 = z5 - (r[5] + r[1]) * 3196;
    const gg_jpeg_row z1 = (r[7] + r[1]) * -7373, z2 = (r[5] + r[3]) * -20995;
    const gg_jpeg_row b0 = r[7] * 2446 + z1 + z3, b1 = r[5] * 16819 + z2 + z4;
    const gg_jpeg_row b2 = r[3] * 25172 + z2 + z3, b3 = r[1] * 12299 + z1 + z4;
    r[0] = (a0 + b3) >> shift, r[7] = (a0 - b3) >> shift;
    r[1] = (a1 + b2) >> shift, r[6] = (a1 - b2) >> shift;
    r[2] = (a2 + b1) >> shift, r[5] = (a2 - b1) >> shift;
    r[3] = (a3 + b0) >> shift, r[4] = (a3 - b0) >> shift;
}

#if defined(__clang__) || __GNUC__ >= 12
#define GG_JPEG_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

GG_ALWAYS void gg_jpeg_transpose(gg_jpeg_row r[8]) {
    gg_jpeg_row a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = GG_JPEG_MIX(r[2 * i], r[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        a[2 * i + 1] = GG_JPEG_MIX(r[2 * i], r[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; j++) {
            b[i + 2 * j] = GG_JPEG_MIX(a[i + j], a[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            b[i + 2 * j + 1] = GG_JPEG_MIX(a[i + j], a[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; i++) {
        r[i] = GG_JPEG_MIX(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = GG_JPEG_MIX(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}
#else
GG_ALWAYS void gg_jpeg_transpose(gg_jpeg_row r[8]) {
    gg_jpeg_row copy[8];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) copy[i][j] = r[j][i];
    memcpy(r, copy, sizeof copy);
}
#endif

/* Writes the 8 * 8 pixels of a block, whose last coefficient is at `last`. */
static void gg_jpeg_transform(const int16_t *block, int last, uint8_t *out, int64_t stride) {
    if (!last) {
        const uint8_t value = gg_jpeg_byte(((block[0] + 4) >> 3) + 128);
        for (int y = 0; y < 8; y++) memset(out + y * stride, value, 8);
        return;
    }
    gg_jpeg_row r[8];
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) r[y][x] = block[8 * y + x];
    gg_jpeg_columns(r, 11);
    gg_jpeg_transpose(r);
    gg_jpeg_columns(r, 18);
    gg_jpeg_transpose(r);
    for (int y = 0; y < 8; y++) {
        gg_jpeg_row v = r[y] + 128;
        v = v & ~(v >> 31);
        v = v | ((255 - v) >> 31);
        for (int x = 0; x < 8; x++) out[y * stride + x] = (uint8_t)v[x];
    }
}

/* Writes a row of twice the width from `count` sums of 1 << `bits` samples. */
static void gg_jpeg_widen(const int16_t *in, int64_t count, int bits, uint8_t *out) {
    const int more = bits + 2, low = 1 << (more - 1);
    const int odd = bits ? low - 1 : low, even = bits ? low : low - 1;
    for (int64_t i = 1; i + 1 < count; i++) {
        const int three = 3 * in[i];
        out[2 * i] = (uint8_t)((three + in[i - 1] + even) >> more);
        out[2 * i + 1] = (uint8_t)((three + in[i + 1] + odd) >> more);
    }
    const int64_t end = count - 1;
    out[0] = (uint8_t)((4 * in[0] + (bits ? low : 0)) >> more);
    out[1] = (uint8_t)((3 * in[0] + in[1] + odd) >> more);
    out[2 * end] = (uint8_t)((3 * in[end] + in[end - 1] + even) >> more);
    out[2 * end + 1] = (uint8_t)((4 * in[end] + (bits ? odd : 0)) >> more);
}

/* Writes pixels of three channels. */
static void gg_jpeg_colors(const uint8_t *restrict y, const uint8_t *restrict blue,
                           const uint8_t *restrict red, int64_t count, uint8_t *restrict out) {
    for (int64_t i = 0; i < count; i++) {
        const int cb = blue[i] - 128, cr = red[i] - 128;
        out[3 * i] = gg_jpeg_byte(y[i] + ((91881 * cr + 32768) >> 16));
        out[3 * i + 1] = gg_jpeg_byte(y[i] + ((-22554 * cb - 46802 * cr + 32768) >> 16));
        out[3 * i + 2] = gg_jpeg_byte(y[i] + ((116130 * cb + 32768) >> 16));
    }
}
