"""Compiled objects on disk: whole or not at all, bounded, and never another user's."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from gpugraph.devices.codegen.object_cache import ObjectCache, cache_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "native"


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/gpugraph/native")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/paths/count/for/nothing")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert cache_folder() == Path("/home/somebody/.cache/gpugraph/native")


def test_what_was_stored_is_found_by_another_process_s_cache(folder: Path) -> None:
    path = ObjectCache(folder).store("key", b"content")
    stored = ObjectCache(folder).find("key")
    assert stored == path == folder / "key.so"
    assert path.read_bytes().startswith(b"content")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    assert ObjectCache(folder).find("another") is None


@pytest.mark.parametrize("damage", [b"", b"short", b"contenu" + b"0" * 32])
def test_a_damaged_object_is_removed(folder: Path, damage: bytes) -> None:
    path = ObjectCache(folder).store("key", b"content")
    path.write_bytes(damage)
    assert ObjectCache(folder).find("key") is None
    assert not path.exists()


def test_a_folder_that_others_may_write_is_not_used(folder: Path) -> None:
    path = ObjectCache(folder).store("key", b"content")
    folder.chmod(0o777)
    cache = ObjectCache(folder)
    assert cache.find("key") is None
    assert "can be written by others (mode 777)" in cache.reason
    stored = cache.store("key", b"other content")
    assert stored.parent != folder
    assert path.read_bytes().startswith(b"content")


def test_a_file_in_the_folder_s_place_is_a_reason(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a folder")
    cache = ObjectCache(tmp_path / "cache" / "native")
    assert cache.find("key") is None
    assert "can't be made" in cache.reason
    assert cache.store("key", b"content").read_bytes().startswith(b"content")


def test_a_folder_that_can_t_be_written_is_read_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ObjectCache(folder).store("old", b"content")
    cache = ObjectCache(folder)
    assert cache.find("old") is not None
    real = os.open

    def full(path: object, *args: int) -> int:
        if Path(str(path)).parent == folder:
            raise OSError(28, "No space left on device")
        return real(path, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", full)
    stored = cache.store("new", b"more")
    assert stored.parent == cache.private()
    assert "No space left on device" in cache.reason
    assert cache.find("old") is not None


def test_what_was_longest_unused_goes_first(folder: Path) -> None:
    cache = ObjectCache(folder, most_bytes=1000)
    for hours, key in ((5, "oldest"), (4, "older"), (3, "used"), (0, "recent")):
        path = cache.store(key, b"x" * 200)
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 3600 * hours))
    assert cache.find("used") is not None
    cache.store("new", b"x" * 200)
    assert sorted(path.name for path in folder.iterdir()) == ["new.so", "recent.so", "used.so"]


def test_threads_that_store_the_same_leave_one_whole_file(folder: Path) -> None:
    cache = ObjectCache(folder)
    content = os.urandom(1 << 20)
    threads = [threading.Thread(target=cache.store, args=("key", content)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.name for path in folder.iterdir()] == ["key.so"]
    assert ObjectCache(folder).find("key") is not None
