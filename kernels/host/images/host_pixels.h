/* Pixels of any real dtype as numbers of the functions' type. */

#ifndef GG_PIXELS
#define GG_PIXELS

/* The numbers of dtypes, as in gpugraph/ops/image/native_image_sources.py. */
enum { GG_F32, GG_F64, GG_F16, GG_U8, GG_I8, GG_U16, GG_I16, GG_I32, GG_I64, GG_U32, GG_U64 };

static const int64_t gg_pixel_bytes[] = {4, 8, 2, 1, 1, 2, 2, 4, 8, 4, 8};
#endif

#define GG_PIXELS_OF(type)                                                                         \
    for (int64_t i = 0; i < count; i++) to[i] = (gg_real)((const type *)from)[i];                  \
    return

static void GG_NAME(gg_pixels)(int64_t kind, const void *from, int64_t count, gg_real *to) {
    switch (kind) {
        case GG_F32: GG_PIXELS_OF(float);
        case GG_F64: GG_PIXELS_OF(double);
        case GG_U8: GG_PIXELS_OF(uint8_t);
        case GG_I8: GG_PIXELS_OF(int8_t);
        case GG_U16: GG_PIXELS_OF(uint16_t);
        case GG_I16: GG_PIXELS_OF(int16_t);
        case GG_I32: GG_PIXELS_OF(int32_t);
        case GG_I64: GG_PIXELS_OF(int64_t);
        case GG_U32: GG_PIXELS_OF(uint32_t);
        case GG_U64: GG_PIXELS_OF(uint64_t);
    }
    for (int64_t i = 0; i < count; i++) to[i] = gg_from_half(((const uint16_t *)from)[i]);
}
