"""`tf.tensordot`, which sums products over pairs of axes. It is computed as a matrix product."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import int32
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul


class _Matrix(NamedTuple):
    """An operand as a matrix. The summed axes are merged into its columns for the first operand,
    and into its rows for the second.
    """

    tensor: Tensor
    free_shape: Any  # the sizes of the other axes, as an array or a tensor
    free_sizes: (
        list[Any] | None
    )  # the same sizes, None for unknown ones; None if even the rank is unknown


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """Return the sum of products of `a` and `b` over pairs of axes.

    The result has the remaining axes of a, followed by the remaining axes of b. Its static shape is
    unknown if a rank is unknown, or if the axes are known only in a run. Raises ValueError if the
    lists differ in length or n exceeds a rank, and IndexError if an axis is out of range. A run
    raises InvalidArgumentError if the sizes of a pair of axes differ.

    Args:
      axes: an int n, which means the last n axes of a and the first n axes of b. Alternatively, two
        lists with the axes of a and the corresponding axes of b, or a tensor with two rows of axes.

    >>> session.run(tf.tensordot([[1, 2]], [[3], [4]], axes=1))
    array([[11]], dtype=int32)
    """
    with op_scope(name, "Tensordot", a, b) as scope:
        left = convert_to_tensor(a, name="a")
        right = convert_to_tensor(b, name="b", dtype_hint=left.dtype.base_dtype)
        left_axes, right_axes = _contracted_axes(axes, left, right)
        x, y = _as_matrix(left, left_axes, True), _as_matrix(right, right_axes, False)
        if isinstance(x.free_shape, np.ndarray) and isinstance(y.free_shape, np.ndarray):
            shape: Any = np.concatenate([x.free_shape, y.free_shape])
        else:
            shape = raw_ops.ConcatV2([x.free_shape, y.free_shape], 0)
        product: Tensor = raw_ops.Reshape(matmul(x.tensor, y.tensor), shape, name=scope)
        if x.free_sizes is not None and y.free_sizes is not None:
            product.set_shape(x.free_sizes + y.free_sizes)
        return product


def _contracted_axes(axes: Any, left: Tensor, right: Tensor) -> tuple[Any, Any]:
    """Return the axes of each tensor over which to sum. They are lists, or tensors if they are
    known only in a run.
    """
    if isinstance(axes, (int, np.integer)):
        return _last_axes(int(axes), left), _first_axes(int(axes), right)
    if isinstance(axes, Tensor):
        pairs = raw_ops.Unpack(raw_ops.Cast(axes, DstT=int32), num=2)
        return pairs[0], pairs[1]
    if len(axes) != 2:
        raise ValueError(f"'axes' must be an integer or have length 2, but is {axes}")
    first, second = (
        side if isinstance(side, Tensor) else np.atleast_1d(np.asarray(side, np.int64)).tolist()
        for side in axes
    )
    if isinstance(first, list) and isinstance(second, list) and len(first) != len(second):
        raise ValueError(
            "Different number of contraction axes 'a' and 'b', "
            f"{len(first)} != {len(second)}: {first} and {second}"
        )
    return first, second


def _last_axes(count: int, tensor: Tensor) -> Any:
    rank = tensor.shape.rank
    if rank is None:
        end = raw_ops.Rank(tensor)
        return raw_ops.Range(raw_ops.Sub(end, count), end, 1)
    _check_count(count, tensor)
    return list(range(rank - count, rank))


def _first_axes(count: int, tensor: Tensor) -> list[int]:
    _check_count(count, tensor)
    return list(range(count))


def _check_count(count: int, tensor: Tensor) -> None:
    rank = tensor.shape.rank
    if count < 0:
        raise ValueError(f"'axes' must be at least 0, but is {count}")
    if rank is not None and count > rank:
        raise ValueError(
            f"'axes' must not be larger than the number of dimensions of tensor {tensor.name}: "
            f"{count} of {rank}"
        )


def _as_matrix(tensor: Tensor, axes: Any, last: bool) -> _Matrix:
    """Return `tensor` as a matrix. The summed axes are merged into its last axis, or into its first
    axis if `last` is false.
    """
    sizes = tensor.shape.sizes
    if sizes is None or not isinstance(axes, list):
        return _matrix_of_run(tensor, axes, last)
    summed = [_index(axis, len(sizes), tensor) for axis in axes]
    free = [axis for axis in range(len(sizes)) if axis not in summed]
    order = free + summed if last else summed + free
    known = [sizes[axis] for axis in free]
    transposed = tensor
    if order != list(range(len(sizes))):
        transposed = raw_ops.Transpose(tensor, np.array(order, np.int32))
    if None not in sizes:
        inner = prod(sizes[axis] for axis in summed)  # type: ignore[misc]
        outer = prod(known)  # type: ignore[arg-type]
        wanted: Any = np.array((outer, inner) if last else (inner, outer), np.int32)
        return _Matrix(raw_ops.Reshape(transposed, wanted), np.array(known, np.int32), known)
    shape = raw_ops.Shape(tensor)
    free_shape = raw_ops.GatherV2(shape, np.array(free, np.int32), 0)
    inner_size = raw_ops.Prod(raw_ops.GatherV2(shape, np.array(summed, np.int32), 0), 0)
    pair = [raw_ops.Prod(free_shape, 0), inner_size]
    wanted = raw_ops.Pack(pair if last else pair[::-1])
    return _Matrix(raw_ops.Reshape(transposed, wanted), free_shape, known)


def _index(axis: int, rank: int, tensor: Tensor) -> int:
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} is out of range: {tensor.name} has {rank} dimensions")
    return axis % rank


def _matrix_of_run(tensor: Tensor, axes: Any, last: bool) -> _Matrix:
    """Return the same result as `_as_matrix`, if the rank or the axes are known only in a run."""
    shape, rank = raw_ops.Shape(tensor), raw_ops.Rank(tensor)
    asked = convert_to_tensor(axes, int32)
    negative = raw_ops.Cast(raw_ops.Less(asked, 0), DstT=int32)
    summed = raw_ops.Add(asked, raw_ops.Mul(negative, rank))
    free = raw_ops.ListDiff(raw_ops.Range(0, rank, 1), summed).out
    parts = [free, summed] if last else [summed, free]
    transposed = raw_ops.Transpose(tensor, raw_ops.ConcatV2(parts, 0))
    wanted = raw_ops.Pack([raw_ops.Prod(raw_ops.GatherV2(shape, part, 0), 0) for part in parts])
    return _Matrix(raw_ops.Reshape(transposed, wanted), raw_ops.GatherV2(shape, free, 0), None)
