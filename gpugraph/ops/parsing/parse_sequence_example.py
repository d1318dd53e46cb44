"""ParseSequenceExample and ParseSingleSequenceExample, which parse SequenceExamples to tensors.

A SequenceExample has features, which are its context, and feature lists, which have one feature for
each step. A dense list becomes a tensor with a row for each step. A sparse list becomes a
SparseTensor, whose last index is the position of a value in its step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, as_shape, shape_text
from gpugraph.formats.example_bytes import (
    NOTHING,
    ExampleFeature,
    Span,
    list_of_features,
    sequence_features,
)
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.kernel.several_calls import SEVERAL, Calls, have_equal_rest
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.parsing.native_examples import NativeExamples
from gpugraph.ops.parsing.native_sequences import SequenceReader, outputs_of
from gpugraph.ops.parsing.parsed_features import (
    KIND_OF,
    SHAPES,
    TYPES,
    DenseFeature,
    Location,
    as_vector,
    batch_of,
    by_part,
    dense_features,
    dense_value,
    feature_at,
    feature_of,
    sparse_batch,
    sparse_shapes,
    sparse_vector,
    split,
    text_keys,
    type_name,
    unparsable,
)
from gpugraph.ops.parsing.several_examples import sequences_of
from gpugraph.ops.strings.string_ops import host_op

Lists = Mapping[bytes, Span]


class _Row(NamedTuple):
    """The specification of a dense feature list, with the dtype and shape of the feature of each
    step.
    """

    key: bytes
    dtype: DType
    shape: tuple[int, ...]


class _Wanted(NamedTuple):
    """The features that an op reads. `may_be_missing` has the keys of optional dense lists."""

    context_sparse: Sequence[tuple[bytes, DType]]
    context_dense: Sequence[DenseFeature]
    """The features of the context. The fields below describe feature lists."""
    list_sparse: Sequence[tuple[bytes, DType]]
    list_dense: Sequence[_Row]
    may_be_missing: frozenset[bytes]


def _types(context: KernelContext, attr: str) -> list[DType]:
    return [as_dtype(dtype) for dtype in context.attrs[attr]]


def _rows(context: KernelContext, keys: Sequence[bytes]) -> list[_Row]:
    shapes = [as_shape(shape) for shape in context.attrs["feature_list_dense_shapes"]]
    for shape in shapes:
        if not shape.is_fully_defined():
            raise invalid_argument(f"feature_list_dense_shapes must be known, not {shape}")
    types = _types(context, "feature_list_dense_types")
    return [
        _Row(key, dtype, tuple(size or 0 for size in shape.as_list()))
        for key, dtype, shape in zip(keys, types, shapes)
    ]


def _wanted(
    context: KernelContext,
    context_keys: tuple[Sequence[bytes], Sequence[bytes]],
    list_keys: tuple[Sequence[bytes], Sequence[bytes]],
    may_be_missing: Sequence[bytes],
    defaults: Sequence[Any],
) -> _Wanted:
    attrs = context.attrs
    return _Wanted(
        list(zip(context_keys[0], _types(context, "context_sparse_types"))),
        dense_features(
            context_keys[1], attrs["Tcontext_dense"], attrs["context_dense_shapes"], defaults
        ),
        list(zip(list_keys[0], _types(context, "feature_list_sparse_types"))),
        _rows(context, list_keys[1]),
        frozenset(may_be_missing),
    )


def _maps(content: bytes) -> tuple[Lists, Lists]:
    try:
        return sequence_features(content)
    except ValueError:
        raise unparsable(content) from None


# -- the steps of a list


def _spans_of(content: bytes, lists: Lists, key: bytes, location: Location) -> list[Span] | None:
    if key not in lists:
        return None
    try:
        return list_of_features(content, lists[key])
    except ValueError as error:
        raise invalid_argument(
            f"{location.of(key)}Can't parse the feature list ({error})"
        ) from None


def _step(location: Location, key: bytes, index: int) -> str:
    name = location.name.decode("utf-8", "replace") or "<unknown>"
    return f"Name: {name}, Feature list: {key.decode('utf-8', 'replace')}, Index: {index}.  "


def _check_step(
    feature: ExampleFeature, key: bytes, dtype: DType, location: Location, index: int
) -> None:
    """Raise InvalidArgumentError if the feature of step `index` does not hold values of `dtype`."""
    if feature.kind != KIND_OF[dtype]:
        step = _step(location, key, index)
        raise invalid_argument(f"{step}Data types don't match. Expected type: {type_name(dtype)}")


def _sparse_steps(
    content: bytes, lists: Lists, key: bytes, dtype: DType, location: Location
) -> list[ExampleFeature | None]:
    """Return the feature of each step, or None for an empty feature. A missing list has no
    steps.
    """
    features: list[ExampleFeature | None] = []
    for span in _spans_of(content, lists, key, location) or []:
        feature = feature_of(content, span, key, location)
        if feature.kind != NOTHING:
            _check_step(feature, key, dtype, location, len(features))
        features.append(feature if feature.kind != NOTHING else None)
    return features


def _dense_steps(
    content: bytes, lists: Lists, row: _Row, may_be_missing: frozenset[bytes], location: Location
) -> Any:
    """Return the steps of a list as rows. If a list in `may_be_missing` is missing, the result has
    no rows.

    Raises InvalidArgumentError if any other list is missing.
    """
    spans = _spans_of(content, lists, row.key, location)
    if spans is None and row.key not in may_be_missing:
        name = location.name.decode("utf-8", "replace") or "<unknown>"
        raise invalid_argument(
            f"Name: {name}, Feature list '{row.key.decode('utf-8', 'replace')}' is required but "
            "could not be found.  Did you mean to include it in "
            "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"
        )
    dense = DenseFeature(row.key, row.dtype, row.shape, np.empty(0))
    result = np.empty((len(spans or ()), *row.shape), row.dtype.as_numpy_dtype)
    for index, span in enumerate(spans or ()):
        feature = feature_of(content, span, row.key, location)
        _check_step(feature, row.key, row.dtype, location, index)
        if len(feature) != dense.stride:
            raise invalid_argument(
                f"{_step(location, row.key, index)}Number of {type_name(row.dtype)} values != "
                f"expected.  values size: {len(feature)} but output shape: {shape_text(row.shape)}"
            )
        result[index] = dense_value(feature, dense, location)
    return result


# -- one SequenceExample


def _parse_single(content: bytes, wanted: _Wanted, location: Location) -> list[Any]:
    spans, lists = _maps(content)
    context_sparse = [
        sparse_vector(feature_at(content, spans, key, dtype, location), dtype)
        for key, dtype in wanted.context_sparse
    ]
    context_dense = [
        np.asarray(dense_value(feature_at(content, spans, d.key, d.dtype, location), d, location))
        for d in wanted.context_dense
    ]
    list_sparse = [
        sparse_batch(_sparse_steps(content, lists, key, dtype, location), dtype)
        for key, dtype in wanted.list_sparse
    ]
    list_dense = [
        _dense_steps(content, lists, row, wanted.may_be_missing, location)
        for row in wanted.list_dense
    ]
    return [*by_part(context_sparse), *context_dense, *by_part(list_sparse), *list_dense]


def _bind_single(context: KernelContext, example: Any, *rest: Any) -> Callable[[], Any]:
    attrs = context.attrs
    missing, *groups, tail = split(rest, 1, *(attrs[f"N{kind}"] for kind in _KINDS))
    defaults, name = tail[:-1], tail[-1]

    def parse() -> list[Any]:
        keys = [text_keys(group) for group in groups]
        wanted = _wanted(
            context, (keys[0], keys[1]), (keys[2], keys[3]), missing[0].tolist(), defaults
        )
        return _parse_single(example[()], wanted, Location(name[()], None, in_context=True))

    return parse


def _several_single(context: KernelContext, calls: Calls) -> Calls | None:
    if not have_equal_rest(calls):
        return None
    _, *rest = calls[0]
    missing, *groups, tail = split(rest, 1, *(context.attrs[f"N{kind}"] for kind in _KINDS))
    keys = [text_keys(group) for group in groups]
    wanted = _wanted(
        context, (keys[0], keys[1]), (keys[2], keys[3]), missing[0].tolist(), tail[:-1]
    )
    contents = [call[0][()] for call in calls]
    found = SequenceReader(NativeExamples(context)).sequences(contents, *wanted)
    return None if found is None else sequences_of(found, len(calls))


SEVERAL["ParseSingleSequenceExample"] = _several_single


def _infer_single(context: InferContext) -> Sequence[TensorShape]:
    context.shapes[0].with_rank(0)
    attrs = context.attrs
    steps = TensorShape.of((None,))
    return [
        *sparse_shapes(attrs["Ncontext_sparse"], 1),
        *(as_shape(shape) for shape in attrs["context_dense_shapes"]),
        *sparse_shapes(attrs["Nfeature_list_sparse"], 2),
        *(steps.concatenate(as_shape(shape)) for shape in attrs["feature_list_dense_shapes"]),
    ]


_COUNT = Attr("int", 0, minimum=0)
_TYPES, _SHAPES = (attr._replace(default=[], required=False) for attr in (TYPES, SHAPES))
_KINDS = ("context_sparse", "context_dense", "feature_list_sparse", "feature_list_dense")
_ATTRS: dict[str, Any] = {
    **{f"N{kind}": _COUNT for kind in _KINDS},
    **dict.fromkeys(("context_sparse_types", "Tcontext_dense", "feature_list_dense_types"), _TYPES),
    "context_dense_shapes": _SHAPES,
    "feature_list_sparse_types": _TYPES,
    "feature_list_dense_shapes": _SHAPES,
}


def _sparse_outputs(kind: str) -> tuple[str, ...]:
    """Return the declarations of the outputs for sparse features.

    Args:
      kind: "context" or "feature_list".
    """
    return (
        f"{kind}_sparse_indices: N{kind}_sparse*int64",
        f"{kind}_sparse_values: {kind}_sparse_types",
        f"{kind}_sparse_shapes: N{kind}_sparse*int64",
    )


_OUTPUTS = (
    *(*_sparse_outputs("context"), "context_dense_values: Tcontext_dense"),
    *(*_sparse_outputs("feature_list"), "feature_list_dense_values: feature_list_dense_types"),
)

parse_single_sequence_example_op = host_op(
    "ParseSingleSequenceExample",
    Call(make=_bind_single, dynamic=True, direct=True),
    "The context of one SequenceExample, and its feature lists with a row for each step.",
    outputs=_OUTPUTS,
    inputs=(
        *("serialized: string", "feature_list_dense_missing_assumed_empty: string"),
        *(f"{kind}_keys: N{kind}*string" for kind in _KINDS),
        *("context_dense_defaults: Tcontext_dense", "debug_name: string"),
    ),
    infer=_infer_single,
    **_ATTRS,
)


# -- a batch


def _bind_batch(
    context: KernelContext, examples: Any, names: Any, *defaults: Any
) -> Callable[[], Any]:
    reader = SequenceReader(NativeExamples(context))

    def keys(attr: str) -> list[bytes]:
        listed = context.attrs[attr]
        return [key if isinstance(key, bytes) else key.encode() for key in listed]

    def parse() -> list[Any]:
        wanted = _wanted(
            context,
            (keys("context_sparse_keys"), keys("context_dense_keys")),
            (keys("feature_list_sparse_keys"), keys("feature_list_dense_keys")),
            keys("feature_list_dense_missing_assumed_empty"),
            defaults,
        )
        if names.size and names.size != examples.size:
            raise invalid_argument(
                f"Expected len(debug_name) == len(serialized), but got: {names.size} vs. "
                f"{examples.size}"
            )
        contents = examples.reshape(-1).tolist()
        found = reader.sequences(contents, *wanted)
        return (
            _parse_batch(contents, names, wanted)
            if found is None
            else outputs_of(found, wanted.list_dense)
        )

    return parse


def _parse_batch(examples: list[bytes], names: Any, wanted: _Wanted) -> list[Any]:
    locations = [Location(names[i] if names.size else b"", i) for i in range(len(examples))]
    maps = [_maps(content) for content in examples]

    def of_contexts(key: bytes, dtype: DType) -> list[ExampleFeature | None]:
        return [
            feature_at(content, spans, key, dtype, location)
            for content, (spans, _), location in zip(examples, maps, locations)
        ]

    context_sparse = [sparse_batch(of_contexts(*wish), wish[1]) for wish in wanted.context_sparse]
    context_dense = [
        batch_of([dense_value(f, d, p) for f, p in zip(of_contexts(d.key, d.dtype), locations)], d)
        for d in wanted.context_dense
    ]
    parsed = list(zip(examples, (lists for _, lists in maps), locations))
    list_sparse = [
        _sparse_steps_of_batch(
            [
                _sparse_steps(content, lists, key, dtype, location)
                for content, lists, location in parsed
            ],
            dtype,
        )
        for key, dtype in wanted.list_sparse
    ]
    list_dense = [
        [
            _dense_steps(content, lists, row, wanted.may_be_missing, location)
            for content, lists, location in parsed
        ]
        for row in wanted.list_dense
    ]
    padded = [_padded(rows, row) for rows, row in zip(list_dense, wanted.list_dense)]
    lengths = [np.array([len(steps) for steps in rows], np.int64) for rows in list_dense]
    return [
        *by_part(context_sparse), *context_dense, *by_part(list_sparse), *padded, *lengths,
    ]  # fmt: skip


def _sparse_steps_of_batch(
    batch: Sequence[Sequence[ExampleFeature | None]], dtype: DType
) -> tuple[Any, Any, Any]:
    """Return a batch of sparse lists as indices (example, step, value number), values and shape."""
    steps = [step for steps in batch for step in steps]
    flat, values, shape = sparse_batch(steps, dtype)
    counts = np.array([len(steps) for steps in batch], np.int64)
    first = np.cumsum(counts) - counts
    example = np.repeat(np.arange(len(batch)), counts)[flat[:, 0]]
    step = flat[:, 0] - first[example]
    longest = int(counts.max()) if counts.size else 0
    indices = np.stack([example, step, flat[:, 1]], 1).astype(np.int64)
    return indices, values, np.array([len(batch), longest, shape[1]], np.int64)


def _padded(rows: Sequence[Any], row: _Row) -> Any:
    """Return the dense lists of all examples as one array. Lists are padded with 0 or "" to the
    length of the longest list.
    """
    filler = as_vector([b""] if row.dtype.name == "string" else [0], row.dtype)
    return batch_of(rows, DenseFeature(row.key, row.dtype, (None, *row.shape), filler))


def _infer_batch(context: InferContext) -> Sequence[TensorShape]:
    batch = context.shapes[0].with_rank(1)
    attrs = context.attrs
    steps = batch.concatenate(TensorShape.of((None,)))
    return [
        *sparse_shapes(attrs["Ncontext_sparse"], 2),
        *(batch.concatenate(as_shape(shape)) for shape in attrs["context_dense_shapes"]),
        *sparse_shapes(attrs["Nfeature_list_sparse"], 3),
        *(steps.concatenate(as_shape(shape)) for shape in attrs["feature_list_dense_shapes"]),
        *([batch] * attrs["Nfeature_list_dense"]),
    ]


_KEYS: dict[str, Any] = dict.fromkeys(
    (
        *("feature_list_dense_missing_assumed_empty", "context_sparse_keys"),
        *("context_dense_keys", "feature_list_sparse_keys", "feature_list_dense_keys"),
    ),
    Attr("list(string)", required=True, minimum=0),
)
parse_sequence_example_op = host_op(
    "ParseSequenceExample",
    Call(make=_bind_batch, dynamic=True, direct=True),
    "The contexts of a vector of SequenceExamples, and their feature lists, padded to the "
    "longest, with their lengths.",
    inputs=("serialized: string", "debug_name: string", "context_dense_defaults: Tcontext_dense"),
    outputs=(*_OUTPUTS, "feature_list_dense_lengths: Nfeature_list_dense*int64"),
    infer=_infer_batch,
    **_KEYS,
    **_ATTRS,
)
