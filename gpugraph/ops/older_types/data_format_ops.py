"""DataFormatDimMap and DataFormatVecPermute, which convert axes and sizes from one layout to
another.

A layout is a string of four letters, such as NHWC. TensorFlow's layout optimizer adds these ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.older_types.numpy_op import numpy_op

_LENGTH = 4


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _order(attrs: Any) -> list[int]:
    """Return, for each axis of dst_format, the index of the axis in src_format with the same
    letter.

    Raises a Misfit unless both formats have the same four letters. TensorFlow raises this error
    only in a run.
    """
    source, destination = _text(attrs["src_format"]), _text(attrs["dst_format"])
    for what, layout in (("Source", source), ("Destination", destination)):
        if len(layout) != _LENGTH:
            key = "src_format" if layout is source else "dst_format"
            message = f"{what} format must be of length 4, received {key} = {layout}"
            raise Misfit(message, shapes=[])
    if sorted(source) != sorted(destination) or len(set(source)) != _LENGTH:
        what = f"src_format = {source} and dst_format = {destination}"
        raise Misfit(f"Formats must be of the same four letters, received {what}", shapes=[])
    return [source.index(letter) for letter in destination]


def _infer_map(context: InferContext) -> Sequence[TensorShape]:
    _order(context.attrs)
    return [context.shapes[0]]


def _bind_map(context: KernelContext, x: Any, y: Any) -> Callable[[], Any]:
    table = np.argsort(_order(context.attrs)).astype(y.dtype)
    return lambda: np.copyto(y, table[x % _LENGTH])


def _infer_permuted(context: InferContext) -> Sequence[TensorShape]:
    _order(context.attrs)
    sizes = context.shapes[0].sizes
    if sizes is None:
        return [context.shapes[0]]
    if len(sizes) not in (1, 2):
        actual = shape_text(sizes)
        raise Misfit(f"input must be a vector or 2D tensor, but got shape {actual}", shapes=[])
    if len(sizes) == 1 and sizes[0] not in (_LENGTH, None):
        raise Misfit(f"1D input must be of size 4, but got shape {shape_text(sizes)}", shapes=[])
    for axis, wanted in enumerate((_LENGTH, 2)[: len(sizes)]):
        if sizes[axis] not in (wanted, None):
            what = "First" if axis == 0 else "Second"
            actual = shape_text(sizes)
            message = f"{what} dimension of 2D input must be of size {wanted}, but got shape"
            raise Misfit(f"{message} {actual}", shapes=[])
    return [context.shapes[0]]


def _bind_permuted(context: KernelContext, x: Any, y: Any) -> Callable[[], Any]:
    order = _order(context.attrs)
    return lambda: np.copyto(y, x[order])


def _declare(name: str, infer: InferFunction, bind: Callable[..., Any], doc: str) -> None:
    numpy_op(
        name, "x: T -> y: T", {
            "T": INDEX,
            "src_format": Attr("string", "NHWC"),
            "dst_format": Attr("string", "NCHW"),
        }, infer,
        Call(make=bind), doc,
    )  # fmt: skip


_declare(
    "DataFormatDimMap",
    _infer_map,
    _bind_map,
    "Axes in [-4, 4) of src_format as the axes of dst_format that have the same letter.",
)
_declare(
    "DataFormatVecPermute",
    _infer_permuted,
    _bind_permuted,
    "A vector of 4, or a matrix of shape (4, 2), whose rows are in the order of src_format, in "
    "that of dst_format.",
)
