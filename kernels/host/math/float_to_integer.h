/* Floating-point numbers as integers, as x86 converts them, for C and for CUDA. (In C the results
   of NaN and of numbers out of range are undefined.)

   int32_t, int64_t     truncated; NaN and numbers out of range give the smallest integer
   uint64_t             numbers from 2^63 on by the difference from 2^63, others as int64_t

   Smaller types take the low bits of int32_t, uint32_t those of int64_t. Small numbers are zeroed
   first: if compilers emit trunc(x) for an integer that becomes a float again, -0.5 would be -0. */

#ifndef GG_FLOAT_TO_INTEGER
#define GG_FLOAT_TO_INTEGER

#define gg_f32_whole(x) ((x) > -1.0f && (x) < 1.0f ? 0.0f : (x))
#define gg_f64_whole(x) ((x) > -1.0 && (x) < 1.0 ? 0.0 : (x))
#define GG_LEAST_I32 (-2147483647 - 1)
#define GG_LEAST_I64 (-9223372036854775807ll - 1)

GG_INLINE int32_t gg_f32_to_i32(float x) {
    return x >= -2147483648.0f && x < 2147483648.0f ? (int32_t)gg_f32_whole(x) : GG_LEAST_I32;
}

GG_INLINE int32_t gg_f64_to_i32(double x) {
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)gg_f64_whole(x) : GG_LEAST_I32;
}

GG_INLINE int64_t gg_f32_to_i64(float x) {
    const int is_within = x >= -9223372036854775808.0f && x < 9223372036854775808.0f;
    return is_within ? (int64_t)gg_f32_whole(x) : (int64_t)GG_LEAST_I64;
}

GG_INLINE int64_t gg_f64_to_i64(double x) {
    const int is_within = x >= -9223372036854775808.0 && x < 9223372036854775808.0;
    return is_within ? (int64_t)gg_f64_whole(x) : (int64_t)GG_LEAST_I64;
}

GG_INLINE uint64_t gg_f32_to_u64(float x) {
    if (!(x >= 9223372036854775808.0f)) return (uint64_t)gg_f32_to_i64(x);
    return (uint64_t)gg_f32_to_i64(x - 9223372036854775808.0f) ^ (uint64_t)GG_LEAST_I64;
}

GG_INLINE uint64_t gg_f64_to_u64(double x) {
    if (!(x >= 9223372036854775808.0)) return (uint64_t)gg_f64_to_i64(x);
    return (uint64_t)gg_f64_to_i64(x - 9223372036854775808.0) ^ (uint64_t)GG_LEAST_I64;
}
#endif
