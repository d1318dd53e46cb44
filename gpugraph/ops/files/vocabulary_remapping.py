"""GenerateVocabRemapping and LoadAndRemapMatrix.

A vocabulary is a file with one word per line. A matrix has a row (or column) for each word of a
vocabulary. The ops reorder the rows and columns of a matrix in a checkpoint, so that they fit a new
vocabulary.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import (
    FailedPreconditionError,
    InternalError,
    UnimplementedError,
    invalid_argument,
)
from gpugraph.base.shapes import TensorShape, as_shape, shape_text
from gpugraph.base.whole_files import open_to_read, system_errors
from gpugraph.formats.checkpoints.slice_tables import open_checkpoint
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank

_host_op = partial(op, gpu=HostOnly("files are read by the host"), grad=NO_GRADIENT)


def _lines(path: str) -> list[bytes]:
    """Return the lines of a vocabulary file. Raises InvalidArgumentError if a line is empty."""
    with system_errors(path), open_to_read(path) as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines):
        if not line:
            raise invalid_argument(
                f"Invalid content in {path}: empty line found at position {number + 1}."
            )
    return lines


def _places(path: str, size: int) -> dict[bytes, int]:
    """Return the line number (from 0) of each word in the first `size` lines of a vocabulary file.

    A `size` of -1 means all lines. Raises InvalidArgumentError if a word is repeated or there are
    too few lines.
    """
    words = _lines(path)
    if size > len(words):
        raise invalid_argument(
            f"Invalid vocab_size in {path}: expected {size} but got {len(words)}"
        )
    places: dict[bytes, int] = {}
    for number, word in enumerate(words if size < 0 else words[:size]):
        if word in places:
            key = word.decode(errors="backslashreplace")
            text = f"HashTable has different value for same key. Key {key} has {places[word]}"
            raise FailedPreconditionError(
                None, None, f"{text} and trying to add value {number} ({path})"
            )
        places[word] = number
    return places


def _bind_remapping(context: KernelContext, new_file: Any, old_file: Any) -> Callable[[], Any]:
    offset, count = context.attrs["new_vocab_offset"], context.attrs["num_new_vocab"]

    def remap() -> list[Any]:
        path = os.fsdecode(new_file[()])
        words = _lines(path)
        if count and offset + count > len(words):
            raise invalid_argument(
                f"lookup table size must be larger than last new vocab entry's line: {path} has "
                f"{len(words)} lines, and {count} are wanted from line {offset} on"
            )
        places = _places(os.fsdecode(old_file[()]), context.attrs["old_vocab_size"])
        rows = [places.get(word, -1) for word in words[offset : offset + count]]
        remapping = np.array(rows, np.int64)
        return [remapping, np.array(np.count_nonzero(remapping >= 0), np.int32)]

    return remap


def _infer_remapping(context: InferContext) -> Sequence[TensorShape]:
    for shape in context.shapes:
        of_rank(shape, 0, "A vocabulary file")
    return [as_shape([context.attrs["num_new_vocab"]]), TensorShape.of(())]


generate_vocab_remapping = _host_op(
    "GenerateVocabRemapping",
    inputs=("new_vocab_file: string", "old_vocab_file: string"),
    outputs=("remapping: int64", "num_present: int32"),
    attrs={
        "new_vocab_offset": Attr("int", required=True, minimum=0),
        "num_new_vocab": Attr("int", required=True, minimum=0),
        "old_vocab_size": Attr("int", -1, minimum=-1),
    },
    infer=_infer_remapping,
    cpu=Call(make=_bind_remapping, dynamic=True, direct=True),
    doc=(
        "For each word of a new vocabulary, its line in the old vocabulary, or -1 if the old "
        "vocabulary lacks it. Also the number of words that were found."
    ),
)


def _matrix(path: str, name: str) -> Any:
    """Read a float32 matrix from a checkpoint. Raises InvalidArgumentError if the tensor is not a
    float32 matrix.
    """
    with open_checkpoint(path) as reader:
        entry = reader.entry(name)
        if entry.dtype != dtypes.float32:
            raise invalid_argument(
                f"Tensor {name} has invalid type {entry.dtype.name} instead of expected type float"
            )
        if len(entry.shape) != 2:
            raise invalid_argument(
                f"Tensor {name} has shape {shape_text(as_shape(entry.shape))} of invalid rank "
                f"{len(entry.shape)} instead of expected shape of rank 2."
            )
        return reader.read(name)


def _check_places(remapping: Any, size: int, what: str) -> None:
    """Check `remapping`, which has the old line number for each new line, or -1 if there is no old
    line.

    Raises UnimplementedError if an old line is used twice, and InternalError if an old line is
    outside the matrix.

    Args:
      size: the size of the matrix along this axis.
      what: the name of the axis in messages.
    """
    seen: dict[int, int] = {}
    for new, old in enumerate(remapping.tolist()):
        if old < 0:
            continue
        if old in seen:
            both = f"both new ID {seen[old]} and {new}, which is not supported."
            raise UnimplementedError(None, None, f"Old ID {old} is mapped to {both}")
        seen[old] = new
        if old >= size:
            raise InternalError(
                None, None, f"Extent in {what} out of bounds: {old} of a matrix that has {size}"
            )


def _bind_load(
    context: KernelContext, path: Any, name: Any, rows: Any, columns: Any, initial: Any
) -> Callable[[], Any]:
    num_rows, num_cols = context.attrs["num_rows"], context.attrs["num_cols"]

    def load() -> list[Any]:
        _check_sizes(rows, columns, num_rows, num_cols)
        key = os.fsdecode(name[()])
        old = _matrix(os.fsdecode(path[()]), key)
        _check_places(rows, old.shape[0], "dimension 0")
        if columns.size:
            _check_places(columns, old.shape[1], "dimension 1")
        elif old.shape[1] != num_cols:
            raise invalid_argument(
                f"Tensor {key} has shape {shape_text(as_shape(old.shape))}, where the size of its "
                f"2nd dimension is {old.shape[1]} instead of being equal to num_cols={num_cols}"
            )
        return [_remapped(old, rows, columns if columns.size else np.arange(num_cols), initial)]

    return load


def _check_sizes(rows: Any, columns: Any, num_rows: int, num_cols: int) -> None:
    if rows.size != num_rows:
        raise invalid_argument(
            f"Size of row_remapping is {rows.size} instead of being equal to num_rows={num_rows}"
        )
    if columns.size not in (0, num_cols):
        raise invalid_argument(
            f"Provided col_remapping, but its size is {columns.size} instead of being equal to "
            f"num_cols={num_cols}"
        )


def _remapped(old: Any, rows: Any, columns: Any, initial: Any) -> Any:
    """Return the matrix whose entry [i, j] is old[rows[i], columns[j]].

    If rows[i] or columns[j] is negative, the entry is the next element of `initial`.
    """
    is_there = (rows >= 0)[:, None] & (columns >= 0)[None, :]
    missing = is_there.size - np.count_nonzero(is_there)
    values = initial.reshape(-1)
    if values.size < missing:
        raise invalid_argument(
            f"initializing_values contained {values.size} elements, but more missing values remain."
        )
    if values.size > missing:
        raise invalid_argument(
            f"initializing_values contained {values.size} elements, but only {missing} elements "
            "were used to fill in missing values."
        )
    result = np.empty(is_there.shape, np.float32)
    result[~is_there] = values
    result[is_there] = old[np.ix_(rows[rows >= 0], columns[columns >= 0])].reshape(-1)
    return result


def _infer_load(context: InferContext) -> Sequence[TensorShape]:
    for index, name in enumerate(
        ("ckpt_path", "old_tensor_name", "row_remapping", "col_remapping")
    ):
        of_rank(context.shapes[index], index // 2, name)
    return [as_shape([context.attrs["num_rows"], context.attrs["num_cols"]])]


load_and_remap_matrix = _host_op(
    "LoadAndRemapMatrix",
    inputs=(
        *("ckpt_path: string", "old_tensor_name: string", "row_remapping: int64"),
        *("col_remapping: int64", "initializing_values: float"),
    ),
    outputs="output_matrix: float",
    attrs={
        "num_rows": Attr("int", required=True, minimum=0),
        "num_cols": Attr("int", required=True, minimum=1),
        "max_rows_in_memory": Attr("int", -1),
    },
    infer=_infer_load,
    cpu=Call(make=_bind_load, dynamic=True, direct=True),
    stateful=True,
    doc=(
        "Selected rows and columns of a matrix in a checkpoint. The elements of rows and columns "
        "that it lacks are taken from `initializing_values`."
    ),
)
