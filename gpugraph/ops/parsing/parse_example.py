"""ParseExample and ParseSingleExample, which parse the features of Examples to tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, as_shape, shape_text
from gpugraph.formats.example_bytes import Span, example_features
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.kernel.several_calls import SEVERAL, Calls
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.parsing.example_batches import parse_columns
from gpugraph.ops.parsing.native_examples import NativeExamples
from gpugraph.ops.parsing.parsed_features import (
    COUNT,
    SHAPES,
    TYPES,
    DenseFeature,
    Location,
    batch_of,
    dense_features,
    dense_value,
    feature_at,
    sparse_batch,
    sparse_shapes,
    sparse_vector,
    split,
    text_keys,
    unparsable,
)
from gpugraph.ops.parsing.several_examples import examples_of
from gpugraph.ops.strings.string_ops import host_op


def _spans(content: bytes) -> dict[bytes, Span]:
    try:
        return example_features(content)
    except ValueError:
        raise unparsable(content) from None


def _infer_batch(context: InferContext) -> Sequence[TensorShape]:
    serialized = context.shapes[0].with_rank(1)
    context.shapes[1].with_rank(1)
    dense = [serialized.concatenate(as_shape(shape)) for shape in context.attrs["dense_shapes"]]
    return [*sparse_shapes(context.attrs["Nsparse"], 2), *dense]


def _check_names(examples: Any, names: Any) -> None:
    if examples.ndim != 1:
        raise invalid_argument(
            f"Expected serialized to be a vector, got shape: {shape_text(examples.shape)}"
        )
    if names.size and len(names) != len(examples):
        raise invalid_argument(
            f"Expected len(names) == len(serialized), but got: {len(names)} vs. {len(examples)}"
        )


def _bind_batch(context: KernelContext, examples: Any, names: Any, *rest: Any) -> Callable[[], Any]:
    attrs = context.attrs
    sparse_types = [as_dtype(dtype) for dtype in attrs["sparse_types"]]
    sparse, keys, defaults = split(rest, attrs["Nsparse"], attrs["Ndense"])
    native = NativeExamples(context)

    def parse() -> list[Any]:
        dense = dense_features(text_keys(keys), attrs["Tdense"], attrs["dense_shapes"], defaults)
        kinds = list(zip(text_keys(sparse), sparse_types))
        parts, batches = parse_batch(examples, names, kinds, dense, native)
        return [part[kind] for kind in range(3) for part in parts] + batches

    return parse


def parse_batch(
    examples: Any,
    names: Any,
    sparse: Sequence[tuple[bytes, DType]],
    dense: list[DenseFeature],
    native: NativeExamples | None = None,
) -> tuple[list[Any], list[Any]]:
    """Parse a batch of Examples. Return the sparse features as (indices, values, shape), and the
    dense features as arrays.

    Raises InvalidArgumentError if an Example does not match the features, or if there are `names`,
    but not one for each Example.
    """
    _check_names(examples, names)
    contents = examples.tolist()
    try:
        return parse_columns(contents, sparse, dense, native)
    except ValueError:  # raises the error of the first example that does not match
        return _parse_each(contents, names, sparse, dense)


def _parse_each(
    contents: Sequence[bytes],
    names: Any,
    sparse: Sequence[tuple[bytes, DType]],
    dense: list[DenseFeature],
) -> tuple[list[Any], list[Any]]:
    """Return the same result as `parse_batch`, but parse one Example at a time."""
    lists: list[list[Any]] = [[] for _ in sparse]
    rows: list[list[Any]] = [[] for _ in dense]
    for index, content in enumerate(contents):
        location = Location(names[index] if names.size else b"", index)
        spans = _spans(content)
        for feature, row in zip(dense, rows):
            value = feature_at(content, spans, feature.key, feature.dtype, location)
            row.append(dense_value(value, feature, location))
        for (key, dtype), values in zip(sparse, lists):
            values.append(feature_at(content, spans, key, dtype, location))
    parts = [sparse_batch(values, dtype) for values, (_, dtype) in zip(lists, sparse)]
    return parts, [batch_of(row, feature) for row, feature in zip(rows, dense)]


def _outputs(count: str) -> tuple[str, ...]:
    indices, shapes = (f"sparse_{part}: {count}*int64" for part in ("indices", "shapes"))
    return indices, "sparse_values: sparse_types", shapes, "dense_values: Tdense"


parse_example_op = host_op(
    "ParseExample",
    Call(make=_bind_batch, dynamic=True, direct=True),
    "The features of a vector of Examples: sparse ones as matrices, dense ones with rows.",
    inputs=(
        *("serialized: string", "names: string", "sparse_keys: Nsparse*string"),
        *("dense_keys: Ndense*string", "dense_defaults: Tdense"),
    ),
    outputs=_outputs("Nsparse"),
    infer=_infer_batch,
    Nsparse=COUNT,
    Ndense=COUNT,
    sparse_types=TYPES,
    Tdense=TYPES,
    dense_shapes=SHAPES,
)


def _infer_single(context: InferContext) -> Sequence[TensorShape]:
    context.shapes[0].with_rank(0)
    dense = [as_shape(shape) for shape in context.attrs["dense_shapes"]]
    return [*sparse_shapes(context.attrs["num_sparse"], 1), *dense]


def _keys(context: KernelContext, attr: str) -> list[bytes]:
    return [key if isinstance(key, bytes) else key.encode() for key in context.attrs[attr]]


def _bind_single(context: KernelContext, example: Any, *defaults: Any) -> Callable[[], Any]:
    attrs = context.attrs
    sparse_types = [as_dtype(dtype) for dtype in attrs["sparse_types"]]
    sparse_keys, dense_keys = _keys(context, "sparse_keys"), _keys(context, "dense_keys")

    def parse() -> list[Any]:
        dense = dense_features(dense_keys, attrs["Tdense"], attrs["dense_shapes"], defaults)
        parts, rows = parse_one(example[()], list(zip(sparse_keys, sparse_types)), dense)
        return [part[kind] for kind in range(3) for part in parts] + rows

    return parse


def _several_single(context: KernelContext, calls: Calls) -> Calls | None:
    attrs = context.attrs
    sparse_types = [as_dtype(dtype) for dtype in attrs["sparse_types"]]
    sparse = list(zip(_keys(context, "sparse_keys"), sparse_types))
    keys = _keys(context, "dense_keys")
    dense = dense_features(keys, attrs["Tdense"], attrs["dense_shapes"], calls[0][1:])
    return examples_of(calls, sparse, dense, NativeExamples(context))


SEVERAL["ParseSingleExample"] = _several_single


def parse_one(
    content: bytes,
    sparse: Sequence[tuple[bytes, DType]],
    dense: list[DenseFeature],
    name: bytes = b"",
) -> tuple[list[Any], list[Any]]:
    """Parse a single Example in the same way as `parse_batch`. Sparse features become vectors."""
    location, spans = Location(name), _spans(content)
    parts = [
        sparse_vector(feature_at(content, spans, key, dtype, location), dtype)
        for key, dtype in sparse
    ]
    rows = [
        np.asarray(dense_value(feature_at(content, spans, d.key, d.dtype, location), d, location))
        for d in dense
    ]
    return parts, rows


parse_single_example_op = host_op(
    "ParseSingleExample",
    Call(make=_bind_single, dynamic=True, direct=True),
    "The features of one Example: sparse ones as vectors, dense ones of their shapes.",
    inputs=("serialized: string", "dense_defaults: Tdense"),
    outputs=_outputs("num_sparse"),
    infer=_infer_single,
    num_sparse=Attr("int", required=True, minimum=0),
    sparse_keys=Attr("list(string)", required=True, minimum=0),
    dense_keys=Attr("list(string)", required=True, minimum=0),
    sparse_types=TYPES,
    Tdense=TYPES,
    dense_shapes=SHAPES,
)
