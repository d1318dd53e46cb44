"""ParseExampleV2, a variant of ParseExample that has vectors of keys and ragged features, and
parses one or many Examples.

`tf.io.parse_example` of TensorFlow 2 creates this op, so imported graphs may contain it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape, as_shape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import UNKNOWN
from gpugraph.ops.parsing.native_examples import NativeExamples
from gpugraph.ops.parsing.parse_example import parse_batch, parse_one
from gpugraph.ops.parsing.parsed_features import SHAPES, TYPES, dense_features, sparse_shapes
from gpugraph.ops.strings.string_ops import host_op

_VECTOR = TensorShape.of((None,))


def _infer(context: InferContext) -> Sequence[TensorShape]:
    attrs, serialized = context.attrs, context.shapes[0]
    if serialized.sizes is not None and len(serialized.sizes) > 1:
        raise Misfit(f"Shape must be at most rank 1 but is rank {len(serialized.sizes)}")
    for keys in context.shapes[2:5]:
        keys.with_rank(1)
    ragged = len(attrs["ragged_value_types"])
    if serialized.sizes is None:
        dense = [UNKNOWN] * len(attrs["dense_shapes"])
        sparse = [UNKNOWN, _VECTOR, _VECTOR]
        parts = [shape for shape in sparse for _ in range(attrs["num_sparse"])]
        return [*parts, *dense, *[_VECTOR] * 2 * ragged]
    dense = [serialized.concatenate(as_shape(shape)) for shape in attrs["dense_shapes"]]
    rank = len(serialized.sizes) + 1
    count = serialized.sizes[0] if serialized.sizes else None
    splits = _VECTOR if count is None else TensorShape.of((count + 1,))
    parts = sparse_shapes(attrs["num_sparse"], rank)
    return [*parts, *dense, *[_VECTOR] * ragged, *[splits] * ragged]


def _keys(key_kind: str, keys: Any, count: int) -> list[bytes]:
    """Return `keys` as a list. Raises InvalidArgumentError unless it is a vector of `count` keys.

    Args:
      key_kind: the name of the input with the keys, for the message.
    """
    if keys.shape != (count,):
        raise invalid_argument(
            f"Expected len({key_kind}_keys) == {count}, but got: {shape_text(keys.shape)}"
        )
    result: list[bytes] = keys.tolist()
    return result


def _bind(
    context: KernelContext, examples: Any, names: Any, sparse: Any, dense: Any, ragged: Any,
    *defaults: Any,
) -> Callable[[], Any]:  # fmt: skip
    attrs, count = context.attrs, context.attrs["num_sparse"]
    types = [*map(as_dtype, [*attrs["sparse_types"], *attrs["ragged_value_types"]])]
    native = NativeExamples(context)
    split_types = [as_dtype(dtype).as_numpy_dtype for dtype in attrs["ragged_split_types"]]

    def parse() -> list[Any]:
        sparse_keys = _keys("sparse", sparse, count)
        ragged_keys = _keys("ragged", ragged, len(split_types))
        kinds = list(zip([*sparse_keys, *ragged_keys], types))
        dense_keys = _keys("dense", dense, len(defaults))
        features = dense_features(dense_keys, attrs["Tdense"], attrs["dense_shapes"], defaults)
        if examples.ndim:
            parts, rows = parse_batch(examples, names, kinds, features, native)
        else:
            name = names.reshape(-1)[0] if names.size else b""
            parts, rows = parse_one(examples[()], kinds, features, name)
        lists = parts[count:]
        splits = [
            _row_splits(part[0], examples.shape).astype(dtype)
            for part, dtype in zip(lists, split_types)
        ]
        outputs = [part[kind] for kind in range(3) for part in parts[:count]]
        return [*outputs, *rows, *(part[1] for part in lists), *splits]

    return parse


def _row_splits(indices: Any, shape: tuple[int, ...]) -> Any:
    """Return the position at which the values of each example begin, followed by the total number
    of values.

    The result is int64 [n + 1]. For a single example, it is empty.

    Args:
      indices, shape: the indices and the dense shape of a SparseTensor.
    """
    if not shape:
        return np.empty(0, np.int64)
    return np.searchsorted(indices[:, 0], np.arange(shape[0] + 1))


host_op(
    "ParseExampleV2",
    Call(make=_bind, dynamic=True, direct=True),
    "The features of Examples: sparse ones, dense ones with rows, and ragged ones as values with "
    "the locations where rows begin.",
    inputs=(
        *("serialized: string", "names: string", "sparse_keys: string", "dense_keys: string"),
        *("ragged_keys: string", "dense_defaults: Tdense"),
    ),
    outputs=(
        *("sparse_indices: num_sparse*int64", "sparse_values: sparse_types"),
        *("sparse_shapes: num_sparse*int64", "dense_values: Tdense"),
        *("ragged_values: ragged_value_types", "ragged_row_splits: ragged_split_types"),
    ),
    infer=_infer,
    Tdense=TYPES,
    num_sparse=Attr("int", required=True, minimum=0),
    sparse_types=TYPES,
    ragged_value_types=TYPES,
    ragged_split_types=Attr("list(type)", required=True, minimum=0, allowed=INDEX),
    dense_shapes=SHAPES,
)
