"""Shapes of states and outputs: a batch size, followed by the size that a cell declares."""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.nest import map_structure
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import shape as shape_of
from gpugraph.ops.framework.tensor_conversion import constant


def zero_state(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """Return zeros [batch_size, *size] for each size in the structure `state_size`."""
    return map_structure(lambda size: _zeros(batch_size, size, dtype), state_size)


def zero_state_of_cell(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """Return `zero_state` with the constants that TensorFlow 1 creates for a cell's states."""

    def make(size: Any) -> Tensor:
        zero = _zeros(batch_size, size, dtype)
        add_shape_constants(batch_size, size)
        return zero

    return map_structure(make, state_size)


def add_shape_constants(*sizes: Any) -> None:
    """Add the ops that TensorFlow 1 creates for the known ones of several sizes of a shape.

    Nothing reads them. The seeds of random ops count the ops before them, so with these ops, they
    are TensorFlow's.
    """
    for size in sizes:
        if isinstance(size, Tensor) or as_shape(size).is_fully_defined():
            _vector(size)


def _zeros(batch_size: Any, size: Any, dtype: Any) -> Tensor:
    zero = zeros(shape_tensor(batch_size, size), dtype)
    zero.set_shape(known_shape(batch_size, size))
    return zero


def shape_tensor(batch_size: Any, size: Any) -> Tensor:
    """Return the shape [batch_size, *size] as a tensor. Raises ValueError if a size is unknown."""
    return concat([_vector(batch_size), _vector(size)], 0)


def known_shape(batch_size: Any, size: Any) -> TensorShape:
    """Return the static shape [batch_size, *size]. A `batch_size` of None means that it is
    unknown.
    """
    return _known(batch_size).concatenate(_known(size))


def _vector(size: Any) -> Tensor:
    """Convert a size (a number, a shape, or an int tensor of rank 0 or 1) to a vector."""
    if isinstance(size, Tensor):
        if size.shape.rank == 0:
            return expand_dims(size, 0)
        if size.shape.rank != 1:
            raise ValueError(f"A size must be either a scalar or vector, but saw tensor: {size}")
        return size
    shape = as_shape(size)
    if not shape.is_fully_defined():
        raise ValueError(f"A size of a state or output must be known, but it is {shape}")
    return constant(shape.as_list(), dtypes.int32)


def _known(size: Any) -> TensorShape:
    if size is None:
        return TensorShape.of((None,))
    if not isinstance(size, Tensor):
        return as_shape(size)
    value = constant_value(size)
    if value is not None:
        return as_shape(value.tolist())
    if size.shape.rank == 0:
        return TensorShape.of((None,))
    return TensorShape.of(
        None if size.shape.sizes is None else (None,) * (size.shape.sizes[0] or 0)
    )


def listed_sizes(state_size: Any) -> list[Any]:
    """Return the sizes of a cell's states as a list. Each size may be a structure."""
    several = hasattr(state_size, "__len__") and not isinstance(state_size, TensorShape)
    return list(state_size) if several else [state_size]


def output_size_of(cell: Any) -> Any:
    """Return the size of a cell's outputs: its `output_size` or, if it has none, the size of its
    first state.
    """
    size = getattr(cell, "output_size", None)
    return listed_sizes(cell.state_size)[0] if size is None else size


def initial_state_of(cell: Any, inputs: Any, batch_size: Any, dtype: Any) -> Any:
    """Return the result of the cell's `get_initial_state`. If the cell has no such method, return
    zeros.
    """
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=inputs, batch_size=batch_size, dtype=dtype)
    return zero_state_of(cell, inputs, batch_size, dtype)


def zero_state_of(cell: Any, inputs: Any, batch_size: Any, dtype: Any) -> Any:
    """Return zeros with the sizes in a cell's `state_size`.

    The batch size and dtype come from `inputs` or from the arguments. Raises ValueError if `inputs`
    is None and the batch size or the dtype is also None.
    """
    if inputs is not None:
        batch_size, dtype = shape_of(inputs)[0], inputs.dtype
    if batch_size is None or dtype is None:
        raise ValueError(
            "batch_size and dtype cannot be None while constructing initial state: "
            f"batch_size={batch_size}, dtype={dtype}"
        )
    return zero_state(cell.state_size, batch_size, dtype)


def check_cell_of_layer(cell: Any) -> None:
    """Raise ValueError if an object has no `call` or no `state_size`. Such an object is not a
    cell.
    """
    if not hasattr(cell, "call"):
        raise ValueError(f"`cell` should have a `call` method. The RNN was passed: {cell!r}")
    if not hasattr(cell, "state_size"):
        raise ValueError(
            "The RNN cell should have an attribute `state_size` (tuple of integers, one integer "
            f"per RNN state). The RNN was passed: {cell!r}"
        )
