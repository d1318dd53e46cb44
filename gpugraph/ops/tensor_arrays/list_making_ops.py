"""Ops that create lists of tensors: empty lists, lists from tensors, or from other lists."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import shape_text
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.tensor_arrays.list_declarations import SHAPED, list_op, no_gradients, shape_in
from gpugraph.ops.tensor_arrays.tensor_list import TensorList


def _stack(handle: Any, shape: Any, op: Any, num_elements: int = -1) -> Any:
    return raw_ops.TensorListStack(
        handle, shape, element_dtype=op.get_attr("element_dtype"), num_elements=num_elements
    )


def _concat(handle: Any, op: Any) -> Any:
    dtype = op.get_attr("element_dtype")
    return raw_ops.TensorListConcat(handle, element_dtype=dtype)[0]


list_op(
    "EmptyTensorList",
    lambda attrs, shape, limit: TensorList(
        attrs["element_dtype"], shape_in(shape), (), limit.item()
    ),
    "element_shape: shape_type, max_num_elements: scalar int32",
    "handle: variant",
    no_gradients,
    "An empty list.",
    SHAPED,
)
list_op(
    "TensorListReserve",
    lambda attrs, shape, count: TensorList.reserved(
        attrs["element_dtype"], shape_in(shape), count.item()
    ),
    "element_shape: shape_type, num_elements: scalar int32",
    "handle: variant",
    no_gradients,
    "A list of elements that are not set.",
    SHAPED,
)
list_op(
    "TensorListFromTensor",
    lambda attrs, rows, shape: TensorList.of_rows(attrs["element_dtype"], rows, shape_in(shape)),
    "tensor: element_dtype, element_shape: shape_type",
    "output_handle: variant",
    lambda op, dlist: [_stack(dlist, raw_ops.Shape(op.inputs[0])[1:], op), None],
    "The list of the rows of a tensor.",
    SHAPED,
)


def _concat_lists(attrs: Any, first: TensorList, second: TensorList) -> TensorList:
    first.check_dtype(attrs["element_dtype"])
    second.check_dtype(attrs["element_dtype"])
    shape = first.element_shape.merge_with(second.element_shape)
    return replace(first, element_shape=shape, items=first.items + second.items)


list_op(
    "TensorListConcatLists",
    _concat_lists,
    "input_a: variant, input_b: variant",
    "output: variant",
    lambda op, dlist: [None, None],
    "The elements of one list, then those of the other.",
)


def _check_scatter(indices: Any, rows: Any) -> None:
    if indices.ndim != 1:
        raise invalid_argument(
            f"Expected indices to be a vector, but received shape: {shape_text(indices.shape)}"
        )
    if rows.ndim == 0 or len(indices) != len(rows):
        raise invalid_argument(
            "Invalid number of rows in input tensor. Expected: "
            f"{len(indices)} Actual: {len(rows) if rows.ndim else 0}"
        )


def _scattered(into: TensorList, rows: Any, indices: Any) -> TensorList:
    _check_scatter(indices, rows)
    if indices.size and indices.min() < 0:
        raise invalid_argument("Indices in TensorListScatter must all be non-negative.")
    items = [*into.items]
    items += [None] * (int(indices.max(initial=-1)) + 1 - len(items))
    for index, row in zip(indices.tolist(), rows):
        items[index] = into.checked(np.asarray(row))
    return into.with_items(items)


def _scatter(attrs: Any, rows: Any, indices: Any, shape: Any, count: Any = None) -> TensorList:
    size = -1 if count is None else count.item()
    empty = TensorList.reserved(attrs["element_dtype"], shape_in(shape), max(size, 0))
    if size >= 0 and indices.size and indices.max() >= size:
        raise invalid_argument(
            f"TensorListScatter: Trying to scatter at index {indices.max()} in list with size "
            f"{size}"
        )
    return _scattered(empty, rows, indices)


def _scatter_gradient(op: Any, dlist: Any) -> list[Any]:
    shape = raw_ops.Shape(op.inputs[0])[1:]
    gathered = raw_ops.TensorListGather(
        dlist, op.inputs[1], shape, element_dtype=op.get_attr("element_dtype")
    )
    return [gathered, *[None] * (len(op.inputs) - 1)]


_SCATTERED = "tensor: element_dtype, indices: int32, element_shape: shape_type"
list_op(
    "TensorListScatter",
    _scatter,
    _SCATTERED,
    "output_handle: variant",
    _scatter_gradient,
    "A list with the rows of a tensor at the indices.",
    SHAPED,
)
list_op(
    "TensorListScatterV2",
    _scatter,
    f"{_SCATTERED}, num_elements: scalar int32",
    "output_handle: variant",
    _scatter_gradient,
    "As TensorListScatter, of `num_elements` elements; -1: as many as needed.",
    SHAPED,
)


def _scatter_into(attrs: Any, into: TensorList, rows: Any, indices: Any) -> TensorList:
    into.check_dtype(attrs["element_dtype"])
    return _scattered(into, rows, indices)


def _scatter_into_gradient(op: Any, dlist: Any) -> list[Any]:
    rows, indices = op.inputs[1:]
    element_dtype = op.get_attr("element_dtype")
    dinput = raw_ops.TensorListScatterIntoExistingList(
        dlist, raw_ops.ZerosLike(rows), indices, element_dtype=element_dtype
    )
    shape = raw_ops.Shape(rows)[1:]
    drows = raw_ops.TensorListGather(dlist, indices, shape, element_dtype=element_dtype)
    return [dinput, drows, None]


list_op(
    "TensorListScatterIntoExistingList",
    _scatter_into,
    "input_handle: variant, tensor: element_dtype, indices: int32",
    "output_handle: variant",
    _scatter_into_gradient,
    "The list with the rows of a tensor at the indices.",
)


def _split(attrs: Any, rows: Any, shape: Any, lengths: Any) -> TensorList:
    if lengths.ndim != 1 or rows.ndim == 0:
        raise invalid_argument(
            "Expected lengths to be a vector and the tensor to be at least a vector, received "
            f"shapes: {shape_text(lengths.shape)}, {shape_text(rows.shape)}"
        )
    if lengths.size and lengths.min() < 0:
        raise invalid_argument(f"Invalid value in lengths: {lengths.min()}")
    if lengths.sum() != len(rows):
        raise invalid_argument(
            "Attempting to split input tensor with lengths that do not add up: "
            f"{lengths.sum()} of {len(rows)} rows"
        )
    result = TensorList(attrs["element_dtype"], shape_in(shape))
    parts = np.split(rows, np.cumsum(lengths)[:-1]) if len(lengths) else []
    return result.with_items(result.checked(part) for part in parts)


list_op(
    "TensorListSplit",
    _split,
    "tensor: element_dtype, element_shape: shape_type, lengths: int64",
    "output_handle: variant",
    lambda op, dlist: [_concat(dlist, op), None, None],
    "The list of the parts of a tensor along its first axis.",
    SHAPED,
)
