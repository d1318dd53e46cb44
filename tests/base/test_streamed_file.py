"""Large files: all bytes in order, synced meanwhile; errors of the disk; removal."""

from __future__ import annotations

import errno
import os
import threading

import numpy as np
import pytest

from gpugraph.base import streamed_file
from gpugraph.base.streamed_file import StreamedFile, remove_file


@pytest.fixture
def early(monkeypatch):
    """Files are synced, and freed by a thread, from few bytes on."""
    monkeypatch.setattr(streamed_file, "_EARLY", 1000)
    monkeypatch.setattr(streamed_file, "_GATHERED", 100)


def stream(path):
    return StreamedFile(open(path, "wb", buffering=0))


def test_many_buffers_are_one_file(tmp_path, early):
    path = tmp_path / "file"
    parts = [np.arange(n, dtype=np.int32) for n in range(60)] + [b"abc", bytearray(b"def"), b""]
    file = stream(path)
    for part in parts:
        file.write(part)
    file.close()
    assert path.read_bytes() == b"".join(bytes(memoryview(part)) for part in parts)


def test_without_threads_all_is_done_in_place(tmp_path, early, monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    path = tmp_path / "file"
    file = stream(path)
    for _ in range(50):
        file.write(b"x" * 100)
    file.close()
    assert path.read_bytes() == b"x" * 5000
    remove_file(str(path))
    assert not path.exists()


def test_writes_of_a_part_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "writev", lambda handle, buffers: os.write(handle, buffers[0][:7]))
    file = stream(tmp_path / "file")
    for _ in range(5):
        file.write(b"0123456789")
    file.close()
    assert (tmp_path / "file").read_bytes() == b"0123456789" * 5


def test_a_sync_that_fails_in_between_is_an_error_at_the_end(tmp_path, early, monkeypatch):
    def fail(_):
        raise OSError(errno.EIO, "no disk")

    monkeypatch.setattr(streamed_file, "_sync_data", fail)
    file = stream(tmp_path / "file")
    for _ in range(50):
        file.write(b"x" * 100)
    with pytest.raises(OSError, match="no disk"):
        file.close()


def test_an_abandoned_file_is_closed_and_its_thread_ends(tmp_path, early):
    before = threading.active_count()
    file = stream(tmp_path / "file")
    for _ in range(50):
        file.write(b"x" * 100)
    file.abandon()
    file.abandon()
    assert threading.active_count() == before
    with pytest.raises(ValueError, match="closed"):
        file._file.write(b"")


def test_removal(tmp_path, early):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"x" * 5000)
    link.symlink_to(path)
    remove_file(str(link))
    assert path.exists()
    remove_file(str(path))
    assert os.listdir(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        remove_file(str(path))
