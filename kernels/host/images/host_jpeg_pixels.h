/* From the coefficients of JPEG files to pixels: the inverse cosine transform, larger chroma planes,
   and colours, all with the bits of libjpeg. */

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

#define GG_JPEG_MOST_SUM 5900

/* Writes the 8 * 8 pixels of block `b`. Returns 0 if the transform might exceed 16 bits, where
   implementations of libjpeg differ. */
static int gg_jpeg_accurate(const int16_t *blocks, int b, const uint16_t *steps, uint8_t *out,
                            int64_t stride) {
    gg_jpeg_row r[8], sums = {};
    for (int y = 0; y < 8; y++) {
        for (int x = 0; x < 8; x++)
            r[y][x] = blocks[(y * GG_JPEG_BLOCKS + b) * 8 + x] * steps[8 * y + x];
        const gg_jpeg_row sign = r[y] >> 31;
        sums += (r[y] ^ sign) - sign;
    }
    int64_t sum = 0;
    for (int x = 0; x < 8; x++) sum += sums[x];
    if (sum > GG_JPEG_MOST_SUM) return 0;
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
    return 1;
}

/* The fast transform (Arai, Agui and Nakajima) in 16 bits, as libjpeg's code for processors with
   vectors computes it: multiplications have constants of 8 bits after the point and are rounded
   down, the factors of rows and columns are part of the steps. */

#define GG_JPEG_LANES (8 * GG_JPEG_BLOCKS)

typedef int16_t gg_jpeg_rows __attribute__((vector_size(2 * GG_JPEG_LANES)));

/* Factors of rows and columns, cos(k * pi / 16) * sqrt(2) with 14 bits after the point. */
static const double gg_jpeg_factors[8] = {1.0, 1.387039845322148, 1.306562964876377,
                                          1.175875602419359, 1.0, 0.785694958387102,
                                          0.541196100146197, 0.275899379282943};

/* Returns a step of the fast transform, with 2 bits after the point. */
static int16_t gg_jpeg_fast_step(int step, int place) {
    const double factor = gg_jpeg_factors[place / 8] * gg_jpeg_factors[place % 8];
    return (int16_t)((step * (int)(factor * 16384 + 0.5) + 2048) >> 12);
}

/* The vectors' products with a constant of 8 bits after the point. Compilers recognize the loop. */
GG_ALWAYS gg_jpeg_rows gg_jpeg_times(gg_jpeg_rows value, int constant) {
    int16_t in[GG_JPEG_LANES], out[GG_JPEG_LANES];
    const gg_jpeg_rows shifted = value << 2;
    memcpy(in, &shifted, sizeof in);
    for (int i = 0; i < GG_JPEG_LANES; i++) out[i] = (int16_t)(in[i] * (constant * 64) >> 16);
    gg_jpeg_rows result;
    memcpy(&result, out, sizeof out);
    return result;
}

GG_ALWAYS void gg_jpeg_fast_columns(gg_jpeg_rows r[8]) {
    const gg_jpeg_rows sum04 = r[0] + r[4], less04 = r[0] - r[4];
    const gg_jpeg_rows sum26 = r[2] + r[6], less26 = gg_jpeg_times(r[2] - r[6], 362) - sum26;
    const gg_jpeg_rows a0 = sum04 + sum26, a3 = sum04 - sum26;
    const gg_jpeg_rows a1 = less04 + less26, a2 = less04 - less26;
    const gg_jpeg_rows sum53 = r[5] + r[3], less53 = r[5] - r[3];
    const gg_jpeg_rows sum17 = r[1] + r[7], less17 = r[1] - r[7];
    const gg_jpeg_rows both = gg_jpeg_times(less53 + less17, 473);
    const gg_jpeg_rows b7 = sum17 + sum53;
    const gg_jpeg_rows b6 = both + gg_jpeg_times(less53, -413) - less53 - b7;
    const gg_jpeg_rows b5 = gg_jpeg_times(sum17 - sum53, 362) - b6;
    const gg_jpeg_rows b4 = gg_jpeg_times(less17, 277) - both + b5;
    r[0] = a0 + b7, r[7] = a0 - b7;
    r[1] = a1 + b6, r[6] = a1 - b6;
    r[2] = a2 + b5, r[5] = a2 - b5;
    r[4] = a3 + b4, r[3] = a3 - b4;
}

#ifdef GG_JPEG_MIX
#define GG_JPEG_LOW(i) i, GG_JPEG_LANES + i
#define GG_JPEG_HALF(i) GG_JPEG_LOW(i), GG_JPEG_LOW(i + 1), GG_JPEG_LOW(i + 2), GG_JPEG_LOW(i + 3)
#if GG_JPEG_BLOCKS == 4
#define GG_JPEG_HALVES(i) \
    GG_JPEG_HALF(i), GG_JPEG_HALF(i + 8), GG_JPEG_HALF(i + 16), GG_JPEG_HALF(i + 24)
#elif GG_JPEG_BLOCKS == 2
#define GG_JPEG_HALVES(i) GG_JPEG_HALF(i), GG_JPEG_HALF(i + 8)
#else
#define GG_JPEG_HALVES(i) GG_JPEG_HALF(i)
#endif

/* Transposes each block. Three times, the rows of the halves are taken alternately. */
GG_ALWAYS void gg_jpeg_transpose_all(gg_jpeg_rows r[8]) {
    for (int time = 0; time < 3; time++) {
        gg_jpeg_rows a[8];
        for (int i = 0; i < 4; i++) {
            a[2 * i] = GG_JPEG_MIX(r[i], r[i + 4], GG_JPEG_HALVES(0));
            a[2 * i + 1] = GG_JPEG_MIX(r[i], r[i + 4], GG_JPEG_HALVES(4));
        }
        for (int i = 0; i < 8; i++) r[i] = a[i];
    }
}
#else
GG_ALWAYS void gg_jpeg_transpose_all(gg_jpeg_rows r[8]) {
    gg_jpeg_rows copy[8];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < GG_JPEG_LANES; j++) copy[i][j] = r[j % 8][j / 8 * 8 + i];
    memcpy(r, copy, sizeof copy);
}
#endif

GG_ALWAYS uint8_t gg_jpeg_clip(int16_t value) {
    value = value < 0 ? 0 : value;
    return (uint8_t)(value > 255 ? 255 : value);
}

/* Writes the pixels of `count` blocks. */
static void gg_jpeg_fast(const int16_t *blocks, const int16_t *steps, int count,
                         uint8_t *const *out, int64_t stride) {
    gg_jpeg_rows r[8];
    for (int y = 0; y < 8; y++) {
        gg_jpeg_rows factors;
        memcpy(&r[y], blocks + y * GG_JPEG_LANES, sizeof r[y]);
        memcpy(&factors, steps + y * GG_JPEG_LANES, sizeof factors);
        r[y] *= factors;
    }
    gg_jpeg_fast_columns(r);
    gg_jpeg_transpose_all(r);
    gg_jpeg_fast_columns(r);
    gg_jpeg_transpose_all(r);
    for (int y = 0; y < 8; y++) {
        int16_t in[GG_JPEG_LANES];
        uint8_t bytes[GG_JPEG_LANES];
        const gg_jpeg_rows row = (r[y] >> 5) + 128;
        memcpy(in, &row, sizeof in);
        for (int i = 0; i < GG_JPEG_LANES; i++) bytes[i] = gg_jpeg_clip(in[i]);
        for (int b = 0; b < count; b++) memcpy(out[b] + y * stride, bytes + 8 * b, 8);
    }
}

#define GG_JPEG_STRIP 64

typedef uint8_t gg_jpeg_16 __attribute__((vector_size(16), aligned(1), may_alias));

/* Writes the bytes of two strips alternately. */
GG_ALWAYS void gg_jpeg_alternate(const uint8_t *even, const uint8_t *odd, uint8_t *restrict out) {
#ifdef GG_JPEG_MIX
    for (int i = 0; i < GG_JPEG_STRIP; i += 16) {
        const gg_jpeg_16 a = *(const gg_jpeg_16 *)(even + i), b = *(const gg_jpeg_16 *)(odd + i);
        gg_jpeg_16 *to = (gg_jpeg_16 *)(out + 2 * i);
        to[0] = GG_JPEG_MIX(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        to[1] = GG_JPEG_MIX(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
#else
    for (int i = 0; i < GG_JPEG_STRIP; i++) out[2 * i] = even[i], out[2 * i + 1] = odd[i];
#endif
}

/* Writes a row of twice the width from `count` > 2 samples, each the sum of 1 << `bits` samples.
   The row has room for a strip more. Sums outside are chosen so that the ends need no rule. */
static void gg_jpeg_widen(int16_t *restrict in, int64_t count, int bits, uint8_t *restrict out) {
    const int16_t low = (int16_t)(bits ? 8 : 1), high = (int16_t)(bits ? 7 : 2);
    const int more = bits + 2;
    in[-1] = in[0], in[count] = in[count - 1];
    for (int64_t first = 0; first < count; first += GG_JPEG_STRIP) {
        uint8_t even[GG_JPEG_STRIP], odd[GG_JPEG_STRIP];
        const int16_t *at = in + first;
        for (int i = 0; i < GG_JPEG_STRIP; i++)
            even[i] = (uint8_t)((int16_t)(3 * at[i] + at[i - 1] + low) >> more);
        for (int i = 0; i < GG_JPEG_STRIP; i++)
            odd[i] = (uint8_t)((int16_t)(3 * at[i] + at[i + 1] + high) >> more);
        gg_jpeg_alternate(even, odd, out + 2 * first);
    }
}

/* Writes a strip of pixels, given a strip of each channel. */
GG_ALWAYS void gg_jpeg_interleave(const uint8_t *red, const uint8_t *green, const uint8_t *blue,
                                  uint8_t *restrict out) {
#ifdef GG_JPEG_MIX
    for (int i = 0; i < GG_JPEG_STRIP; i += 16, out += 48) {
        const gg_jpeg_16 r = *(const gg_jpeg_16 *)(red + i), g = *(const gg_jpeg_16 *)(green + i);
        const gg_jpeg_16 b = *(const gg_jpeg_16 *)(blue + i);
        const gg_jpeg_16 one = GG_JPEG_MIX(r, g, 0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5);
        const gg_jpeg_16 two =
            GG_JPEG_MIX(r, g, 21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26);
        const gg_jpeg_16 three =
            GG_JPEG_MIX(r, g, 0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0);
        gg_jpeg_16 *to = (gg_jpeg_16 *)out;
        to[0] = GG_JPEG_MIX(one, b, 0, 1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13, 20, 15);
        to[1] = GG_JPEG_MIX(two, b, 0, 21, 2, 3, 22, 5, 6, 23, 8, 9, 24, 11, 12, 25, 14, 15);
        to[2] = GG_JPEG_MIX(three, b, 26, 1, 2, 27, 4, 5, 28, 7, 8, 29, 10, 11, 30, 13, 14, 31);
    }
#else
    for (int i = 0; i < GG_JPEG_STRIP; i++)
        out[3 * i] = red[i], out[3 * i + 1] = green[i], out[3 * i + 2] = blue[i];
#endif
}

/* Half of a product with a constant of 16 bits after the point, rounded. */
GG_ALWAYS int16_t gg_jpeg_half(int16_t twice, int16_t constant) {
    const int16_t high = (int16_t)((int32_t)twice * constant >> 16);
    return (int16_t)((int16_t)(high + 1) >> 1);
}

/* Converts a strip of pixels by libjpeg's constants, in 16 bits where the results are equal:
   red 65536 + 26345, blue 2 * 65536 - 14942, green -22554 and -65536 + 18734. */
static void gg_jpeg_strip(const uint8_t *restrict y, const uint8_t *restrict blue,
                          const uint8_t *restrict red, uint8_t *restrict out) {
    uint8_t parts[3][GG_JPEG_STRIP];
    int16_t cb[GG_JPEG_STRIP], cr[GG_JPEG_STRIP], mix[GG_JPEG_STRIP];
    for (int i = 0; i < GG_JPEG_STRIP; i++)
        cb[i] = (int16_t)(blue[i] - 128), cr[i] = (int16_t)(red[i] - 128);
    for (int i = 0; i < GG_JPEG_STRIP; i++)
        mix[i] = (int16_t)((-22554 * cb[i] + 18734 * cr[i] + 32768) >> 16);
    for (int i = 0; i < GG_JPEG_STRIP; i++) {
        const int16_t more = gg_jpeg_half((int16_t)(2 * cr[i]), 26345);
        parts[0][i] = gg_jpeg_clip((int16_t)(y[i] + cr[i] + more));
    }
    for (int i = 0; i < GG_JPEG_STRIP; i++)
        parts[1][i] = gg_jpeg_clip((int16_t)(y[i] - cr[i] + mix[i]));
    for (int i = 0; i < GG_JPEG_STRIP; i++) {
        const int16_t more = gg_jpeg_half((int16_t)(2 * cb[i]), -14942);
        parts[2][i] = gg_jpeg_clip((int16_t)(y[i] + 2 * cb[i] + more));
    }
    gg_jpeg_interleave(parts[0], parts[1], parts[2], out);
}

/* Writes a row of pixels. */
static void gg_jpeg_colors(const uint8_t *y, const uint8_t *blue, const uint8_t *red, int64_t count,
                           uint8_t *out) {
    int64_t i = 0;
    for (; i + GG_JPEG_STRIP <= count; i += GG_JPEG_STRIP)
        gg_jpeg_strip(y + i, blue + i, red + i, out + 3 * i);
    if (i == count) return;
    uint8_t rest[3][GG_JPEG_STRIP] = {{0}}, pixels[3 * GG_JPEG_STRIP];
    const uint8_t *rows[3] = {y, blue, red};
    for (int part = 0; part < 3; part++) memcpy(rest[part], rows[part] + i, (size_t)(count - i));
    gg_jpeg_strip(rest[0], rest[1], rest[2], pixels);
    memcpy(out + 3 * i, pixels, (size_t)(3 * (count - i)));
}
