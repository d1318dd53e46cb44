"""JPEG files: recognized by their first bytes, decoded and encoded by Pillow."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import gpugraph as tf


@pytest.mark.parametrize(
    ("contents", "expected"), [(b"\xff\xd8\xff\xe0..", True), (b"\x89PNG...", False)]
)
def test_the_first_bytes_tell(contents, expected):
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.image.is_jpeg(contents)) == expected
        assert session.run(tf.io.is_jpeg(contents, name="mine")) == expected


def smooth() -> np.ndarray:
    """Return an image that loses little by compression."""
    rows, columns = np.mgrid[:32, :48]
    return np.stack([4 * rows, 5 * columns, 100 + 0 * rows], -1).astype(np.uint8)


def run(function, *args, **options):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(function(*args, **options))


def test_what_is_encoded_is_decoded():
    pytest.importorskip("PIL")
    file = run(tf.image.encode_jpeg, smooth(), quality=100, chroma_downsampling=False)
    assert file.startswith(b"\xff\xd8\xff")
    assert abs(run(tf.image.decode_jpeg, file).astype(int) - smooth()).max() <= 3
    grey = run(tf.image.decode_jpeg, file, channels=1)
    weights = np.array([0.299, 0.587, 0.114])
    assert grey.shape == (32, 48, 1)
    assert abs(grey[..., 0] - smooth() @ weights).max() <= 3
    assert run(tf.image.decode_jpeg, file, ratio=4).shape == (8, 12, 3)
    floats = run(tf.image.decode_image, file, channels=3, dtype=tf.float32)
    assert floats.shape == (32, 48, 3) and 0.9 < floats.max() <= 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="0, 1, or 3 for JPEG, got 4"):
        run(tf.image.decode_image, file, channels=4)
    assert len(run(tf.image.encode_jpeg, smooth(), quality=10)) < len(file)
    alone = run(tf.image.encode_jpeg, smooth()[..., :1], "grayscale")
    assert run(tf.io.decode_jpeg, alone).shape == (32, 48, 1)


def test_static_shapes_and_refusals():
    pytest.importorskip("PIL")
    file = run(tf.image.encode_jpeg, smooth())
    half = file[:-60]
    with tf.Graph().as_default():
        assert tf.image.decode_jpeg(file, channels=3).shape.as_list() == [None, None, 3]
    for contents, options in (
        (b"text", {}),
        (half, {}),
        (file, {"ratio": 3}),
        (file, {"channels": 4}),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(tf.image.decode_jpeg, contents, **options)
    recovered = run(tf.image.decode_jpeg, half, try_recover_truncated=True)
    assert recovered.shape == (32, 48, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expects"):
        run(tf.image.encode_jpeg, smooth(), "grayscale")


def test_a_window_and_the_shape():
    pytest.importorskip("PIL")
    file = run(tf.image.encode_jpeg, smooth())
    assert run(tf.image.extract_jpeg_shape, file).tolist() == [32, 48, 3]
    alone = run(tf.image.encode_jpeg, smooth()[..., :1], progressive=True)
    assert run(tf.io.extract_jpeg_shape, alone, tf.int64).tolist() == [32, 48, 1]
    window = run(tf.image.decode_and_crop_jpeg, file, [3, 5, 10, 11])
    whole = run(tf.image.decode_jpeg, file)
    np.testing.assert_array_equal(window, whole[3:13, 5:16])
    grey = run(tf.io.decode_and_crop_jpeg, file, [0, 0, 4, 6], channels=1, ratio=8)
    assert grey.shape == (4, 6, 1)
    with tf.Graph().as_default():
        known = tf.image.decode_and_crop_jpeg(file, [3, 5, 10, 11])
        fed = tf.image.decode_and_crop_jpeg(file, tf.placeholder(tf.int32, [4]), channels=3)
        assert [known.shape.as_list(), fed.shape.as_list()] == [[10, 11, None], [None, None, 3]]
        with pytest.raises(ValueError, match="Dimension must be 4 but is 3"):
            tf.image.decode_and_crop_jpeg(file, [1, 2, 3])


@pytest.mark.parametrize("window", [[0, 0, 33, 4], [-1, 0, 3, 3], [0, 0, 0, 4], [0, 40, 4, 9]])
def test_windows_outside_are_refused(window):
    pytest.importorskip("PIL")
    file = run(tf.image.encode_jpeg, smooth())
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid JPEG data or crop window"):
        run(tf.image.decode_and_crop_jpeg, file, window)


@pytest.mark.parametrize("size", [0, 3, 30])
def test_the_shape_of_no_jpeg_file_is_refused(size):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"Invalid JPEG data, size {size}"):
        run(tf.image.extract_jpeg_shape, b"\xff\xd8\xff\xe0\0\x10JFIF".ljust(30, b"\0")[:size])


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with tf.Graph().as_default():
        with pytest.raises(ModuleNotFoundError, match=r"gpugraph\[images\]"):
            tf.image.decode_jpeg(b"")
        image = tf.image.decode_image(b"\xff\xd8\xff..")
        with tf.Session() as session:
            with pytest.raises(tf.errors.UnimplementedError, match=r"gpugraph\[images\]"):
                session.run(image)


def test_quality_is_lowered():
    pytest.importorskip("PIL")
    pixels = smooth()
    errors = [
        np.abs(run(tf.image.adjust_jpeg_quality, pixels, quality).astype(int) - pixels).mean()
        for quality in (90, 5)
    ]
    assert 0 < errors[0] < errors[1]
    scaled = run(tf.image.adjust_jpeg_quality, np.float32(pixels / 255), 90)
    assert scaled.dtype == np.float32 and abs(scaled - pixels / 255).mean() < 0.02
    assert run(tf.image.random_jpeg_quality, pixels, 20, 40).shape == pixels.shape
    with pytest.raises(ValueError, match="must be less than"):
        tf.image.random_jpeg_quality(pixels, 40, 20)
    with pytest.raises(ValueError, match="between 0 and 100"):
        tf.image.random_jpeg_quality(pixels, 40, 101)
    with pytest.raises(tf.errors.InvalidArgumentError, match="quality must be in"):
        run(tf.image.adjust_jpeg_quality, pixels, 101)
