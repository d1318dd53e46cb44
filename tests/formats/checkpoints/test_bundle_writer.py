"""Checkpoints written and read: every dtype, parts, merged shards, TensorFlow's bytes, replaced."""

from __future__ import annotations

import hashlib
import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.formats.checkpoints.bundle_reader import BundleReader
from gpugraph.formats.checkpoints.bundle_writer import BundleWriter, merge_bundles
from gpugraph.formats.checkpoints.slices import parse_slice_spec, slice_key

NUMBERS = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
DTYPES = [*NUMBERS, "bool", "complex64", "complex128"]
SHAPES = [(), (3,), (2, 0), (4, 5, 6)]


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_dtype_and_shape_comes_back(tmp_path):
    prefix = str(tmp_path / "folder" / "all")
    generator = np.random.default_rng(0)
    values = {
        f"{dtype}/{shape}": np.asarray(generator.random(shape) * 100).astype(dtype)
        for dtype in DTYPES
        for shape in SHAPES
    }
    values["text"] = np.array([b"", b"abc", b"\xff\0" * 200], object)
    values["transposed"] = np.arange(6).reshape(2, 3).T
    with BundleWriter(prefix) as writer:
        for name, value in values.items():
            writer.add(name.encode(), value)
    with BundleReader(prefix) as reader:
        assert sorted(reader.entries) == sorted(values)
        for name, value in values.items():
            read = reader.read(name)
            assert read.dtype == value.dtype and read.shape == value.shape
            assert (read == value).all()


def test_quantized_dtypes_keep_their_names(tmp_path):
    with BundleWriter(str(tmp_path / "q")) as writer:
        writer.add(b"v", np.array([1, -2], np.int8), tf.qint8)
    with BundleReader(str(tmp_path / "q")) as reader:
        assert reader.entry("v").dtype is tf.qint8


def test_the_bytes_are_those_of_tensorflow(tmp_path):
    # tf.raw_ops.SaveV2 of TensorFlow 2.21 with these tensors, seen in a scratch environment
    with BundleWriter(str(tmp_path / "b")) as writer:
        for index in range(5000):
            writer.add(b"scope/layer_%04d/weights" % index, np.float32(index).reshape(()))
    content = files(tmp_path)
    assert sorted(content) == ["b.data-00000-of-00001", "b.index"]
    assert hashlib.sha256(content["b.index"]).hexdigest()[:16] == "f6c7782922a671a8"


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_part_is_read_of_any_parts(data, tmp_path_factory):
    rows, columns = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 5))
    whole = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    cuts = sorted({0, rows, *data.draw(st.lists(st.integers(0, rows), max_size=3))})
    prefix = str(tmp_path_factory.mktemp("parts") / "p")
    with BundleWriter(prefix) as writer:
        for start, stop in pairwise(cuts):
            part = ((start, stop - start), (0, -1))
            writer.add_slice(b"v", whole.shape, part, whole[start:stop])
    first, last = sorted(data.draw(st.tuples(st.integers(0, rows), st.integers(0, rows))))
    with BundleReader(prefix) as reader:
        assert (reader.read("v") == whole).all()
        if first < last:
            read = reader.read_slice("v", whole.shape, ((first, last - first), (0, -1)))
            assert (read == whole[first:last]).all()


def test_parts_that_are_not_there_are_refused(tmp_path):
    prefix = str(tmp_path / "p")
    with BundleWriter(prefix) as writer:
        writer.add_slice(b"v", (4,), ((0, 2),), np.zeros(2))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"has the shape \[2\], but .*\[3"):
            writer.add_slice(b"v", (4,), ((2, 2),), np.zeros(3))
        with pytest.raises(tf.errors.InvalidArgumentError, match="one of its slices"):
            writer.add_slice(b"v", (4,), ((2, 2),), np.zeros(2, np.float32))
        with pytest.raises(tf.errors.InvalidArgumentError, match="duplicate key"):
            writer.add_slice(b"v", (4,), ((0, 2),), np.zeros(2))
    with BundleReader(prefix) as reader:
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have all of"):
            reader.read("v")
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not match"):
            reader.read_slice("v", (5,), ((0, 2),))
        with pytest.raises(tf.errors.NotFoundError, match="Key w not found in checkpoint"):
            reader.read("w")


def test_shards_are_merged(tmp_path):
    parts = [str(tmp_path / "temp" / f"part-{index}") for index in range(2)]
    for index, part in enumerate(parts):
        with BundleWriter(part) as writer:
            writer.add(b"v%d" % index, np.full(3, index))
            writer.add_slice(b"s", (4,), ((2 * index, 2),), np.full(2, index))
    merge_bundles(parts, str(tmp_path / "all"))
    expected = {f"all.data-0000{i}-of-00002" for i in range(2)} | {"all.index", "temp"}
    assert {path.name for path in tmp_path.iterdir()} == expected
    assert not list((tmp_path / "temp").iterdir())
    with BundleReader(str(tmp_path / "all")) as reader:
        assert (reader.read("v1") == 1).all()
        assert reader.read("s").tolist() == [0, 0, 1, 1]


def test_a_replaced_checkpoint_has_the_usual_files(tmp_path):
    prefix = str(tmp_path / "c")
    for count in range(1, 4):
        with BundleWriter(prefix) as writer:
            writer.add(b"v", np.arange(count))
        assert sorted(files(tmp_path)) == ["c.data-00000-of-00001", "c.index"]
        with BundleReader(prefix) as reader:
            assert reader.read("v").tolist() == list(range(count))


def test_a_failure_leaves_what_was_there(tmp_path, monkeypatch):
    prefix = str(tmp_path / "c")
    with BundleWriter(prefix) as writer:
        writer.add(b"v", np.arange(3))
    before = files(tmp_path)
    with pytest.raises(ZeroDivisionError), BundleWriter(prefix) as writer:
        writer.add(b"v", np.arange(30))
        raise ZeroDivisionError
    assert files(tmp_path) == before
    replaced = os.replace
    for stop in range(5):
        calls = []

        def replace(source, target, calls=calls, stop=stop):
            calls.append(target)
            if len(calls) > stop:
                raise OSError(28, "No space left on device")
            replaced(source, target)

        monkeypatch.setattr(os, "replace", replace)
        try:
            with BundleWriter(prefix) as writer:
                writer.add(b"v", np.arange(4))
        except tf.errors.ResourceExhaustedError:
            pass
        monkeypatch.undo()
        with BundleReader(prefix) as reader:
            assert reader.read("v").tolist() in ([0, 1, 2], [0, 1, 2, 3])


@pytest.mark.parametrize(
    "spec", ["4", "4 x", "a 0,1", "4 4 0,1", "4 3,2", "4 -1,2", "4 0,0", "4 1", "4 1,2,3"]
)
def test_texts_that_are_no_slice_are_refused(spec):
    with pytest.raises(tf.errors.InvalidArgumentError):
        parse_slice_spec(spec)


def test_keys_of_parts_have_their_order():
    keys = [
        slice_key(name, ((start, length),))
        for name in (b"a", b"a\0", b"a\0b", b"ab", b"a\xff", b"b")
        for start in (0, 1, 63, 64, 8191, 8192, 2**31, 2**62)
        for length in (-1, 1, 64, 2**40)
    ]
    assert keys == sorted(keys) and len(set(keys)) == len(keys)
