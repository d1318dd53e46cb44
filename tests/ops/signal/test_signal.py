"""Frames, windows, short-time spectra, cosine transforms and mel scales, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from ..function_cases import fetched, refuses, same

SIGNAL = np.random.default_rng(0).normal(size=(2, 16)).astype(np.float32)


def _framed(signal: np.ndarray, length: int, step: int) -> np.ndarray:
    starts = range(0, signal.shape[-1] - length + 1, step)
    return np.stack([signal[..., start : start + length] for start in starts], axis=-2)


def test_frames():
    same(lambda: tf.signal.frame(SIGNAL, 5, 3), _framed(SIGNAL, 5, 3))
    filled = np.pad(SIGNAL, [(0, 0), (0, 4)], constant_values=7)
    same(lambda: tf.signal.frame(SIGNAL, 5, 3, pad_end=True, pad_value=7), _framed(filled, 5, 3))
    along = np.moveaxis(_framed(SIGNAL, 5, 3), 0, -1)
    same(lambda: tf.signal.frame(SIGNAL.T, 5, 3, axis=0), along)
    same(lambda: tf.signal.frame(SIGNAL[:, :3], 5, 3), np.zeros((2, 0, 5)))
    refuses(lambda: tf.signal.frame(tf.placeholder(tf.float32), 5, 3), ValueError, "rank")


def test_frames_of_lengths_that_a_run_knows():
    signal = tf.placeholder(tf.float32, [None, None])
    length, step = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    frames = tf.signal.frame(signal, length, step, pad_end=True)
    added = tf.signal.overlap_and_add(frames, step)
    with tf.Session() as session:
        cut, whole = session.run([frames, added], {signal: SIGNAL, length: 4, step: 4})
    np.testing.assert_array_equal(cut, SIGNAL.reshape(2, 4, 4))
    np.testing.assert_array_equal(whole, SIGNAL)


@pytest.mark.parametrize(("length", "step"), [(4, 2), (5, 2), (3, 3), (2, 5)])
def test_overlap_and_add(length: int, step: int):
    frames = np.random.default_rng(1).normal(size=(2, 3, length))
    wanted = np.zeros((2, 2 * step + length))
    for number in range(3):
        wanted[:, number * step : number * step + length] += frames[:, number]
    same(lambda: tf.signal.overlap_and_add(frames, step), wanted, 1e-12)


def test_overlap_and_add_refuses():
    refuses(lambda: tf.signal.overlap_and_add([1.0], 1), ValueError, "rank at least 2")
    refuses(lambda: tf.signal.overlap_and_add([[1.0]], 1.5), ValueError, "must be an integer")


def test_steps_of_nothing_are_refused():
    zero = tf.errors.InvalidArgumentError
    for pad_end in (False, True):
        refuses(lambda p=pad_end: tf.signal.frame(SIGNAL, 5, 0, p), zero, "division by zero")
    refuses(lambda: tf.signal.stft(SIGNAL, 5, 0), zero, "stft/frame/floordiv")
    refuses(lambda: tf.signal.overlap_and_add([[1.0]], 0), ValueError, "at least 1")
    refuses(lambda: tf.signal.inverse_stft([[1j, 1]], 2, 0), ValueError, "at least 1")


def test_windows():
    """Periodic ones of even length are divided by it, others by one less."""
    places = 2 * np.pi * np.arange(6) / 6
    same(lambda: tf.signal.hann_window(6), 0.5 - 0.5 * np.cos(places), 1e-6)
    for make, numpys in (
        (tf.signal.hann_window, np.hanning),
        (tf.signal.hamming_window, np.hamming),
    ):
        same(lambda make=make: make(6, periodic=False, dtype=tf.float64), numpys(6), 1e-12)
        same(lambda make=make: make(5), numpys(5), 1e-6)
        same(lambda make=make: make(1), np.ones(1))
        refuses(lambda make=make: make(4, dtype=tf.int32), ValueError, "floating point")


def test_short_time_spectra_and_back():
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(6) / 6)
    wanted = np.fft.rfft(_framed(SIGNAL, 6, 2) * window, 8)
    same(lambda: tf.signal.stft(SIGNAL, 6, 2), wanted, 1e-5)
    same(lambda: tf.signal.stft(SIGNAL, 6, 2, 6, None), np.fft.rfft(_framed(SIGNAL, 6, 2)), 1e-5)

    def there_and_back():
        spectra = tf.signal.stft(SIGNAL, 8, 2)
        return tf.signal.inverse_stft(spectra, 8, 2, None, tf.signal.inverse_stft_window_fn(2))

    result = fetched(there_and_back)
    np.testing.assert_allclose(result[:, 6:-6], SIGNAL[:, 6:-6], atol=1e-5)
    longer = fetched(lambda: tf.signal.inverse_stft(np.ones((3, 5), np.complex64), 10, 4, 8, None))
    assert longer.shape == (18,)


def _cosines(x: np.ndarray, kind: int) -> np.ndarray:
    n = x.shape[-1]
    i, k = np.arange(n), np.arange(n)[:, None]
    if kind == 1:
        factors = np.where((i == 0) | (i == n - 1), 1, 2) * np.cos(np.pi * i * k / (n - 1))
    elif kind == 2:
        factors = 2 * np.cos(np.pi * k * (2 * i + 1) / (2 * n))
    elif kind == 3:
        factors = np.where(i == 0, 1, 2 * np.cos(np.pi * i * (2 * k + 1) / (2 * n)))
    else:
        factors = 2 * np.cos(np.pi * (2 * i + 1) * (2 * k + 1) / (4 * n))
    return x @ factors.T


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosine_transforms(kind: int):
    x = np.random.default_rng(2).normal(size=(3, 5))
    same(lambda: tf.signal.dct(x, kind), _cosines(x, kind), 1e-12)
    longer, shorter = np.pad(x, [(0, 0), (0, 2)]), x[:, :4]
    same(lambda: tf.signal.dct(x, kind, n=7), _cosines(longer, kind), 1e-12)
    same(lambda: tf.signal.dct(x, kind, n=4), _cosines(shorter, kind), 1e-12)
    size = 2 * (4 if kind == 1 else 5)
    same(lambda: tf.signal.idct(tf.signal.dct(x, kind), kind), size * x, 1e-11)
    if kind > 1:
        norms = np.linalg.norm(x, axis=1)
        result = fetched(lambda: tf.signal.dct(x, kind, norm="ortho"))
        np.testing.assert_allclose(np.linalg.norm(result, axis=1), norms)
        same(lambda: tf.signal.idct(result, kind, norm="ortho"), x, 1e-12)


def test_cosine_transform_refuses():
    x = np.ones((2, 4), np.float32)
    refuses(lambda: tf.signal.dct(x, 5), ValueError, "not 5")
    refuses(lambda: tf.signal.dct(x, 1, norm="ortho"), ValueError, "Type-I")
    refuses(lambda: tf.signal.dct(x, norm="other"), ValueError, "normalization")
    refuses(lambda: tf.signal.dct(x, n=0), ValueError, "positive")
    refuses(lambda: tf.signal.idct(x, axis=0), NotImplementedError, "axis must be -1")


def test_gradients_of_transforms():
    """Of linear functions: the gradient of half the square is the transposed of the result."""
    x = tf.constant(np.random.default_rng(3).normal(size=8))
    results = [tf.signal.dct(x, norm="ortho"), tf.signal.frame(x, 4, 4), tf.signal.fftshift(x)]
    slopes = [tf.gradients(0.5 * tf.reduce_sum(transformed**2), x)[0] for transformed in results]
    with tf.Session() as session:
        value, gradients = session.run([x, slopes])
    for slope in gradients:
        np.testing.assert_allclose(slope, value, rtol=1e-12)


def test_shifts():
    x = np.arange(15).reshape(3, 5)
    for ours, numpys in (
        (tf.signal.fftshift, np.fft.fftshift),
        (tf.signal.ifftshift, np.fft.ifftshift),
    ):
        for axes in (None, 1, [0, 1]):
            same(lambda axes=axes, shift=ours: shift(x, axes), numpys(x, axes))


def test_mel_weights():
    result = fetched(lambda: tf.signal.linear_to_mel_weight_matrix(4, 65, 8000, 100.0, 3000.0))
    assert result.shape == (65, 4) and result.dtype == np.float32
    assert (result >= 0).all() and (result.max(axis=0) > 0.5).all() and (result[0] == 0).all()
    inside = result[10:22].sum(axis=1)  # triangles overlap so that they add up to 1
    np.testing.assert_allclose(inside, 1, atol=1e-5)
    refuses(lambda: tf.signal.linear_to_mel_weight_matrix(0), ValueError, "positive")
    for edges, what in (((-1.0, 9.0), "non-negative"), ((9.0, 9.0), ">="), ((9.0, 5e3), "Nyquist")):
        refuses(
            lambda edges=edges: tf.signal.linear_to_mel_weight_matrix(4, 65, 8000, *edges),
            ValueError,
            what,
        )


def test_cepstral_coefficients():
    x = np.random.default_rng(4).normal(size=(2, 6))
    wanted = _cosines(x, 2) / np.sqrt(12)
    same(lambda: tf.signal.mfccs_from_log_mel_spectrograms(x), wanted, 1e-12)
