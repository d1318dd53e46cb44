"""Git LFS pointers: the short texts that a clone contains instead of files until `git lfs pull`.

Source: the specification of Git LFS, docs/spec.md. Code that loads a file uses this module to
explain why the file is malformed.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import Any

BEGINNING = b"version https://git-lfs.github.com/spec"
"""The first bytes of every pointer."""

_MAX_BYTES = 1024
"""Pointers are smaller than this, as the specification requires."""


def pointer_text(content: Any) -> str:
    """Return an explanation in parentheses if `content` is a Git LFS pointer, else ""."""
    beginning = bytes(content[:_MAX_BYTES])
    if not beginning.startswith(BEGINNING):
        return ""
    size = re.search(rb"^size (\d{1,20})$", beginning, re.MULTILINE)
    of = f" of {size[1].decode()} bytes" if size else ""
    return f" (it is a Git LFS pointer to a file{of}: `git lfs pull` fetches the file itself)"


def pointer_text_of_file(path: Any) -> str:
    """Return `pointer_text` of a file's content. If the file can't be read, return ""."""
    with contextlib.suppress(OSError, ValueError):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return pointer_text(file.read(_MAX_BYTES))
    return ""
