"""Texts that did not compile, kept where one can look at them: in the user's cache folder.

The same text has the same file, so a program that fails again and again keeps one.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import tempfile
from pathlib import Path

from gpugraph.devices.codegen.object_cache import cache_folder


def keep_text(text: str, name: str, ending: str) -> Path | None:
    """A file of this user that holds the text, or None where none can be written."""
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    plain = re.sub(r"\W+", "_", name)[:60]
    with contextlib.suppress(OSError):
        return _write(cache_folder().parent / "refused", f"{plain}-{key}{ending}", text)
    with contextlib.suppress(OSError):
        return _write(Path(tempfile.mkdtemp(prefix="gpugraph-")), f"{plain}-{key}{ending}", text)
    return None


def _write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    return folder / name
