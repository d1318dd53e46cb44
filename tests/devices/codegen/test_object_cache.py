"""Compiled code on disk: whole or not at all, bounded, under its own name."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpugraph.devices.codegen import object_cache
from gpugraph.devices.codegen.object_cache import ObjectCache, cache_folder, key_of

KEY, OTHER = key_of("one"), key_of("another")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "native"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/gpugraph/native")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/paths/count/for/nothing")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert cache_folder() == Path("/home/somebody/.cache/gpugraph/native")


def test_what_was_stored_is_found_by_another_process_s_cache(folder: Path) -> None:
    assert ObjectCache(folder).store(KEY, b"content")
    assert ObjectCache(folder).load(KEY) == b"content"
    assert (folder / f"{KEY}.so").read_bytes().startswith(b"content")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / f"{KEY}.so").stat().st_mode & 0o777 == 0o600
    assert ObjectCache(folder).load(OTHER) is None
    assert ObjectCache(folder, ending=".bundle").load(KEY) is None


def test_nothing_is_a_content_too(folder: Path) -> None:
    assert ObjectCache(folder).store(KEY, b"")
    assert ObjectCache(folder).load(KEY) == b""


def put_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def put_other_entry(path: Path) -> None:
    ObjectCache(path.parent).store(OTHER, b"content")
    (path.parent / f"{OTHER}.so").rename(path)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": Path.touch,
    "short": lambda path: path.write_bytes(b"short"),
    "altered": lambda path: path.write_bytes(b"contenu" + b"0" * 32),
    "a fifo": os.mkfifo,
    "a link to /dev/zero": put_link,
    "of another name": put_other_entry,
    "a folder": Path.mkdir,
    "a folder with a file": lambda path: (path.mkdir(), (path / "file").write_text("mine")),
    "endless": lambda path: (path.touch(), os.truncate(path, 1 << 40)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_no_entry_is_removed(folder: Path, damage: str) -> None:
    ObjectCache(folder).store(KEY, b"content")
    path = folder / f"{KEY}.so"
    path.unlink()
    DAMAGES[damage](path)
    cache = ObjectCache(folder)
    assert cache.load(KEY) is None
    assert not os.path.lexists(path)
    assert cache.store(KEY, b"content") and cache.load(KEY) == b"content"


def test_files_in_a_folder_of_an_entry_s_name_are_kept(folder: Path) -> None:
    ObjectCache(folder).store(OTHER, b"other content")
    (folder / f"{KEY}.so").mkdir()
    (folder / f"{KEY}.so" / "file").write_text("mine")
    assert ObjectCache(folder).load(KEY) is None
    assert ObjectCache(folder).store(KEY, b"content")
    assert [path.read_text() for path in folder.glob("*/file")] == ["mine"]


def test_an_entry_that_others_may_write_is_removed(folder: Path) -> None:
    ObjectCache(folder).store(KEY, b"content")
    (folder / f"{KEY}.so").chmod(0o666)
    assert ObjectCache(folder).load(KEY) is None
    assert names(folder) == []


def test_a_folder_that_others_may_write_is_not_used(folder: Path) -> None:
    ObjectCache(folder).store(KEY, b"content")
    folder.chmod(0o777)
    cache = ObjectCache(folder)
    assert cache.load(KEY) is None
    assert "can be written by others (mode 777)" in cache.reason
    assert not cache.store(OTHER, b"other content")
    assert names(folder) == [f"{KEY}.so"]


def test_a_folder_is_checked_at_each_use(folder: Path) -> None:
    cache = ObjectCache(folder)
    cache.store(KEY, b"content")
    assert cache.load(KEY) == b"content"
    folder.parent.chmod(0o777)
    assert cache.load(KEY) is None
    assert f"{folder.parent} can be written by others" in cache.reason


def test_a_file_in_the_folder_s_place_is_a_reason(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a folder")
    cache = ObjectCache(tmp_path / "cache" / "native")
    assert cache.load(KEY) is None
    assert f"not kept in {tmp_path}" in cache.reason
    assert not cache.store(KEY, b"content")


def test_a_folder_that_can_t_be_written_is_read_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ObjectCache(folder).store(KEY, b"content")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(object_cache, "write_file", full)
    cache = ObjectCache(folder)
    assert not cache.store(OTHER, b"more")
    assert "No space left on device" in cache.reason
    assert cache.load(KEY) == b"content"


def test_what_was_longest_unused_goes_first(folder: Path) -> None:
    cache = ObjectCache(folder, most_bytes=1000)
    oldest, older, used, recent, new = map(key_of, range(5))
    for hours, key in ((5, oldest), (4, older), (3, used), (0, recent)):
        cache.store(key, b"x" * 200)
        then = time.time() - 3600 * hours
        os.utime(folder / f"{key}.so", (then, then))
    assert cache.load(used) is not None
    cache.store(new, b"x" * 200)
    assert names(folder) == sorted(f"{key}.so" for key in (new, recent, used))


def test_pruning_takes_nothing_but_entries(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / f"{KEY}.so").write_bytes(b"x" * 900)
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    folder.parent.chmod(0o700)
    foreign = ["notes.so", f"{KEY}.so.txt", ".profile", f"{KEY}.cubin"]
    for name in foreign:
        (folder / name).write_bytes(b"x" * 900)
    (folder / f"{OTHER}.so").symlink_to(elsewhere / f"{KEY}.so")
    (folder / "link").symlink_to(elsewhere)
    unfinished = folder / f".{KEY}.so.0123abcd"
    unfinished.write_bytes(b"half")
    for path in (*folder.iterdir(), elsewhere / f"{KEY}.so"):
        os.utime(path, (0, 0), follow_symlinks=False)
    ObjectCache(folder, most_bytes=100).store(key_of("new"), b"x" * 200)
    kept = [*foreign, f"{OTHER}.so", "link", f"{key_of('new')}.so"]
    assert names(folder) == sorted(kept), "what a process that died has left goes too"
    assert names(elsewhere) == [f"{KEY}.so"]


def test_threads_that_store_the_same_leave_one_whole_file(folder: Path) -> None:
    cache = ObjectCache(folder)
    content = os.urandom(1 << 20)
    threads = [threading.Thread(target=cache.store, args=(KEY, content)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names(folder) == [f"{KEY}.so"]
    assert ObjectCache(folder).load(KEY) == content


def test_a_lock_is_one_entry_s_and_has_an_end(folder: Path) -> None:
    cache = ObjectCache(folder)
    with cache.locked(KEY, 10):
        began = time.monotonic()
        with cache.locked(OTHER, 10):
            assert time.monotonic() - began < 5
        with cache.locked(KEY, 0.1):
            assert 0.1 <= time.monotonic() - began < 5
    assert names(folder) == []


LOCKS = """
import sys, time
from pathlib import Path
from gpugraph.devices.codegen.object_cache import ObjectCache
with ObjectCache(Path(sys.argv[1])).locked(sys.argv[2], 30):
    print("locked", flush=True)
    time.sleep(60)
"""


def test_a_process_that_dies_locks_nothing(folder: Path) -> None:
    root = Path(object_cache.__file__).resolve().parents[3]
    child = subprocess.Popen(
        [sys.executable, "-c", LOCKS, str(folder), KEY],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    with child:
        assert child.stdout is not None and child.stdout.readline() == "locked\n"
        child.kill()
    began = time.monotonic()
    with ObjectCache(folder).locked(KEY, 30):
        assert time.monotonic() - began < 10
