"""safetensors files: every dtype comes back, and files that violate the format are refused."""

from __future__ import annotations

import io
import json
import pathlib
import random
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.formats.variable_files.archived_array import ArchivedArray
from gpugraph.formats.variable_files.safetensors import SafetensorsReader, write_safetensors

DTYPES = "bool uint8 int8 uint16 int16 float16 uint32 int32 float32 uint64 int64 float64 complex64"
SHAPES = [(), (1,), (3, 2), (0, 4), (2, 1, 3)]


def content_of(values: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    arrays = [ArchivedArray(k, tf.as_dtype(v.dtype), v.shape) for k, v in values.items()]
    write_safetensors(file, arrays, iter(values.items()))
    return file.getvalue()


def file_of(tmp_path: pathlib.Path, header: Any, body: bytes = b"", length: int | None = None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + body)
    return str(path)


def test_every_dtype_and_shape_comes_back(tmp_path: pathlib.Path) -> None:
    values = {
        f"{dtype}/{number}": (np.arange(np.prod(shape)) % 2).astype(dtype).reshape(shape)
        for dtype in DTYPES.split()
        for number, shape in enumerate(SHAPES)
    }
    path = tmp_path / "x.safetensors"
    path.write_bytes(content_of(values))
    with SafetensorsReader(str(path)) as reader:
        assert list(reader.arrays) == list(values) or set(reader.arrays) == set(values)
        for name, value in values.items():
            array = reader.read(name)
            assert array.dtype == value.dtype and array.shape == value.shape
            np.testing.assert_array_equal(array, value)


def test_the_bytes_are_those_of_the_format() -> None:
    content = content_of({"a": np.array([1.0, 2.0], np.float32)})
    length = int.from_bytes(content[:8], "little")
    assert length % 8 == 0
    assert json.loads(content[8 : 8 + length]) == {
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    }
    assert content[8 + length :] == np.array([1.0, 2.0], "<f4").tobytes()


def entry(**changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}


@pytest.mark.parametrize(
    ("header", "body", "problem"),
    [
        (b"", b"", "no JSON"),
        (b"[]", b"", "not a JSON object"),
        (b"[" * 50_000, b"", "no JSON"),
        (b'{"a":1,"a":2}', b"", "twice"),
        ({"a": 1}, b"", "no dtype, shape"),
        ({"a": entry(more=1)}, b"", "no dtype, shape"),
        ({"a": entry(dtype="F8_E4M3")}, b"", "F8_E4M3"),
        ({"a": entry(dtype=[])}, b"", "dtype"),
        ({"a": entry(shape="2")}, b"", "not a list"),
        ({"a": entry(shape=[-1])}, b"", "shape"),
        ({"a": entry(shape=[True])}, b"", "shape"),
        ({"a": entry(shape=[1] * 33)}, b"", "dimensions"),
        ({"a": entry(shape=[1 << 32, 1 << 31])}, b"", "too large"),
        ({"a": entry(shape=[0, 1 << 62], data_offsets=[0, 0])}, b"", "too large"),
        ({"a": entry(data_offsets=[8, 0])}, b"", "data_offsets"),
        ({"a": entry(data_offsets=[0, 9])}, b"", "data_offsets"),
        ({"a": entry(data_offsets=[0, -1])}, b"", "data_offsets"),
        ({"a": entry(data_offsets=[0])}, b"", "data_offsets"),
        ({"a": entry()}, b"1234567", "end here"),
        ({"a": entry()}, b"123456789", "end here"),
        ({"a": entry(), "b": entry()}, b"12345678", "gap, or an overlap"),
        ({"a": entry(data_offsets=[8, 16])}, bytes(16), "gap, or an overlap"),
        ({"__metadata__": {"a": 1}}, b"", "not an object of strings"),
    ],
)
def test_what_the_format_does_not_allow_is_data_loss(
    header: Any, body: bytes, problem: str, tmp_path: pathlib.Path
) -> None:
    path = file_of(tmp_path, header, body)
    with pytest.raises(tf.errors.DataLossError, match=problem) as raised:
        SafetensorsReader(path)
    assert path in raised.value.message and "at byte" in raised.value.message


@pytest.mark.parametrize("length", [1 << 63, 100_000_001, 40])
def test_a_length_beyond_the_file_is_data_loss(length: int, tmp_path: pathlib.Path) -> None:
    with pytest.raises(tf.errors.DataLossError, match="the header has"):
        SafetensorsReader(file_of(tmp_path, b"{}", length=length))


def test_a_file_without_a_length_is_data_loss(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x").write_bytes(b"1234567")
    with pytest.raises(tf.errors.DataLossError, match="too short"):
        SafetensorsReader(str(tmp_path / "x"))


def test_dtypes_that_the_format_has_not_are_refused() -> None:
    for dtype in ("string", "complex128"):
        array = ArchivedArray("names", tf.as_dtype(dtype), (1,))
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"no {dtype}.*'names'"):
            write_safetensors(io.BytesIO(), [array], iter(()))


def mutated_files_are_read_or_data_loss(tmp_path: pathlib.Path, count: int, seed: int) -> None:
    random_source = random.Random(seed)
    values = {"a": np.ones((2, 3), np.float32), "b/c": np.array(7), "d": np.zeros(5, np.bool_)}
    whole = content_of(values)
    path = tmp_path / "x.safetensors"
    read = 0
    for _ in range(count):
        data = bytearray(whole)
        for _ in range(random_source.choice((1, 1, 2, 6))):
            place = random_source.randrange(len(data) or 1)
            kind = random_source.randrange(4)
            if kind == 0 and data:
                data[place] = random_source.randrange(256)
            elif kind == 1:
                del data[place : place + random_source.choice((1, 8, 50))]
            elif kind == 2:
                data[place:place] = data[place : place + random_source.choice((1, 8, 50))]
            else:
                data[place : place + 1] = random_source.choice((b"0", b"9", b"-", b"]", b'"', b"["))
        path.write_bytes(data)
        try:
            with SafetensorsReader(str(path)) as reader:
                for name in reader.arrays:
                    assert reader.read(name).nbytes <= len(data)
            read += 1
        except tf.errors.DataLossError:
            pass
    assert 0 < read < count


def test_mutated_files_are_read_or_data_loss(tmp_path: pathlib.Path) -> None:
    mutated_files_are_read_or_data_loss(tmp_path, 1000, 1)


@pytest.mark.exhaustive
def test_many_mutated_files_are_read_or_data_loss(tmp_path: pathlib.Path) -> None:
    mutated_files_are_read_or_data_loss(tmp_path, 50_000, 2)
