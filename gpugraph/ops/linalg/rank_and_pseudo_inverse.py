"""Ranks and pseudo-inverses of matrices, and normalization of tensors. Ranks and pseudo-inverses
are computed from singular values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.linalg.matrix_compositions import norm
from gpugraph.ops.linalg.svd_qr_eigh import svd
from gpugraph.ops.reductions.reduction_functions import reduce_max, reduce_sum


def _matrices(a: Any, validate: bool) -> Tensor:
    """Convert `a` to a tensor. Raises TypeError if its dtype is neither floating-point nor complex.

    Raises ValueError if the rank is below 2, or if `validate` is set and the rank is unknown.
    """
    matrices = convert_to_tensor(a, name="a")
    if not (matrices.dtype.is_floating or matrices.dtype.is_complex):
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {matrices.dtype.name}).")
    rank = matrices.shape.rank
    if rank is not None and rank < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {rank}).")
    if validate and rank is None:
        raise ValueError("The rank of `a` must be known.")
    return matrices


def _longer(matrices: Tensor) -> Any:
    """Return the number of rows or the number of columns, whichever is larger. It is an int if it
    is known, otherwise a scalar tensor.
    """
    sizes = matrices.shape.sizes
    if sizes is not None and None not in sizes[-2:]:
        return max(sizes[-2:])  # type: ignore[type-var]
    real = np.finfo(matrices.dtype.as_numpy_dtype).dtype
    return cast(reduce_max(raw_ops.Shape(matrices)[-2:]), real)


def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Return the ranks, int32 [...], of matrices [..., m, n]. The rank is the number of singular
    values above `tol`.

    Raises ValueError if the tensor's rank is below 2, or if `validate_args` is set and that rank is
    unknown.

    Args:
      tol: by default the largest singular value times max(m, n) times the dtype's machine epsilon.
    """
    with op_scope(name, "matrix_rank", a, tol):
        matrices = _matrices(a, validate_args)
        values = svd(matrices, compute_uv=False)
        if tol is None:
            real = values.dtype.as_numpy_dtype
            longer = cast(_longer(matrices), values.dtype)
            tol = np.finfo(real).eps * longer * reduce_max(values, [-1], True)
        return reduce_sum(cast(raw_ops.Greater(values, tol), dtypes.int32), [-1])


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Return the pseudo-inverses, [..., n, m], of matrices [..., m, n].

    Raises the same errors as `matrix_rank`.

    Args:
      rcond: a tensor of shape [...], a fraction of the largest singular value. Singular values up
        to this fraction are treated as 0. The default is 10 max(m, n) times the dtype's machine
        epsilon.
    """
    with op_scope(name, "pinv", a):
        matrices = _matrices(a, validate_args)
        real = np.finfo(matrices.dtype.as_numpy_dtype)
        if rcond is None:
            rcond = 10.0 * real.eps * _longer(matrices)
        relative_cutoff = convert_to_tensor(rcond, real.dtype, name="rcond")
        values, left, right = svd(matrices, full_matrices=False, compute_uv=True)
        cutoff = relative_cutoff * reduce_max(values, -1)
        last, rows = np.array(-1, np.int32), np.array(-2, np.int32)
        counts = raw_ops.Greater(values, raw_ops.ExpandDims(cutoff, last))
        inverse = raw_ops.SelectV2(counts, values, real.dtype.type(np.inf))
        scaled = right / cast(raw_ops.ExpandDims(inverse, rows), right.dtype)
        product = matmul(scaled, left, adjoint_b=True)
        sizes = matrices.shape.sizes
        if sizes is not None:
            product.set_shape((*sizes[:-2], sizes[-1], sizes[-2]))
        return product


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return (`tensor` divided by its norm, the norm). In the norm, the axes over which it is
    computed have size 1.

    See `norm` for the arguments.
    """
    with op_scope(name, "normalize", tensor):
        source = convert_to_tensor(tensor)
        size = norm(source, ord, axis, True)
        return source / cast(size, source.dtype), size
