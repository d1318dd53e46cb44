"""Wishart distributions: distributions of sums of outer products of normal vectors."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distributions.distribution import Distribution, derived_seed, tensor_parameter
from gpugraph.library.distributions.distribution_parameters import FULLY_REPARAMETERIZED
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones, zeros_like
from gpugraph.ops.elementwise.unary_functions import log, sqrt, square
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.linalg.matrix_diag_and_band import matrix_band_part
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag_part, matrix_set_diag
from gpugraph.ops.linalg.solve_and_cholesky import cholesky, matrix_triangular_solve
from gpugraph.ops.random.gamma_and_poisson import random_gamma
from gpugraph.ops.random.random_ops import random_normal
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_sum
from gpugraph.ops.special_functions.gamma_and_zeta import digamma, lgamma


class _Wishart(Distribution):
    """Base class of the two Wishart distributions. It holds the Cholesky factor of the scale
    matrix.
    """

    event_ranks: ClassVar[dict[str, int]] = {"df": 0, "factor": 2}
    df = tensor_parameter("df", "The degrees of freedom.")

    def _start_wishart(self, arguments: dict[str, Any], factor: Any, name: str) -> None:
        parameters = {k: v for k, v in arguments.items() if k not in ("self", "__class__")}
        self._factored = arguments["cholesky_input_output_matrices"]
        df = convert_to_tensor(arguments["df"], factor.dtype, name="df")
        self._start({**parameters, "df": df, "factor": factor, "name": name}, FULLY_REPARAMETERIZED)
        self._parameters = parameters

    @property
    def cholesky_input_output_matrices(self) -> bool:
        """Whether events are the Cholesky factors of matrices."""
        return bool(self._factored)

    @property
    def dimension(self) -> Tensor:
        """The number of rows of an event."""
        return shape(self._tensors["factor"])[-1]

    def scale(self) -> Tensor:
        """Return the scale matrix. If events are Cholesky factors, return the Cholesky factor of
        the scale matrix.
        """
        factor: Tensor = self._tensors["factor"]
        return factor if self._factored else matmul(factor, factor, adjoint_b=True)

    def _event_shape(self) -> TensorShape:
        factor: Tensor = self._tensors["factor"]
        return factor.shape[-2:]

    def _size(self) -> Tensor:
        return cast(self.dimension, self.dtype)

    def _halves(self) -> Any:
        """Return (df - i) / 2 for each row i."""
        rows = cast(range_of(self.dimension), self.dtype)
        return 0.5 * (self.df[..., None] - rows)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        factor = self._tensors["factor"]
        batch = self.batch_shape_tensor()
        sizes = concat([[n], batch, shape(factor)[-2:]], 0)
        noise = random_normal(sizes, 0.0, 1.0, self.dtype, derived_seed(seed, "wishart"))
        halves = self._halves() + zeros_like(matrix_diag_part(factor))
        squares = random_gamma([n], halves, 0.5, self.dtype, derived_seed(seed, "beta"))
        lower = matrix_set_diag(matrix_band_part(noise, -1, 0), sqrt(squares))
        root = matmul(factor + zeros_like(lower), lower)
        return root if self._factored else matmul(root, root, adjoint_b=True)

    def _log_normalization(self) -> Any:
        factor = self._tensors["factor"]
        size = self._size()
        gammas = reduce_sum(lgamma(self._halves()), -1) + 0.25 * size * (size - 1.0) * math.log(
            math.pi
        )
        determinant = 2.0 * reduce_sum(log(matrix_diag_part(factor)), -1)
        return self.df * (0.5 * size * math.log(2.0) + 0.5 * determinant) + gammas

    def _log_prob(self, x: Any) -> Any:
        root = x if self._factored else cholesky(x)
        factor = self._tensors["factor"] + zeros_like(root)
        root = root + zeros_like(factor)
        solved = matrix_triangular_solve(factor, root, lower=True)
        trace = reduce_sum(square(solved), [-2, -1])
        determinant = 2.0 * reduce_sum(log(matrix_diag_part(root)), -1)
        density = (
            0.5 * (self.df - self._size() - 1.0) * determinant
            - 0.5 * trace
            - self._log_normalization()
        )
        if not self._factored:
            return density
        powers = cast(range_of(self.dimension, 0, -1), self.dtype)
        change = reduce_sum(powers * log(matrix_diag_part(root)), -1)
        return density + change + self._size() * math.log(2.0)

    def mean_log_det(self, name: str = "mean_log_det") -> Tensor:
        """Return the mean of the logarithm of the determinant."""
        with self._name_scope(name):
            determinant = 2.0 * reduce_sum(log(matrix_diag_part(self._tensors["factor"])), -1)
            halves: Tensor = reduce_sum(digamma(self._halves()), -1)
            return halves + self._size() * math.log(2.0) + determinant

    def _entropy(self) -> Any:
        size = self._size()
        half = 0.5 * (self.df - size - 1.0)
        return self._log_normalization() - half * self.mean_log_det() + 0.5 * self.df * size

    def _mean(self) -> Any:
        factor = self._tensors["factor"]
        if self._factored:
            return sqrt(self.df)[..., None, None] * factor
        return self.df[..., None, None] * matmul(factor, factor, adjoint_b=True)

    def _variance(self) -> Any:
        factor = self._tensors["factor"]
        matrix = matmul(factor, factor, adjoint_b=True)
        diagonal = matrix_diag_part(matrix)
        outer = diagonal[..., None] * diagonal[..., None, :]
        variance = self.df[..., None, None] * (square(matrix) + outer)
        return cholesky(variance) if self._factored else variance

    def _mode(self) -> Any:
        factor = self._tensors["factor"]
        freedom = (self.df - self._size() - 1.0) * ones([], self.dtype)
        if self._factored:
            return sqrt(freedom)[..., None, None] * factor
        return freedom[..., None, None] * matmul(factor, factor, adjoint_b=True)


class WishartCholesky(_Wishart):
    """The Wishart distribution, given the Cholesky factor `scale` [..., k, k] of the scale matrix.

    Args:
      df: the degrees of freedom, at least k.
      cholesky_input_output_matrices: whether events are Cholesky factors.
    """

    def __init__(
        self,
        df: Any,
        scale: Any,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartCholesky",
    ) -> None:
        arguments = locals()
        with name_scope(name, values=[scale]) as scope:
            factor = matrix_band_part(convert_to_tensor(scale, name="scale"), -1, 0)
            self._start_wishart(arguments, factor, scope)


class WishartFull(_Wishart):
    """The Wishart distribution, given the scale matrix `scale` [..., k, k].

    For the other arguments, see `WishartCholesky`.
    """

    def __init__(
        self,
        df: Any,
        scale: Any,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartFull",
    ) -> None:
        arguments = locals()
        with name_scope(name, values=[scale]) as scope:
            factor = cholesky(convert_to_tensor(scale, name="scale"))
            self._start_wishart(arguments, factor, scope)
