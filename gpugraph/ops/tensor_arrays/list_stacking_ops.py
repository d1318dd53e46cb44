"""Ops that combine elements of a list of tensors into one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.shape_functions import UNKNOWN
from gpugraph.ops.tensor_arrays.list_declarations import (
    ELEMENT,
    SHAPED,
    known_list,
    list_op,
    shape_in,
    shape_input,
)
from gpugraph.ops.tensor_arrays.tensor_list import TensorList


def _infer_stack(context: InferContext) -> Sequence[TensorShape]:
    shape, known = shape_input(context, 1), known_list(context)
    count = context.attrs["num_elements"]
    if known is not None:
        return [TensorShape.of(known.stacked(shape).shape)]
    return [TensorShape.of((None if count < 0 else count,)).concatenate(shape)]


def _stacked(attrs: Any, handle: TensorList, shape: Any) -> Any:
    handle.check_dtype(attrs["element_dtype"])
    count = attrs["num_elements"]
    if 0 <= count != len(handle.items):
        raise invalid_argument(
            f"Operation expected a list with {count} elements but got a list with "
            f"{len(handle.items)} elements."
        )
    return handle.stacked(shape_in(shape))


list_op(
    "TensorListStack",
    _stacked,
    "input_handle: variant, element_shape: int32",
    "tensor: element_dtype",
    lambda op, drows: [
        raw_ops.TensorListFromTensor(
            drows, raw_ops.Shape(drows)[1:], element_dtype=op.get_attr("element_dtype")
        ),
        None,
    ],
    "The elements as the rows of a tensor.",
    {**ELEMENT, "num_elements": Attr("int", -1)},
    _infer_stack,
)


def _infer_gather(context: InferContext) -> Sequence[TensorShape]:
    shape, known, indices = shape_input(context, 2), known_list(context), context.value(1)
    if known is not None and indices is not None:
        return [TensorShape.of(known.stacked(shape, np.asarray(indices).tolist()).shape)]
    sizes = context.shapes[1].sizes
    return [TensorShape.of((None if sizes is None else sizes[0],)).concatenate(shape)]


def _gathered(attrs: Any, handle: TensorList, indices: Any, shape: Any) -> Any:
    handle.check_dtype(attrs["element_dtype"])
    return handle.stacked(shape_in(shape), indices.tolist())


def _gather_gradient(op: Any, drows: Any) -> list[Any]:
    handle, indices, shape = op.inputs
    dlist = raw_ops.TensorListScatterV2(
        drows, indices, shape, raw_ops.TensorListLength(handle),
        element_dtype=op.get_attr("element_dtype"),
    )  # fmt: skip
    return [dlist, None, None]


list_op(
    "TensorListGather",
    _gathered,
    "input_handle: variant, indices: vector int32, element_shape: int32",
    "values: element_dtype",
    _gather_gradient,
    "The elements at the indices as the rows of a tensor.",
    infer=_infer_gather,
)


def _joined(attrs: Any, handle: TensorList, *_: Any) -> tuple[Any, Any]:
    handle.check_dtype(attrs["element_dtype"])
    rows = _parts(handle, attrs)
    lengths = np.array([len(part) for part in rows], np.int64)
    return np.concatenate(rows) if rows else np.zeros((0,)), lengths


def _parts(handle: TensorList, attrs: Any) -> list[Any]:
    shape = handle.element_shape.merge_with(attrs.get("element_shape", UNKNOWN))
    parts = [handle.item(index, shape) for index in range(len(handle.items))]
    for part in parts:
        if part.ndim == 0:
            raise invalid_argument("Concat saw a scalar shape at index 0 but requires vectors.")
        if part.shape[1:] != parts[0].shape[1:]:
            raise invalid_argument(
                "Concat requires elements that differ only in their first size, but saw "
                f"{shape_text(parts[0].shape)} and {shape_text(part.shape)}"
            )
    return parts


def _infer_joined(context: InferContext) -> Sequence[TensorShape]:
    known = known_list(context)
    if known is None:
        return [UNKNOWN, TensorShape.of((None,))]
    parts = _parts(known, context.attrs)
    total = sum(len(part) for part in parts)
    rest = parts[0].shape[1:] if parts else tuple((known.element_shape.sizes or (0,))[1:])
    return [TensorShape.of((total, *rest)), TensorShape.of((len(parts),))]


def _join_gradient(op: Any, drows: Any, dlengths: Any) -> list[Any]:
    del dlengths
    shape = raw_ops.TensorListElementShape(op.inputs[0], shape_type=dtypes.int32)
    dlist = raw_ops.TensorListSplit(
        drows, shape, op.outputs[1], element_dtype=op.get_attr("element_dtype")
    )
    return [dlist, *[None] * (len(op.inputs) - 1)]


_JOINED = "tensor: element_dtype, lengths: int64"
list_op(
    "TensorListConcat",
    _joined,
    "input_handle: variant",
    _JOINED,
    _join_gradient,
    "The elements one after the other along their first axis, and their sizes along it.",
    {**ELEMENT, "element_shape": Attr("shape", UNKNOWN)},
    _infer_joined,
)
list_op(
    "TensorListConcatV2",
    _joined,
    "input_handle: variant, element_shape: shape_type, leading_dims: int64",
    _JOINED,
    _join_gradient,
    "As TensorListConcat, with the shape of elements as a tensor.",
    SHAPED,
    _infer_joined,
)
