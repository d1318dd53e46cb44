"""Functions of shapes, slices and matrix products, with Keras's names and arguments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod
from typing import Any

from gpugraph.base.shapes import as_shape
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import floatx, image_data_format
from gpugraph.library.keras.backend.keras_variables import (
    is_sparse,
    ndim,
    place_of_axis,
    to_dense,
    variable,
)
from gpugraph.ops.arrays import (
    concat_and_stack,
    constants_and_placeholders,
    reshape_and_transpose,
    reverse as reverse_ops,
    tile_and_pad,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework import identity_and_shape
from gpugraph.ops.indexing import gather as gather_ops, one_hot_where_unique, top_k
from gpugraph.ops.linalg import matrix_compositions
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.linalg.tensordot import tensordot
from gpugraph.ops.random import random_ops
from gpugraph.ops.reductions import ranges_and_running_sums
from gpugraph.ops.reductions.reduction_functions import reduce_prod
from gpugraph.ops.sparse.sparse_functions import sparse_concat, sparse_tensor_dense_matmul
from gpugraph.ops.strings.print_ops import print as print_op


def shape(x: Any) -> Tensor:
    """Return the shape of `x` as an int32 vector. A run computes the vector."""
    return identity_and_shape.shape(x)


def stack(x: Any, axis: int = 0) -> Tensor:
    """Stack tensors of the same shape along a new axis."""
    return concat_and_stack.stack(x, axis=axis)


def _created(tensor: Tensor, dtype: Any, name: str | None) -> Any:
    """Return a variable initialized to `tensor`. If a size of `tensor` is unknown, return `tensor`
    itself.
    """
    return variable(tensor, dtype, name) if tensor.shape.is_fully_defined() else tensor


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Return a variable of zeros. If a size in `shape` is unknown, return a tensor.

    The default dtype is `floatx()`.
    """
    dtype = dtype or floatx()
    return _created(constants_and_placeholders.zeros(shape, dtype), dtype, name)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Return a variable of ones. If a size in `shape` is unknown, return a tensor.

    The default dtype is `floatx()`.
    """
    dtype = dtype or floatx()
    return _created(constants_and_placeholders.ones(shape, dtype), dtype, name)


def eye(size: int, dtype: Any = None, name: str | None = None) -> Any:
    """Return a variable that is the identity matrix with `size` rows.

    The default dtype is `floatx()`.
    """
    dtype = dtype or floatx()
    return variable(matrix_compositions.eye(size, dtype=dtype), dtype, name)


def zeros_like(x: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Return a tensor of zeros with the shape of `x`.

    Args:
      dtype: by default, the dtype of `x`.
    """
    return constants_and_placeholders.zeros_like(x, dtype=dtype, name=name)


def ones_like(x: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Return a tensor of ones with the shape of `x`.

    Args:
      dtype: by default, the dtype of `x`.
    """
    return constants_and_placeholders.ones_like(x, dtype=dtype, name=name)


def random_uniform_variable(
    shape: Any,
    low: float,
    high: float,
    dtype: Any = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """Return a variable with random initial values, uniform in [low, high).

    The default dtype is `floatx()`.
    """
    dtype = dtype or floatx()
    return variable(random_ops.random_uniform(shape, low, high, dtype, seed), dtype, name)


def random_normal_variable(
    shape: Any,
    mean: float,
    scale: float,
    dtype: Any = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """Return a variable with random initial values from a normal distribution.

    The distribution has the given mean and the standard deviation `scale`. The default dtype is
    `floatx()`.
    """
    dtype = dtype or floatx()
    return variable(random_ops.random_normal(shape, mean, scale, dtype, seed), dtype, name)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "int32") -> Tensor:
    """Return a vector of the numbers start, start + step, ..., excluding `stop`.

    If `stop` is None, the numbers are 0, step, ..., excluding the argument `start`.
    """
    if stop is None and isinstance(start, int) and start < 0:
        start = 0
    first, limit = (0, start) if stop is None else (start, stop)
    numbers = ranges_and_running_sums.range(first, limit, step)
    return numbers if dtype == "int32" else cast(numbers, dtype)


# -- shapes


def reshape(x: Any, shape: Any) -> Tensor:
    """Return the elements of `x` in another shape."""
    return reshape_and_transpose.reshape(x, shape)


def flatten(x: Any) -> Tensor:
    """Return all elements of `x` as one vector."""
    return reshape_and_transpose.reshape(x, [-1])


def batch_flatten(x: Any) -> Tensor:
    """Return `x` as a matrix with one row for each index of the first axis."""
    sizes: Any = as_shape(x.shape).as_list()[1:]
    count = reduce_prod(shape(x)[1:]) if None in sizes else prod(sizes)
    return reshape_and_transpose.reshape(x, stack([-1, count]))


def expand_dims(x: Any, axis: int = -1) -> Tensor:
    """Return `x` with a new axis of size 1 at `axis`."""
    return reshape_and_transpose.expand_dims(x, axis)


def squeeze(x: Any, axis: int) -> Tensor:
    """Return `x` without `axis`, which must have size 1."""
    return reshape_and_transpose.squeeze(x, [axis])


def transpose(x: Any) -> Tensor:
    """Return `x` with the order of its axes reversed."""
    return reshape_and_transpose.transpose(x)


def permute_dimensions(x: Any, pattern: Any) -> Tensor:
    """Transpose `x`: axis i of the result is axis `pattern[i]` of `x`, for example (0, 2, 1)."""
    return reshape_and_transpose.transpose(x, perm=pattern)


def reverse(x: Any, axes: Any) -> Tensor:
    """Reverse the elements along `axes`, an int or a list of ints."""
    return reverse_ops.reverse(x, [axes] if isinstance(axes, int) else axes)


def tile(x: Any, n: Any) -> Tensor:
    """Repeat `x` along its axes.

    Args:
      n: the number of repetitions if `x` is a vector, or a list with a number for each axis.
    """
    return tile_and_pad.tile(x, [n] if isinstance(n, int) else n)


def repeat(x: Any, n: int) -> Tensor:
    """Repeat each row of a matrix [rows, size] `n` times: [rows, n, size]."""
    return tile_and_pad.tile(expand_dims(x, 1), stack([1, n, 1]))


def repeat_elements(x: Any, rep: int, axis: int) -> Tensor:
    """Repeat each element `rep` times in succession along `axis`: [a, b] becomes [a, a, b, b]."""
    axis = place_of_axis(x, axis)
    sizes, dynamic = x.shape.as_list(), shape(x)
    counts = [1] * (len(sizes) + 1)
    counts[axis + 1] = rep
    repeated = tile_and_pad.tile(expand_dims(x, axis + 1), counts)
    parts = [dynamic[place] if size is None else size for place, size in enumerate(sizes)]
    parts[axis] = parts[axis] * rep
    result = reshape_and_transpose.reshape(repeated, stack(parts))
    sizes[axis] = None if sizes[axis] is None else sizes[axis] * rep
    result.set_shape(sizes)
    return result


def concatenate(tensors: Sequence[Any], axis: int = -1) -> Any:
    """Concatenate tensors along `axis`. If all tensors are SparseTensors, the result is a
    SparseTensor. Otherwise the result is dense.
    """
    if axis < 0:
        axis %= int(ndim(tensors[0]) or 1)
    if all(is_sparse(tensor) for tensor in tensors):
        return sparse_concat(axis, list(tensors))
    return concat_and_stack.concat([to_dense(tensor) for tensor in tensors], axis)


def temporal_padding(x: Any, padding: Any = (1, 1)) -> Tensor:
    """Add zeros before the first step and after the last step of `x` [n, steps, features].

    Args:
      padding: (number of steps to add before, number of steps to add after).
    """
    return tile_and_pad.pad(x, [[0, 0], list(padding), [0, 0]])


def spatial_2d_padding(x: Any, padding: Any = ((1, 1), (1, 1)), data_format: Any = None) -> Tensor:
    """Add zeros around images.

    Args:
      padding: ((before, after) of the rows, (before, after) of the columns).
    """
    return _padded(x, padding, data_format)


def spatial_3d_padding(
    x: Any, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: Any = None
) -> Tensor:
    """Add zeros around volumes.

    Args:
      padding: a pair (before, after) for each of the three spatial axes.
    """
    return _padded(x, padding, data_format)


def _padded(x: Any, padding: Any, data_format: Any) -> Tensor:
    inner = [list(pair) for pair in padding]
    is_first = known_format(data_format) == "channels_first"
    none = [0, 0]
    return tile_and_pad.pad(x, [none, none, *inner] if is_first else [none, *inner, none])


def known_format(data_format: Any) -> str:
    """Return `data_format`, or `image_data_format()` if it is None.

    Raises ValueError for an unknown format.
    """
    data_format = image_data_format() if data_format is None else data_format
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(
            f"Unknown data_format: {data_format}; it is channels_first or channels_last"
        )
    return str(data_format)


# -- parts


def gather(reference: Any, indices: Any) -> Tensor:
    """Return the slices of `reference` at these indices of its first axis."""
    return gather_ops.gather(reference, indices)


def one_hot(indices: Any, num_classes: int) -> Tensor:
    """Return a one-hot vector for each index. The vector is 1 at the index and 0 elsewhere. Shape:
    [..., num_classes].
    """
    return one_hot_where_unique.one_hot(indices, depth=num_classes, axis=-1)


def in_top_k(predictions: Any, targets: Any, k: int) -> Tensor:
    """Return for each row whether its target class is among the `k` largest predictions: bool [n].

    Args:
      predictions: [n, classes].
      targets: ints [n].
    """
    return top_k.in_top_k(predictions, targets, k)


def print_tensor(x: Any, message: str = "", summarize: int = 3) -> Tensor:
    """Return `x` from an op that prints `message` and the value of `x` to standard output in each
    run.

    Args:
      summarize: the number of elements to print at each end of an axis.
    """
    printed = print_op(message, x, output_stream=sys.stdout, summarize=summarize)
    with control_dependencies([printed]):
        return identity_and_shape.identity(x)


# -- products


def dot(x: Any, y: Any) -> Tensor:
    """Return the product of tensors: a sum over the last axis of `x` and the second-to-last axis of
    `y`.

    `x` may be a SparseTensor.
    """
    if is_sparse(x):
        return sparse_tensor_dense_matmul(x, y)
    x_rank, y_rank = int(ndim(x) or 0), int(ndim(y) or 0)
    if x_rank <= 2 and y_rank <= 2:
        return matmul(x, y)
    return tensordot(x, y, [[x_rank - 1], [max(y_rank - 2, 0)]])


def batch_dot(x: Any, y: Any, axes: Any = None) -> Tensor:
    """Return products of the examples of `x` and `y`, summed over one axis of each.

    For two matrices [n, size], the result is [n, 1].

    Args:
      axes: the axis to sum over, or a pair with an axis of `x` and an axis of `y`. The default is
        the last axis of `x` and the second-to-last axis of `y`. If an operand has more than three
        axes, all axes before the last two are batch axes.
    """
    x_rank, y_rank = int(ndim(x) or 0), int(ndim(y) or 0)
    if axes is None:
        axes = (x_rank - 1, max(y_rank - 2, 1))
    first, second = (axes, axes) if isinstance(axes, int) else axes
    first, second = place_of_axis(x, first), place_of_axis(y, second)
    rows = expand_dims(x, 1) if x_rank == 2 else x
    columns = expand_dims(y, 2) if y_rank == 2 else y
    product = matmul(
        rows,
        columns,
        transpose_a=x_rank > 2 and first != x_rank - 1,
        transpose_b=y_rank > 2 and second == y_rank - 1,
    )
    if x_rank == 2:
        product = squeeze(product, 1)
    return squeeze(product, -1) if y_rank == 2 and x_rank > 2 else product
