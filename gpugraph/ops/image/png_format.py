"""PNG files: pixels to bytes and back (ISO 15948), all colour types, not interlaced.

Files are written with 8 or 16 bits a channel and the Sub filter (differences from the pixel on the
left), which suits most images; rows of all five filters are read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

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
_HEADER = struct.Struct(">IIBBBBB")
_WORD = struct.Struct(">I")


# -- writing


def _chunk(kind: bytes, data: bytes) -> bytes:
    return _WORD.pack(len(data)) + kind + data + _WORD.pack(zlib.crc32(kind + data))


def encoded_png(pixels: Any, level: int = -1) -> bytes:
    """The file of an image [height, width, 1 to 4 channels] of uint8 or uint16.

    level: how hard zlib tries, 0 to 9, or -1 for its usual.
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
    """(kind, contents) of each chunk up to the last one; ValueError for a damaged one."""
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
    if header.interlaced:
        raise NotImplementedError("interlaced PNG files are not read")
    return header


def _paeth(left: int, up: int, corner: int) -> int:
    """Which of the three is nearest to left + up - corner."""
    a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    if a <= b and a <= c:
        return left
    return up if b <= c else corner


def _row_of(kind: int, filtered: Any, above: Any, step: int) -> Any:
    """A row from its filtered bytes and the row above; the first `step` bytes are 0."""
    if kind == 0:
        return filtered
    if kind == 1:
        pixels = filtered.reshape(-1, step)
        return np.cumsum(pixels, axis=0, dtype=np.uint8).reshape(-1)
    if kind == 2:
        return filtered + above
    row, upper, source = [0] * len(filtered), above.tolist(), filtered.tolist()
    for index in range(step, len(source)):
        left, up = row[index - step], upper[index]
        near = (left + up) // 2 if kind == 3 else _paeth(left, up, upper[index - step])
        row[index] = (source[index] + near) & 255
    return np.array(row, np.uint8)


def _rows_of(data: bytes, header: _Header) -> Any:
    """The rows as bytes, [height, bytes]."""
    bits = header.depth * _CHANNELS[header.color]
    step, size = max(1, bits // 8), -(-header.width * bits // 8)
    filtered = np.frombuffer(zlib.decompress(data), np.uint8)
    if filtered.size < header.height * (size + 1):
        raise ValueError("there are fewer rows than its header declares")
    filtered = filtered[: header.height * (size + 1)].reshape(header.height, size + 1)
    rows = np.zeros((header.height + 1, size + step), np.uint8)
    for index, row in enumerate(filtered):
        if row[0] > 4:
            raise ValueError(f"row {index} has a filter that does not exist: {row[0]}")
        rows[index + 1, step:] = row[1:]
        rows[index + 1] = _row_of(int(row[0]), rows[index + 1], rows[index], step)
    return rows[1:, step:]


def _pixels_of(rows: Any, header: _Header) -> Any:
    """[height, width, channels] as stored: of fewer than 8 bits uint8, not yet scaled."""
    shape = header.height, header.width, _CHANNELS[header.color]
    if header.depth == 16:
        wide = np.ascontiguousarray(rows).view(">u2").astype(np.uint16)
        return wide.reshape(shape)
    if header.depth == 8:
        return rows.reshape(shape)
    bits = np.unpackbits(rows, axis=1).reshape(header.height, -1, header.depth)
    weights = 1 << np.arange(header.depth - 1, -1, -1)
    return (bits @ weights).astype(np.uint8)[:, : header.width, None]


def _alpha(pixels: Any, transparent: bytes, header: _Header) -> Any:
    """An alpha channel by the one colour that is declared transparent; None without one."""
    if not transparent:
        return None
    color = np.frombuffer(transparent, ">u2")[: pixels.shape[2]]
    alpha = np.where((pixels == color).all(axis=2), 0, np.iinfo(pixels.dtype).max)
    return alpha.astype(pixels.dtype)[:, :, None]


def _looked_up(pixels: Any, palette: bytes, transparent: bytes) -> Any:
    colors = np.frombuffer(palette, np.uint8).reshape(-1, 3)
    if pixels.max() >= len(colors):
        raise ValueError("its palette has fewer colours than it uses")
    rgb = colors[pixels[:, :, 0]]
    if not transparent:
        return rgb
    alphas = np.full(len(colors), 255, np.uint8)
    alphas[: len(transparent)] = np.frombuffer(transparent, np.uint8)
    return np.concatenate([rgb, alphas[pixels[:, :, 0]][:, :, None]], axis=2)


def decoded_png(data: bytes) -> tuple[Any, Any]:
    """(pixels, alpha): the pixels [height, width, channels], uint8 or uint16: 1 grey, 2 grey and
    alpha, 3 RGB, 4 RGB and alpha. Palettes are looked up; of fewer than 8 bits the range is that of
    8. Where one colour is declared transparent, alpha is the channel that follows, else None.

    ValueError for other and damaged files, NotImplementedError for interlaced ones.
    """
    if not data.startswith(PNG_SIGNATURE):
        raise ValueError("it does not begin as a PNG file")
    parts: dict[bytes, bytes] = {}
    for kind, contents in _chunks(data):
        parts[kind] = parts.get(kind, b"") + contents
    header = _header_of(parts.get(b"IHDR", b""))
    try:
        rows = _rows_of(parts.get(b"IDAT", b""), header)
    except zlib.error as error:
        raise ValueError(f"its data is damaged: {error}") from None
    pixels, transparent = _pixels_of(rows, header), parts.get(b"tRNS", b"")
    if header.color == _PALETTE:
        return _looked_up(pixels, parts.get(b"PLTE", b""), transparent), None
    alpha = (
        None if header.color in (_GREY_ALPHA, _RGB_ALPHA) else _alpha(pixels, transparent, header)
    )
    if header.depth < 8:
        pixels = pixels * np.uint8(255 // ((1 << header.depth) - 1))
    return pixels, alpha
