"""Hashes of many strings by native code (host_string_hash.h), once it is compiled.

The hashes are equal to the results of `hash_algorithms`. Compiled code with different results is
not used.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.graph.client.creation_origin import stack_level
from gpugraph.kernel import CompiledFile, KernelContext
from gpugraph.ops.strings.hash_algorithms import farm_fingerprint, murmur, sip_hash

Hash = Callable[[bytes], int]

HASHES_FILE = "host_string_hash.h"

_FEW = 64
"""For fewer strings than this, calling a C function takes longer than Python."""

_SAMPLE_KEY = (0x0123456789ABCDEF, -2)
_SAMPLE = [bytes(range(size)) for size in range(256)]

_ALGORITHMS: dict[str, Hash] = {
    "gg_murmur_hash": murmur,
    "gg_farm_hash": farm_fingerprint,
    "gg_sip_hash": lambda text: sip_hash(text, _SAMPLE_KEY),
}
"""The functions of the C file, and the equivalent Python functions, for the sample's key."""

_SOUND: dict[tuple[int, str], bool] = {}


class ManyHashes:
    """A callable that assigns strings to `buckets`.

    It calls the C function `name` if it is compiled. Otherwise it calls the Python function `one`
    for each string.
    """

    def __init__(
        self, context: KernelContext, name: str, one: Hash, buckets: int, key: Sequence[int] = ()
    ) -> None:
        self._context, self._name, self._one = context, name, one
        self._buckets = buckets
        self._key = [*(number - (number >> 63 << 64) for number in key), 0, 0][:2]
        self._compiled: Callable[[float], CompiledFile | None] | None = None

    def __call__(self, strings: Any, out: Any) -> None:
        """Store the bucket of each string in `out`, an int64 array of the same shape."""
        if strings.size >= _FEW and sys.byteorder == "little":
            if self._compiled is None:
                self._compiled = self._context.compiled(HASHES_FILE, "bytes")
            file = self._compiled(0.0)
            if file is not None and is_sound(file, self._name):
                texts = strings.reshape(-1).tolist()
                numbers = _hashes(file, self._name, texts, self._buckets, self._key)
                out[...] = numbers.reshape(out.shape)
                return
        one, buckets = self._one, self._buckets
        out[...] = np.frompyfunc(lambda text: one(text) % buckets, 1, 1)(strings)


def _hashes(
    file: CompiledFile, name: str, texts: Sequence[bytes], buckets: int, key: Sequence[int]
) -> Any:
    content = np.frombuffer(b"".join([*texts, b"\0"]), np.uint8)
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    out = np.empty(len(texts), np.int64)
    numbers = [len(texts), content.size - 1, buckets, *key]
    file.bind(name, numbers, [content, ends, out], dtype="bytes")()
    return out


def row_hashes(file: CompiledFile, content: Any, rows: int) -> Any:
    """Return the FarmHash fingerprint (int64) of each row. `content` is an array of bytes with the
    rows one after the other, all of equal size.
    """
    size = content.size // max(rows, 1)
    ends, out = np.arange(1, rows + 1, dtype=np.int64) * size, np.empty(rows, np.int64)
    numbers = [rows, content.size, 0, 0, 0]
    room = np.append(content, np.uint8(0))
    file.bind("gg_farm_hash", numbers, [room, ends, out], dtype="bytes")()
    return out


def is_sound(file: CompiledFile, name: str) -> bool:
    """Return whether the compiled function agrees with the Python function on a sample. The result
    is cached.
    """
    key = id(file), name
    if key not in _SOUND:
        numbers = _hashes(file, name, _SAMPLE, 0, _SAMPLE_KEY).view(np.uint64)
        _SOUND[key] = numbers.tolist() == [_ALGORITHMS[name](text) for text in _SAMPLE]
        if not _SOUND[key]:
            warnings.warn(
                f"native code is not used: {name} returns other hashes than Python. The C "
                "compiler is not reliable",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
    return _SOUND[key]
