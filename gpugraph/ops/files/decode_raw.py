"""DecodeRaw, which reinterprets the bytes of strings as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.strings.string_ops import host_op

_TYPES: tuple[DType, ...] = (*dtypes.FLOATING, *dtypes.COMPLEX, dtypes.bool, dtypes.int32)
_TYPES += (dtypes.int8, dtypes.int16, dtypes.int64, dtypes.uint8, dtypes.uint16)


def _infer(context: InferContext) -> Sequence[TensorShape]:
    return [context.shapes[0].concatenate(TensorShape.of((None,)))]


def _bind(context: KernelContext, source: Any) -> Callable[[], Any]:
    wanted = as_dtype(context.attrs["out_type"])
    is_little = context.attrs["little_endian"]
    numpy_type = np.dtype(wanted.as_numpy_dtype)
    bits = (
        np.dtype(np.uint16) if wanted is dtypes.bfloat16 else numpy_type
    )  # NumPy's bfloat16 has no byte order
    stored = bits.newbyteorder("<" if is_little else ">")

    def run() -> list[Any]:
        strings = source.reshape(-1).tolist()
        size = len(strings[0]) if strings else 0
        if set(map(len, strings)) - {size}:
            index = next(i for i, string in enumerate(strings) if len(string) != size)
            raise invalid_argument(
                "DecodeRaw requires input strings to all be the same size, but element "
                f"{index} has size {len(strings[index])} != {size}"
            )
        if size % stored.itemsize:
            raise invalid_argument(
                f"Input to DecodeRaw has length {size} that is not a multiple of "
                f"{stored.itemsize}, the size of {wanted.name}"
            )
        content = bytearray().join(strings)  # its array can be written to, unlike that of bytes
        numbers = np.frombuffer(content, stored)
        shape = (*source.shape, size // stored.itemsize)
        return [numbers.reshape(shape).astype(bits, copy=False).view(numpy_type)]

    return run


_decode_raw = host_op(
    "DecodeRaw",
    Call(make=_bind, dynamic=True, direct=True),
    "The numbers whose bytes each string is, along a new last axis.",
    inputs="bytes: string",
    outputs="output: out_type",
    infer=_infer,
    out_type=_TYPES,
    little_endian=Attr("bool", True),
)


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """Reinterpret the bytes of strings as numbers of `out_type`, along a new last axis.

    A run raises InvalidArgumentError if the strings have different sizes, or a size that is not a
    multiple of the dtype's size. `bytes` is an older name of `input_bytes`. Raises ValueError
    unless exactly one of these two arguments is passed, and TypeError if the dtype is not
    supported.

    Args:
      little_endian: whether the first byte of a number is the least significant byte.
    """
    if input_bytes is not None and bytes is not None:
        raise ValueError("Cannot specify both 'input_bytes' and 'bytes'")
    source = bytes if input_bytes is None else input_bytes
    if source is None or out_type is None:
        raise ValueError("decode_raw needs input_bytes and out_type")
    return _decode_raw(source, out_type=out_type, little_endian=little_endian, name=name)
