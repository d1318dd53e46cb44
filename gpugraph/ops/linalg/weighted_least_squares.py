"""Ops of the factorization of sparse matrices by weighted alternating least squares.

Source: Hu, Koren and Volinsky, "Collaborative Filtering for Implicit Feedback Datasets", 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op
from gpugraph.ops.framework.shape_functions import of_rank

_HOST = HostOnly("sums over the entries of sparse matrices are computed on the host")
_CHUNK = 1 << 22
"""The maximum number of products that are in memory at a time."""

Run = Callable[[], Any]


def _check_indices(indices: Any, column: int, size: int, name: str) -> Any:
    values = indices[:, column]
    if values.size and not 0 <= values.min() <= values.max() < size:
        raise invalid_argument(f"{name} must be in the range [0, {size})")
    return values


def _systems(
    factors: Any, weights: Any, targets: Any, rows: Any, columns: Any, count: int
) -> tuple[Any, Any]:
    """Return two sums over the entries of each row: the outer products of the factors, times the
    weights, and the factors, times the targets.
    """
    rank = factors.shape[1]
    left = np.zeros((count, rank, rank), np.float32)
    right = np.zeros((count, rank), np.float32)
    order = np.argsort(rows, kind="stable")
    ends = np.searchsorted(rows[order], np.arange(count + 1))
    for row in np.flatnonzero(np.diff(ends)):
        entries = order[ends[row] : ends[row + 1]]
        read = factors[columns[entries]]
        left[row] = (read * weights[entries, None]).T @ read
        right[row] = targets[entries] @ read
    return left, right


def _bind_systems(_: KernelContext, *arrays: Any) -> Run:
    (
        factors, factor_weights, unobserved, row_weights, indices, values, entry_weights, count,
        is_transposed,
    ) = arrays  # fmt: skip

    def run() -> list[Any]:
        size = int(count)
        row_column = int(bool(is_transposed))
        rows = _check_indices(indices, row_column, size, "the rows of input_indices")
        columns = _check_indices(
            indices, 1 - row_column, len(factors), "the columns of input_indices"
        )
        if entry_weights.size:
            weights = entry_weights
        else:
            weights = row_weights[rows] * factor_weights[columns]
        targets = values * (unobserved[()] + weights)
        return list(_systems(factors, weights, targets, rows, columns, size))

    return run


def _infer_systems(context: InferContext) -> Sequence[TensorShape]:
    _, rank = of_rank(context.shapes[0], 2, "factors")
    value = context.value(7)
    count = None if value is None else int(value)
    return [TensorShape.of((count, rank, rank)), TensorShape.of((count, rank))]


op(
    "WALSComputePartialLhsAndRhs",
    inputs="factors: matrix float32, factor_weights: vector float32, "
    "unobserved_weights: scalar float32, input_weights: vector float32, "
    "input_indices: matrix int64, input_values: vector float32, entry_weights: vector float32, "
    "input_block_size: scalar int64, input_is_transpose: scalar bool",
    outputs="partial_lhs: float32, partial_rhs: float32",
    infer=_infer_systems, cpu=Call(make=_bind_systems, dynamic=True, late=True), gpu=_HOST,
    grad=NO_GRADIENT, memory=OpMemory(host_inputs=(7,)),
    doc=(
        "The parts of the normal equations that the entries of a sparse matrix determine, for "
        "each row of the matrix."
    ),
)  # fmt: skip


def _bind_product(_: KernelContext, a: Any, b: Any, mask: Any, *flags: Any) -> Run:
    def run() -> list[Any]:
        left = a.T if flags[0] else a
        right = b if flags[1] else b.T
        if left.shape[1] != right.shape[1]:
            raise invalid_argument(
                f"The matrices have {left.shape[1]} and {right.shape[1]} columns and rows"
            )
        rows = _check_indices(mask, 0, len(left), "the rows of mask_indices")
        columns = _check_indices(mask, 1, len(right), "the columns of mask_indices")
        out = np.empty(len(mask), np.float32)
        step = max(1, _CHUNK // max(1, left.shape[1]))
        for start in range(0, len(mask), step):
            part = slice(start, start + step)
            out[part] = np.einsum("ij,ij->i", left[rows[part]], right[columns[part]])
        return [out]

    return run


def _infer_product(context: InferContext) -> Sequence[TensorShape]:
    count, _ = of_rank(context.shapes[2], 2, "mask_indices")
    return [TensorShape.of((count,))]


op(
    "MaskedMatmul",
    inputs="a: matrix float32, b: matrix float32, mask_indices: matrix int64, "
    "transpose_a: scalar bool, transpose_b: scalar bool",
    outputs="prod_values: float32",
    infer=_infer_product, cpu=Call(make=_bind_product, dynamic=True, late=True), gpu=_HOST,
    grad=NO_GRADIENT,
    doc="The elements of a matrix product at the given indices, [n, 2].",
)  # fmt: skip
