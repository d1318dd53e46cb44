"""`tf.keras.utils.get_file`: the paths of files in Keras's download folder, where the user must put
them.
"""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from pathlib import Path
from typing import Any

from gpugraph.base.whole_files import open_to_read
from gpugraph.platform import logging

_MD5_LENGTH = 32


def get_file(
    fname: Any,
    origin: str,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: Any = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: Any = "auto",
    cache_dir: Any = None,
) -> str:
    """Return the path of an existing file in ~/.keras/datasets. Nothing is downloaded.

    Raises FileNotFoundError if the file is missing, and ValueError if its hash differs.

    Args:
      fname: the file's name, or its path.
      origin: the URL of the file, for messages.
      untar: whether the file is `fname`.tar.gz and must be unpacked. The path of its content
        `fname` is then returned.
      md5_hash, file_hash: the expected hash of the file, in hexadecimal.
      hash_algorithm: "md5", "sha256", or "auto" to derive the algorithm from the hash's length.
      extract: whether to unpack the file in its folder. The path of the file itself is returned.
      archive_format: "tar", "zip", "auto" for either, or None for neither.
      cache_dir, cache_subdir: the folder's path and a subfolder, by default "~/.keras" and
        "datasets".
    """
    folder = Path(cache_dir or Path.home() / ".keras") / cache_subdir
    whole = folder / fname
    path = whole.with_name(f"{whole.name}.tar.gz") if untar else whole
    if not path.exists():
        if untar and whole.is_dir():
            return str(whole)
        raise FileNotFoundError(
            f"URL fetch failure on {origin}: gpugraph downloads nothing. Put the file at {path}"
        )
    expected = file_hash if file_hash is not None else md5_hash
    if expected is not None and not _has_hash(path, expected, hash_algorithm):
        raise ValueError(
            f"The file at {path} is incomplete or outdated: its hash is not {expected}. "
            f"Fetch it again from {origin}"
        )
    if untar:
        _unpack(path, folder, ("tar",))
        return str(whole)
    if extract:
        formats = ("tar", "zip") if archive_format == "auto" else archive_format or ()
        _unpack(path, folder, (formats,) if isinstance(formats, str) else formats)
    return str(path)


def _has_hash(path: Path, expected: str, algorithm: str) -> bool:
    is_md5 = algorithm == "md5" or (algorithm == "auto" and len(expected) == _MD5_LENGTH)
    digest = hashlib.md5(usedforsecurity=False) if is_md5 else hashlib.sha256()
    with open_to_read(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest() == expected.lower()


def _unpack(path: Path, folder: Path, formats: Any) -> None:
    """Unpack an archive if it has one of the formats. Nothing is written outside of `folder`."""
    if "tar" in formats and tarfile.is_tarfile(path):
        if not hasattr(tarfile, "data_filter"):
            logging.warning("This Python unpacks archives without checks: unpack %s yourself", path)
            return
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
    elif "zip" in formats and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
