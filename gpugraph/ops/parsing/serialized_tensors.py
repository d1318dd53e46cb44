"""SerializeTensor and ParseTensor, which convert between tensors and serialized TensorProtos."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.formats.message_bytes import fields_of
from gpugraph.formats.tensor_bytes import read_tensor_bytes, tensor_bytes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.shape_functions import SCALAR, unknown
from gpugraph.ops.strings.string_ops import host_op

STORABLE: tuple[DType, ...] = (
    *(*dtypes.FLOATING, *dtypes.COMPLEX, dtypes.bool, dtypes.int32, dtypes.int8, dtypes.int16),
    *(dtypes.int64, dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64, dtypes.string),
    *dtypes.QUANTIZED,
)
"""The dtypes of tensors that a TensorProto can hold."""


def _bind_serialize(context: KernelContext, tensor: Any, out: Any) -> Callable[[], None]:
    dtype = context.input_types[0]

    def serialize() -> None:
        out[()] = tensor_bytes(tensor, dtype)

    return serialize


def _infer_scalar(_: InferContext) -> Sequence[TensorShape]:
    return [SCALAR]


_serialize_tensor = host_op(
    "SerializeTensor",
    Call(make=_bind_serialize, direct=True),
    "Serialize a tensor to a TensorProto.",
    inputs="tensor: T",
    outputs="serialized: string",
    infer=_infer_scalar,
    T=STORABLE,
)


def _bind_parse(context: KernelContext, serialized: Any) -> Callable[[], Any]:
    wanted = as_dtype(context.attrs["out_type"])

    def parse() -> list[Any]:
        if serialized.shape != ():
            raise invalid_argument(
                f"Expected `serialized` to be a scalar, got shape: {shape_text(serialized.shape)}"
            )
        array, dtype = parsed_tensor(serialized[()])
        if dtype is not wanted:
            raise invalid_argument(
                f"Type mismatch between parsed tensor ({shown_type(dtype)}) and dtype "
                f"({shown_type(wanted)})"
            )
        return [array]

    return parse


def shown_type(dtype: DType) -> str:
    """Return a dtype's name in C++, such as "float" for float32. TensorFlow's kernels use this name
    in error messages.
    """
    return {dtypes.float32: "float", dtypes.float64: "double"}.get(dtype, dtype.name)


def parsed_tensor(content: bytes) -> tuple[Any, DType]:
    """Return the array and dtype of a serialized TensorProto. Raises InvalidArgumentError if the
    bytes are invalid.
    """
    try:
        for _ in fields_of(content):
            pass
    except ValueError as error:
        raise invalid_argument(f"Could not parse `serialized` as TensorProto: {error}") from None
    try:
        return read_tensor_bytes(content)
    except ValueError as error:
        raise invalid_argument(f"Cannot parse tensor from proto: {error}") from None


_parse_tensor = host_op(
    "ParseTensor",
    kernel=Call(make=_bind_parse, dynamic=True, direct=True),
    doc="Parse a serialized TensorProto to a tensor.",
    infer=unknown, inputs="serialized: string", outputs="output: out_type", out_type=STORABLE,
)  # fmt: skip


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """Serialize a tensor to a string scalar, which is a serialized TensorProto."""
    return _serialize_tensor(tensor, name=name)


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """Parse a string scalar, which is a serialized TensorProto, to a tensor of dtype `out_type`.

    The static shape is unknown. A run raises InvalidArgumentError if the bytes are invalid, or if
    the tensor does not have the dtype `out_type`.
    """
    return _parse_tensor(serialized, out_type=out_type, name=name)
