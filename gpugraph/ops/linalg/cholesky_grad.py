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
from gpugraph.ops.linalg.solve_and_cholesky import infer_square, solve_triangle


def _infer(context: InferContext) -> Sequence[TensorShape]:
    infer_square(context)
    return [context.shapes[0].merge_with(context.shapes[1])]


def _bind(_: KernelContext, factors: Any, slopes: Any, out: Any) -> Callable[[], Any]:
    diagonal = np.arange(factors.shape[-1])

    def run() -> None:
        if not out.size:
            return
        lower = np.tril(factors)
        middle = np.tril(np.swapaxes(lower, -1, -2) @ np.tril(slopes))
        middle[..., diagonal, diagonal] /= 2
        transposed = np.swapaxes(lower, -1, -2)
        left, whole = np.empty_like(out), np.empty_like(out)
        solve_triangle(transposed, middle, False, left)
        solve_triangle(transposed, np.swapaxes(left, -1, -2), False, whole)
        np.copyto(out, (whole + np.swapaxes(whole, -1, -2)) / 2)

    return run


op(
    "CholeskyGrad",
    inputs="l: T, grad: T",
    outputs="output: T",
    **numpy_kernels(Call(make=_bind, by_lapack=True)),
    attrs={"T": (float32, float64)},
    grad=NO_GRADIENT,
    infer=_infer,
    doc=(
        "The gradient of symmetric matrices, given the gradient `grad` of their Cholesky factors "
        "`l`. Only lower triangles are read (S. P. Smith, 1995)."
    ),
)
