"""Distributions whose positive parameters are computed from arbitrary numbers, with softplus or the
absolute value.
"""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.library.distributions.gamma_family_distributions import Beta, Exponential, Gamma
from gpugraph.library.distributions.location_scale_distributions import Laplace, Normal, StudentT
from gpugraph.library.distributions.multivariate_normal import MultivariateNormalDiag
from gpugraph.library.more_distributions.continuous_distributions import Chi2, InverseGamma
from gpugraph.ops.elementwise.unary_functions import abs as absolute, floor, softplus


class BetaWithSoftplusConcentration(Beta):
    """A Beta distribution with softplus(concentration1) and softplus(concentration0)."""

    def __init__(
        self,
        concentration1: Any,
        concentration0: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "BetaWithSoftplusConcentration",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name) as scope:
            values = softplus(concentration1), softplus(concentration0)
            super().__init__(*values, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class ExponentialWithSoftplusRate(Exponential):
    """An Exponential distribution with softplus(rate)."""

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name) as scope:
            super().__init__(softplus(rate), validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class GammaWithSoftplusConcentrationRate(Gamma):
    """A Gamma distribution with softplus(concentration) and softplus(rate)."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name) as scope:
            values = softplus(concentration), softplus(rate)
            super().__init__(*values, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """An InverseGamma distribution with softplus(concentration) and softplus(rate)."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGammaWithSoftplusConcentrationRate",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name) as scope:
            values = softplus(concentration), softplus(rate)
            super().__init__(*values, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class LaplaceWithSoftplusScale(Laplace):
    """A Laplace distribution with the scale softplus(scale)."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "LaplaceWithSoftplusScale",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name) as scope:
            super().__init__(loc, softplus(scale), validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class NormalWithSoftplusScale(Normal):
    """A Normal distribution with the scale softplus(scale)."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name) as scope:
            super().__init__(loc, softplus(scale), validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class StudentTWithAbsDfSoftplusScale(StudentT):
    """A StudentT distribution with floor(abs(df)) degrees of freedom and the scale
    softplus(scale).
    """

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentTWithAbsDfSoftplusScale",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name) as scope:
            values = floor(absolute(df)), loc, softplus(scale)
            super().__init__(*values, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class Chi2WithAbsDf(Chi2):
    """A Chi2 distribution with floor(abs(df)) degrees of freedom."""

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2WithAbsDf",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name) as scope:
            super().__init__(floor(absolute(df)), validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """A MultivariateNormalDiag distribution with the standard deviations softplus(scale_diag)."""

    def __init__(
        self,
        loc: Any,
        scale_diag: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagWithSoftplusScale",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name) as scope:
            super().__init__(loc, softplus(scale_diag), None, validate_args, allow_nan_stats, scope)
        self._parameters = parameters
