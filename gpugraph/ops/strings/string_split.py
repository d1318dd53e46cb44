"""StringSplit and StringSplitV2, which split strings into parts. The result is a SparseTensor whose
row i has the parts of string i.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.sparse.sparse_tensor import SparseTensor
from gpugraph.ops.strings.native_texts import cuts
from gpugraph.ops.strings.string_ops import host_op

_SPACE = b" \t\n\v\f\r"
Cut = Callable[[bytes], Sequence[bytes]]


def _infer(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 1, "input")
    of_rank(context.shapes[1], 0, "the delimiter")
    return [TensorShape.of(sizes) for sizes in ((None, 2), (None,), (2,))]


def _bind(of: Callable[[Any, bytes], Cut]) -> Call:
    def make(context: KernelContext, texts: Any, delimiter: Any) -> Callable[[], Any]:
        def run() -> list[Any]:
            if texts.ndim != 1:
                raise _refusal("input must be a vector", texts)
            if delimiter.ndim:
                raise _refusal("delimiter must be a scalar", delimiter)
            return _sparse([of(context.attrs, delimiter[()])(text) for text in texts])

        return run

    return Call(make=make, dynamic=True)


def _refusal(what: str, array: Any) -> InvalidArgumentError:
    return invalid_argument(f"{what}, got shape: {shape_text(array.shape)}")


def _sparse(rows: Sequence[Sequence[bytes]]) -> list[Any]:
    indices = [(index, column) for index, row in enumerate(rows) for column in range(len(row))]
    values = np.empty(len(indices), object)
    values[:] = [part for row in rows for part in row]
    widest = max((len(row) for row in rows), default=0)
    return [
        np.array(indices, np.int64).reshape(-1, 2),
        values,
        np.array([len(rows), widest], np.int64),
    ]


def _at_any(attrs: Any, delimiters: bytes) -> Cut:
    """Return a function that splits a string at each byte in `delimiters`. If `delimiters` is
    empty, it splits the string between all bytes.
    """
    skips = attrs["skip_empty"]

    def cut(text: bytes) -> Sequence[bytes]:
        if not text:
            return []
        if not delimiters:
            return [text[offset : offset + 1] for offset in range(len(text))]
        first = delimiters[:1]
        parts = text.translate(bytes.maketrans(delimiters, first * len(delimiters))).split(first)
        return [part for part in parts if part] if skips else parts

    return cut


def _at_each(attrs: Any, separator: bytes) -> Cut:
    """Return a function that splits a string at each `separator`, at most `maxsplit` times.

    If the separator is empty, it splits at white space, as Python's `split` does.
    """
    max_cuts = attrs["maxsplit"]

    def cut(text: bytes) -> Sequence[bytes]:
        if separator:
            return text.split(separator, max_cuts)
        return text.lstrip(_SPACE).split(None, max_cuts) if max_cuts else [text]

    return cut


_OUTPUTS = "indices: int64, values: string, shape: int64"
host_op(
    "StringSplit",
    _bind(_at_any),
    "The parts of each string of a vector between the bytes of `delimiter`.",
    "input: string, delimiter: string",
    _OUTPUTS,
    _infer,
    native=cuts(lambda attrs: (int(bool(attrs["skip_empty"])), -1)),
    skip_empty=Attr("bool", True),
)
host_op(
    "StringSplitV2",
    _bind(_at_each),
    "The parts of each string of a vector between `sep`, as Python's str.split gives them.",
    "input: string, sep: string",
    _OUTPUTS,
    _infer,
    native=cuts(lambda attrs: (2, attrs["maxsplit"])),
    maxsplit=Attr("int", -1),
)


# -- the public functions


def _refuse_ragged(result_type: Any) -> None:
    if result_type == "RaggedTensor":
        raise NotImplementedError("There is no support for ragged tensors; use 'SparseTensor'")
    if result_type != "SparseTensor":
        raise ValueError(f"result_type must be 'RaggedTensor' or 'SparseTensor', not {result_type}")


def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> SparseTensor:
    """Split each string of a vector into a row of a SparseTensor [n, maximum number of parts].

    Raises ValueError if the rank is not 1, and NotImplementedError if `result_type` requests a
    ragged result.

    Args:
      sep: a string whose bytes are the delimiters, by default " ". If it is empty, strings are
        split between all bytes. `delimiter` is an older name of `sep`.
      skip_empty: whether to drop empty parts. An empty string has no parts in either case.

    >>> words = tf.string_split(["a b", "c"])
    >>> session.run(tf.sparse_tensor_to_dense(words, default_value=""))
    array([[b'a', b'b'],
           [b'c', b'']], dtype=object)
    """
    _refuse_ragged(result_type)
    separator = delimiter if sep is None else sep
    separator = " " if separator is None else separator
    with op_scope(name, "StringSplit", source):
        text = convert_to_tensor(source, dtypes.string)
        return SparseTensor(*raw_ops.StringSplit(text, separator, skip_empty=skip_empty))


def split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> SparseTensor:
    """Split each string of a vector, as Python's `split` does, into a row of a SparseTensor.

    The result has the shape [n, maximum number of parts]. Raises ValueError if the rank is not 1,
    or unless exactly one of `input` and `source` is passed. Raises NotImplementedError if
    `result_type` requests a ragged result.

    Args:
      input: the vector of strings. `source` is an older name of `input`.
      sep: a string. By default, and if it is empty, strings are split at white space.
      maxsplit: the maximum number of splits, counted from the left. -1 means no limit.
    """
    _refuse_ragged(result_type)
    if (input is None) == (source is None):
        raise ValueError("split needs either 'input' or 'source'")
    with op_scope(name, "StringSplit", input, source):
        text = convert_to_tensor(source if input is None else input, dtypes.string)
        separator = "" if sep is None else sep
        return SparseTensor(*raw_ops.StringSplitV2(text, separator, maxsplit=maxsplit))
