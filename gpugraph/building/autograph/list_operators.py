"""Lists and their elements in functions that are converted with `Feature.LISTS`.

A list that is created empty becomes a tensor list, which a variant tensor holds. A list that is
created with elements stays a Python list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gpugraph.base.dtypes import int32, string, variant
from gpugraph.building.control_flow.cond import cond as tf_cond
from gpugraph.building.variables.variable_collections import is_tensor
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray


class ListPopOpts(NamedTuple):
    """The element type of a list on which `pop` is called, as `set_element_type` has declared
    it.
    """

    element_dtype: Any
    element_shape: Any


class ListStackOpts(NamedTuple):
    """The options of `list_stack`: the element type of the list, and the function to call with a
    value that is not a list.
    """

    element_dtype: Any
    original_call: Callable[[Any], Any]


class GetItemOpts(NamedTuple):
    """The element type of a list whose element is read."""

    element_dtype: Any


def new_list(iterable: Any = None) -> Any:
    """Return a Python list of the elements or, if there are no elements, an empty tensor list."""
    elements = list(iterable) if iterable else []
    if elements:
        return elements
    return raw_ops.EmptyTensorList(constant(-1), constant(-1), element_dtype=variant)


def _is_list(value: Any) -> bool:
    """Return whether a value is a tensor list. Raises ValueError if it is a tensor of another
    kind.
    """
    if not is_tensor(value):
        return False
    if value.dtype.base_dtype is not variant:
        raise ValueError(
            f"tensor lists are expected to be Tensors with dtype=tf.variant, instead found {value}"
        )
    return True


def list_append(list_: Any, x: Any) -> Any:
    """Append `x` to a list and return the list. A Python list is changed in place, and a tensor
    list is copied.
    """
    if isinstance(list_, TensorArray):
        return list_.write(list_.size(), x)
    if not _is_list(list_):
        list_.append(x)
        return list_
    tensor = convert_to_tensor(x)

    def empty() -> Any:
        return raw_ops.EmptyTensorList(
            shape(tensor), constant(-1), element_dtype=tensor.dtype.base_dtype
        )

    has_elements = raw_ops.Greater(raw_ops.TensorListLength(list_), constant(0))
    typed = tf_cond(has_elements, lambda: raw_ops.Identity(list_), empty)
    return raw_ops.TensorListPushBack(typed, tensor)


def list_pop(list_: Any, i: Any, opts: ListPopOpts) -> Any:
    """Return the list without its last element, and that element.

    Args:
      i: the index of the element to remove instead of the last one.
    """
    if isinstance(list_, TensorArray):
        raise ValueError("TensorArray does not support item removal")
    if not _is_list(list_):
        return list_, list_.pop() if i is None else list_.pop(i)
    if i is not None:
        raise NotImplementedError("tensor lists only support removing from the end")
    for word, value in (("type", opts.element_dtype), ("shape", opts.element_shape)):
        if value is None:
            raise ValueError(
                f"cannot pop from a list without knowing its element {word}; use "
                "set_element_type to annotate it"
            )
    rest, item = raw_ops.TensorListPopBack(list_, constant(-1), element_dtype=opts.element_dtype)
    item.set_shape(opts.element_shape)
    return rest, item


def list_stack(list_: Any, opts: ListStackOpts) -> Any:
    """Return the elements of a list as the rows of a tensor. Return a tensor unchanged."""
    if isinstance(list_, TensorArray):
        return list_.stack()
    if not is_tensor(list_):
        return opts.original_call(list_)
    if list_.dtype.base_dtype is not variant:
        return list_
    if opts.element_dtype is None:
        raise ValueError(
            "cannot stack a list without knowing its element type; use set_element_type to "
            "annotate it"
        )
    return raw_ops.TensorListStack(list_, constant(-1), element_dtype=opts.element_dtype)


def get_item(target: Any, i: Any, opts: GetItemOpts) -> Any:
    """Return `target[i]`. If `target` is a string scalar, return its character `i`."""
    if isinstance(target, TensorArray):
        return target.read(i)
    if not is_tensor(target):
        return target[i]
    if target.dtype.base_dtype is variant:
        if opts.element_dtype is None:
            raise ValueError(
                "cannot retrieve from a list without knowing its element type; use "
                "set_element_type to annotate it"
            )
        return raw_ops.TensorListGetItem(target, i, constant(-1), element_dtype=opts.element_dtype)
    if target.dtype.base_dtype is string and target.shape.rank == 0:
        return raw_ops.Substr(target, i, constant(1))
    return target[i]


def set_item(target: Any, i: Any, x: Any) -> Any:
    """Set element `i` of `target` to `x` and return the result. A Python object is changed in
    place, and a tensor is copied.
    """
    if isinstance(target, TensorArray):
        return target.write(i, x)
    if not is_tensor(target):
        target[i] = x
        return target
    if target.dtype.base_dtype is variant:
        return raw_ops.TensorListSetItem(target, i, x)
    update = raw_ops.ExpandDims(convert_to_tensor(x, target.dtype.base_dtype), constant(0))
    return raw_ops.TensorScatterUpdate(target, raw_ops.Reshape(i, [1, 1]), update)


_UPDATES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mult": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": lambda x, y: x**y,
}


def update_item_with_op(target: Any, i: Any, x: Any, op: str) -> Any:
    """Return `target` after an augmented assignment to its element `i`, such as `target[i] += x`.

    Args:
      op: the name of the operator.
    """
    return set_item(target, i, _UPDATES[op](target[i], x))


def set_element_type(entity: Any, dtype: Any, shape: Any = None) -> None:
    """Declare the dtype and the shape of a list's elements, for the conversion of the enclosing
    function.
    """


def tensor_list(
    elements: Any,
    element_dtype: Any = None,
    element_shape: Any = None,
    use_tensor_array: bool = False,
) -> Any:
    """Return a list of tensors, as a TensorArray or a variant tensor, with these elements.

    Raises ValueError if `elements` is empty and its dtype or shape is not passed.

    Args:
      elements: a list, a tuple or, for a variant tensor, a tensor whose rows are the elements.
      element_dtype, element_shape: required if there are no elements.
    """
    is_typed = element_dtype is not None and element_shape is not None
    if not is_typed and not is_tensor(elements):
        if not isinstance(elements, (list, tuple)):
            raise ValueError(
                f"unknown type for elements: {type(elements)}; only Tensor, list and tuple are "
                "allowed"
            )
        if not elements:
            raise ValueError("element_dtype and element_shape are required when elements are empty")
    if is_tensor(elements):
        return raw_ops.TensorListFromTensor(elements, shape(elements)[1:])
    tensors = [convert_to_tensor(element) for element in elements]
    dtype = tensors[0].dtype if element_dtype is None else element_dtype
    if use_tensor_array:
        array = TensorArray(
            dtype, size=len(tensors), dynamic_size=True, element_shape=element_shape
        )
        for index, tensor in enumerate(tensors):
            array = array.write(index, tensor)
        return array
    known = tensors[0].shape if element_shape is None else element_shape
    sizes = constant(known.as_list() if hasattr(known, "as_list") else list(known), dtype=int32)
    result = raw_ops.EmptyTensorList(sizes, constant(-1), element_dtype=dtype)
    for tensor in tensors:
        result = raw_ops.TensorListPushBack(result, tensor)
    return result


def stack(list_or_tensor: Any, element_dtype: Any = None, strict: bool = True) -> Any:
    """Return the elements of a list of tensors as the rows of a tensor.

    Args:
      element_dtype: required for a variant tensor.
      strict: whether a value that can't be stacked raises ValueError. Otherwise it is returned
        unchanged.
    """

    def unstackable(value: Any) -> Any:
        if strict:
            raise ValueError(f"{value} must be stackable when strict=True")
        return value

    return list_stack(list_or_tensor, ListStackOpts(element_dtype, unstackable))
