"""Functions on dense matrices whose batch shapes broadcast: products, solutions, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.building.checks import assert_equal, assert_positive
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.arrays.masks_and_coordinates import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
)
from gpugraph.ops.arrays.reshape_and_transpose import broadcast_to
from gpugraph.ops.elementwise.complex_parts import imag
from gpugraph.ops.elementwise.unary_functions import abs as absolute
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.linalg.matrix_compositions import cholesky_solve
from gpugraph.ops.linalg.solve_and_cholesky import matrix_solve


def broadcast_batches(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return matrices [..., rows, columns], broadcast to the common batch shape."""
    batches = [tensor.shape[:-2] for tensor in tensors]
    if all(tensor.shape.ndims is not None for tensor in tensors):
        if all(batch.is_fully_defined() and batch == batches[0] for batch in batches):
            return list(tensors)
        if all(batch.ndims == 0 for batch in batches):
            return list(tensors)
    batch: Any = shape(tensors[0])[:-2]
    for tensor in tensors[1:]:
        batch = broadcast_dynamic_shape(batch, shape(tensor)[:-2])
    known = common_batch(batches)
    result = []
    for tensor in tensors:
        whole = broadcast_to(tensor, concat([batch, shape(tensor)[-2:]], 0))
        if tensor.shape.ndims is not None:
            whole.set_shape(known.concatenate(tensor.shape[-2:]))
        result.append(whole)
    return result


def common_batch(batches: Sequence[TensorShape]) -> TensorShape:
    """Return the static shape to which the batch shapes broadcast. Raises ValueError if they do not
    broadcast.
    """
    known = batches[0]
    for batch in batches[1:]:
        known = broadcast_static_shape(known, batch)
    return known


def multiply_dense(
    matrix: Tensor, x: Any, adjoint: bool = False, adjoint_arg: bool = False
) -> Tensor:
    """Return the product of matrices, or of their adjoints. Batch shapes are broadcast."""
    matrix, x = broadcast_batches([matrix, x])
    return matmul(matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)


def solve_dense(matrix: Tensor, rhs: Tensor, adjoint: bool = False) -> Tensor:
    """Solve matrix @ x = rhs. Batch shapes are broadcast."""
    matrix, rhs = broadcast_batches([matrix, rhs])
    return matrix_solve(matrix, rhs, adjoint=adjoint)


def solve_by_cholesky(factor: Tensor, rhs: Tensor) -> Tensor:
    """Solve factor @ adjoint(factor) @ x = rhs. Batch shapes are broadcast."""
    factor, rhs = broadcast_batches([factor, rhs])
    return cholesky_solve(factor, rhs)


def square_shape(vectors: TensorShape) -> TensorShape:
    """Return the shape [..., n, n] for vectors [..., n]."""
    return vectors.concatenate(vectors[-1:])


def square_shape_tensor(vectors: Tensor) -> Tensor:
    """Return the shape [..., n, n] for vectors [..., n], as a tensor."""
    sizes = shape(vectors)
    return concat([sizes, sizes[-1:]], 0)


def assert_no_zeros(x: Tensor, message: str) -> Operation:
    """Return an operation that raises InvalidArgumentError in a run if an element of x is zero."""
    check: Operation = assert_positive(absolute(x), message=message)
    return check


def assert_is_real(x: Tensor, message: str) -> Operation | None:
    """Return an operation that raises InvalidArgumentError in a run if x has a nonzero imaginary
    part.

    Return None if the dtype is not complex.
    """
    if not x.dtype.is_complex:
        return None
    part = imag(x)
    check: Operation = assert_equal(zeros_like(part), part, message=message)
    return check
