"""PNG and BMP files: written and read back, of all kinds, whole and damaged."""

from __future__ import annotations

import itertools
import struct
import time
import tracemalloc
import zlib

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.image.files import png_format
from gpugraph.plan import run_clock

from ...samples_of_pictures import bmp_file, png_file


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetch):
    with tf.Session() as session:
        return session.run(fetch)


def pixels(channels, dtype=np.uint8, height=5, width=7):
    random = np.random.default_rng(channels)
    return random.integers(0, np.iinfo(dtype).max, (height, width, channels)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_what_is_encoded_is_decoded_again(channels, dtype):
    image = pixels(channels, dtype)
    file = tf.image.encode_png(image, compression=channels)
    result = run(tf.image.decode_png(file, dtype=dtype))
    assert result.dtype == dtype
    assert np.array_equal(result, image)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def file_of(width, height, depth, color, rows, *others, interlaced=0):
    head = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced)
    chunks = [chunk(b"IHDR", head), *(chunk(*content) for content in others)]
    chunks += [chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def filtered(row, above, kind, step):
    """Return a row as the standard's five filters tell it, number by number."""
    result = []
    for offset, value in enumerate(row):
        left = row[offset - step] if offset >= step else 0
        corner = above[offset - step] if offset >= step else 0
        up = above[offset]
        near = [left, up, corner]
        paeth = min(near, key=lambda byte: (abs(left + up - corner - byte), near.index(byte)))
        guess = (0, left, up, (left + up) // 2, paeth)[kind]
        result.append((value - guess) % 256)
    return bytes([kind, *result])


@pytest.mark.parametrize(("height", "width"), [(10, 7), (70, 80)])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_rows_of_all_five_kinds_are_read(channels, height, width):
    image = pixels(channels, height=height, width=width)
    rows, above = b"", [0] * image[0].size
    for index, row in enumerate(image.reshape(height, -1).tolist()):
        rows += filtered(row, above, index % 5, channels)
        above = row
    color = {1: 0, 3: 2, 4: 6}[channels]
    assert np.array_equal(run(tf.image.decode_png(file_of(width, height, 8, color, rows))), image)


PALETTE = bytes([10, 20, 30, 40, 50, 60, 70, 80, 90])


@pytest.mark.parametrize("size", [(1, 4_000), (4_000, 1)])
@pytest.mark.parametrize("kind", [3, 4])
def test_images_of_one_pixel_across_are_not_read_by_diagonals(size, kind, monkeypatch):
    """Their diagonals have a few bytes each: a million of them took 36 s."""
    height, width = size
    image = np.random.RandomState(1).randint(256, size=(height, width, 3)).astype(np.uint8)
    rows, above = b"", bytes(3 * width)
    for row in image.reshape(height, -1):
        rows += filtered(row.tobytes(), above, kind, 3)
        above = row.tobytes()
    monkeypatch.setattr(png_format, "_unfiltered_band", lambda *_: pytest.fail("by diagonals"))
    decoded = run(tf.image.decode_png(file_of(width, height, 8, 2, rows)))
    np.testing.assert_array_equal(decoded, image)


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        (file_of(5, 1, 1, 0, b"\0\xa8"), [[0xFF], [0], [0xFF], [0], [0xFF]]),
        (file_of(3, 1, 2, 0, b"\0\x6c"), [[0x55], [0xAA], [0xFF]]),
        (file_of(2, 1, 4, 0, b"\0\x1f"), [[0x11], [0xFF]]),
        (file_of(2, 1, 2, 3, b"\0\x60", (b"PLTE", PALETTE)), [[40, 50, 60], [70, 80, 90]]),
        (
            file_of(2, 1, 8, 3, b"\0\0\2", (b"PLTE", PALETTE), (b"tRNS", b"\x80")),
            [[10, 20, 30, 128], [70, 80, 90, 255]],
        ),
    ],
)
def test_few_bits_and_palettes_are_read(file, wanted):
    assert run(tf.image.decode_png(file)).tolist() == [wanted]


@pytest.mark.parametrize(("depth", "color"), [(1, 0), (2, 0), (4, 3), (8, 3)])
def test_a_small_file_of_a_large_image_takes_few_times_its_result(depth, color):
    """A few KB declare a large number of pixels: unpacked to numbers of eight bytes each they took
    14
    times the memory of the image."""
    size = 2048
    rows = (b"\0" + bytes(size * depth // 8)) * size
    file = file_of(size, size, depth, color, rows, *([(b"PLTE", PALETTE)] if color else []))
    contents = tf.placeholder(tf.string, [])
    with tf.Session() as session:
        decoded = tf.image.decode_png(contents)
        session.run(decoded, {contents: file_of(2, 1, 8, 0, b"\0\1\2")})
        tracemalloc.start()
        image = session.run(decoded, {contents: file})
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert image.shape[:2] == (size, size)
    assert peak < 4 * image.nbytes


def test_a_time_limit_reaches_a_long_image(monkeypatch):
    ticks = itertools.count(time.monotonic())  # a second goes by between two looks at the clock
    monkeypatch.setattr(run_clock, "monotonic", lambda: next(ticks))
    options = tf.RunOptions(timeout_in_ms=5_000)
    contents = tf.placeholder(tf.string, [])
    decoded = tf.image.decode_png(contents)
    with tf.Session() as session:
        for height, width in ((1, 1 << 18), (100, 2000)):  # by bytes, and by diagonals
            rows = b"".join(b"\4" + bytes(width) for _ in range(height))
            file = file_of(width, height, 8, 0, rows)
            with pytest.raises(tf.errors.DeadlineExceededError, match="in a PNG file"):
                session.run(decoded, {contents: file}, options=options)


def test_one_transparent_colour_is_alpha_where_that_is_asked_for():
    file = file_of(2, 1, 8, 0, b"\0\1\2", (b"tRNS", b"\0\2"))
    assert run(tf.image.decode_png(file)).tolist() == [[[1], [2]]]
    assert run(tf.image.decode_png(file, channels=4)).tolist() == [[[1] * 3 + [255], [2] * 3 + [0]]]


def test_channels_and_dtypes_are_converted_as_tensorflow_does():
    image = np.uint8([[[127, 32, 31], [202, 244, 151]]])
    read = [tf.image.decode_png(png_file(image), channels, kind)
            for channels, kind in ((1, tf.uint8), (1, tf.uint16), (4, tf.uint16))]  # fmt: skip
    grey, wide, with_alpha = run(read)
    assert grey.tolist() == [[[60], [220]]]
    assert wide.tolist() == [[[15420], [56540]]]
    assert with_alpha[0, 0].tolist() == [32639, 8224, 7967, 65535]
    assert [array.shape.as_list() for array in read] == [[None, None, n] for n in (1, 1, 4)]
    narrow = run(tf.image.decode_png(png_file(np.uint16([[[0x12FF]]]))))
    assert narrow.tolist() == [[[0x12]]]


WHOLE = png_file(pixels(3))


@pytest.mark.parametrize(
    ("file", "error", "says"),
    [
        (b"\x89PING", tf.errors.InvalidArgumentError, "Expected image .*, got unknown format"),
        (WHOLE[:60], tf.errors.InvalidArgumentError, "cut off"),
        (WHOLE[:20] + b"\7" + WHOLE[21:], tf.errors.InvalidArgumentError, "is damaged"),
        (file_of(7, 5, 8, 2, b"\0" * 9), tf.errors.InvalidArgumentError, "fewer rows"),
        (file_of(1, 1, 8, 0, b"\5\0"), tf.errors.InvalidArgumentError, "row 0"),
        (file_of(1, 1, 3, 0, b"\0\0"), tf.errors.InvalidArgumentError, "makes no sense"),
        (file_of(1, 1, 8, 3, b"\0\7", (b"PLTE", PALETTE)), tf.errors.InvalidArgumentError,
         "palette"),
        (file_of(1, 1, 8, 0, b"\0\0", interlaced=1), tf.errors.UnimplementedError, "interlaced"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(file, error, says):
    with pytest.raises(error, match=says):
        run(tf.image.decode_png(file))


def test_bmp_files_are_read_in_both_directions_and_refused():
    image = pixels(3)
    for upwards in (True, False):
        file = bmp_file(image, upwards)
        for read in (tf.image.decode_bmp(file), tf.image.decode_image(file, channels=3)):
            assert np.array_equal(run(read), image)
    for contents, says in ((file[:70], "Incomplete"), (b"BM", "does not begin"), (b"", "begin")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=says):
            run(tf.image.decode_bmp(contents))
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not match bits per pixel 24"):
        run(tf.image.decode_bmp(file, channels=4))


@pytest.mark.parametrize(
    ("start", "error", "says"),
    [
        (b"GIF89a", tf.errors.InvalidArgumentError, "Invalid GIF data"),
        (b"RIFF", tf.errors.InvalidArgumentError, "WebP is not read"),
        (
            b"nothing",
            tf.errors.InvalidArgumentError,
            "Unable to decode bytes as JPEG, PNG, GIF, or",
        ),
        (b"", tf.errors.InvalidArgumentError, "got empty file"),
    ],
)
def test_other_files_are_refused_by_name(start, error, says):
    with pytest.raises(error, match=says):
        run(tf.image.decode_image(start))


def test_arguments_that_make_no_sense_are_refused():
    with pytest.raises(TypeError, match="not to float32"):
        tf.image.decode_png(b"", dtype=tf.float32)
    with pytest.raises(ValueError, match="1 to 4 channels"):
        tf.image.encode_png(np.zeros((2, 2, 5), np.uint8))
    for make, says in (
        (lambda: tf.image.decode_png(WHOLE, channels=2), "channels must be 0, 1, 3, or 4"),
        (lambda: tf.image.encode_png(pixels(3), compression=10), "compression"),
        (lambda: tf.image.encode_png(np.zeros((0, 2, 1), np.uint8)), "must have pixels"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=says):
            run(make())
