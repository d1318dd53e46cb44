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

GG_ALWAYS uint8_t gg_jpeg_clip(int16_t value) {
    value = value < 0 ? 0 : value;
    return (uint8_t)(value > 255 ? 255 : value);
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
