"""Reader of V2 checkpoints. The reader reads the whole index when it is opened, and each tensor
when the tensor is requested.

Files are not trusted. Offsets and sizes are compared with the sizes of the files before memory is
allocated, and all bytes are compared with their checksums.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, BinaryIO

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import DataLossError, InvalidArgumentError
from gpugraph.base.lfs_pointers import pointer_text_of_file
from gpugraph.base.whole_files import local_path, open_to_read, system_errors
from gpugraph.formats.checkpoints.bundle_entries import (
    HEADER_KEY,
    STORED,
    BundleEntry,
    read_entry,
    read_header,
)
from gpugraph.formats.checkpoints.slices import Slice, shape_of_slice, slice_key
from gpugraph.formats.checkpoints.sorted_table import read_table
from gpugraph.formats.checkpoints.tensor_reader import TensorReader, no_checkpoint
from gpugraph.formats.checkpoints.wire import MalformedError, read_varint
from gpugraph.formats.crc32c import crc32c, mask_crc

_BLOCK = 1 << 20


def index_name(prefix: str) -> str:
    """Return the path of the index file of a checkpoint."""
    return f"{prefix}.index"


def data_name(prefix: str, shard: int, num_shards: int) -> str:
    """Return the path of the data file with the number `shard`."""
    return f"{prefix}.data-{shard:05d}-of-{num_shards:05d}"


def read_index(prefix: str) -> tuple[int, dict[bytes, bytes]]:
    """Return the number of shards, and the serialized entries of all tensors by key.

    Raises NotFoundError if there is no such checkpoint, InvalidArgumentError if its byte order is
    big-endian, and DataLossError if a file is malformed.
    """
    name = index_name(prefix)
    if not os.path.exists(name):
        if pointer := pointer_text_of_file(prefix):
            raise DataLossError(None, None, f"{prefix}: not an sstable{pointer}")
        raise no_checkpoint(prefix)
    with system_errors(name), open_to_read(name) as file:
        items = read_table(file.read(), name)
    header = items.pop(HEADER_KEY, None)
    if header is None:
        raise DataLossError(None, None, f"{name}: the index has no header, at offset 0")
    try:
        num_shards, endianness = read_header(header)
    except MalformedError as error:
        raise DataLossError(None, None, f"{name}: bad header, at offset 0: {error}") from None
    if endianness:
        raise InvalidArgumentError(
            None, None, f"{name}: the bundle is of a machine with the other byte order"
        )
    return num_shards, items


class BundleReader(TensorReader):
    """An existing V2 checkpoint. Its data files are opened when they are first used.

    Attributes:
      entries: the entry of each tensor, by name. This dict does not include the entries of parts of
        tensors.
    """

    def __init__(self, prefix: str) -> None:
        prefix = self.prefix = local_path(prefix)
        self._num_shards, messages = read_index(prefix)
        self._files: dict[int, tuple[BinaryIO, int, str]] = {}
        self.entries: dict[str, BundleEntry] = {}
        self._parts: dict[bytes, BundleEntry] = {}
        for key, message in messages.items():
            if key[0]:
                self.entries[key.decode("utf-8", "surrogateescape")] = self._entry(key, message)
            else:
                self._parts[key] = self._entry(key, message)
        self._refuse_shared_bytes()

    def close(self) -> None:
        """Close the data files."""
        for file, _, _ in self._files.values():
            file.close()
        self._files.clear()

    def _part(self, name: str, entry: BundleEntry, part: Slice) -> Any:
        return self._value(self._part_entry(name, entry, part), name)

    def _check_part(self, name: str, entry: BundleEntry, part: Slice) -> None:
        self._placed(self._part_entry(name, entry, part), name)

    def _part_entry(self, name: str, entry: BundleEntry, part: Slice) -> BundleEntry:
        stored = self._parts.get(slice_key(name.encode("utf-8", "surrogateescape"), part))
        if stored is None:
            raise DataLossError(
                None, None, f"{self._index}: the slice {part} of {name} is missing, at offset 0"
            )
        if stored.dtype != entry.dtype or stored.shape != shape_of_slice(entry.shape, part):
            raise DataLossError(
                None, None, f"{self._index}: the slice {part} of {name} has another shape or dtype"
            )
        return stored

    @property
    def _index(self) -> str:
        return index_name(self.prefix)

    def _refuse_shared_bytes(self) -> None:
        """Raise DataLossError if two entries refer to the same bytes.

        Otherwise a small malicious file could cause the allocation of memory for many large
        tensors.
        """
        places = [
            (entry.shard, entry.offset, entry.size, name)
            for entries in (self.entries, self._parts)
            for name, entry in entries.items()
            if entry.size
        ]
        last = (0, 0)
        for shard, offset, size, name in sorted(places, key=itemgetter(0, 1)):
            if (shard, offset) < last:
                path = data_name(self.prefix, shard, self._num_shards)
                raise DataLossError(
                    None,
                    None,
                    f"{self._index}: the bytes of {os.fsdecode(name)!r} at offset {offset} of "
                    f"{path} belong to another tensor too",
                )
            last = (shard, offset + size)

    def _entry(self, key: bytes, message: bytes) -> BundleEntry:
        try:
            entry = read_entry(message)
        except MalformedError as error:
            raise DataLossError(
                None, None, f"{self._index}: bad entry of {os.fsdecode(key)!r}: {error}"
            ) from None
        if entry.shard >= self._num_shards:
            raise DataLossError(
                None,
                None,
                f"{self._index}: {os.fsdecode(key)!r} is in shard {entry.shard} of "
                f"{self._num_shards}",
            )
        return entry

    def stored(self, name: str, spec: tuple[Sequence[int], Slice] | None) -> BundleEntry | None:
        """Return the entry with the location of a whole tensor, or of the part that `spec` names.

        Returns None if the values are strings, or are not stored in one piece. Raises the errors of
        `read`.

        Args:
          spec: the full shape and the part, or None for the whole tensor.
        """
        entry = self.entry(name)
        if spec is not None and spec[1] in entry.slices and tuple(spec[0]) == entry.shape:
            entry = self._part_entry(name, entry, spec[1])
        elif spec is not None or entry.slices:
            return None
        if entry.dtype is dtypes.string:
            return None
        self._placed(entry, name)
        return entry

    def _placed(self, entry: BundleEntry, name: str) -> tuple[BinaryIO, str]:
        """Return the file that has an entry's bytes, and its path.

        Raises DataLossError if the location or the number of these bytes is impossible.
        """
        if entry.dtype not in STORED:
            raise DataLossError(
                None, None, f"{self._index}: {name} has the dtype {entry.dtype.name}, not a value's"
            )
        file, length, path = self.data(entry.shard)
        if entry.size > length or entry.offset > length - entry.size:
            raise self.loss(entry, name, f"its {entry.size} bytes are not in the file")
        if entry.dtype is not dtypes.string and entry.elements * entry.dtype.size != entry.size:
            raise self.loss(entry, name, f"{entry.size} bytes are not of shape {list(entry.shape)}")
        return file, path

    def _value(self, entry: BundleEntry, name: str) -> Any:
        file, path = self._placed(entry, name)
        if entry.dtype is dtypes.string:
            return self._strings(entry, name, file, path)
        content = np.empty(entry.size, np.uint8)
        if self._filled(file, path, entry, name, content) != entry.crc:
            raise self.loss(entry, name, "Checksum does not match")
        return content.view(np.dtype(entry.dtype.as_numpy_dtype)).reshape(entry.shape)

    def _filled(self, file: BinaryIO, path: str, entry: BundleEntry, name: str, target: Any) -> int:
        """Read an entry's bytes into `target`. Return their masked checksum."""
        view, position, crc = memoryview(target), 0, 0
        with system_errors(path):
            file.seek(entry.offset)
            while position < entry.size:  # compute the checksum while the bytes are cached
                block = view[position : position + _BLOCK]
                count = file.readinto(block)  # type: ignore[attr-defined]
                if not count:
                    raise self.loss(entry, name, "the file ends within it")
                crc = crc32c(block[:count], crc)
                position += count
        return mask_crc(crc)

    def _strings(self, entry: BundleEntry, name: str, file: BinaryIO, path: str) -> Any:
        count = entry.elements
        if count + 4 > entry.size:
            raise self.loss(entry, name, f"{entry.size} bytes are not {count} strings")
        content = bytearray(entry.size)
        self._filled(file, path, entry, name, content)
        data = bytes(content)
        lengths, position = [], 0
        try:
            for _ in range(count):
                size, position = read_varint(data, position, len(data))
                lengths.append(size)
        except MalformedError as error:
            raise self.loss(entry, name, str(error)) from None
        if position + 4 + sum(lengths) != len(data):
            raise self.loss(entry, name, "the lengths of its strings don't fit")
        crc = crc32c(b"".join(n.to_bytes(4 if n < 1 << 32 else 8, "little") for n in lengths))
        if data[position : position + 4] != mask_crc(crc).to_bytes(4, "little"):
            raise self.loss(entry, name, "The length checksum does not match")
        if mask_crc(crc32c(memoryview(data)[position:], crc)) != entry.crc:
            raise self.loss(entry, name, "Checksum does not match")
        result = np.empty(count, object)
        position += 4
        for index, size in enumerate(lengths):
            result[index] = data[position : position + size]
            position += size
        return result.reshape(entry.shape)

    def data(self, shard: int) -> tuple[BinaryIO, int, str]:
        """Return the data file of a shard, its length in bytes and its path.

        The file is open for unbuffered reading.
        """
        if shard not in self._files:
            path = data_name(self.prefix, shard, self._num_shards)
            with system_errors(path):
                file = open_to_read(path, buffering=0)
                length = os.fstat(file.fileno()).st_size
            self._files[shard] = (file, length, path)
        return self._files[shard]

    def loss(self, entry: BundleEntry, name: str, what: str) -> DataLossError:
        """Return the error for an entry whose bytes are damaged.

        Args:
          what: a description of the damage.
        """
        path = data_name(self.prefix, entry.shard, self._num_shards)
        where = f"at offset {entry.offset}{pointer_text_of_file(path)}"
        return DataLossError(None, None, f"{path}: {name}: {what}, {where}")
