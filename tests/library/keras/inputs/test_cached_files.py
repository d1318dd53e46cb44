"""get_file: present files, files that are not downloaded, hashes, archives."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile

import pytest

import gpugraph as tf

get_file = tf.keras.utils.get_file
ORIGIN = "https://example.com/words.txt"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "words.txt").write_bytes(b"words")
    return tmp_path


def test_a_file_that_is_there(folder):
    path = get_file("words.txt", ORIGIN, cache_dir=folder)
    assert path == str(folder / "datasets" / "words.txt")
    for name in ("md5", "sha256"):
        digest = hashlib.new(name, b"words").hexdigest()
        assert get_file("words.txt", ORIGIN, file_hash=digest, cache_dir=folder) == path
        with pytest.raises(ValueError, match="incomplete or outdated: its hash is not"):
            get_file("words.txt", ORIGIN, file_hash=f"00{digest[2:]}", cache_dir=folder)


def test_nothing_is_downloaded(folder):
    place = folder / "models" / "w.h5"
    with pytest.raises(FileNotFoundError, match=rf"{ORIGIN}: .*downloads nothing.*{place}"):
        get_file("w.h5", ORIGIN, cache_subdir="models", cache_dir=folder)


def test_archives(folder):
    datasets = folder / "datasets"
    with tarfile.open(datasets / "row.tar.gz", "w:gz") as archive:
        archive.add(datasets / "words.txt", "row/inside.txt")
    assert get_file("row", ORIGIN, untar=True, cache_dir=folder) == str(datasets / "row")
    assert (datasets / "row" / "inside.txt").read_bytes() == b"words"
    with zipfile.ZipFile(datasets / "rows.zip", "w") as archive:
        archive.writestr("zipped.txt", "words")
    assert get_file("rows.zip", ORIGIN, extract=True, cache_dir=folder).endswith("rows.zip")
    assert (datasets / "zipped.txt").read_text() == "words"
    with tarfile.open(datasets / "out.tar.gz", "w:gz") as archive:
        archive.add(datasets / "words.txt", "../outside.txt")
    with pytest.raises(tarfile.TarError):
        get_file("out", ORIGIN, untar=True, cache_dir=folder)
    assert not (folder / "outside.txt").exists()
