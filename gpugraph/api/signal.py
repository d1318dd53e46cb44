"""Fourier and cosine transforms, framing and windows of signals."""

from gpugraph.api.spectral import *
from gpugraph.ops.signal.dct_and_mel import (
    fftshift as fftshift, ifftshift as ifftshift,
    linear_to_mel_weight_matrix as linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms,
)
from gpugraph.ops.signal.stft_and_windows import (
    frame as frame, hamming_window as hamming_window, hann_window as hann_window,
    inverse_stft as inverse_stft, inverse_stft_window_fn as inverse_stft_window_fn,
    overlap_and_add as overlap_and_add, stft as stft,
)
