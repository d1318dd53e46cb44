/* The gradient of mirror padding: each element of `out`, of four axes, is the sum of its copies
   in the padded array, up to three along an axis: itself, and its mirror images `before` and
   `after`. edge: 1 if the border itself is not repeated.

   variants: T=float,half,double,int32,int64,uint8 */

#include "gpu_kernel.cuh"

struct gg_line {
    long long size, before, after;
};

/* The positions of element p in the padded array; returns their number. */
GG_INLINE int gg_places(const gg_line &line, long long p, int edge, long long *places) {
    int count = 0;
    const long long first = line.before - 1 + edge - p, last = line.size - 1 - edge - p;
    if (first >= 0 && first < line.before) places[count++] = first;
    places[count++] = line.before + p;
    if (last >= 0 && last < line.after) places[count++] = line.before + line.size + last;
    return count;
}

extern "C" __global__ void gg_mirror_back(const T *padded, T *out, long long count, long long edge, long long size0, long long before0, long long after0, long long size1, long long before1, long long after1, long long size2, long long before2, long long after2, long long size3, long long before3, long long after3) {
    const gg_line l0 = {size0, before0, after0}, l1 = {size1, before1, after1}, l2 = {size2, before2, after2}, l3 = {size3, before3, after3};
    const long long all1 = size1 + before1 + after1, all2 = size2 + before2 + after2, all3 = size3 + before3 + after3;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += (long long)gridDim.x * blockDim.x) {
        const long long row = at / size3, plane = row / size2, p0 = plane / size1;
        long long of0[3], of1[3], of2[3], of3[3];
        const int n0 = gg_places(l0, p0, (int)edge, of0), n1 = gg_places(l1, plane - p0 * size1, (int)edge, of1);
        const int n2 = gg_places(l2, row - plane * size2, (int)edge, of2), n3 = gg_places(l3, at - row * size3, (int)edge, of3);
        T_VALUE sum = 0;
        for (int a = 0; a < n0; a++)
            for (int b = 0; b < n1; b++)
                for (int c = 0; c < n2; c++)
                    for (int d = 0; d < n3; d++) sum += T_LOAD(padded[((of0[a] * all1 + of1[b]) * all2 + of2[c]) * all3 + of3[d]]);
        out[at] = T_STORE(sum);
    }
}
