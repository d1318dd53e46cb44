"""The encoding and decoding of PNG files (ISO 15948) of all colour types. Interlaced files are not
supported.

Before compression, PNG applies one of five filters to each row. Four of them replace pixels with
differences from neighbouring pixels. Files are written with 8 or 16 bits per channel and the Sub
filter (the difference from the pixel to the left), which suits most images. Rows with all filters
can be read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.plan import check_run

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"

_GREY, _RGB, _PALETTE, _GREY_ALPHA, _RGB_ALPHA = 0, 2, 3, 4, 6
_CHANNELS = {_GREY: 1, _RGB: 3, _PALETTE: 1, _GREY_ALPHA: 2, _RGB_ALPHA: 4}
_TYPES = {1: _GREY, 2: _GREY_ALPHA, 3: _RGB, 4: _RGB_ALPHA}
_DEPTHS = {
    _GREY: (1, 2, 4, 8, 16),
    _RGB: (8, 16),
    _PALETTE: (1, 2, 4, 8),
    _GREY_ALPHA: (8, 16),
    _RGB_ALPHA: (8, 16),
}
_LEFT = 1
_LONGEST, _LARGEST = 1 << 27, 1 << 29
"""The number of pixels along a side, and the number in an image, from which on TensorFlow rejects a
file.
"""
_HEADER = struct.Struct(">IIBBBBB")
_WORD = struct.Struct(">I")


# -- writing


def _chunk(kind: bytes, data: bytes) -> bytes:
    return _WORD.pack(len(data)) + kind + data + _WORD.pack(zlib.crc32(kind + data))


def encoded_png(pixels: Any, level: int = -1) -> bytes:
    """Return the bytes of a PNG file of an image [height, width, 1 to 4 channels], uint8 or uint16.

    Args:
      level: the compression level of zlib from 0 to 9, or -1 for zlib's default.
    """
    height, width, channels = pixels.shape
    bits = 8 * pixels.dtype.itemsize
    header = _HEADER.pack(width, height, bits, _TYPES[channels], 0, 0, 0)
    stored = pixels.astype(pixels.dtype.newbyteorder(">"))
    rows = np.frombuffer(stored.tobytes(), np.uint8).reshape(height, -1)
    step = channels * pixels.dtype.itemsize
    filtered = np.empty((height, 1 + rows.shape[1]), np.uint8)
    filtered[:, 0] = _LEFT
    filtered[:, 1 : 1 + step] = rows[:, :step]
    np.subtract(rows[:, step:], rows[:, :-step], out=filtered[:, 1 + step :])
    data = zlib.compress(filtered.tobytes(), level)
    chunks = ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
    return PNG_SIGNATURE + b"".join(_chunk(kind, content) for kind, content in chunks)


# -- reading


class _Header(NamedTuple):
    width: int
    height: int
    depth: int
    color: int
    compression: int
    filtering: int
    interlaced: int


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield (kind, contents) of each chunk of a PNG file.

    Raises ValueError if a chunk is damaged or cut off.
    """
    offset = len(PNG_SIGNATURE)
    while offset + 12 <= len(data):
        (size,) = _WORD.unpack_from(data, offset)
        kind, end = data[offset + 4 : offset + 8], offset + 8 + size
        if end + 4 > len(data):
            raise ValueError(f"the chunk {kind!r} is cut off")
        if zlib.crc32(data[offset + 4 : end]) != _WORD.unpack_from(data, end)[0]:
            raise ValueError(f"the chunk {kind!r} is damaged")
        yield kind, data[offset + 8 : end]
        offset = end + 4
        if kind == b"IEND":
            return
    raise ValueError("the file is cut off")


def _header_of(contents: bytes) -> _Header:
    if len(contents) != _HEADER.size:
        raise ValueError("its header is damaged")
    header = _Header(*_HEADER.unpack(contents))
    if not header.width or not header.height or header.depth not in _DEPTHS.get(header.color, ()):
        raise ValueError(f"its header makes no sense: {header}")
    if max(header.width, header.height) >= _LONGEST or header.width * header.height >= _LARGEST:
        raise ValueError(f"PNG size too large for int: {header.width} by {header.height}")
    if header.interlaced:
        raise NotImplementedError("interlaced PNG files are not read")
    return header


def _nearest(left: Any, up: Any, corner: Any) -> Any:
    """Return the byte among the three that is nearest to left + up - corner, which is Paeth's
    predictor.
    """
    a, b, c = np.abs(up - corner), np.abs(left - corner), np.abs(left + up - 2 * corner)
    return np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))


def _unfiltered_row(kind: int, filtered: Any, above: Any, step: int) -> Any:
    """Undo the filter of a row, and return the row's bytes.

    Args:
      kind: the number of the filter, 0 to 4.
      filtered: the filtered bytes of the row.
      above: the bytes of the row above.
      step: the number of bytes per pixel, at least 1.
    """
    if kind == 0:
        return filtered
    if kind == 1:
        return np.cumsum(filtered.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
    if kind == 2:
        return filtered + above
    return _unfiltered_by_bytes(kind == 4, filtered.tobytes(), above.tobytes(), step)


def _unfiltered_by_bytes(is_nearest: bool, filtered: bytes, above: bytes, step: int) -> Any:
    """Remove the filter Paeth (if `is_nearest`) or Average from a row byte by byte, and return the
    row's bytes.
    """
    row, above = bytearray(step) + filtered, bytes(step) + above
    for index in range(step, len(row)):
        if not index % _OFTEN:
            check_run(_WHERE)
        left, up, corner = row[index - step], above[index], above[index - step]
        if is_nearest:
            a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            predicted = left if a <= b and a <= c else up if b <= c else corner
        else:
            predicted = (left + up) >> 1
        row[index] = (row[index] + predicted) & 255
    return np.frombuffer(row, np.uint8)[step:]


def _unfiltered_band(kinds: Any, filtered: Any, above: Any, step: int) -> Any:
    """Undo the filters of several rows, and return their bytes [height, bytes]. `above` has the
    bytes of the row above.

    A pixel depends on the pixels to the left, above, and above to the left. All pixels of a
    diagonal, x + y = constant, are therefore computed at once. `skewed[x + y + 2, y + 1]` is pixel
    (x, y). Row -1 is `above`, and column -1 is zero.
    """
    height, width = len(filtered), filtered.shape[1] // step
    skewed = np.zeros((width + height + 1, height + 1, step), np.int16)
    skewed[1 : width + 1, 0] = above.reshape(width, step)
    for y, row in enumerate(filtered):
        skewed[y + 2 : y + 2 + width, y + 1] = row.reshape(width, step)
    is_left, is_up, is_mean, is_nearest = ((kinds == kind)[:, None] for kind in (1, 2, 3, 4))
    for diagonal in range(2, width + height + 1):
        if not diagonal % 64:
            check_run(_WHERE)
        first, last = max(0, diagonal - 1 - width), min(height, diagonal - 1)
        left = skewed[diagonal - 1, first + 1 : last + 1]
        up, corner = skewed[diagonal - 1, first:last], skewed[diagonal - 2, first:last]
        predicted = is_left[first:last] * left + is_up[first:last] * up
        predicted += is_mean[first:last] * ((left + up) >> 1)
        predicted += is_nearest[first:last] * _nearest(left, up, corner)
        pixels = skewed[diagonal, first + 1 : last + 1]
        pixels += predicted
        pixels &= 255
    rows = [skewed[y + 2 : y + 2 + width, y + 1].reshape(-1) for y in range(height)]
    return np.array(rows, np.uint8)


_BAND = 256
"""The number of rows whose filters are undone together: long diagonals in little memory."""

_OFTEN = 1 << 14
"""The number of bytes between two checks for the run's time limit and for Ctrl-C."""

_WHERE = "in a PNG file"

_LONG = 64
"""The minimum number of bytes of a diagonal for which NumPy is faster than a loop over bytes."""


def _inflated(parts: Sequence[bytes], size: int) -> bytes:
    """Decompress the zlib stream in `parts` up to `size` bytes, and return these bytes.

    Raises ValueError if the stream is shorter.
    """
    stream, pieces, left = zlib.decompressobj(), [], size
    for part in parts:
        while part and left and not stream.eof:
            pieces.append(stream.decompress(part, left))
            left -= len(pieces[-1])
            part = stream.unconsumed_tail
    if left:
        raise ValueError("there are fewer rows than its header declares")
    return b"".join(pieces)


def _rows_of(parts: Sequence[bytes], header: _Header, native: Any) -> Any:
    """Return the rows' bytes, [height, bytes], decompressed and without filters.

    Args:
      parts: the contents of the IDAT chunks.
      native: the `NativePng` that removes the filters, or None.
    """
    bits = header.depth * _CHANNELS[header.color]
    step, size = max(1, bits // 8), -(-header.width * bits // 8)
    data = _inflated(parts, header.height * (size + 1))
    filtered = np.frombuffer(data, np.uint8).reshape(header.height, size + 1)
    whole, kinds, filtered = filtered, filtered[:, 0], filtered[:, 1:]
    if kinds.max() > 4:
        row = int(np.argmax(kinds > 4))
        raise ValueError(f"row {row} has a filter that does not exist: {kinds[row]}")
    unfiltered = None if native is None else native.rows(whole, step)
    return _unfiltered(kinds, filtered, step) if unfiltered is None else unfiltered


def _unfiltered(kinds: Any, filtered: Any, step: int) -> Any:
    """Remove the filters from rows with NumPy, and return the bytes [height, bytes]."""
    height, size = filtered.shape
    rows = np.empty((height, size), np.uint8)
    above = np.zeros(size, np.uint8)
    for start in range(0, height, _BAND):
        band = slice(start, min(start + _BAND, height))
        shortest = min(size, (band.stop - band.start) * step)
        if kinds[band].max() > 2 and shortest >= _LONG:
            rows[band] = _unfiltered_band(kinds[band], filtered[band], above, step)
        else:
            for index in range(band.start, band.stop):
                rows[index] = _unfiltered_row(int(kinds[index]), filtered[index], above, step)
                above = rows[index]
        above = rows[band.stop - 1]
    return rows


def _pixels_of(rows: Any, header: _Header) -> Any:
    """Return the pixels [height, width, channels] with the values that are stored in the file.

    Values of fewer than 8 bits become uint8, and are not yet scaled to 0 to 255.
    """
    shape = header.height, header.width, _CHANNELS[header.color]
    if header.depth == 16:
        wide = np.ascontiguousarray(rows).view(">u2").astype(np.uint16)
        return wide.reshape(shape)
    if header.depth == 8:
        return rows.reshape(shape)
    per_byte, highest = 8 // header.depth, (1 << header.depth) - 1
    pixels = np.empty((header.height, rows.shape[1] * per_byte), np.uint8)
    for place in range(per_byte):
        pixels[:, place::per_byte] = (rows >> (8 - header.depth * (place + 1))) & highest
    return pixels[:, : header.width, None]


def _alpha(pixels: Any, transparent: bytes, header: _Header) -> Any:
    """Return an alpha channel, or None if there is no transparent colour. It is 0 where a pixel has
    the transparent colour, and the maximum elsewhere.

    Args:
      transparent: the contents of the chunk tRNS, which declares the transparent colour. It may be
        empty.
    """
    if not transparent:
        return None
    color = np.frombuffer(transparent, ">u2")[: pixels.shape[2]]
    alpha = np.where((pixels == color).all(axis=2), 0, np.iinfo(pixels.dtype).max)
    return alpha.astype(pixels.dtype)[:, :, None]


def _looked_up(pixels: Any, palette: bytes, transparent: bytes) -> Any:
    colors = np.frombuffer(palette, np.uint8).reshape(-1, 3)
    if pixels.max() >= len(colors):
        raise ValueError("its palette has fewer colours than it uses")
    if len(transparent) > len(colors) or len(colors) > 256:
        raise ValueError("its palette has fewer colours than are declared transparent, or over 256")
    table = np.full((256, 4 if transparent else 3), 255, np.uint8)
    table[: len(colors), :3] = colors
    table[: len(transparent), 3:] = np.frombuffer(transparent, np.uint8)[:, None]
    numbers = pixels.tobytes()  # unlike indexing, bytes.translate needs no int64 index per pixel
    result = np.empty((*pixels.shape[:2], table.shape[1]), np.uint8)
    for channel in range(table.shape[1]):
        values = np.frombuffer(numbers.translate(table[:, channel].tobytes()), np.uint8)
        result[:, :, channel] = values.reshape(pixels.shape[:2])
    return result


def _joined(chunks: dict[bytes, list[bytes]], kind: bytes) -> bytes:
    return b"".join(chunks.get(kind, ()))


def decoded_png(data: bytes, native: Any = None) -> tuple[Any, Any]:
    """Return (pixels, alpha) of the bytes of a PNG file.

    The pixels are [height, width, channels], uint8 or uint16. The channels are grey, grey and
    alpha, RGB, or RGB and alpha, depending on their number. The colours of a palette replace its
    indices. Values of fewer than 8 bits are scaled to 8 bits. If the file declares one colour
    transparent, `alpha` is an additional alpha channel. Otherwise it is None.

    Raises ValueError if the file is damaged or not a PNG file, and NotImplementedError if it is
    interlaced.

    Args:
      native: the `NativePng` that undoes the filters, or None.
    """
    if not data.startswith(PNG_SIGNATURE):
        raise ValueError("it does not begin as a PNG file")
    chunks: dict[bytes, list[bytes]] = {}
    for kind, contents in _chunks(data):
        chunks.setdefault(kind, []).append(contents)
    header = _header_of(_joined(chunks, b"IHDR"))
    try:
        rows = _rows_of(chunks.get(b"IDAT", ()), header, native)
    except zlib.error as error:
        raise ValueError(f"its data is damaged: {error}") from None
    pixels, transparent = _pixels_of(rows, header), _joined(chunks, b"tRNS")
    if header.color == _PALETTE:
        return _looked_up(pixels, _joined(chunks, b"PLTE"), transparent), None
    alpha = (
        None if header.color in (_GREY_ALPHA, _RGB_ALPHA) else _alpha(pixels, transparent, header)
    )
    if header.depth < 8:
        pixels *= np.uint8(255 // ((1 << header.depth) - 1))
    return pixels, alpha
