"""Restoring of a checkpoint's tensors directly into the memory of arrays, without copies.

All bytes are read twice. First the bytes are read into one block, which stays in the processor's
cache, and their checksums are verified. Then the tensors are read into the arrays. So no array
changes unless all bytes are valid.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from gpugraph.base.errors import DataLossError
from gpugraph.base.whole_files import system_errors
from gpugraph.formats.checkpoints.bundle_entries import BundleEntry
from gpugraph.formats.checkpoints.bundle_reader import BundleReader
from gpugraph.formats.checkpoints.slices import Slice
from gpugraph.formats.checkpoints.tensor_reader import TensorReader
from gpugraph.formats.crc32c import crc32c, mask_crc

_BLOCK = 512 << 10
_MAX_BUFFERS = 512
"""The maximum number of arrays that one system call reads; Linux allows 1024."""
_MAX_BYTES = 32 << 20
"""The number of bytes after which a new run of pieces starts, so that several threads can read
runs.
"""
_MAX_THREADS = 4


class RestoreTarget(NamedTuple):
    """A tensor of a checkpoint, or the part that `spec` describes, and the array into which it is
    restored.

    Args:
      spec: the full shape and the part, or None for the whole tensor.
      array: a C-ordered array of the tensor's dtype.
    """

    name: str
    spec: tuple[Sequence[int], Slice] | None
    array: Any


class _Piece(NamedTuple):
    """A target whose array has the same layout as the bytes in the file, so that the file can be
    read into it.
    """

    entry: BundleEntry
    name: str
    array: Any


def restore_into(
    reader: TensorReader,
    targets: Sequence[RestoreTarget],
    threads: int = 1,
    advance: Callable[[int], object] = lambda _: None,
) -> None:
    """Set arrays to tensors of a checkpoint. If the function fails, no array has changed unless a
    file changes during the call.

    Raises NotFoundError, InvalidArgumentError and DataLossError as `BundleReader.read` does, and
    ValueError if the shape of an array differs from the tensor's shape. Also raises DataLossError
    if a file changes during the call. In this case, some arrays may have changed.

    Args:
      threads: the maximum number of concurrent readers.
      advance: a function that receives the number of bytes of each read. Several threads call this
        function, and all bytes are read twice.
    """
    pieces, values = [], []
    for name, spec, array in targets:
        entry = reader.stored(name, spec) if isinstance(reader, BundleReader) else None
        if entry is None:
            value = reader.read(name) if spec is None else reader.read_slice(name, *spec)
            _check_shape(value.shape, name, array)
            values.append((array, value))
        else:
            _check_shape(entry.shape, name, array)
            pieces.append(_Piece(entry, name, array))
    if isinstance(reader, BundleReader):
        _read_pieces(reader, pieces, threads, advance)
    for array, value in values:
        np.copyto(array, value)


def _read_pieces(
    reader: BundleReader, pieces: Sequence[_Piece], threads: int, advance: Callable[[int], object]
) -> None:
    """Read the pieces into their arrays, after the checksums of all of them have been verified."""
    runs = list(_runs(pieces))
    before = [_state(reader, run) for run in runs]
    for read in (_verify, _read):

        def work(run: list[_Piece], read: Callable[..., None] = read) -> None:
            read(reader, run)
            advance(sum(piece.entry.size for piece in run))

        _for_all(work, runs, threads)
    if before != [_state(reader, run) for run in runs]:
        raise DataLossError(None, None, f"{reader.prefix}: its files changed while they were read")


def _for_all(work: Callable[[list[_Piece]], None], runs: list[list[_Piece]], threads: int) -> None:
    """Call `work` for each run of pieces. Raise the error of the first run that fails."""
    if threads > 1 and len(runs) > 1:
        # a RuntimeError means that there are too many threads, or that the program is about to exit
        with (
            contextlib.suppress(RuntimeError),
            ThreadPoolExecutor(min(threads, len(runs), _MAX_THREADS)) as pool,
        ):
            for _ in pool.map(work, runs):
                pass
            return
    for run in runs:
        work(run)


def _check_shape(stored: Sequence[int], name: str, array: Any) -> None:
    if tuple(stored) != array.shape:
        raise ValueError(f"{name} has the shape {list(stored)}, not {list(array.shape)}")


def _runs(pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    """Yield runs of nonempty pieces. The pieces of a run are contiguous in one file."""
    places = [(p.entry.shard, p.entry.offset, p) for p in pieces]
    run: list[_Piece] = []
    end = (-1, -1)
    for shard, offset, piece in sorted(places, key=itemgetter(0, 1)):
        is_long = len(run) == _MAX_BUFFERS or (
            bool(run) and offset - run[0].entry.offset >= _MAX_BYTES
        )
        if run and ((shard, offset) != end or is_long):
            yield run
            run = []
        run.append(piece)
        end = (shard, offset + piece.entry.size)
    if run:
        yield run


def _file(reader: BundleReader, run: Sequence[_Piece]) -> tuple[BinaryIO, str]:
    file, _, path = reader.data(run[0].entry.shard)
    return file, path


def _state(reader: BundleReader, run: Sequence[_Piece]) -> tuple[int, int]:
    """Return the size and modification time of a run's file. The two values show whether its
    content has changed.
    """
    status = os.fstat(_file(reader, run)[0].fileno())
    return status.st_size, status.st_mtime_ns


def _verify(reader: BundleReader, run: Sequence[_Piece]) -> None:
    """Compare all bytes of a run with their checksums. Raises DataLossError if a checksum is
    wrong.
    """
    file, path = _file(reader, run)
    block = memoryview(bytearray(_BLOCK))
    offset, left = run[0].entry.offset, sum(piece.entry.size for piece in run)
    here = there = 0
    for entry, name, _ in run:
        crc, missing = 0, entry.size
        while missing:
            if here == there:
                with system_errors(path):
                    here, there = 0, _read_at(file.fileno(), [block[:left]], offset)
                offset, left = offset + there, left - there
                if not there:
                    raise reader.loss(entry, name, "the file ends within it")
            count = min(missing, there - here)
            crc = crc32c(block[here : here + count], crc)
            here += count
            missing -= count
        if mask_crc(crc) != entry.crc:
            raise reader.loss(entry, name, "Checksum does not match")


def _read_at(handle: int, views: list[memoryview], offset: int) -> int:
    """Read bytes at an offset into buffers. Fewer bytes may be read than the buffers can hold.

    Returns the number of bytes read.
    """
    if hasattr(os, "preadv"):
        return os.preadv(handle, views, offset)
    content = os.pread(handle, min(len(views[0]), _BLOCK), offset)
    views[0][: len(content)] = content
    return len(content)


def _read(reader: BundleReader, run: Sequence[_Piece]) -> None:
    """Read the bytes of a run into the arrays."""
    file, path = _file(reader, run)
    offset = run[0].entry.offset
    views = [memoryview(p.array.reshape(-1).view(np.uint8)) for p in run if p.entry.size]
    with system_errors(path):
        while views:
            count = _read_at(file.fileno(), views, offset)
            if not count:
                raise reader.loss(run[0].entry, run[0].name, "the file ends after it")
            offset += count
            while views and count >= len(views[0]):
                count -= len(views[0])
                del views[0]
            if count:
                views[0] = views[0][count:]
