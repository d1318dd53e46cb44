"""Normal distributions of vectors with various forms of the scale, and distributions of linearly
transformed vectors.
"""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.bijectors.affine_bijectors import AffineLinearOperator, scale_operator
from gpugraph.library.bijectors.combined_bijectors import Chain
from gpugraph.library.bijectors.elementwise_bijectors import SinhArcsinh
from gpugraph.library.distributions.distribution import Distribution
from gpugraph.library.distributions.gamma_family_distributions import Exponential
from gpugraph.library.distributions.location_scale_distributions import Laplace, Normal
from gpugraph.library.distributions.multivariate_normal import MultivariateNormalTriL
from gpugraph.library.linear_operators import LinearOperatorDiag
from gpugraph.library.more_distributions.transformed_distributions import TransformedDistribution
from gpugraph.ops.arrays.constants_and_placeholders import ones_like, zeros_like
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag
from gpugraph.ops.linalg.solve_and_cholesky import cholesky


class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """The normal distribution of a vector with the covariance `covariance_matrix` [..., k, k].

    Args:
      loc: the mean, [..., k]; 0 by default.
    """

    def __init__(
        self,
        loc: Any = None,
        covariance_matrix: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name, values=[loc, covariance_matrix]) as scope:
            factor = None
            if covariance_matrix is not None:
                factor = cholesky(convert_to_tensor(covariance_matrix, name="covariance_matrix"))
            super().__init__(loc, factor, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class MultivariateNormalDiagPlusLowRank(MultivariateNormalTriL):
    """The normal distribution of loc + S @ z, where z is a vector of standard normal variables.

    S is a diagonal matrix plus a product of narrow matrices: diag(scale_diag +
    scale_identity_multiplier) + scale_perturb_factor @ diag(scale_perturb_diag) @
    transpose(scale_perturb_factor).
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagPlusLowRank",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name, values=[loc, scale_diag, scale_perturb_factor]) as scope:
            known = next(
                (v for v in (scale_diag, loc) if v is not None),
                None if scale_perturb_factor is None else scale_perturb_factor,
            )
            if known is None:
                raise ValueError("Must specify one or both of `loc`, `scale_diag`.")
            like = None if loc is None else convert_to_tensor(loc)
            operator = scale_operator(
                scale_identity_multiplier, scale_diag, None, scale_perturb_factor,
                scale_perturb_diag, like,
            )  # fmt: skip
            if operator is None:
                operator = LinearOperatorDiag(ones_like(convert_to_tensor(loc)))
            dense = operator.to_dense()
            factor = cholesky(matmul(dense, dense, transpose_b=True))
            super().__init__(loc, factor, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class _AffineVector(TransformedDistribution):
    """Base class of the distributions of loc + diag(scale) @ z, where z is a vector of identically
    distributed variables.
    """

    def _start_vector(
        self, arguments: dict[str, Any], standard: Distribution, bijectors: tuple[Any, ...] = ()
    ) -> None:
        parameters = {k: v for k, v in arguments.items() if k not in ("self", "__class__")}
        loc, diag = arguments["loc"], arguments["scale_diag"]
        if loc is None and diag is None:
            raise ValueError("Must specify one or both of `loc`, `scale_diag`.")
        with name_scope(arguments["name"]) as scope:
            like = convert_to_tensor(loc if diag is None else diag)
            multiplier = arguments["scale_identity_multiplier"]
            scale = ones_like(like) if diag is None and multiplier is None else zeros_like(like)
            scale = scale if diag is None else scale + diag
            if multiplier is not None:
                scale = scale + convert_to_tensor(multiplier, like.dtype)[..., None]
            operator = LinearOperatorDiag(scale, is_non_singular=True)
            shift = None if loc is None else convert_to_tensor(loc, like.dtype)
            affine = AffineLinearOperator(shift, operator)
            whole = operator.shape if shift is None else (scale + shift).shape
            sizes = whole[:-1] if shift is None else whole
            batch = sizes[:-1].as_list()
            super().__init__(
                standard,
                Chain([affine, *bijectors]) if bijectors else affine,
                batch_shape=batch,
                event_shape=sizes[-1:].as_list(),
                validate_args=arguments["validate_args"],
                name=scope,
            )
        self._loc, self._operator, self._scale_vector = shift, operator, scale
        self._parameters = parameters

    @property
    def loc(self) -> Any:
        """The location, or None."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The scale, as an operator."""
        return self._operator

    def _moved(self, value: Any) -> Any:
        return value if self._loc is None else value + self._loc


class VectorLaplaceDiag(_AffineVector):
    """The distribution of loc + diag(scale) @ z, where z is a vector of standard Laplace
    variables.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorLaplaceDiag",
    ) -> None:
        arguments = locals()
        zero = _zero(loc, scale_diag)
        self._start_vector(arguments, Laplace(zero, zero + 1.0))

    def _mean(self) -> Any:
        return self._moved(zeros_like(self._scale_vector))

    def _variance(self) -> Any:
        return 2.0 * self._scale_vector**2 + zeros_like(self._mean())

    def _covariance(self) -> Any:
        return matrix_diag(self._variance())

    def _mode(self) -> Any:
        return self._mean()


class VectorExponentialDiag(_AffineVector):
    """The distribution of loc + diag(scale) @ z, where z is a vector of standard exponential
    variables.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorExponentialDiag",
    ) -> None:
        arguments = locals()
        self._start_vector(arguments, Exponential(_zero(loc, scale_diag) + 1.0))

    def _mean(self) -> Any:
        return self._moved(self._scale_vector * 1.0)

    def _variance(self) -> Any:
        return self._scale_vector**2 + zeros_like(self._mean())

    def _covariance(self) -> Any:
        return matrix_diag(self._variance())

    def _mode(self) -> Any:
        return self._moved(zeros_like(self._scale_vector))


class VectorSinhArcsinhDiag(_AffineVector):
    """The distribution of loc + diag(scale) @ F(z), where z is a vector of standard normal
    variables.

    F is composed of sinh and asinh. Its parameters are a skewness and a tail weight.

    Args:
      distribution: the distribution of the elements of z, if it is not standard normal.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        skewness: Any = None,
        tailweight: Any = None,
        distribution: Distribution | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorSinhArcsinhDiag",
    ) -> None:
        arguments = locals()
        zero = _zero(loc, scale_diag)
        tails = zero + (1.0 if tailweight is None else tailweight)
        skew = zero + (0.0 if skewness is None else skewness)
        factor = 2.0 / SinhArcsinh(zero, tails).forward(zero + 2.0)
        standard = distribution or Normal(zero, zero + 1.0)
        scale = factor if scale_diag is None else factor * scale_diag
        values = {**arguments, "scale_diag": scale, "loc": loc}
        if scale_diag is None and loc is not None:
            values["scale_diag"] = zeros_like(convert_to_tensor(loc)) + factor
        self._start_vector(values, standard, (SinhArcsinh(skew, tails),))
        self._parameters = {k: v for k, v in arguments.items() if k not in ("self", "__class__")}


def _zero(loc: Any, scale_diag: Any) -> Tensor:
    """Return 0 in the dtype of the parameters."""
    like = loc if scale_diag is None else scale_diag
    return convert_to_tensor(0.0, convert_to_tensor(0.0 if like is None else like).dtype)
