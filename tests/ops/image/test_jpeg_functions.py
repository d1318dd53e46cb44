"""JPEG files: recognized by their first bytes; ops that need a codec name an alternative."""

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


@pytest.mark.parametrize("name", ["decode_jpeg", "encode_jpeg", "extract_jpeg_shape", "decode_gif"])
@pytest.mark.parametrize("module", ["image", "io"])
def test_what_needs_a_codec_names_another_way(module, name):
    with pytest.raises(AttributeError, match=r"there is no codec: use PNG .* tf\.py_func"):
        getattr(getattr(tf, module), name)
