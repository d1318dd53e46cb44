"""Complex numbers and their parts, Fourier transforms, and the errors of both."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from ..function_cases import fetched, refuses, same

X = np.random.default_rng(3).normal(size=(2, 3, 4)).astype(np.float32)
Z = (X + 1j * X[::-1]).astype(np.complex64)


def test_parts_of_complex_numbers() -> None:
    same(lambda: tf.complex(1.0, [2.0, 3.0]), [1 + 2j, 1 + 3j])
    assert fetched(lambda: tf.complex(np.float64(1), np.float64(2))).dtype == np.complex128
    for function, wanted in ((tf.real, Z.real), (tf.imag, Z.imag), (tf.abs, np.abs(Z))):
        same(lambda f=function: f(Z), wanted, 1e-6)
    same(lambda: tf.angle(Z), np.angle(Z), 1e-6)
    same(lambda: tf.real(X), X)
    same(lambda: tf.imag(X), np.zeros_like(X))
    refuses(lambda: tf.complex(1.0, np.float64(2)), TypeError, "incorrect types: float32 float64")
    refuses(lambda: tf.complex(1, 2), TypeError, "int32")


def test_transforms_of_complex_numbers_are_numpys() -> None:
    for axes, end in ((1, ""), (2, "2d"), (3, "3d")):
        places = tuple(range(-axes, 0))
        forth, back = getattr(tf, f"fft{end}"), getattr(tf, f"ifft{end}")
        same(lambda f=forth: f(Z), np.fft.fftn(Z, axes=places), 1e-5)
        same(lambda f=forth, b=back: b(f(Z)), Z, 1e-5)
    refuses(lambda: tf.fft2d(Z[0, 0]), ValueError, "at least rank 2")


@pytest.mark.parametrize("lengths", [None, 3, 4, 7])
def test_transforms_of_real_numbers_read_and_append(lengths: int | None) -> None:
    fft_length = None if lengths is None else [lengths]
    same(lambda: tf.signal.rfft(X, fft_length), np.fft.rfft(X, lengths), 1e-5)
    same(lambda: tf.signal.irfft(Z, fft_length), np.fft.irfft(Z, lengths), 1e-5)
    both = None if lengths is None else [2, lengths]
    shape = None if lengths is None else (2, lengths)
    same(lambda: tf.signal.rfft2d(X, both), np.fft.rfft2(X, shape), 1e-5)
    same(lambda: tf.signal.irfft2d(Z, both), np.fft.irfft2(Z, shape), 1e-5)


def test_lengths_of_open_shapes_are_found_in_the_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, z = tf.placeholder(tf.float32), tf.placeholder(tf.complex64, [None, None])
        forth, back = tf.signal.rfft(x), tf.signal.irfft(z)
        assert back.shape.as_list() == [None, None]
        np.testing.assert_allclose(session.run(forth, {x: X}), np.fft.rfft(X), 1e-4, 1e-5)
        np.testing.assert_allclose(session.run(back, {z: Z[0]}), np.fft.irfft(Z[0]), 1e-4, 1e-5)


def test_spectral_is_the_older_name() -> None:
    assert tf.spectral.rfft is tf.signal.rfft and tf.signal.fft is tf.fft


def test_what_transforms_refuse() -> None:
    refuses(lambda: tf.signal.rfft(X, [3, 4]), ValueError, "Dimension must be 1 but is 2")
    refuses(lambda: tf.signal.rfft(tf.constant([1, 2])), TypeError, "float32 or float64")
    refuses(lambda: tf.signal.irfft(tf.constant([1.0])), TypeError, "complex64 or complex128")
