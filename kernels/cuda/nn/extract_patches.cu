/* Patches of images (n, h, w, c) as channels: out[n, place, element, c] is the input of an element
   of the window at a place; 0 outside. ITEM: an element's bits.

   variants: ITEM=uint8_t,uint16_t,uint32_t,uint64_t GG_LAST=1 GG_VOLUME=0 PLACE=int32_t,int64_t */

#include "window_geometry.cuh"

extern "C" __global__ void gg_patches(const ITEM *source, ITEM *out, long long count, long long channels, GG_AXES) {
    GG_TAKE_AXES
    const gg_layout from = gg_lay(channels, 1, y.size, x.size);
    for (PLACE at = (PLACE)blockIdx.x * blockDim.x + threadIdx.x; at < (PLACE)count; at += (PLACE)gridDim.x * blockDim.x) {
        PLACE rest = at;
        const int c = gg_cut(rest, (int)channels), j = gg_cut(rest, x.window), i = gg_cut(rest, y.window);
        const int column = gg_cut(rest, x.out) * x.stride + j * x.dilation - x.before;
        const int row = gg_cut(rest, y.out) * y.stride + i * y.dilation - y.before;
        const bool inside = (unsigned)row < (unsigned)y.size && (unsigned)column < (unsigned)x.size;
        out[at] = inside ? source[rest * from.n + row * from.y + column * from.x + c] : ITEM();
    }
}
