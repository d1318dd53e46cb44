"""The native decoders of JPEG and PNG files give the bits of Pillow and NumPy, or leave a file to
them.
"""

from __future__ import annotations

import base64
import io
import zlib
from functools import partial

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.native import prepare_source
from gpugraph.ops.image.files import png_format
from gpugraph.ops.image.files.native_jpeg import JpegForm, NativeJpeg
from gpugraph.ops.image.files.native_png import NativePng
from tests.ops.image.files import jpeg_references

ACCURATE = JpegForm(3, is_fast=False)
Image = pytest.importorskip("PIL.Image")


class Context:
    """A kernel's context that waits for the compiler."""

    def compiled(self, file, dtype):
        found = prepare_source(file, dtype).get(wait=True)
        if found is None:
            pytest.skip("native code is off, or there is no C compiler")
        return lambda seconds: found


def picture(chance, height, width, kind):
    """Return pixels: noise, a smooth picture, squares, or nearly one colour."""
    if kind == 0:
        pixels = chance.integers(0, 256, [height, width, 3])
    elif kind == 1:
        steps = chance.normal(0, 1, [height, width, 3])
        pixels = np.cumsum(np.cumsum(steps, 0), 1) + 128
    elif kind == 2:
        small = chance.integers(0, 256, [height // 8 + 1, width // 8 + 1, 3])
        pixels = np.kron(small, np.ones([8, 8, 1]))[:height, :width]
    else:
        pixels = np.full([height, width, 3], 77) + chance.integers(0, 3, [height, width, 1])
    return np.clip(pixels, 0, 255).astype(np.uint8)


def written(pixels, **options):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", **options)
    return file.getvalue()


def by_pillow(data, channels):
    """Return the pixels that Pillow decodes, or None if it refuses the file."""
    try:
        found = Image.open(io.BytesIO(data), formats=["JPEG"])
        mode = "L" if channels == 1 or (channels == 0 and found.mode == "L") else "RGB"
        if found.mode != mode:
            found.draft(mode, found.size)
        found.load()
        pixels = np.asarray(found.convert(mode))
    except (OSError, SyntaxError):
        return None
    return pixels if pixels.ndim == 3 else pixels[..., None]


def test_files_of_all_forms():
    native, chance = NativeJpeg(Context()), np.random.default_rng(1)
    read = 0
    for number in range(120):
        height, width = chance.integers(1, 300 if number % 20 == 0 else 50, 2)
        pixels = picture(chance, height, width, number % 4)
        if number % 7 == 3:
            pixels = pixels[..., 0]
        data = written(
            pixels, quality=int(chance.choice([5, 50, 95])), subsampling=number % 3,
            optimize=number % 5 == 0, restart_marker_blocks=number % 4, progressive=number % 8 > 4,
        )  # fmt: skip
        for channels in (0, 1, 3):
            found = native.pixels(data, ACCURATE._replace(channels=channels))
            read += found is not None
            if found is not None:
                np.testing.assert_array_equal(found, by_pillow(data, channels))
    assert read > 340  # a few files of noise are left to Pillow


@pytest.mark.parametrize("place", range(len(jpeg_references.FILES)))
def test_pixels_are_those_of_tensorflow(place):
    native, data = NativeJpeg(Context()), base64.b64decode(jpeg_references.FILES[place])
    forms = [JpegForm(3, *form) for form in jpeg_references.FORMS]
    found = [*(native.pixels(data, form) for form in forms)]
    found.append(native.pixels(data, forms[0], jpeg_references.WINDOW))
    assert tuple(zlib.crc32(pixels) for pixels in found) == jpeg_references.CHECKSUMS[place]


def test_several_files():
    native, chance = NativeJpeg(Context()), np.random.default_rng(7)
    files = [written(picture(chance, 20 + n, 70, 1)) for n in range(20)]
    files[3] = files[3][:200]
    several = native.pixels_of_several(files, ACCURATE, [None] * len(files))
    assert several[3] is None
    for data, pixels in zip(files, several, strict=True):
        np.testing.assert_array_equal(pixels, native.pixels(data, ACCURATE))


def test_windows():
    native, chance = NativeJpeg(Context()), np.random.default_rng(2)
    for number in range(60):
        height, width = chance.integers(1, 90, 2)
        data = written(picture(chance, height, width, 1), subsampling=number % 3)
        top, left = chance.integers(0, height), chance.integers(0, width)
        rows, columns = chance.integers(1, height - top + 1), chance.integers(1, width - left + 1)
        whole = native.pixels(data, ACCURATE)
        part = native.pixels(data, ACCURATE, (top, left, rows, columns))
        expected = whole[top : top + rows, left : left + columns]
        if number % 3:  # as in libjpeg, samples outside do not affect the first and last columns
            part, expected = part[:, 1:-1], expected[:, 1:-1]
        np.testing.assert_array_equal(part, expected)
    assert native.pixels(data, ACCURATE, (0, 0, height + 1, width)) is None


def test_files_that_are_left_to_pillow():
    native = NativeJpeg(Context())
    pixels = picture(np.random.default_rng(3), 30, 40, 1)
    first_scans = written(pixels, progressive=True)
    first_scans = first_scans[: first_scans.rindex(b"\xff\xda")] + b"\xff\xd9"
    assert native.pixels(first_scans, ACCURATE) is None  # libjpeg smooths it
    cmyk = io.BytesIO()
    Image.fromarray(pixels).convert("CMYK").save(cmyk, "JPEG")
    assert native.pixels(cmyk.getvalue(), ACCURATE) is None
    assert native.pixels(b"", ACCURATE) is None
    assert native.pixels(b"\xff\xd8\xff\xd9", ACCURATE) is None


def test_damaged_files():
    native, chance = NativeJpeg(Context()), np.random.default_rng(4)
    outcomes = {"read": 0, "left": 0}
    for number in range(600):
        height, width = chance.integers(1, 40, 2)
        data = bytearray(
            written(picture(chance, height, width, number % 4), subsampling=number % 3)
        )
        data[chance.integers(0, min(len(data), 700))] = chance.integers(0, 256)
        damaged = bytes(data[: chance.integers(1, len(data)) if number % 5 == 0 else None])
        found = native.pixels(damaged, ACCURATE)
        outcomes["left" if found is None else "read"] += 1
        if found is not None:
            np.testing.assert_array_equal(found, by_pillow(damaged, 3))
    assert min(outcomes.values()) > 100


@pytest.mark.parametrize("step", [1, 2, 3, 4, 6, 8])
def test_filters_of_png_files(step):
    native, chance = NativePng(Context()), np.random.default_rng(step)
    for _ in range(20):
        height, width = chance.integers(1, 30, 2)
        filtered = chance.integers(0, 256, [height, 1 + width * step]).astype(np.uint8)
        filtered[:, 0] = chance.integers(0, 5, height)
        expected = png_format._unfiltered(filtered[:, 0], filtered[:, 1:], step)
        np.testing.assert_array_equal(native.rows(filtered, step), expected)


def test_files_in_a_pipeline():
    Context().compiled("host_jpeg.h", "bytes")
    chance = np.random.default_rng(5)
    files = [written(picture(chance, 20 + n % 3, 30, 1)) for n in range(12)]
    expected = [by_pillow(data, 3)[:16, :16] for data in files]
    with tf.Graph().as_default(), tf.Session() as session:
        texts = tf.data.Dataset.from_tensor_slices(np.array(files, object))
        decode = partial(tf.io.decode_jpeg, channels=3, dct_method="INTEGER_ACCURATE")
        images = texts.map(lambda text: decode(text)[:16, :16], 2).batch(6)
        following = images.make_one_shot_iterator().get_next()
        found = np.concatenate([session.run(following) for _ in range(2)])
    np.testing.assert_array_equal(found, expected)
