/* Functions and sums as generated code has them, over a few numbers. The runtime is loaded only if
   they are NumPy's: code of an unsound compiler is never used.

   out: eight rows of n elements: tanh, exp, expm1, log, log1p, erf, sqrt, and partial sums. */

#define GG_SELF_CHECK(name, T)                                                                     \
    void name(const T *x, T *out, long n) {                                                        \
        T sum = 0;                                                                                 \
        for (long i = 0; i < n; i++) {                                                             \
            T size = fabs(x[i]) + (T)0.125;                                                        \
            out[i] = tanh(x[i]);                                                                   \
            out[n + i] = exp(x[i]);                                                                \
            out[2 * n + i] = expm1(x[i]);                                                          \
            out[3 * n + i] = log(size);                                                            \
            out[4 * n + i] = log1p(size);                                                          \
            out[5 * n + i] = erf(x[i]);                                                            \
            out[6 * n + i] = sqrt(size);                                                           \
        }                                                                                          \
        for (long i = 0; i < n; i++)                                                               \
            out[7 * n + i] = sum += x[i] * x[i] - x[i] / (T)3;                                     \
    }

GG_SELF_CHECK(gg_self_check_f32, float)
GG_SELF_CHECK(gg_self_check_f64, double)

/* Products that wrap, quotients and remainders, shifts: three rows of n elements. */
void gg_self_check_i32(const int32_t *x, int32_t *out, long n) {
    for (long i = 0; i < n; i++) {
        out[i] = (int32_t)((uint32_t)x[i] * 2654435761u);
        out[n + i] = x[i] / 7 - x[i] % 7;
        out[2 * n + i] = (x[i] >> 3) ^ (x[i] < 0 ? -1 : 5);
    }
}
