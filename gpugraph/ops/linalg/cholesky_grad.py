"""CholeskyGrad, which computes the gradient of Cholesky factorization as a single op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import float32, float64
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op
from gpugraph.ops.linalg.native_factor_sources import cholesky_gradient
from gpugraph.ops.linalg.solve_and_cholesky import infer_square, solve_triangle


def _infer(context: InferContext) -> Sequence[TensorShape]:
    infer_square(context)
    return [context.shapes[0].merge_with(context.shapes[1])]


_BLOCK = 64
"""The number of columns whose gradient is computed together."""


def _bind(_: KernelContext, factors: Any, slopes: Any, out: Any) -> Callable[[], Any]:
    def run() -> None:
        if out.size:
            lower, slope = np.tril(factors), np.tril(slopes)
            for last in range(out.shape[-1], 0, -_BLOCK):
                _back_columns(lower, slope, max(last - _BLOCK, 0), last)
            np.copyto(out, (slope + np.swapaxes(slope, -1, -2)) / 2)

    return run


def _back_columns(lower: Any, slope: Any, first: int, last: int) -> None:
    """Replace the gradient of some columns of the factors by the gradient of these columns of the
    matrices. Add their contributions to the gradient of the columns before.

    Source: I. Murray, "Differentiation of the Cholesky decomposition" (2016), section 4.2.

    Args:
      lower, slope: the lower triangles of the factors and of their gradient.
      first, last: the range of columns. All later columns must be replaced already.
    """
    before, here, after = slice(0, first), slice(first, last), slice(last, None)
    corner, corner_slope = lower[..., here, here], slope[..., here, here]
    if slope.shape[-1] > last:
        below = np.swapaxes(slope[..., after, here], -1, -2)
        solved = np.empty_like(below)
        solve_triangle(np.swapaxes(corner, -1, -2), below, False, solved)
        slope[..., after, here] = np.swapaxes(solved, -1, -2)
        slope[..., after, before] -= slope[..., after, here] @ lower[..., here, before]
        corner_slope -= np.tril(solved @ lower[..., after, here])
    whole = _symmetric_slope(corner, corner_slope)
    if first:
        if slope.shape[-1] > last:
            slope[..., here, before] -= solved @ lower[..., after, before]
        slope[..., here, before] -= 2 * (whole @ lower[..., here, before])
    corner_slope[...] = np.tril(2 * whole)
    diagonal = np.arange(last - first)
    corner_slope[..., diagonal, diagonal] /= 2


def _symmetric_slope(lower: Any, slope: Any) -> Any:
    """Return the gradient of a matrix as a symmetric matrix, given that of its factor."""
    diagonal = np.arange(lower.shape[-1])
    transposed = np.swapaxes(lower, -1, -2)
    middle = np.tril(transposed @ slope)
    middle[..., diagonal, diagonal] /= 2
    left, whole = np.empty_like(middle), np.empty_like(middle)
    solve_triangle(transposed, middle, False, left)
    solve_triangle(transposed, np.swapaxes(left, -1, -2), False, whole)
    return (whole + np.swapaxes(whole, -1, -2)) / 2


op(
    "CholeskyGrad",
    inputs="l: T, grad: T",
    outputs="output: T",
    **numpy_kernels(Call(make=_bind, by_lapack=True)),
    native=cholesky_gradient(),
    attrs={"T": (float32, float64)},
    grad=NO_GRADIENT,
    infer=_infer,
    doc=(
        "The gradient of symmetric matrices, given the gradient `grad` of their Cholesky factors "
        "`l`. Only lower triangles are read (S. P. Smith, 1995)."
    ),
)
