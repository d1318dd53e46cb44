"""V1 checkpoints: the bytes that TensorFlow writes, parts, shards, damage."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.formats.checkpoints.slice_tables import open_checkpoint, write_slice_table
from gpugraph.formats.checkpoints.sorted_table import read_table, table_bytes

ARRAYS = {
    dtype: np.arange(6).reshape(2, 3).astype(dtype)
    for dtype in (
        *("float16", "float32", "float64", "bool"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16"),
    )
}
ARRAYS |= {"complex64": (ARRAYS["float32"] * 1j).astype(np.complex64), "scalar": np.float32(3)}
ARRAYS |= {"complex128": ARRAYS["float64"] + 2j, "empty": np.zeros((0, 2), np.float32)}
ARRAYS |= {"text": np.array([b"a", b"\xff"], object), "negative": np.array([-1, -(1 << 40)])}

WRITTEN = b"""
AAA4CjYKCQoBbhIAGAMiAAolCgF3EggSAggEEgIIAxgBIggKAhACCgIQAyIKCgQIAhACCgIQAxICCAEABRUAbgABAB
ITCgFuEgAaDDoK+f//////////AQEJK3cAAQECgIKAgxIpCgF3EggKAhACCgIQAxoaKhgAAAAAAACAPwAAAEAAAEBA
AACAQAAAoEAGBC2CgoCDEisKAXcSCgoECAIQAgoCEAMaGioYAACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AAAAAAEAAA
AAxBIT1QAAAAABAAAAAMDyobAAAQMBAMsBAAAAAAEAAAAAeigcGNABCN0BDwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAABX+4CLJHVH2w==
"""
"""A file of TensorFlow 2.21: `w` in two parts, [[0, 1, 2], [3, 4, 5]] and ones; `n`, -7."""


def item(name: str, array: Any, spec: Any = None) -> Any:
    array = np.asarray(array)
    dtype = tf.string if array.dtype == object else tf.as_dtype(array.dtype)
    return name.encode(), spec, array, dtype


def test_all_dtypes_come_back(tmp_path: Path) -> None:
    path = str(tmp_path / "v1")
    write_slice_table(path, [item(name, array) for name, array in ARRAYS.items()])
    reader = tf.train.NewCheckpointReader(path)
    shapes = {name: list(np.shape(array)) for name, array in ARRAYS.items()}
    assert reader.get_variable_to_shape_map() == shapes
    for name, array in ARRAYS.items():
        value = reader.get_tensor(name)
        np.testing.assert_array_equal(value, array)
        assert np.asarray(value).dtype == np.asarray(array).dtype
    assert b"int8 (DT_INT8) [2,3]\n" in reader.debug_string()
    with pytest.raises(tf.errors.NotFoundError, match="Key other not found in checkpoint"):
        reader.get_tensor("other")


def test_bytes_are_those_of_tensorflow(tmp_path: Path) -> None:
    content = base64.b64decode(WRITTEN)
    (tmp_path / "theirs").write_bytes(content)
    with open_checkpoint(str(tmp_path / "theirs")) as reader:
        whole = np.array([[0, 1, 2], [3, 4, 5], [1, 1, 1], [1, 1, 1]], np.float32)
        np.testing.assert_array_equal(reader.read("w"), whole)
        np.testing.assert_array_equal(reader.read_slice("w", (4, 3), ((1, 2), (0, -1))), whole[1:3])
        assert reader.read("n") == -7
    parts = [
        item("n", np.int32(-7)),
        item("w", whole[:2], ((4, 3), ((0, 2), (0, 3)))),
        item("w", whole[2:], ((4, 3), ((2, 2), (0, 3)))),
    ]
    write_slice_table(str(tmp_path / "ours"), parts)
    assert (tmp_path / "ours").read_bytes() == content


def test_shards_have_one_pattern(tmp_path: Path) -> None:
    for number, name in enumerate("ab"):
        part = ((2, 2), ((number, 1), (0, -1)))
        items = [item(name, [number]), item("both", [[number, number]], part)]
        write_slice_table(f"{tmp_path}/m-{number:05d}-of-00002", items)
    with open_checkpoint(f"{tmp_path}/m-?????-of-00002") as reader:
        assert sorted(reader.entries) == ["a", "b", "both"]
        assert reader.read("both").tolist() == [[0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("items", "kind", "said"),
    [
        ([item("a", [1]), item("a", [2])], "InvalidArgument", "Adding duplicate key: a"),
        ([item("a", [1], ((3,), ((2, 2),)))], "InvalidArgument", "Extent 2,2 is out of the shape"),
        ([item("a", [1], ((3,), ((0, 2),)))], "InvalidArgument", "but the value has"),
        ([item("a", np.zeros(1, np.uint64))], "Unimplemented", "Saving data type uint64 not yet"),
    ],
)
def test_what_can_t_be_written_is_refused(tmp_path: Path, items: Any, kind: str, said: str) -> None:
    with pytest.raises(getattr(tf.errors, f"{kind}Error"), match=said):
        write_slice_table(str(tmp_path / "v1"), items)
    assert list(tmp_path.iterdir()) == []


def test_damaged_tables_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "v1"
    write_slice_table(str(path), [item("a", [1, 2, 3]), item("b", [4])])
    items = read_table(path.read_bytes(), "v1")
    key_of_a, key_of_b = (key for key in items if key)
    for changed, said in (
        ({key: value for key, value in items.items() if key}, "the table has no entry of its"),
        ({**items, b"": b"\x0a\x05"}, "bad entry of tensors"),
        ({**items, key_of_a: items[key_of_b]}, "a: the slice .* does not have 3 values"),
        ({b"": items[b""], key_of_b: items[key_of_b]}, "a: the slice .* is missing"),
        ({**items, key_of_a: b"\x12\x00"}, "a: the field 3 is missing"),
    ):
        path.write_bytes(b"".join(table_bytes(sorted(changed.items()))))
        with pytest.raises(tf.errors.DataLossError, match=said):
            tf.train.load_checkpoint(str(path)).get_tensor("a")
