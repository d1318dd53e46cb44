"""`.npz` files: NumPy reads ours, we read NumPy's, and nothing in them is believed or run."""

from __future__ import annotations

import io
import os
import pathlib
import pickle
import random
import zipfile
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cli import main
from gpugraph.formats.checkpoints.bundle_writer import BundleWriter
from gpugraph.formats.variable_files.archived_array import ArchivedArray
from gpugraph.formats.variable_files.npz_files import NpzReader, write_npz

VALUES: dict[str, Any] = {
    "net/w": np.arange(6, dtype=np.float32).reshape(2, 3),
    "step": np.array(7, np.int64),
    "none": np.zeros((0, 3), np.float16),
    "mask": np.array([True, False]),
    "wave": np.array([1 + 2j]),
}


def content_of(values: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    arrays = [ArchivedArray(k, tf.as_dtype(v.dtype), v.shape) for k, v in values.items()]
    write_npz(file, arrays, iter(values.items()))
    return file.getvalue()


def read(path: pathlib.Path) -> dict[str, Any]:
    with NpzReader(str(path)) as reader:
        return {name: reader.read(name) for name in reader.arrays}


def check(values: dict[str, Any], expected: dict[str, Any]) -> None:
    assert set(values) == set(expected)
    for name, value in expected.items():
        assert values[name].dtype == value.dtype and values[name].shape == value.shape
        np.testing.assert_array_equal(values[name], value)


def test_numpy_reads_what_is_written_here() -> None:
    check(dict(np.load(io.BytesIO(content_of(VALUES)), allow_pickle=False)), VALUES)


@pytest.mark.parametrize(
    "name", ["../x", "a/../../x", "..", "/etc/x", "C:/x", "a\\..\\..\\x", "a\0b", ""]
)
def test_names_that_lead_out_of_a_folder_are_not_written(name: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="would lead out of its folder"):
        content_of({"a": np.zeros(2), name: np.ones(2)})
    prefix = str(tmp_path / "checkpoint")
    with BundleWriter(prefix) as writer:
        writer.add(name.encode() or b"/", np.ones(2))
    assert main(["convert", prefix, str(tmp_path / "x.npz")]) == 2
    assert not (tmp_path / "x.npz").exists()


@pytest.mark.parametrize("name", ["a..b/.c", "a:0", "a/b:0", "...", "a/...", "./a"])
def test_names_that_only_look_like_it_are_written(name: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.npz").write_bytes(content_of({name: np.ones(2)}))
    check(read(tmp_path / "x.npz"), {name: np.ones(2)})


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_writes_is_read_here(save: Any, tmp_path: pathlib.Path) -> None:
    save(tmp_path / "x.npz", **{name.replace("/", "_"): value for name, value in VALUES.items()})
    check(read(tmp_path / "x.npz"), {name.replace("/", "_"): v for name, v in VALUES.items()})


def test_other_orders_in_memory_are_read_too(tmp_path: pathlib.Path) -> None:
    value = np.arange(6.0).reshape(2, 3)
    np.savez(tmp_path / "x.npz", columns=np.asfortranarray(value), big=value.astype(">f8"))
    check(read(tmp_path / "x.npz"), {"columns": value, "big": value})


class Harm:
    def __reduce__(self) -> Any:
        return os.mkdir, ("harm",)


def test_nothing_is_unpickled(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "x.npz", a=np.array([Harm()], object))
    with pytest.raises(tf.errors.DataLossError, match="Python's objects"):
        read(tmp_path / "x.npz")
    with zipfile.ZipFile(tmp_path / "y.npz", "w") as archive:
        archive.writestr("a.npy", pickle.dumps(Harm()))
    with pytest.raises(tf.errors.DataLossError, match="magic"):
        read(tmp_path / "y.npz")
    assert not (tmp_path / "harm").exists()


def test_what_blows_up_is_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", bytes(80 << 20))
    with pytest.raises(tf.errors.DataLossError, match="are too many"):
        read(path)


def test_a_shape_beyond_the_entry_is_data_loss(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", header.getvalue())
    with pytest.raises(tf.errors.DataLossError, match="has 0"):
        read(path)
    path.write_bytes(b"no zip")
    with pytest.raises(tf.errors.DataLossError, match=r"x\.npz at byte 0: no zip file"):
        read(path)


def test_dtypes_that_numpy_has_not_are_refused() -> None:
    for dtype in ("string", "qint8"):
        array = ArchivedArray("names", tf.as_dtype(dtype), (1,))
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"no {dtype}.*'names'"):
            write_npz(io.BytesIO(), [array], iter(()))


def mutated_files_are_read_or_data_loss(path: pathlib.Path, count: int, seed: int) -> None:
    random_source = random.Random(seed)
    whole = content_of({name: VALUES[name] for name in ("net/w", "step")})
    outcomes = set()
    for _ in range(count):
        data = bytearray(whole)
        for _ in range(random_source.choice((1, 1, 2, 6))):
            place = random_source.randrange(len(data) or 1)
            if random_source.random() < 0.7 and data:
                data[place] = random_source.randrange(256)
            else:
                del data[place : place + random_source.choice((1, 8, 50))]
        path.write_bytes(data)
        try:
            outcomes.add(bool(read(path)))
        except tf.errors.DataLossError:
            outcomes.add(False)
    assert outcomes == {True, False}


def test_mutated_files_are_read_or_data_loss(tmp_path: pathlib.Path) -> None:
    mutated_files_are_read_or_data_loss(tmp_path / "x.npz", 500, 1)


@pytest.mark.exhaustive
def test_many_mutated_files_are_read_or_data_loss(tmp_path: pathlib.Path) -> None:
    mutated_files_are_read_or_data_loss(tmp_path / "x.npz", 300_000, 2)
