"""Bijectors of matrices: vectors to triangles, Cholesky products, inverses, diagonals."""

from __future__ import annotations

import math
from typing import Any

from gpugraph.base.dtypes import float64, int32
from gpugraph.base.shapes import TensorShape
from gpugraph.building.checks import assert_positive
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.bijectors.affine_bijectors import AffineScalar
from gpugraph.library.bijectors.bijector import Bijector
from gpugraph.library.bijectors.combined_bijectors import Chain
from gpugraph.library.bijectors.elementwise_bijectors import Softplus
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.arrays.reverse import reverse
from gpugraph.ops.control.group_and_no_op import with_dependencies
from gpugraph.ops.elementwise.unary_functions import abs as absolute, log, sqrt
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.linalg.matrix_compositions import eye
from gpugraph.ops.linalg.matrix_diag_and_band import matrix_band_part
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag_part, matrix_set_diag
from gpugraph.ops.linalg.solve_and_cholesky import cholesky, matrix_triangular_solve
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_sum


def triangle_size(count: int) -> int:
    """Return the number of rows, n, of a triangle of n (n + 1) / 2 = `count` elements. Raises
    ValueError if there is no such n.
    """
    size = (math.isqrt(8 * count + 1) - 1) // 2
    if size * (size + 1) // 2 != count:
        raise ValueError(
            f"Input right-most shape ({count}) does not correspond to a triangular matrix."
        )
    return size


def fill_triangular(x: Any, upper: bool = False, name: str | None = None) -> Tensor:
    """Return triangular matrices [..., n, n] filled with vectors [..., n (n + 1) / 2].

    The elements are placed clockwise, starting with the last row: [1, 2, 3, 4, 5, 6] becomes [[4,
    0, 0], [6, 5, 0], [3, 2, 1]].

    Raises ValueError for a length that is not n (n + 1) / 2.

    Args:
      upper: whether to fill the upper triangle.
    """
    with name_scope(name, "fill_triangular", [x]):
        x = convert_to_tensor(x, name="x")
        count = x.shape.with_rank_at_least(1).as_list()[-1]
        if count is None:
            length = cast(shape(x)[-1], float64)
            size: Any = cast(sqrt(0.25 + 2.0 * length) - 0.5 + 1e-6, int32)
        else:
            size = triangle_size(int(count))
        rest = x[..., size:]
        parts = [x, reverse(rest, [-1])] if upper else [rest, reverse(x, [-1])]
        square = concat([shape(x)[:-1], [size, size]], 0)
        matrix = reshape(concat(parts, -1), square)
        result = matrix_band_part(matrix, 0 if upper else -1, -1 if upper else 0)
        if count is not None:
            result.set_shape(x.shape[:-1].concatenate(TensorShape([size, size])))
        return result


def _places(size: int, upper: bool) -> list[int]:
    """Return, for each element of a vector, its index in the flat matrix [size * size]."""
    count = size * (size + 1) // 2
    numbers = list(range(1, count + 1))
    rest = numbers[size:]
    flat = numbers + rest[::-1] if upper else rest + numbers[::-1]
    kept = [
        (number, place)
        for place, number in enumerate(flat)
        if (place // size <= place % size if upper else place // size >= place % size)
    ]
    return [place for _, place in sorted(kept)]


def fill_triangular_inverse(x: Any, upper: bool = False, name: str | None = None) -> Tensor:
    """Convert triangular matrices [..., n, n] to vectors [..., n (n + 1) / 2].

    This function is the inverse of `fill_triangular`.

    Raises ValueError if n is unknown.
    """
    with name_scope(name, "fill_triangular_inverse", [x]):
        x = convert_to_tensor(x, name="x")
        size = x.shape.with_rank_at_least(2).as_list()[-1]
        if size is None:
            raise ValueError(f"The size of the matrices must be known: {x}")
        flat = reshape(x, concat([shape(x)[:-2], [size * size]], 0))
        flat.set_shape(x.shape[:-2].concatenate(TensorShape([size * size])))
        return gather(flat, _places(size, upper), axis=-1)


class FillTriangular(Bijector):
    """A bijector from vectors [..., n (n + 1) / 2] to triangular matrices [..., n, n]."""

    def __init__(
        self, upper: bool = False, validate_args: bool = False, name: str = "fill_triangular"
    ) -> None:
        self._upper = upper
        super().__init__(
            forward_min_event_ndims=1,
            inverse_min_event_ndims=2,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x: Any) -> Any:
        return fill_triangular(x, self._upper)

    def _inverse(self, y: Any) -> Any:
        return fill_triangular_inverse(y, self._upper)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return zeros_like(x[..., 0])

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return zeros_like(y[..., 0, 0])

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        if not input_shape.ndims or input_shape.as_list()[-1] is None:
            return TensorShape(None)
        size = triangle_size(int(input_shape.as_list()[-1] or 0))
        return input_shape[:-1].concatenate(TensorShape([size, size]))

    def _inverse_event_shape(self, output_shape: TensorShape) -> TensorShape:
        if not output_shape.ndims or output_shape.as_list()[-1] is None:
            return TensorShape(None)
        sizes: list[Any] = output_shape.as_list()
        rows, columns = sizes[-2:]
        if rows != columns:
            raise ValueError(f"Matrix must be square. (saw [{rows}, {columns}])")
        return output_shape[:-2].concatenate(TensorShape([rows * (rows + 1) // 2]))

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        length = cast(input_shape[-1], float64)
        size = cast(sqrt(0.25 + 2.0 * length) - 0.5 + 1e-6, int32)
        return concat([input_shape[:-1], [size, size]], 0)

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        size = output_shape[-1]
        return concat([output_shape[:-2], [size * (size + 1) // 2]], 0)


class TransformDiagonal(Bijector):
    """A bijector of vectors, applied to the diagonals of matrices."""

    def __init__(
        self, diag_bijector: Bijector, validate_args: bool = False, name: str = "transform_diagonal"
    ) -> None:
        self._diag_bijector = diag_bijector
        super().__init__(
            forward_min_event_ndims=2,
            is_constant_jacobian=diag_bijector.is_constant_jacobian,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x: Any) -> Any:
        return matrix_set_diag(x, self._diag_bijector.forward(matrix_diag_part(x)))

    def _inverse(self, y: Any) -> Any:
        return matrix_set_diag(y, self._diag_bijector.inverse(matrix_diag_part(y)))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return self._diag_bijector.forward_log_det_jacobian(matrix_diag_part(x), event_ndims=1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return self._diag_bijector.inverse_log_det_jacobian(matrix_diag_part(y), event_ndims=1)


class ScaleTriL(Chain):
    """A bijector from vectors to lower triangular matrices with diagonal elements greater than
    `diag_shift`.

    Args:
      diag_bijector: the bijector of the diagonal, by default Softplus.
      diag_shift: a number that is added to the diagonal, by default 1e-5. If it is None, nothing is
        added.
    """

    def __init__(
        self,
        diag_bijector: Bijector | None = None,
        diag_shift: Any = 1e-5,
        validate_args: bool = False,
        name: str = "scale_tril",
    ) -> None:
        diagonal = diag_bijector or Softplus(validate_args=validate_args)
        if diag_shift is not None:
            diagonal = Chain([AffineScalar(shift=diag_shift), diagonal])
        parts = [TransformDiagonal(diagonal, validate_args=validate_args), FillTriangular()]
        super().__init__(parts, validate_args, name)


class CholeskyOuterProduct(Bijector):
    """The bijector y = x @ transpose(x) of lower triangular matrices x with a positive diagonal."""

    def __init__(self, validate_args: bool = False, name: str = "cholesky_outer_product") -> None:
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        if self.validate_args:
            words = "Diagonal must be positive."
            x = with_dependencies([assert_positive(matrix_diag_part(x), message=words)], x)
        return matmul(x, x, adjoint_b=True)

    def _inverse(self, y: Any) -> Any:
        return cholesky(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        diagonal = matrix_diag_part(x)
        size = shape(diagonal)[-1]
        powers = cast(range_of(size, 0, -1), diagonal.dtype)
        return reduce_sum(powers * log(diagonal), -1) + math.log(2.0) * cast(size, x.dtype)


class MatrixInverseTriL(Bijector):
    """The bijector from a lower triangular matrix to its inverse."""

    def __init__(self, validate_args: bool = False, name: str = "matrix_inverse_tril") -> None:
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        whole = eye(shape(x)[-1], batch_shape=shape(x)[:-2], dtype=x.dtype)
        return matrix_triangular_solve(x, whole, lower=True)

    def _inverse(self, y: Any) -> Any:
        return self._forward(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        size = cast(shape(x)[-1] + 1, x.dtype)
        return -size * reduce_sum(log(absolute(matrix_diag_part(x))), -1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return self._forward_log_det_jacobian(y)
