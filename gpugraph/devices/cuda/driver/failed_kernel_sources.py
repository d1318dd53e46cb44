"""Failed kernel sources: a source that does not compile is stored in the user's cache folder, where
the user can inspect it.

Equal sources share one file, so a program that fails repeatedly stores only one file.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import tempfile
from pathlib import Path

from gpugraph.devices.codegen.object_cache import cache_folder
from gpugraph.devices.codegen.trusted_folders import open_folder, write_file


def keep_source(source: str, name: str, ending: str) -> Path | None:
    """Write the source to a file that only this user can write, and return the path of the file. If
    the file can't be written, return None.
    """
    key = hashlib.sha256(source.encode()).hexdigest()[:12]
    file = re.sub(r"\W+", "_", name)[:60] + f"-{key}{ending}"
    with contextlib.suppress(OSError):
        return _write(cache_folder().parent / "refused", file, source)
    with contextlib.suppress(OSError):
        return _write(Path(tempfile.mkdtemp(prefix="gpugraph-")), file, source)
    return None


def _write(path: Path, name: str, source: str) -> Path:
    with open_folder(path) as folder:
        write_file(folder, name, source.encode())
    return path / name
