"""GIF files, and parts of JPEG files, as Pillow reads them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

pillow = pytest.importorskip("PIL.Image")


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def run(value: Any) -> Any:
    with tf.Session() as session:
        return session.run(value)


def gif(count: int) -> bytes:
    colors = [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
    frames = [pillow.new("RGB", (4, 2), color) for color in colors[:count]]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    return file.getvalue()


def jpeg(pixels: Any) -> bytes:
    file = io.BytesIO()
    pillow.fromarray(pixels).save(file, "JPEG", quality=95)
    return file.getvalue()


@pytest.mark.parametrize("count", [1, 3])
def test_frames_of_a_gif_file(count: int) -> None:
    frames = tf.image.decode_gif(gif(count))
    assert frames.shape.as_list() == [None, None, None, 3]
    expected = np.eye(3)[:count, None, None] * 255 * np.ones([1, 2, 4, 1])
    assert run(frames).tolist() == expected.astype(int).tolist()


def test_other_files_are_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid GIF data"):
        run(tf.io.decode_gif(b"GIF89a"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid JPEG data"):
        run(tf.image.extract_jpeg_shape(gif(1)))
    with pytest.raises(tf.errors.UnimplementedError, match="decode_gif"):
        run(tf.image.decode_image(gif(1)))


def test_a_window_and_the_shape_of_a_jpeg_file() -> None:
    pixels = np.random.RandomState(0).randint(0, 256, (6, 8, 3)).astype(np.uint8)
    data = jpeg(pixels)
    whole, window = tf.image.decode_jpeg(data), tf.image.decode_and_crop_jpeg(data, [1, 2, 3, 4])
    sizes = tf.image.extract_jpeg_shape(data)
    assert (sizes.dtype, sizes.shape.as_list()) == (tf.int32, [3])
    a, b, c = run([whole, window, sizes])
    assert b.tolist() == a[1:4, 2:6].tolist()
    assert c.tolist() == [6, 8, 3]
    grey = tf.image.extract_jpeg_shape(jpeg(pixels[..., 0]), tf.int64)
    assert run(grey).tolist() == [6, 8, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="crop window"):
        run(tf.image.decode_and_crop_jpeg(data, [4, 0, 3, 4]))
