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
    with pytest.raises(tf.errors.InvalidArgumentError, match="only, but detected GIF"):
        run(tf.image.decode_and_crop_jpeg(gif(1), [0, 0, 1, 1]))


def test_each_op_decodes_each_format() -> None:
    """As in TensorFlow: the first bytes of a file decide, not the name of the op."""
    pixels = np.random.RandomState(0).randint(0, 256, (6, 8, 3)).astype(np.uint8)
    files = [jpeg(pixels), run(tf.image.encode_png(pixels)), gif(1)]
    first = [run(tf.image.decode_image(file, expand_animations=False)) for file in files]
    for file, expected in zip(files, first):
        for decode in (tf.image.decode_jpeg, tf.image.decode_png):
            np.testing.assert_array_equal(run(decode(file)), expected)
            np.testing.assert_array_equal(run(decode(file, channels=3)), expected)
        np.testing.assert_array_equal(run(tf.image.decode_gif(file)), expected[None])
        wide = run(tf.image.decode_png(file, dtype=tf.uint16))
        factor = 257 if file is files[1] else 256
        np.testing.assert_array_equal(wide, expected.astype(np.uint16) * factor)
    assert run(tf.image.decode_jpeg(files[1], channels=4)).shape == (6, 8, 4)


def test_animations() -> None:
    animation = gif(3)
    frames = run(tf.image.decode_gif(animation))
    image = tf.image.decode_image(animation)
    assert image.shape.rank is None
    np.testing.assert_array_equal(run(image), frames)
    flat = tf.image.decode_image(animation, dtype=tf.float32, expand_animations=False)
    assert flat.shape.as_list() == [None, None, None]
    np.testing.assert_allclose(run(flat), frames[0] / 255.0, 1e-6)
    for decode, says in (
        (lambda: tf.image.decode_png(animation), "Got 3 frames, but animated gifs can only be"),
        (lambda: tf.image.decode_jpeg(gif(1), channels=1), "channels must be 0 or 3 for GIF"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=says):
            run(decode())


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
