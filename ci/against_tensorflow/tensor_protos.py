"""make_tensor_proto and make_ndarray beside TensorFlow's: all dtypes and many shapes, to the byte.

    python ci/against_tensorflow/tensor_protos.py --tensorflow PYTHON

TensorFlow's Python loads both. TensorFlow 1.15 puts float16 and bfloat16 into `half_val`, later
ones into `tensor_content`: there the arrays are compared, each side reading the other's message.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sides import add_options, library, python_of_tensorflow, run_side

NUMBERS = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool"
DTYPES = [*NUMBERS.split(), "bfloat16", "complex64", "complex128", "string"]
DTYPES += ["qint8", "quint8", "qint16", "quint16", "qint32"]
SHAPES: list[tuple[int, ...]] = [(), (1,), (2,), (3, 1, 2), (0,), (2, 0), (1, 1), (64,)]
PYTHON_VALUES: list[Any] = [1, 1.5, True, "text", b"bytes", [1, 2**40], [[1.0, 2], [3, 4]], 1j, []]
PYTHON_VALUES += [["a", b"b\0"], [[True], [False]], np.float64(2), np.array(["x", "yz"]), (1, 2)]
LATER = {"float16", "bfloat16"}


def array_of(tf: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    values = np.arange(int(np.prod(shape))) * 7 % 101 - (0 if dtype[0] in "uq" else 3)
    if dtype == "string":
        return np.array([f"s{value}".encode() for value in values], object).reshape(shape)
    if dtype.startswith("complex"):
        values = values * (1 + 2j)
    numpy_type = tf.as_dtype(dtype).as_numpy_dtype
    if dtype[0] == "q" and not dtype.startswith("qu"):
        values = values.astype(np.dtype(numpy_type)[0])
    return values.astype(numpy_type).reshape(shape)


def both(ours: Any, theirs: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> str:
    """Return the difference between the results of two functions, or the empty text."""
    results = []
    for tf in (ours, theirs):
        try:
            results.append(tf.make_tensor_proto(*arguments, **options))
        except (TypeError, ValueError, OverflowError) as error:
            results.append(error)
    mine, other = results
    if isinstance(other, OverflowError):  # of today's NumPy: 1.15 wrapped large ints around
        return ""
    if isinstance(mine, Exception) or isinstance(other, Exception):
        return "" if type(mine) is type(other) else f"{mine!r}, not {other!r}"
    if mine.SerializeToString() == other.SerializeToString():
        return read_differs(ours, theirs, other, other)
    later = theirs.as_dtype(other.dtype).name in LATER
    return read_differs(ours, theirs, mine, other) if later else f"{mine}, not {other}"


def read_differs(ours: Any, theirs: Any, mine: Any, other: Any) -> str:
    again = ours.make_ndarray(other), theirs.make_ndarray(mine), theirs.make_ndarray(other)
    # Later TensorFlows fill up with the str "".
    values = [[b"" if item == "" else item for item in a.reshape(-1).tolist()] for a in again]
    same = all(a.shape == again[2].shape and a.dtype == again[2].dtype for a in again)
    same = same and values[0] == values[1] == values[2]
    return "" if same else f"read as {again}"


def compare(report: Path) -> None:
    theirs = library("tensorflow")
    del sys.modules["gpugraph"]
    ours = importlib.import_module("gpugraph")
    cases = [
        ((array_of(theirs, dtype, shape),), options)
        for dtype in DTYPES
        for shape in SHAPES
        for options in ({}, {"dtype": dtype}, {"shape": (2, 3)}, {"shape": (64,)})
    ]
    cases += [((value,), {}) for value in PYTHON_VALUES]
    cases += [((value,), {"dtype": dtype}) for value in PYTHON_VALUES for dtype in DTYPES]
    for shape in ((2, 2), (1,), (4,)):
        for option in ("verify_shape", "allow_broadcast"):
            cases += [((value,), {"shape": shape, option: True}) for value in (1, [1], [1, 2])]
    faults = []
    for arguments, options in cases:
        if difference := both(ours, theirs, arguments, options):
            faults.append(f"{arguments} {options}: {difference}")
    report.write_text("\n".join([f"{len(cases)} calls compared", *faults]), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    options = parser.parse_args()
    if options.side:
        compare(Path(options.side[1]) / "report")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        python = python_of_tensorflow(options.tensorflow)
        run_side(python, __file__, "both", Path(folder))
        text = (Path(folder) / "report").read_text("utf-8")
    print(text)
    return int("\n" in text)


if __name__ == "__main__":
    sys.exit(main())
