"""Mutated checkpoints, state files, records and meta graphs are read or refused."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.formats.checkpoints.bundle_entries import HEADER_KEY
from gpugraph.formats.checkpoints.bundle_reader import BundleReader, index_name
from gpugraph.formats.checkpoints.bundle_writer import BundleWriter
from gpugraph.formats.checkpoints.sorted_table import read_table, table_bytes
from gpugraph.formats.checkpoints.wire import field
from tests.formats.checkpoints.checkpoint_fuzzer import fuzz


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    for name in ("info", "warning", "error"):
        monkeypatch.setattr(tf.logging, name, lambda *_: None)


@pytest.mark.parametrize(("kind", "count"), [("bundles", 1000), ("tables", 500), ("states", 500)])
def test_no_mutated_file_does_harm(tmp_path, kind, count):
    outcomes, faults = fuzz(kind, count, 1, tmp_path)
    assert not faults, "\n".join(faults)
    assert len(outcomes) > 1


@pytest.mark.parametrize(("kind", "count"), [("records", 500), ("metas", 100)])
def test_no_mutated_message_does_harm(tmp_path, kind, count):
    outcomes, faults = fuzz(kind, count, 1, tmp_path)
    assert not faults, "\n".join(faults)
    assert len(outcomes) > 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["bundles", "states", "records", "metas", "tables"])
def test_no_file_of_many_does_harm(tmp_path, kind):
    outcomes, faults = fuzz(kind, 50_000, 2, tmp_path)
    assert not faults, "\n".join(faults[:30])
    assert len(outcomes) > 1


# -- files made by hand


@pytest.fixture
def prefix(tmp_path):
    prefix = str(tmp_path / "model")
    with BundleWriter(prefix) as writer:
        writer.add(b"v", np.arange(4.0))
    return prefix


def change_index(prefix, change):
    """Rewrite the index with its bytes changed by `change`."""
    name = index_name(prefix)
    with open(name, "rb") as file:
        content = change(file.read())
    with open(name, "wb") as file:
        file.write(content)


def header(*parts):
    def change(content):
        items = read_table(content, "index")
        items[HEADER_KEY] = b"".join(parts)
        return b"".join(table_bytes(items.items()))

    return change


def test_the_other_byte_order_is_refused(prefix):
    change_index(prefix, header(field(1, 1), field(2, 1), field(3, field(1, 1))))
    message = r"model\.index: the bundle is of a machine with the other byte order"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.train.NewCheckpointReader(prefix)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((field(1, 0),), "its number of shards is 0"),
        ((field(1, 1 << 40),), "shards"),
        ((field(1, 1), field(3, field(2, 9))), "it needs a reader of version 9, this one has 1"),
        ((b"\x08",), "a number does not end"),
    ],
)
def test_bad_headers(prefix, parts, message):
    change_index(prefix, header(*parts))
    with pytest.raises(tf.errors.DataLossError, match=f"bad header, at offset 0: .*{message}"):
        BundleReader(prefix)


def test_errors_name_the_file_and_the_offset(prefix):
    data = f"{prefix}.data-00000-of-00001"
    with open(data, "r+b") as file:
        file.write(b"x")
    with pytest.raises(tf.errors.DataLossError) as caught:
        tf.train.load_variable(prefix, "v")
    assert caught.value.message == f"{data}: v: Checksum does not match, at offset 0"
    change_index(prefix, lambda content: b"x" + content[1:])
    with pytest.raises(tf.errors.DataLossError) as caught:
        tf.train.load_variable(prefix, "v")
    assert caught.value.message == f"{prefix}.index: block checksum mismatch, at offset 0"


def test_a_joined_tensor_is_no_larger_than_the_files(tmp_path):
    prefix = str(tmp_path / "parts")
    with BundleWriter(prefix) as writer:
        for start in (0, 1 << 40):
            part = ((start, 2),)
            writer.add_slice(b"v", (1 << 62,), part, np.ones(2))
    with BundleReader(prefix) as reader:
        assert reader.read_slice("v", (1 << 62,), ((1 << 40, 2),)).tolist() == [1, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have all of the slice"):
            reader.read("v")
