"""Fourier and cosine transforms, frames and windows of signals."""

from gpugraph.ops.signal.dct_and_mel import (
    dct as dct, fftshift as fftshift, idct as idct, ifftshift as ifftshift,
    linear_to_mel_weight_matrix as linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms,
)
from gpugraph.ops.signal.fourier_transforms import (
    fft as fft, fft2d as fft2d, fft3d as fft3d, ifft as ifft, ifft2d as ifft2d, ifft3d as ifft3d,
    irfft as irfft, irfft2d as irfft2d, irfft3d as irfft3d, rfft as rfft, rfft2d as rfft2d,
    rfft3d as rfft3d,
)
from gpugraph.ops.signal.stft_and_windows import (
    frame as frame, hamming_window as hamming_window, hann_window as hann_window,
    inverse_stft as inverse_stft, inverse_stft_window_fn as inverse_stft_window_fn,
    overlap_and_add as overlap_and_add, stft as stft,
)
