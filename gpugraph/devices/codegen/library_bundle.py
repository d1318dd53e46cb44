"""Libraries that a plan needs together, as one entry of the cache: read once, checked once.

    <key of all keys>.bundle     their number; of each its key and its size; then their bytes

The libraries are also separate entries, for other plans and for a missing or damaged bundle. A
library from a bundle is checked like any other.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Mapping

from gpugraph.devices.codegen.object_cache import ObjectCache, key_of

_COUNT = struct.Struct("<I")
_ENTRY = struct.Struct("<40sQ")


class LibraryBundle:
    """The libraries of several sources, all of which are added before it is sealed."""

    def __init__(self, cache: ObjectCache, key_of_source: Callable[[str], str]) -> None:
        self._cache = cache
        self._key_of_source = key_of_source
        self._keys: dict[str, str] = {}  # by source; empty until the bundle is looked up
        self._contents: dict[str, bytes] = {}  # by key: the bundle's, or those collected so far
        self._key = ""  # the bundle's, from its lookup to its end
        self._is_sealed = self._is_found = False
        self._lock = threading.Lock()

    def add(self, source: str) -> None:
        """Add a source."""
        self._keys[source] = ""

    def seal(self) -> None:
        """End the list of sources; from now on libraries are found or kept."""
        self._is_sealed = True

    def key(self, source: str) -> str:
        """Return the key of a source's library. OSError if the compiler is gone."""
        with self._lock:
            if self._is_sealed and not self._keys[source]:
                self._look()
            return self._keys[source] or self._key_of_source(source)

    def find(self, key: str) -> bytes | None:
        """Return the bytes of a library, once, if they are in the cache as part of this bundle."""
        with self._lock:
            return self._contents.pop(key, None) if self._is_found else None

    def keep(self, key: str, content: bytes) -> None:
        """Record a library from elsewhere; with the last one the bundle is stored."""
        with self._lock:
            if self._is_found or not self._key:
                return
            self._contents[key] = content
            if len(self._contents) == len(self._keys):
                self._cache.store(self._key, _packed(self._contents))
                self._forget()

    def drop(self) -> None:
        """Remove an invalid bundle, or give up collecting one."""
        with self._lock:
            if self._is_found:
                self._cache.drop(self._key)
            self._forget()

    def _look(self) -> None:
        """Look up the bundle. A single source has none."""
        self._keys = {source: self._key_of_source(source) for source in self._keys}
        if len(self._keys) < 2:
            return
        self._key = key_of("bundle 1", *sorted(self._keys.values()))
        content = self._cache.load(self._key)
        if content is not None:
            contents = _unpacked(content)
            self._is_found = contents.keys() == set(self._keys.values())
            if self._is_found:
                self._contents = contents
            else:
                self._cache.drop(self._key)

    def _forget(self) -> None:
        self._contents, self._key = {}, ""


def _packed(contents: Mapping[str, bytes]) -> bytes:
    """Return the bytes of a bundle."""
    head = [_ENTRY.pack(key.encode(), len(content)) for key, content in contents.items()]
    return b"".join([_COUNT.pack(len(contents)), *head, *contents.values()])


def _unpacked(bundle: bytes) -> dict[str, bytes]:
    """Return the libraries of a bundle by key; none if it has another layout."""
    contents = {}
    try:
        (count,) = _COUNT.unpack_from(bundle)
        start = _COUNT.size + count * _ENTRY.size
        for key, size in _ENTRY.iter_unpack(bundle[_COUNT.size : start]):
            contents[key.decode()] = bundle[start : start + size]
            start += size
    except (struct.error, UnicodeDecodeError):
        return {}
    return contents if start == len(bundle) else {}
