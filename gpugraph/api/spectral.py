"""`tf.spectral`: Fourier and cosine transforms, which are also in `tf.signal`."""

from gpugraph.ops.signal.dct_and_mel import dct as dct, idct as idct
from gpugraph.ops.signal.fourier_transforms import (
    fft as fft, fft2d as fft2d, fft3d as fft3d, ifft as ifft, ifft2d as ifft2d, ifft3d as ifft3d,
    irfft as irfft, irfft2d as irfft2d, irfft3d as irfft3d, rfft as rfft, rfft2d as rfft2d,
    rfft3d as rfft3d,
)
