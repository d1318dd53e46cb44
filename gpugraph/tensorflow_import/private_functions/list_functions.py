"""`tensorflow.python.ops.list_ops`: functions of lists of tensors, which are variant tensors.

An `element_shape` is a tensor, a shape with None for unknown sizes, or None for an unknown rank.
"""

from __future__ import annotations

from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.base.dtypes import int32, int64
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow.cond import cond
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def _sizes(shape: Any) -> Any:
    """Return a shape as an input of an op: -1 for what is unknown."""
    if isinstance(shape, TensorShape):
        shape = shape.sizes
    if shape is None or isinstance(shape, Tensor):
        return -1 if shape is None else shape
    sizes = [-1 if size is None else size for size in shape]
    return convert_to_tensor(sizes, int32) if sizes else tf.constant([], int32)


def empty_tensor_list(
    element_shape: Any, element_dtype: Any, max_num_elements: Any = None, name: str | None = None
) -> Any:
    """Return a list without elements, which never has more than `max_num_elements`."""
    most = -1 if max_num_elements is None else max_num_elements
    return raw_ops.EmptyTensorList(
        _sizes(element_shape), most, element_dtype=element_dtype, name=name
    )


def tensor_list_reserve(
    element_shape: Any, num_elements: Any, element_dtype: Any, name: str | None = None
) -> Any:
    """Return a list of elements that have no values yet."""
    return raw_ops.TensorListReserve(
        _sizes(element_shape), num_elements, element_dtype=element_dtype, name=name
    )


def tensor_list_from_tensor(tensor: Any, element_shape: Any, name: str | None = None) -> Any:
    """Return the list of the rows of a tensor."""
    return raw_ops.TensorListFromTensor(tensor, _sizes(element_shape), name=name)


def tensor_list_get_item(
    input_handle: Any,
    index: Any,
    element_dtype: Any,
    element_shape: Any = None,
    name: str | None = None,
) -> Any:
    """Return the element at an index."""
    return raw_ops.TensorListGetItem(
        input_handle, index, _sizes(element_shape), element_dtype=element_dtype, name=name
    )


def tensor_list_pop_back(input_handle: Any, element_dtype: Any, name: str | None = None) -> Any:
    """Return the list without its last element, and that element."""
    return raw_ops.TensorListPopBack(input_handle, -1, element_dtype=element_dtype, name=name)


def tensor_list_gather(
    input_handle: Any,
    indices: Any,
    element_dtype: Any,
    element_shape: Any = None,
    name: str | None = None,
) -> Any:
    """Return the elements at some indices, stacked."""
    return raw_ops.TensorListGather(
        input_handle, indices, _sizes(element_shape), element_dtype=element_dtype, name=name
    )


def tensor_list_scatter(
    tensor: Any,
    indices: Any,
    element_shape: Any = None,
    input_handle: Any = None,
    name: str | None = None,
) -> Any:
    """Return a list with the rows of a tensor at some indices, new or from `input_handle` on."""
    if input_handle is not None:
        return raw_ops.TensorListScatterIntoExistingList(input_handle, tensor, indices, name=name)
    return raw_ops.TensorListScatterV2(tensor, indices, _sizes(element_shape), -1, name=name)


def tensor_list_stack(
    input_handle: Any,
    element_dtype: Any,
    num_elements: int = -1,
    element_shape: Any = None,
    name: str | None = None,
) -> Any:
    """Return all elements, stacked."""
    return raw_ops.TensorListStack(
        input_handle,
        _sizes(element_shape),
        element_dtype=element_dtype,
        num_elements=num_elements,
        name=name,
    )


def tensor_list_concat(
    input_handle: Any, element_dtype: Any, element_shape: Any = None, name: str | None = None
) -> Any:
    """Return all elements, concatenated."""
    no_sizes = tf.constant([], int64)
    return raw_ops.TensorListConcatV2(
        input_handle, _sizes(element_shape), no_sizes, element_dtype=element_dtype, name=name
    )[0]


def tensor_list_split(
    tensor: Any, element_shape: Any, lengths: Any, name: str | None = None
) -> Any:
    """Return the list of parts of a tensor, which have these lengths."""
    return raw_ops.TensorListSplit(tensor, _sizes(element_shape), lengths, name=name)


def tensor_list_set_item(
    input_handle: Any,
    index: Any,
    item: Any,
    resize_if_index_out_of_bounds: bool = False,
    name: str | None = None,
) -> Any:
    """Return the list with another element at an index, which may lie behind its end."""
    if resize_if_index_out_of_bounds:
        size, before = raw_ops.TensorListLength(input_handle), input_handle
        input_handle = cond(
            index >= size,
            lambda: raw_ops.TensorListResize(before, index + 1),
            lambda: tf.identity(before),
        )
    return raw_ops.TensorListSetItem(input_handle, index, item, name=name)
