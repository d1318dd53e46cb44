"""Ops on single elements of a list of tensors, and on its size and shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.shape_functions import SCALAR, UNKNOWN
from gpugraph.ops.tensor_arrays.list_declarations import (
    ELEMENT,
    INDEX,
    known_list,
    list_op,
    no_gradients,
    shape_in,
    shape_input,
)
from gpugraph.ops.tensor_arrays.tensor_list import TensorList


def _infer_item(context: InferContext) -> Sequence[TensorShape]:
    shape, index = shape_input(context, 2), context.value(1)
    known = known_list(context)
    if known is None or index is None or shape.is_fully_defined():
        return [shape]
    return [TensorShape.of(known.item(int(index), shape).shape)]


def _get_item(attrs: Any, handle: TensorList, index: Any, shape: Any) -> Any:
    handle.check_dtype(attrs["element_dtype"])
    return handle.item(index.item(), shape_in(shape))


def _get_item_gradient(op: Any, dvalue: Any) -> list[Any]:
    dtype = op.get_attr("element_dtype")
    empty = raw_ops.TensorListReserve(
        raw_ops.Shape(dvalue), raw_ops.TensorListLength(op.inputs[0]), element_dtype=dtype
    )
    return [
        raw_ops.TensorListSetItem(empty, op.inputs[1], dvalue, element_dtype=dtype), None, None
    ]  # fmt: skip


list_op(
    "TensorListGetItem",
    _get_item,
    "input_handle: variant, index: scalar int32, element_shape: int32",
    "item: element_dtype",
    _get_item_gradient,
    "An element of a list; zeros if it is not set and its shape is known.",
    infer=_infer_item,
)


def _set_item(attrs: Any, handle: TensorList, index: Any, item: Any) -> TensorList:
    handle.check_dtype(attrs["element_dtype"])
    items, number = [*handle.items], index.item()
    if attrs["resize_if_index_out_of_bounds"] and number >= len(items):
        items += [None] * (number + 1 - len(items))
    else:
        handle.index(number)
    items[number] = handle.checked(item)
    return handle.with_items(items)


def _set_item_gradient(op: Any, dlist: Any) -> list[Any]:
    _, index, item = op.inputs
    dtype = op.get_attr("element_dtype")
    dinput = raw_ops.TensorListSetItem(dlist, index, raw_ops.ZerosLike(item), element_dtype=dtype)
    shape = raw_ops.Shape(item)
    return [dinput, None, raw_ops.TensorListGetItem(dlist, index, shape, element_dtype=dtype)]


list_op(
    "TensorListSetItem",
    _set_item,
    "input_handle: variant, index: scalar int32, item: element_dtype",
    "output_handle: variant",
    _set_item_gradient,
    "The list with another element at the index.",
    {**ELEMENT, "resize_if_index_out_of_bounds": Attr("bool", False)},
)


def _push(attrs: Any, handle: TensorList, item: Any) -> TensorList:
    handle.check_dtype(attrs["element_dtype"])
    if 0 <= handle.limit <= len(handle.items):
        raise invalid_argument(
            f"Tried to push item into a full list list size: {len(handle.items)} max_num_elements: "
            f"{handle.limit}"
        )
    return handle.with_items([*handle.items, handle.checked(item)])


def _push_gradient(op: Any, dlist: Any) -> list[Any]:
    shape = raw_ops.Shape(op.inputs[1])
    return [*raw_ops.TensorListPopBack(dlist, shape, element_dtype=op.get_attr("element_dtype"))]


list_op(
    "TensorListPushBack",
    _push,
    "input_handle: variant, tensor: element_dtype",
    "output_handle: variant",
    _push_gradient,
    "The list with one more element at its end.",
)


def _pop(attrs: Any, handle: TensorList, shape: Any) -> tuple[TensorList, Any]:
    handle.check_dtype(attrs["element_dtype"])
    _check_not_empty(handle)
    last = len(handle.items) - 1
    return handle.with_items(handle.items[:last]), handle.item(last, shape_in(shape))


def _check_not_empty(handle: TensorList) -> None:
    if not handle.items:
        raise invalid_argument("Trying to pop from an empty list.")


def _infer_pop(context: InferContext) -> Sequence[TensorShape]:
    shape, known = shape_input(context, 1), known_list(context)
    if known is None or shape.is_fully_defined():
        return [SCALAR, shape]
    _check_not_empty(known)
    return [SCALAR, TensorShape.of(known.item(len(known.items) - 1, shape).shape)]


def _pop_gradient(op: Any, dlist: Any, dvalue: Any) -> list[Any]:
    dtype = op.get_attr("element_dtype")
    if dlist is None:
        dlist = raw_ops.EmptyTensorList(-1, -1, element_dtype=dtype)
    if dvalue is None:
        dvalue = raw_ops.ZerosLike(op.outputs[1])
    return [raw_ops.TensorListPushBack(dlist, dvalue, element_dtype=dtype), None]


list_op(
    "TensorListPopBack",
    _pop,
    "input_handle: variant, element_shape: int32",
    "output_handle: variant, tensor: element_dtype",
    _pop_gradient,
    "The list without its last element, and that element.",
    infer=_infer_pop,
)


# -- sizes


list_op(
    "TensorListLength",
    lambda attrs, handle: len(handle.items),
    "input_handle: variant",
    "length: int32",
    no_gradients,
    "The number of elements.",
    {},
)


def _resized(attrs: Any, handle: TensorList, size: Any) -> TensorList:
    count = size.item()
    if count < 0:
        raise invalid_argument(f"TensorListSlice expects size to be non-negative. Got: {count}")
    return handle.with_items([*handle.items[:count], *[None] * (count - len(handle.items))])


list_op(
    "TensorListResize",
    _resized,
    "input_handle: variant, size: scalar int32",
    "output_handle: variant",
    lambda op, dlist: [
        raw_ops.TensorListResize(dlist, raw_ops.TensorListLength(op.inputs[0])), None
    ],
    "The first `size` elements; additional ones are not set.",
    {},
    stateful=True,  # stateful in TensorFlow, too
)  # fmt: skip


def _element_shape(attrs: Any, handle: TensorList) -> Any:
    sizes = handle.element_shape.sizes
    return -1 if sizes is None else [-1 if size is None else size for size in sizes]


def _infer_element_shape(context: InferContext) -> Sequence[TensorShape]:
    known = known_list(context)
    if known is None:
        return [UNKNOWN]
    rank = known.element_shape.rank
    return [SCALAR if rank is None else TensorShape.of((rank,))]


list_op(
    "TensorListElementShape",
    _element_shape,
    "input_handle: variant",
    "element_shape: shape_type",
    no_gradients,
    "The known part of the elements' shape; -1 for an unknown rank.",
    {"shape_type": INDEX},
    _infer_element_shape,
)
