"""Tensors read where they are to be: many, small, in threads; files that lie or change."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.formats.checkpoints import direct_restore
from gpugraph.formats.checkpoints.bundle_entries import HEADER_KEY, read_entry
from gpugraph.formats.checkpoints.bundle_reader import BundleReader, index_name
from gpugraph.formats.checkpoints.bundle_writer import BundleWriter
from gpugraph.formats.checkpoints.direct_restore import RestoreTarget, restore_into
from gpugraph.formats.checkpoints.sorted_table import read_table, table_bytes


def write(folder, values):
    prefix = str(folder / "model")
    with BundleWriter(prefix) as writer:
        for name, value in values.items():
            writer.add(name.encode(), value)
    return prefix


@pytest.mark.parametrize("threads", [1, 3, 0])
def test_many_arrays_come_back(tmp_path, monkeypatch, threads):
    if not threads:
        monkeypatch.delattr(os, "preadv", raising=False)
    monkeypatch.setattr(direct_restore, "_BLOCK", 1000)
    monkeypatch.setattr(direct_restore, "_MAX_BYTES", 5000)
    generator = np.random.default_rng(0)
    values = {f"v{n:04}": generator.random(n % 7 * 40).astype(np.float32) for n in range(1200)}
    prefix = write(tmp_path, values)
    names = [name for name in values if name != "v0100"]  # there is a gap
    arrays = {name: np.zeros_like(values[name]) for name in names}
    with BundleReader(prefix) as reader:
        restore_into(reader, [RestoreTarget(n, None, arrays[n]) for n in reversed(names)], threads)
    assert all((arrays[name] == values[name]).all() for name in names)


def test_where_no_thread_can_be_started_one_reads_all(tmp_path, monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(direct_restore, "_MAX_BYTES", 100)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    prefix = write(tmp_path, {f"v{n}": np.ones(50) for n in range(9)})
    arrays = [np.zeros(50) for _ in range(9)]
    with BundleReader(prefix) as reader:
        restore_into(reader, [RestoreTarget(f"v{n}", None, a) for n, a in enumerate(arrays)], 4)
    assert np.all(arrays)


@pytest.mark.parametrize("threads", [1, 3])
def test_nothing_is_set_where_one_checksum_is_wrong(tmp_path, monkeypatch, threads):
    monkeypatch.setattr(direct_restore, "_MAX_BYTES", 100)
    prefix = write(tmp_path, {f"v{n}": np.ones(50) for n in range(9)})
    data = f"{prefix}.data-00000-of-00001"
    with open(data, "r+b") as file:
        file.seek(3210)
        file.write(b"x")
    arrays = [np.zeros(50) for _ in range(9)]
    with BundleReader(prefix) as reader, pytest.raises(tf.errors.DataLossError) as caught:
        restore_into(
            reader, [RestoreTarget(f"v{n}", None, a) for n, a in enumerate(arrays)], threads
        )
    assert caught.value.message == f"{data}: v8: Checksum does not match, at offset 3200"
    assert not np.any(arrays)


def test_strings_and_other_shapes(tmp_path):
    prefix = write(tmp_path, {"a": np.array([b"x", b"yz"], object), "b": np.ones((2, 3))})
    text, numbers, part = np.empty(2, object), np.zeros((2, 3)), np.zeros((1, 3))
    with BundleReader(prefix) as reader:
        spec = (2, 3), ((1, 1), (0, -1))
        targets = [
            RestoreTarget("a", None, text),
            RestoreTarget("b", None, numbers),
            RestoreTarget("b", spec, part),
        ]
        restore_into(reader, targets)
        with pytest.raises(ValueError, match="b has the shape"):
            restore_into(reader, [RestoreTarget("b", None, np.zeros((3, 2)))])
    assert text.tolist() == [b"x", b"yz"] and numbers.all() and part.all()


@pytest.mark.parametrize("change", ["longer", "shorter", "later"])
def test_a_file_that_changes_meanwhile(tmp_path, monkeypatch, change):
    prefix = write(tmp_path, {"a": np.ones(1000)})
    data, verify = f"{prefix}.data-00000-of-00001", direct_restore._verify

    def then_changed(*arguments):
        verify(*arguments)
        if change == "later":
            os.utime(data, (1, 1))
        else:
            os.truncate(data, 9000 if change == "longer" else 5000)

    monkeypatch.setattr(direct_restore, "_verify", then_changed)
    with BundleReader(prefix) as reader, pytest.raises(tf.errors.DataLossError) as caught:
        restore_into(reader, [RestoreTarget("a", None, np.zeros(1000))])
    assert str(prefix) in caught.value.message


def test_tensors_that_share_bytes_are_refused(tmp_path):
    prefix = write(tmp_path, {f"v{n}": np.ones(100) for n in range(3)})
    index = Path(index_name(prefix))
    items = read_table(index.read_bytes(), str(index))
    entry = read_entry(items[b"v1"])
    entry.offset = 0
    items[b"v1"] = entry.message()
    index.write_bytes(b"".join(table_bytes(sorted(items.items()))))
    assert HEADER_KEY in items
    with pytest.raises(tf.errors.DataLossError, match=r"'v1' at offset 0 of .* another tensor too"):
        BundleReader(prefix)
