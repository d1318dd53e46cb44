"""JPEG files: known by their first bytes; what needs a codec is refused, with what else to use."""

from __future__ import annotations

import pytest

import gpugraph as tf


@pytest.mark.parametrize(
    ("contents", "expected"), [(b"\xff\xd8\xff\xe0..", True), (b"\x89PNG...", False)]
)
def test_the_first_bytes_tell(contents, expected):
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.image.is_jpeg(contents)) == expected
        assert session.run(tf.io.is_jpeg(contents, name="mine")) == expected


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("decode_jpeg", ["file"]),
        ("decode_and_crop_jpeg", ["file", [0, 0, 1, 1]]),
        ("encode_jpeg", [[[[1, 2, 3]]]]),
        ("extract_jpeg_shape", ["file"]),
        ("adjust_jpeg_quality", [[[[1, 2, 3]]], 90]),
        ("random_jpeg_quality", [[[[1, 2, 3]]], 80, 90]),
        ("decode_gif", ["file"]),
    ],
)
def test_what_needs_a_codec_names_another_way(function, arguments):
    with pytest.raises(tf.errors.UnimplementedError, match=rf"'{function}' .* tf\.py_func"):
        getattr(tf.image, function)(*arguments)
