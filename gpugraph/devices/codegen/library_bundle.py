"""Bundles: all libraries that a plan needs, as a single cache entry, which is read and checked
once.

    <key of all keys>.bundle     the number of libraries; the key and size of each; then their bytes

Each library is also a separate cache entry. Other plans use the separate entries. The plan of the
bundle uses them too if the bundle is missing or damaged. A library from a bundle is checked against
its key, like any other library.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Mapping

from gpugraph.devices.codegen.object_cache import ObjectCache, key_of

_COUNT = struct.Struct("<I")
_ENTRY = struct.Struct("<40sQ")


class LibraryBundle:
    """The libraries of several sources. After all sources have been added, `seal` computes the key
    of the bundle. Then its libraries can be looked up.
    """

    def __init__(self, cache: ObjectCache, key_of_source: Callable[[str], str]) -> None:
        self._cache = cache
        self._key_of_source = key_of_source
        self._keys: dict[str, str] = {}  # each source's key; "" until the lookup
        self._contents: dict[str, bytes] = {}  # by key: found or collected
        self._key = ""  # the bundle's key; empty before the lookup and after use
        self._is_sealed = self._is_found = False
        self._lock = threading.Lock()

    def add(self, source: str) -> None:
        """Add a source. All sources must be added before `seal` is called."""
        self._keys[source] = ""

    def seal(self) -> None:
        """Compute the bundle's key from the sources that were added. No source can be added
        afterwards.
        """
        self._is_sealed = True

    def key(self, source: str) -> str:
        """Return the key of a source's library. The first call loads the bundle from the cache.
        Raises OSError if the compiler's file no longer exists.
        """
        with self._lock:
            if self._is_sealed and not self._keys[source]:
                self._look()
            return self._keys[source] or self._key_of_source(source)

    def find(self, key: str) -> bytes | None:
        """Return the bytes of a library if this bundle is in the cache and contains the library.
        Otherwise return None. A second call for the same library returns None.
        """
        with self._lock:
            return self._contents.pop(key, None) if self._is_found else None

    def keep(self, key: str, content: bytes) -> None:
        """Add a library that was compiled or found as a separate cache entry. When all libraries
        have been added, the bundle is stored in the cache.
        """
        with self._lock:
            if self._is_found or not self._key:
                return
            self._contents[key] = content
            if len(self._contents) == len(self._keys):
                self._cache.store(self._key, _packed(self._contents))
                self._forget()

    def drop(self) -> None:
        """Discard the bundle. If it was read from the cache, remove it there. If it is being
        collected, stop collecting.
        """
        with self._lock:
            if self._is_found:
                self._cache.drop(self._key)
            self._forget()

    def _look(self) -> None:
        """Compute the keys and load the bundle from the cache. There is no bundle of a single
        source.
        """
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
    """Return these libraries as the content of a cache entry."""
    head = [_ENTRY.pack(key.encode(), len(content)) for key, content in contents.items()]
    return b"".join([_COUNT.pack(len(contents)), *head, *contents.values()])


def _unpacked(bundle: bytes) -> dict[str, bytes]:
    """Return the libraries of a cache entry by key. If the layout of the entry is invalid, return
    an empty dict.
    """
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
