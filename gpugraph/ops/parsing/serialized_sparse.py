"""The conversion between SparseTensors and strings. There are three strings: for the indices, the
values and the shape. Each is a serialized TensorProto.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.formats.message_bytes import bytes_field, int_field
from gpugraph.formats.tensor_bytes import encoded_strings, read_tensor_bytes, tensor_bytes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.parsing.parsed_features import strings
from gpugraph.ops.parsing.serialized_tensors import STORABLE, shown_type
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue
from gpugraph.ops.strings.string_ops import host_op

_TEXT = Attr("type", dtypes.string, allowed=(dtypes.string, dtypes.variant))


def _content_bytes(array: Any, dtype: DType) -> bytes:
    """Return the bytes of a TensorProto, with strings in the field `tensor_content`.

    Strings are encoded in TensorFlow's format. For all other dtypes, `tensor_bytes` writes the
    message.
    """
    if dtype is not dtypes.string or not array.size:
        return tensor_bytes(array, dtype)
    head = int_field(1, dtype.as_datatype_enum)
    sizes = bytes_field(2, bytes_field(2, int_field(1, len(array))))
    return head + sizes + bytes_field(4, encoded_strings(array.tolist()))


def serialized_triple(indices: Any, values: Any, shape: Any, dtype: DType) -> list[bytes]:
    """Return the serialized indices, values and shape of a sparse tensor."""
    return [
        tensor_bytes(indices, dtypes.int64),
        _content_bytes(values, dtype),
        tensor_bytes(shape, dtypes.int64),
    ]


def _check_parts(indices: Any, values: Any, shape: Any) -> None:
    """Raise InvalidArgumentError if indices, values and shape do not form one SparseTensor."""
    for what, part, rank in (("indices", indices, 2), ("values", values, 1), ("shape", shape, 1)):
        if part.ndim != rank:
            kind = "matrix" if rank == 2 else "vector"
            raise invalid_argument(
                f"Input {what} should be a {kind} but received shape {shape_text(part.shape)}"
            )
    if len(indices) != len(values) or indices.shape[1] != len(shape):
        raise invalid_argument(
            f"indices {shape_text(indices.shape)}, values {shape_text(values.shape)} and shape "
            f"{shape_text(shape.shape)} are not those of one SparseTensor"
        )


def _bind_one(
    context: KernelContext, indices: Any, values: Any, shape: Any
) -> Callable[[], list[Any]]:
    dtype = context.input_types[1]

    def serialize() -> list[Any]:
        _check_parts(indices, values, shape)
        return [strings(serialized_triple(indices, values, shape, dtype))]

    return serialize


def _bind_many(
    context: KernelContext, indices: Any, values: Any, shape: Any
) -> Callable[[], list[Any]]:
    dtype = context.input_types[1]

    def serialize() -> list[Any]:
        _check_parts(indices, values, shape)
        if len(shape) < 2:
            raise invalid_argument(
                f"Rank of input SparseTensor should be > 1, but saw rank: {len(shape)}"
            )
        return [_rows(indices, values, shape, dtype)]

    return serialize


def _rows(indices: Any, values: Any, shape: Any, dtype: DType) -> Any:
    """Return a matrix of strings with a row (indices, values, shape) for each index of
    dimension 0.
    """
    count = int(shape[0])
    if count < 0 or (len(indices) and not 0 <= indices[:, 0].min() <= indices[:, 0].max() < count):
        raise invalid_argument(f"Received unexpected row index: the first size is {count}")
    rows = np.empty((count, 3), object)
    order = np.argsort(indices[:, 0], kind="stable")
    ends = np.searchsorted(indices[order, 0], np.arange(count + 1))
    for row in range(count):
        chosen = order[ends[row] : ends[row + 1]]
        rows[row] = serialized_triple(indices[chosen, 1:], values[chosen], shape[1:], dtype)
    return rows


def _infer_one(context: InferContext) -> Sequence[TensorShape]:
    _infer_parts(context)
    return [TensorShape.of((3,))]


def _infer_many(context: InferContext) -> Sequence[TensorShape]:
    _infer_parts(context)
    return [TensorShape.of((None, 3))]


def _infer_parts(context: InferContext) -> None:
    for shape, rank in zip(context.shapes, (2, 1, 1)):
        shape.with_rank(rank)


_PARTS = "sparse_indices: int64, sparse_values: T, sparse_shape: int64"
_SERIALIZED: dict[str, Any] = {
    "inputs": _PARTS, "outputs": "serialized_sparse: out_type", "T": STORABLE, "out_type": _TEXT,
}  # fmt: skip

_serialize_sparse = host_op(
    "SerializeSparse",
    doc="Serialize a SparseTensor to three strings.",
    infer=_infer_one, kernel=Call(make=_bind_one, dynamic=True, direct=True), **_SERIALIZED,
)  # fmt: skip
_serialize_many_sparse = host_op(
    "SerializeManySparse",
    doc="Serialize each entry of a SparseTensor's first dimension to three strings.",
    infer=_infer_many, kernel=Call(make=_bind_many, dynamic=True, direct=True), **_SERIALIZED,
)  # fmt: skip


# -- deserialization


def _bind_deserialize(context: KernelContext, serialized: Any) -> Callable[[], list[Any]]:
    wanted = as_dtype(context.attrs["dtype"])

    def deserialize() -> list[Any]:
        if not serialized.ndim or serialized.shape[-1] != 3:
            raise invalid_argument(
                f"Serialized sparse should have 3 as the last dimension "
                f"{shape_text(serialized.shape)}"
            )
        if not serialized.size:
            raise invalid_argument("Must have at least 1 serialized SparseTensor, but has 0")
        parts = [
            _parts(row, number, wanted) for number, row in enumerate(serialized.reshape(-1, 3))
        ]
        return _joined(parts, serialized.shape[:-1])

    return deserialize


def _parts(row: Any, number: int, wanted: DType) -> tuple[Any, Any, Any]:
    """Return the indices, values and shape of one SparseTensor from its three strings.

    Raises InvalidArgumentError if a string is invalid, or if the values do not have the dtype
    `wanted`.

    Args:
      number: the index of the SparseTensor, for messages.
      wanted: the dtype of the values.
    """
    try:
        (indices, first), (values, dtype), (shape, third) = map(read_tensor_bytes, row.tolist())
    except ValueError as error:
        raise invalid_argument(f"Could not parse serialized proto: {error}") from None
    if dtype is not wanted:
        raise invalid_argument(
            f"Requested SparseTensor of type {shown_type(wanted)} but "
            f"SparseTensor[{number}].values.dtype() == {shown_type(dtype)}"
        )
    if first is not dtypes.int64 or third is not dtypes.int64:
        raise invalid_argument(f"SparseTensor[{number}]: indices and shape have to be int64")
    _check_parts(indices, values, shape)
    return indices, values, shape


def _joined(parts: Sequence[tuple[Any, Any, Any]], outer: tuple[int, ...]) -> list[Any]:
    """Return the indices, values and shape of one SparseTensor that contains all `parts`.

    Its leading axes have the sizes `outer`. An index into these axes selects one of the parts.
    """
    rank = len(parts[0][2])
    for number, (_, _, shape) in enumerate(parts):
        if len(shape) != rank:
            raise invalid_argument(
                "Inconsistent shape across SparseTensors: rank prior to SparseTensor"
                f"[{number}] was: {rank} but rank of SparseTensor[{number}] is: {len(shape)}"
            )
    places = np.stack(np.unravel_index(np.arange(len(parts)), outer), 1) if outer else None
    rows = []
    for number, (indices, _, _) in enumerate(parts):
        head = np.empty((len(indices), 0), np.int64)
        if places is not None:
            head = np.broadcast_to(places[number], (len(indices), len(outer)))
        rows.append(np.concatenate([head, indices], 1))
    largest = np.max([shape for _, _, shape in parts], axis=0) if rank else np.empty(0, np.int64)
    return [
        np.concatenate(rows).astype(np.int64),
        np.concatenate([values for _, values, _ in parts]),
        np.array([*outer, *largest], np.int64),
    ]


def _infer_deserialize(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].sizes
    if sizes and sizes[-1] not in (None, 3):
        raise ValueError(f"serialized SparseTensors are rows of 3, not {context.shapes[0]}")
    kinds = (None, None), (None,), (None,)
    return [TensorShape.of(kind) for kind in kinds]


def _infer_deserialize_many(context: InferContext) -> Sequence[TensorShape]:
    context.shapes[0].with_rank(2)
    return _infer_deserialize(context)


_DESERIALIZED: dict[str, Any] = {
    "kernel": Call(make=_bind_deserialize, dynamic=True, direct=True),
    "outputs": "sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
    "dtype": STORABLE,
}
_deserialize_sparse = host_op(
    "DeserializeSparse",
    doc=(
        "Deserialize strings to one SparseTensor. The last axis of the strings holds the three "
        "parts of a SparseTensor."
    ),
    inputs="serialized_sparse: Tserialized",
    infer=_infer_deserialize,
    Tserialized=_TEXT,
    **_DESERIALIZED,
)
_deserialize_many_sparse = host_op(
    "DeserializeManySparse",
    doc=(
        "Deserialize rows of three strings to one SparseTensor. The index along its first axis is "
        "the row."
    ),
    inputs="serialized_sparse: string",
    infer=_infer_deserialize_many,
    **_DESERIALIZED,
)


def _sparse(value: Any) -> SparseTensor:
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


def serialize_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """Serialize a SparseTensor to a vector of three strings: indices, values, shape.

    Raises TypeError if the input is not a SparseTensor.

    Args:
      out_type: string, or variant, which `tf.data` batches.
    """
    parts = _sparse(sp_input)
    return _serialize_sparse(
        parts.indices, parts.values, parts.dense_shape, out_type=out_type, name=name
    )


def serialize_many_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """Serialize a SparseTensor to a matrix of strings, which has a row of three strings for each
    index of the first dimension.

    Raises TypeError if the input is not a SparseTensor. A run raises InvalidArgumentError if its
    rank is 1.

    Args:
      out_type: string, or variant, which `tf.data` batches.
    """
    parts = _sparse(sp_input)
    return _serialize_many_sparse(
        parts.indices, parts.values, parts.dense_shape, out_type=out_type, name=name
    )


def _result(outputs: Any, rank: int | None) -> SparseTensor:
    indices, values, shape = outputs
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Deserialize a matrix [n, 3] of strings to one SparseTensor, whose first dimension has size n.

    The size of each other dimension is the maximum over the n SparseTensors. A run raises
    InvalidArgumentError if a string is invalid, if a dtype is wrong, or if the ranks differ.

    Args:
      dtype: the dtype of the values.
      rank: the rank of the result, if it is known.
    """
    return _result(_deserialize_many_sparse(serialized_sparse, dtype=dtype, name=name), rank)


def deserialize_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Deserialize strings [..., 3] to one SparseTensor, whose leading dimensions have the shape
    `...`.

    See `deserialize_many_sparse` for the remaining arguments and the errors.
    """
    return _result(_deserialize_sparse(serialized_sparse, dtype=dtype, name=name), rank)
