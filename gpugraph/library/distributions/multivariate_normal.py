"""Normal distributions over vectors: `tf.contrib.distributions.MultivariateNormalDiag` and
`MultivariateNormalTriL`.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distributions.distribution import Distribution, tensor_parameter
from gpugraph.library.distributions.distribution_parameters import FULLY_REPARAMETERIZED
from gpugraph.library.distributions.kullback_leibler import RegisterKL
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones, zeros_like
from gpugraph.ops.elementwise.unary_functions import abs as absolute, log, sqrt, square
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.linalg.matrix_diag_and_band import matrix_band_part
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag, matrix_diag_part
from gpugraph.ops.linalg.solve_and_cholesky import matrix_triangular_solve
from gpugraph.ops.random.random_ops import random_normal
from gpugraph.ops.reductions.reduction_functions import reduce_sum


class MultivariateNormalTriL(Distribution):
    """The distribution of loc + scale_tril @ z, where z is a vector of independent standard normal
    variables.

    Args:
      loc: the mean, [..., k]; 0 by default.
      scale_tril: a lower triangular matrix without zeros on its diagonal, [..., k, k]; the identity
        by default. The covariance is scale_tril @ transpose(scale_tril).
    """

    event_ranks: ClassVar[dict[str, int]] = {"loc": 1, "scale_tril": 2}
    loc = tensor_parameter("loc", "The mean.")

    def __init__(
        self,
        loc: Any = None,
        scale_tril: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name, values=[loc, scale_tril]) as name:
            if loc is None and scale_tril is None:
                raise ValueError("Must specify one or both of `loc`, `scale_tril`.")
            if scale_tril is None:
                loc = convert_to_tensor(loc, name="loc")
                scale_tril = matrix_diag(zeros_like(loc) + 1.0)
            else:
                scale_tril = matrix_band_part(scale_tril, -1, 0)
                loc = zeros_like(scale_tril[..., 0]) if loc is None else loc
            arguments = {**parameters, "loc": loc, "scale_tril": scale_tril, "name": name}
        self._start(arguments, FULLY_REPARAMETERIZED)
        self._parameters = parameters

    def _event_shape(self) -> Any:
        return self._tensors["scale_tril"].shape[-1:]

    def _event_shape_tensor(self) -> Tensor:
        return concat([[self._size()]], 0)

    def _size(self) -> Tensor:
        return Distribution._event_shape_tensor(self)[-1]

    # Methods that depend on the form of the scale, which a subclass replaces.

    def _scaled(self, noise: Any) -> Any:
        return matmul(self._tensors["scale_tril"], noise[..., None])[..., 0]

    def _solved(self, difference: Any) -> Any:
        matrix = self._tensors["scale_tril"]
        matrix = (
            matrix + zeros_like(difference)[..., None]
        )  # `matrix_triangular_solve` does not broadcast the batch axes
        return matrix_triangular_solve(matrix, difference[..., None])[..., 0]

    def _diagonal(self) -> Any:
        return matrix_diag_part(self._tensors["scale_tril"])

    def _matrix(self) -> Any:
        return self._tensors["scale_tril"]

    def _covariance(self) -> Any:
        matrix = self._matrix()
        return matmul(matrix, matrix, transpose_b=True)

    def _variance(self) -> Any:
        return reduce_sum(square(self._matrix()), -1)

    # Common methods.

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        sizes = concat([[n], self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        return self._scaled(random_normal(sizes, dtype=self.dtype, seed=seed)) + self.loc

    def _log_determinant(self) -> Any:
        return reduce_sum(log(absolute(self._diagonal())), -1)

    def _normalization(self) -> Any:
        return 0.5 * math.log(2.0 * math.pi) * cast(self._size(), self.dtype)

    def _log_prob(self, x: Any) -> Any:
        z = self._solved(x - self.loc)
        return -0.5 * reduce_sum(square(z), -1) - self._normalization() - self._log_determinant()

    def _entropy(self) -> Any:
        size = cast(self._size(), self.dtype)
        whole = ones(self.batch_shape_tensor(), self.dtype)
        return (self._normalization() + 0.5 * size + self._log_determinant()) * whole

    def _mean(self) -> Any:
        return identity(self.loc) + zeros_like(self._diagonal())

    def _mode(self) -> Any:
        return self._mean()

    def _stddev(self) -> Any:
        return sqrt(self._variance())


class MultivariateNormalDiag(MultivariateNormalTriL):
    """The normal distribution of a vector with independent elements.

    Args:
      loc: the mean, [..., k]; 0 by default.
      scale_diag: the standard deviations, [..., k]; 1 by default.
      scale_identity_multiplier: a number [...] that is added to `scale_diag`. If `scale_diag` is
        None, all standard deviations are this number.
    """

    event_ranks: ClassVar[dict[str, int]] = {"loc": 1, "scale_diag": 1}

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name, values=[loc, scale_diag, scale_identity_multiplier]) as name:
            if loc is None and scale_diag is None:
                raise ValueError("Must specify one or both of `loc`, `scale_diag`.")
            specified = loc if scale_diag is None else scale_diag
            like = zeros_like(
                convert_to_tensor(specified, name="loc" if specified is loc else "scale_diag")
            )
            multiplier = scale_identity_multiplier
            if multiplier is not None:
                multiplier = convert_to_tensor(multiplier, dtype=like.dtype)[..., None]
            scale = scale_diag
            if scale is None:
                scale = like + (1.0 if multiplier is None else multiplier)
            elif multiplier is not None:
                scale = scale + multiplier
            loc = like if loc is None else loc
            arguments = {**parameters, "loc": loc, "scale_diag": scale, "name": name}
        self._start(arguments, FULLY_REPARAMETERIZED)
        self._parameters = parameters

    def _event_shape(self) -> Any:
        return self._tensors["scale_diag"].shape[-1:]

    def _scaled(self, noise: Any) -> Any:
        return noise * self._diagonal()

    def _solved(self, difference: Any) -> Any:
        return difference / self._diagonal()

    def _diagonal(self) -> Any:
        return self._tensors["scale_diag"]

    def _matrix(self) -> Any:
        return matrix_diag(self._diagonal())

    def _covariance(self) -> Any:
        return matrix_diag(square(self._diagonal()))

    def _variance(self) -> Any:
        return square(self._diagonal()) + zeros_like(self.loc)

    def _stddev(self) -> Any:
        return absolute(self._diagonal()) + zeros_like(self.loc)


@RegisterKL(MultivariateNormalTriL, MultivariateNormalTriL)
def _divergence(
    a: MultivariateNormalTriL, b: MultivariateNormalTriL, name: str | None = None
) -> Tensor:
    """Return the Kullback-Leibler divergence KL(a || b).

    The divergence contains the trace of inverse(covariance of b) @ (covariance of a), which is
    computed as a sum over the columns of the scale of a.
    """
    with name_scope(name, "kl_mvn", [a.loc, b.loc]):
        columns = a._matrix()
        ratio = sum(
            reduce_sum(square(b._solved(columns[..., number])), -1)
            for number in range(int(a.event_shape[0]))
        )
        size = cast(a._size(), a.dtype)
        distance = reduce_sum(square(b._solved(b.loc - a.loc)), -1)
        determinants = b._log_determinant() - a._log_determinant()
        return determinants + 0.5 * (distance + ratio - size)
