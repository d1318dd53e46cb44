"""Fourier and cosine transforms, frames of signals."""

from gpugraph.ops.signal import dct_and_mel, fourier_transforms, stft_and_windows
