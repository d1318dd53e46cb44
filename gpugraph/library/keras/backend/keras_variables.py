"""Keras's variables, constants and placeholders, their properties and their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import UnimplementedError
from gpugraph.base.shapes import as_shape
from gpugraph.building.variables import ResourceVariable, Variable
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.library.keras.backend.keras_session import get_graph, get_session, track_variable
from gpugraph.ops.arrays.constants_and_placeholders import placeholder as graph_placeholder
from gpugraph.ops.framework import tensor_conversion
from gpugraph.ops.sparse.sparse_functions import sparse_tensor_to_dense
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, sparse_placeholder

# -- creation


def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    """Return a variable with the initial value `value`. The default dtype is `floatx()`.

    `get_session` initializes the variable. A SciPy sparse matrix becomes a constant SparseTensor
    instead.
    """
    dtype = floatx() if dtype is None else dtype
    if hasattr(value, "tocoo"):
        return _sparse_constant(value)
    result: Any = ResourceVariable(value, dtype=as_dtype(dtype), name=name, constraint=constraint)
    if isinstance(value, np.ndarray):
        result._keras_shape = value.shape
    elif hasattr(value, "shape"):
        result._keras_shape = int_shape(value)
    track_variable(result)
    return result


def sparse_parts(matrix: Any) -> tuple[Any, Any, Any]:
    """Return the indices [count, 2], values [count] and dense shape of a SciPy matrix."""
    entries = matrix.tocoo()
    return np.stack([entries.row, entries.col], 1).astype(np.int64), entries.data, entries.shape


def _sparse_constant(matrix: Any) -> SparseTensor:
    tensor: Any = SparseTensor(*sparse_parts(matrix))
    tensor._keras_shape = matrix.shape
    return tensor


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Tensor:
    """Return a constant tensor. The default dtype is `floatx()`."""
    dtype = floatx() if dtype is None else dtype
    return tensor_conversion.constant(value, dtype=dtype, shape=shape, name=name or "Const")


def placeholder(
    shape: Any = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
    ragged: bool = False,
) -> Any:
    """Return a placeholder. If `sparse` is true, return a sparse placeholder.

    Raises UnimplementedError if `ragged` is true.

    Args:
      shape: a tuple of sizes, in which None means an unknown size.
      ndim: the number of axes, which may be passed instead of a shape.
      dtype: by default `floatx()`.
    """
    if ragged:
        raise UnimplementedError.of_no_node(
            "There are no ragged tensors: pad the rows to the same length, and mask the padding"
        )
    dtype = floatx() if dtype is None else dtype
    if not shape and ndim:
        shape = (None,) * ndim
    with get_graph().as_default():
        if sparse:
            return sparse_placeholder(dtype, shape=shape, name=name)
        return graph_placeholder(dtype, shape=shape, name=name)


# -- properties


def is_keras_tensor(x: Any) -> bool:
    """Return whether a Keras layer or `Input` created this tensor, variable or SparseTensor.

    Raises ValueError for an object of any other class.
    """
    if not isinstance(x, (Tensor, Variable, SparseTensor)):
        raise ValueError(
            f"Unexpectedly found an instance of type `{type(x)}`. Expected a symbolic tensor "
            "instance."
        )
    return hasattr(x, "_keras_history")


def is_sparse(tensor: Any) -> bool:
    """Return whether `tensor` is a SparseTensor."""
    return isinstance(tensor, SparseTensor)


def to_dense(tensor: Any) -> Any:
    """Convert a sparse tensor to a dense tensor. Return a dense tensor unchanged."""
    return sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


def int_shape(x: Any) -> tuple[int | None, ...] | None:
    """Return the static shape as a tuple, in which None means an unknown size. If the rank is
    unknown, return None.
    """
    shape = getattr(x, "shape", None)
    if shape is None:
        return None
    return tuple(shape) if isinstance(shape, tuple) else shape.sizes


def ndim(x: Any) -> int | None:
    """Return the number of axes. If the number is unknown, return None."""
    return as_shape(x.shape).ndims


def place_of_axis(x: Any, axis: int) -> int:
    """Return the non-negative index of an axis of `x`. A negative `axis` counts from the end.

    Raises ValueError for an axis that `x` does not have, and for an unknown rank.
    """
    rank = ndim(x)
    if rank is None:
        raise ValueError(f"The rank of {x} must be known")
    place = int(axis) + rank * (axis < 0)
    if not 0 <= place < rank:
        raise ValueError(f"axis {axis} is out of range for {x} of rank {rank}")
    return place


def dtype(x: Any) -> str:
    """Return the name of the dtype, for example "float32"."""
    name: str = as_dtype(x.dtype).base_dtype.name
    return name


def count_params(x: Any) -> int:
    """Return the number of elements of a variable or tensor. All its sizes must be known."""
    sizes: Any = as_shape(x.shape).as_list()
    return int(np.prod(sizes))


# -- values


def eval(x: Any) -> Any:
    """Return the value of a variable or tensor as a NumPy array, computed in Keras's session."""
    return get_value(to_dense(x))


def get_value(x: Any) -> Any:
    """Return the value of a variable in Keras's session as a NumPy array."""
    return x.eval(session=get_session((x,)))


def batch_get_value(tensors: Sequence[Any]) -> list[Any]:
    """Return the values of variables in Keras's session, fetched in one run."""
    return list(get_session(tensors).run(list(tensors))) if tensors else []


def set_value(x: Any, value: Any) -> None:
    """Set a variable's value in Keras's session."""
    batch_set_value([(x, value)])


def batch_set_value(tuples: Sequence[tuple[Any, Any]]) -> None:
    """Set the values of (variable, value) pairs in one run of Keras's session.

    Raises TypeError for an object that is not a variable.
    """
    if not tuples:
        return
    updates, feed = [], {}
    for x, value in tuples:
        if not isinstance(getattr(x, "dtype", None), DType):
            raise TypeError(f"Values can be set only on variables, not on {x!r}")
        array = np.asarray(value, dtype=x.dtype.base_dtype.as_numpy_dtype)
        fed, update = _assignment(x, array.ndim)
        updates.append(update)
        feed[fed] = array
    get_session([x for x, _ in tuples]).run(updates, feed)


def _assignment(x: Any, rank: int) -> tuple[Tensor, Any]:
    """Return a placeholder, and an op that assigns its value to a variable. The placeholder and the
    op are created once for each variable.

    Args:
      rank: the rank of the first value. Later values must have the same rank.
    """
    if not hasattr(x, "_assign_placeholder"):
        with x.graph.as_default(), x.graph.control_dependencies(None):
            x._assign_placeholder = graph_placeholder(x.dtype.base_dtype, shape=[None] * rank)
            update = x.assign(x._assign_placeholder)
            x._assign_op = getattr(
                update, "op", update
            )  # the operation, whose run does not fetch the value
    return x._assign_placeholder, x._assign_op
