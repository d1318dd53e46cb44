"""Writer of V2 checkpoints. It writes tensors one by one into a data file, and then the index.

All files are written under temporary names, synced, and then renamed. The index is renamed last. If
a checkpoint of the same name exists, the old index refers to the old data files until the new index
replaces the old one. Therefore the new data files first get names with another number of shards,
and the usual names after that.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import InternalError, InvalidArgumentError, invalid_argument
from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.base.streamed_file import StreamedFile
from gpugraph.base.whole_files import (
    create_beside,
    kept,
    local_path,
    remove_stale,
    sync_folder,
    system_errors,
    temporary_name,
    write_whole,
)
from gpugraph.formats.checkpoints.bundle_entries import (
    HEADER_KEY,
    STORED,
    BundleEntry,
    header_message,
    read_entry,
)
from gpugraph.formats.checkpoints.bundle_reader import data_name, index_name, read_index
from gpugraph.formats.checkpoints.slices import Slice, check_slice, shape_of_slice, slice_key
from gpugraph.formats.checkpoints.sorted_table import table_bytes
from gpugraph.formats.checkpoints.wire import varint
from gpugraph.formats.crc32c import crc32c, mask_crc

_BLOCK = 1 << 20
"""The number of bytes that are checksummed and then written at a time, so that they are still
cached.
"""
_PIECE = 16 << 20
"""The maximum number of bytes of a non-contiguous array that are copied at once."""


_SUFFIXES = (".index", ".data-?????-of-?????")
"""The suffixes of the files of a checkpoint, as patterns for `fnmatch`."""


class BundleWriter:
    """A checkpoint under construction. `finish` makes the checkpoint visible, and `abandon` removes
    it.

    Raises tf.errors.OpError if the file system reports an error.

    Args:
      prefix: the common prefix of the paths of the checkpoint's files. If the folder of these files
        does not exist, it is created, but its parent folders are not.
    """

    def __init__(self, prefix: str) -> None:
        prefix = self._prefix = local_path(prefix)
        self._entries: dict[bytes, BundleEntry] = {}
        self._offset = 0
        with system_errors(prefix):
            with contextlib.suppress(FileExistsError):
                os.mkdir(os.path.dirname(prefix) or ".")
            file, self._temporary = create_beside(data_name(prefix, 0, 1), 0)
        self._file = StreamedFile(file)

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.finish()
        else:
            self.abandon()

    def add(self, name: bytes, array: Any, dtype: DType | None = None) -> None:
        """Write a tensor. Raises InvalidArgumentError if the name is empty or already present.

        The array is written without a copy, so the array must not change before `finish` is called.
        """
        if not name:
            raise invalid_argument(f"The name of a tensor in {self._prefix} is empty")
        self._write(name, array, dtype)

    def add_slice(
        self, name: bytes, shape: Sequence[int], part: Slice, array: Any, dtype: DType | None = None
    ) -> None:
        """Write a part of a tensor of the full `shape`.

        Raises InvalidArgumentError if the part is not inside of the shape, is already present, has
        another dtype or full shape than other parts of the tensor, or if `array` does not have the
        shape of the part.
        """
        check_slice(shape, part, os.fsdecode(name))
        dtype = dtype or as_dtype(array.dtype)
        if array.shape != shape_of_slice(shape, part):
            raise invalid_argument(
                f"The slice {part} of {os.fsdecode(name)} has the shape "
                f"{list(shape_of_slice(shape, part))}, but the value has {list(array.shape)}"
            )
        whole = self._entries.setdefault(name, BundleEntry(dtype, tuple(shape)))
        if whole.dtype != dtype or whole.shape != tuple(shape) or whole.size:
            raise invalid_argument(
                f"Tensor {os.fsdecode(name)} is {whole.dtype.name} of shape {list(whole.shape)}; "
                f"one of its slices is of {dtype.name} in shape {list(shape)}"
            )
        self._write(slice_key(name, part), array, dtype)
        whole.slices.append(part)

    def _write(self, key: bytes, array: Any, dtype: DType | None) -> None:
        dtype = dtype or as_dtype(array.dtype)
        if dtype not in STORED:
            raise invalid_argument(
                f"A checkpoint can't hold values of {dtype.name}: {os.fsdecode(key)}"
            )
        if key in self._entries:
            raise InvalidArgumentError(
                None, None, f"Adding duplicate key: {os.fsdecode(key)} to {self._prefix}"
            )
        entry = BundleEntry(dtype, tuple(array.shape), 0, self._offset)
        try:
            if dtype is dtypes.string:
                crc = self._write_strings(array)
            elif array.flags.c_contiguous:
                crc = self._write_bytes(array)
            else:
                crc = 0
                for piece in _pieces(array):
                    crc = self._write_bytes(piece, crc)
        except OSError as error:
            with system_errors(self._prefix):
                raise error
        entry.size, entry.crc = self._offset - entry.offset, mask_crc(crc)
        self._entries[key] = entry

    def _write_bytes(self, array: Any, crc: int = 0) -> int:
        """Write a contiguous array. Return its checksum. `crc` is the checksum of the preceding
        bytes.
        """
        if array.nbytes <= _BLOCK:
            if array.nbytes:
                content = array.reshape(-1).view(np.uint8)
                crc = crc32c(content, crc)
                self._put(content)
            return crc
        content = array.reshape(-1).view(np.uint8)
        for start in range(0, len(content), _BLOCK):
            crc = self._write_bytes(content[start : start + _BLOCK], crc)
        return crc

    def _put(self, content: Any) -> None:
        self._file.write(content)
        self._offset += len(content)

    def _write_strings(self, array: Any) -> int:
        """Write an array of strings in the layout of V2 checkpoints. Return its checksum.

        The lengths come first, followed by the checksum of the lengths and the bytes of all
        strings.
        """
        strings = [_as_bytes(item) for item in array.reshape(-1)]
        crc = 0
        for block in _blocks(strings):
            crc = crc32c(b"".join(_length_for_crc(len(text)) for text in block), crc)
            self._put(b"".join(varint(len(text)) for text in block))
        checksum = mask_crc(crc).to_bytes(4, "little")
        crc = crc32c(checksum, crc)
        self._put(checksum)
        for block in _blocks(strings):
            content = b"".join(block)
            crc = crc32c(content, crc)
            self._put(content)
        return crc

    def abandon(self) -> None:
        """Remove the data written so far."""
        self._file.abandon()
        with contextlib.suppress(OSError):
            os.unlink(self._temporary)

    def finish(self) -> None:
        """Make the whole checkpoint visible.

        If the writing fails, the old checkpoint remains unchanged.
        """
        try:
            index = functools.cache(functools.partial(_index_bytes, self._entries))
            index(1)  # in advance, while the threads write and sync
            with kept([self._temporary]):
                with system_errors(self._prefix):
                    self._file.close()
                publish(self._prefix, [self._temporary], index)
        except BaseException:
            self.abandon()
            raise


@uninterrupted
def publish(prefix: str, data_files: Sequence[str], index_of: Callable[[int], bytes]) -> None:
    """Make a checkpoint from data files with temporary names, one per shard.

    At every moment the index, whether old or new, refers to complete data files.

    Args:
      index_of: a function that receives the number of shards in the files' names, and returns the
        bytes of the index.
    """
    count = len(data_files)
    usual = [data_name(prefix, shard, count) for shard in range(count)]
    index = index_name(prefix)
    with system_errors(prefix):
        remove_stale(*(glob.escape(prefix) + suffix for suffix in _SUFFIXES))
        if not os.path.exists(index) or not any(map(os.path.lexists, usual)):
            _rename(data_files, usual)  # safe: a folder keeps the order of its changes
            write_whole(index, index_of(count))
            _remove_others(prefix, usual)
            return
        total = count + 1
        while any(os.path.lexists(data_name(prefix, shard, total)) for shard in range(count)):
            total += 1
        others = [data_name(prefix, shard, total) for shard in range(count)]
        _rename(data_files, others)
        sync_folder(os.path.dirname(prefix))
        write_whole(index, index_of(total))
        if _link(others, usual):
            write_whole(index, index_of(count))
        else:
            usual = others
        _remove_others(prefix, usual)


def _rename(sources: Sequence[str], targets: Sequence[str]) -> None:
    for source, target in zip(sources, targets):
        os.replace(source, target)


def _link(sources: Sequence[str], targets: Sequence[str]) -> bool:
    """Create hard links to files. Return False if the file system does not support hard links."""
    for source, target in zip(sources, targets):
        temporary = temporary_name(target)
        try:
            os.link(source, temporary)
        except OSError:
            return False
        os.replace(temporary, target)
    sync_folder(os.path.dirname(targets[0]))
    return True


def _remove_others(prefix: str, kept: Sequence[str]) -> None:
    """Remove the data files of an earlier checkpoint with this prefix, except the files `kept`."""
    folder, base = os.path.split(f"{prefix}.data-")
    names = {os.path.basename(path) for path in kept}
    for name in os.listdir(folder or "."):
        rest = name.removeprefix(base)
        is_data = len(rest) == 14 and rest[5:9] == "-of-" and (rest[:5] + rest[9:]).isdigit()
        if name.startswith(base) and is_data and name not in names:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))


def _index_bytes(entries: dict[bytes, BundleEntry], num_shards: int) -> bytes:
    items = {key: entry.message() for key, entry in entries.items()}
    items[HEADER_KEY] = header_message(num_shards)
    return b"".join(table_bytes(sorted(items.items())))


def merge_bundles(prefixes: Sequence[str], destination: str) -> None:
    """Merge several checkpoints into one, whose shards are the data files of all of them.

    Raises InvalidArgumentError if two of the checkpoints contain the same tensor. Raises
    InternalError if slices of a tensor have different dtypes or full shapes.
    """
    prefixes, destination = [local_path(prefix) for prefix in prefixes], local_path(destination)
    entries: dict[bytes, BundleEntry] = {}
    files: list[str] = []
    for prefix in prefixes:
        num_shards, items = read_index(prefix)
        for key, message in items.items():
            entry = read_entry(message)
            entry.shard += len(files)
            _merge_entry(entries, key, entry, destination)
        files += [data_name(prefix, shard, num_shards) for shard in range(num_shards)]
    with system_errors(destination), contextlib.suppress(FileExistsError):
        os.mkdir(os.path.dirname(destination) or ".")
    with kept(files):
        publish(destination, files, functools.partial(_index_bytes, entries))
    for prefix in prefixes:
        with contextlib.suppress(OSError):
            os.unlink(index_name(prefix))


def _merge_entry(
    entries: dict[bytes, BundleEntry], key: bytes, entry: BundleEntry, destination: str
) -> None:
    other = entries.setdefault(key, entry)
    if other is entry:
        if entry.slices:
            entry.shard = 0
        return
    if not (other.slices and entry.slices):
        raise invalid_argument(f"Duplicate tensor keyed by {os.fsdecode(key)} in {destination}")
    if other.dtype != entry.dtype or other.shape != entry.shape:
        raise InternalError(
            None, None, f"Slices of {os.fsdecode(key)} have different dtypes or full shapes"
        )
    other.slices += entry.slices


# -- conversion of values to bytes


def _pieces(array: Any) -> Iterator[Any]:
    """Yield contiguous pieces of an array, in C order, without copying the whole array."""
    if array.flags.c_contiguous:
        yield array
    elif array.nbytes <= _PIECE:
        yield from _pieces(np.ascontiguousarray(array))
    elif len(array) > 1 and array.nbytes // len(array) < _PIECE:
        rows = max(1, _PIECE * len(array) // array.nbytes)
        for start in range(0, len(array), rows):
            yield from _pieces(np.ascontiguousarray(array[start : start + rows]))
    else:
        for row in array:
            yield from _pieces(row)


def _blocks(strings: list[bytes]) -> Iterator[list[bytes]]:
    """Yield strings in blocks of about a megabyte and at most 4096 strings."""
    block: list[bytes] = []
    size = 0
    for text in strings:
        block.append(text)
        size += len(text)
        if size >= _BLOCK or len(block) == 4096:
            yield block
            block, size = [], 0
    if block:
        yield block


def _as_bytes(item: Any) -> bytes:
    return item.encode() if isinstance(item, str) else bytes(item)


def _length_for_crc(size: int) -> bytes:
    return size.to_bytes(4 if size < 1 << 32 else 8, "little")
