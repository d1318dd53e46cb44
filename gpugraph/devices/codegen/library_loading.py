"""Loading of libraries from bytes in memory. So the bytes that were checked are the bytes that are
executed.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import secrets

from gpugraph.devices.codegen.trusted_folders import private_folder

_COUNT = itertools.count(1)


def load_library(content: bytes, in_memory: bool = True) -> ctypes.CDLL:
    """Load the library with this content and return it. Raises OSError if the content is not a
    library for this machine.

    The library is loaded from an anonymous file in memory (memfd_create). If `in_memory` is False,
    or the system does not support such files, the library is loaded from a file in this process's
    private folder. With `in_memory` False, the file is not removed, so that debuggers can read it.
    """
    if in_memory:
        try:
            return _from_memory(content)
        except (AttributeError, OSError):  # not Linux, or not permitted
            pass
    path = private_folder() / f"{secrets.token_hex(8)}.so"
    path.write_bytes(content)
    try:
        return ctypes.CDLL(str(path))
    finally:
        if in_memory:
            path.unlink()


def _from_memory(content: bytes) -> ctypes.CDLL:
    handle = os.memfd_create("gpugraph")
    try:
        with open(handle, "wb", closefd=False) as file:
            file.write(content)
        # The loader identifies libraries by their paths, and descriptors are reused: each path is
        # new.
        detour = f"{next(_COUNT):b}".replace("1", "./").replace("0", "/")
        return ctypes.CDLL(f"/proc/self/fd/{detour}{handle}")
    finally:
        os.close(handle)
