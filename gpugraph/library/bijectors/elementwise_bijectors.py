"""Bijectors that transform each element: exponentials, sigmoids, powers and others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpugraph.building.checks import assert_non_negative, assert_positive
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.library.bijectors.bijector import Bijector
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.control.group_and_no_op import with_dependencies
from gpugraph.ops.elementwise.comparison_and_select import where_v2
from gpugraph.ops.elementwise.trigonometry import asinh, cosh, sinh
from gpugraph.ops.elementwise.unary_functions import (
    abs as absolute,
    exp,
    expm1,
    log,
    log1p,
    sigmoid,
    softplus,
    sqrt,
    square,
)
from gpugraph.ops.elementwise.xlogy_and_nextafter import xlogy
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def softplus_inverse(x: Any, name: str | None = None) -> Any:
    """Return log(exp(x) - 1), the inverse of softplus, for all x > 0 without overflow."""
    with name_scope(name, "softplus_inverse", [x]):
        x = convert_to_tensor(x, name="x")
        threshold = math.log(np.finfo(x.dtype.as_numpy_dtype).eps) + 2.0
        is_small, is_large = x < math.exp(threshold), x > -threshold
        inner = where_v2(is_small | is_large, zeros_like(x) + 1.0, x)
        middle = inner + log(-expm1(-inner))
        return where_v2(is_small, log(x), where_v2(is_large, x, middle))


class ElementwiseBijector(Bijector):
    """Base class of bijectors that transform each element separately."""

    def __init__(
        self, validate_args: bool = False, name: str | None = None, **options: Any
    ) -> None:
        super().__init__(
            validate_args=validate_args, forward_min_event_ndims=0, name=name, **options
        )

    def _positive(self, x: Any, words: str) -> Any:
        if not self.validate_args:
            return x
        return with_dependencies([assert_positive(x, message=words)], x)


class Identity(ElementwiseBijector):
    """y = x."""

    def __init__(self, validate_args: bool = False, name: str = "identity") -> None:
        super().__init__(validate_args, name, is_constant_jacobian=True)

    def _forward(self, x: Any) -> Any:
        return x

    def _inverse(self, y: Any) -> Any:
        return y

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return convert_to_tensor(0.0, y.dtype)


class PowerTransform(ElementwiseBijector):
    """The bijector y = (1 + x * power)**(1 / power), which is exp(x) if power is 0."""

    def __init__(
        self, power: float = 0.0, validate_args: bool = False, name: str = "power_transform"
    ) -> None:
        if power is None or power < 0:
            raise ValueError("`power` must be a non-negative TF constant.")
        self._power = power
        super().__init__(validate_args, name)

    @property
    def power(self) -> float:
        """The exponent of the transform. If the exponent is 0, y = exp(x)."""
        return self._power

    def _forward(self, x: Any) -> Any:
        if self._power == 0:
            return exp(x)
        x = self._positive(
            x * self._power + 1.0, "Forward transformation input must be > -1/power."
        )
        return exp(log(x) / self._power)

    def _inverse(self, y: Any) -> Any:
        y = self._positive(y, "Inverse transformation input must be greater than 0.")
        return log(y) if self._power == 0 else expm1(log(y) * self._power) / self._power

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return (self._power - 1.0) * log(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if self._power == 0:
            return x
        return (1.0 / self._power - 1.0) * log1p(x * self._power)


class Exp(PowerTransform):
    """y = exp(x)."""

    def __init__(self, validate_args: bool = False, name: str = "exp") -> None:
        super().__init__(0.0, validate_args, name)


class Sigmoid(ElementwiseBijector):
    """y = 1 / (1 + exp(-x))."""

    def __init__(self, validate_args: bool = False, name: str = "sigmoid") -> None:
        super().__init__(validate_args, name)

    def _forward(self, x: Any) -> Any:
        return sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return log(y) - log1p(-y)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -log1p(-y) - log(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -softplus(-x) - softplus(x)


class Softplus(ElementwiseBijector):
    """y = hinge_softness * log(1 + exp(x / hinge_softness))."""

    def __init__(
        self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus"
    ) -> None:
        with name_scope(name, values=[hinge_softness]):
            self._softness = (
                1.0
                if hinge_softness is None
                else convert_to_tensor(hinge_softness, name="hinge_softness")
            )
        super().__init__(validate_args, name)

    @property
    def hinge_softness(self) -> Any:
        """The softness of the bend at 0. A larger value makes the bend smoother."""
        return self._softness

    def _forward(self, x: Any) -> Any:
        return self._softness * softplus(x / self._softness)

    def _inverse(self, y: Any) -> Any:
        return self._softness * softplus_inverse(y / self._softness)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -log(-expm1(-y / self._softness))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -softplus(-x / self._softness)


class Softsign(ElementwiseBijector):
    """y = x / (1 + |x|)."""

    def __init__(self, validate_args: bool = False, name: str = "softsign") -> None:
        super().__init__(validate_args, name)

    def _forward(self, x: Any) -> Any:
        return x / (1.0 + absolute(x))

    def _inverse(self, y: Any) -> Any:
        return y / (1.0 - absolute(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -2.0 * log1p(absolute(x))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -2.0 * log1p(-absolute(y))


class Square(ElementwiseBijector):
    """The bijector y = x**2, for x >= 0."""

    def __init__(self, validate_args: bool = False, name: str = "square") -> None:
        super().__init__(validate_args, name)

    def _checked(self, x: Any, name: str) -> Any:
        if not self.validate_args:
            return x
        words = f"All elements of {name} must be non-negative."
        return with_dependencies([assert_non_negative(x, message=words)], x)

    def _forward(self, x: Any) -> Any:
        return square(self._checked(x, "x"))

    def _inverse(self, y: Any) -> Any:
        return sqrt(self._checked(y, "y"))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return math.log(2.0) + log(self._checked(x, "x"))


class AbsoluteValue(ElementwiseBijector):
    """The function y = |x|. Its inverse returns the tuple (-y, y)."""

    _is_injective = False

    def __init__(self, validate_args: bool = False, name: str = "absolute_value") -> None:
        super().__init__(validate_args, name, is_constant_jacobian=True)

    def _forward(self, x: Any) -> Any:
        return absolute(x)

    def _inverse(self, y: Any) -> Any:
        if self.validate_args:
            words = "Argument y was negative"
            y = with_dependencies([assert_non_negative(y, message=words)], y)
        return -y, y

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        zero = convert_to_tensor(0.0, y.dtype)
        return zero, zero


class Gumbel(ElementwiseBijector):
    """y = exp(-exp(-(x - loc) / scale)), the distribution function of Gumbel's distribution."""

    def __init__(
        self, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool = False, name: str = "gumbel"
    ) -> None:
        with name_scope(name, values=[loc, scale]):
            self._loc = convert_to_tensor(loc, name="loc")
            self._scale_of_x = convert_to_tensor(scale, self._loc.dtype, name="scale")
        super().__init__(validate_args, name, graph_parents=[self._loc, self._scale_of_x])

    @property
    def loc(self) -> Any:
        """The location of Gumbel's distribution."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The scale of Gumbel's distribution."""
        return self._scale_of_x

    def _forward(self, x: Any) -> Any:
        return exp(-exp(-(x - self._loc) / self._scale_of_x))

    def _inverse(self, y: Any) -> Any:
        return self._loc - self._scale_of_x * log(-log(y))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return log(self._scale_of_x / (-log(y) * y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        z = (x - self._loc) / self._scale_of_x
        return -z - exp(-z) - log(self._scale_of_x)


class Weibull(ElementwiseBijector):
    """y = 1 - exp(-(x / scale)**concentration), for x >= 0."""

    def __init__(
        self,
        scale: Any = 1.0,
        concentration: Any = 1.0,
        validate_args: bool = False,
        name: str = "weibull",
    ) -> None:
        with name_scope(name, values=[scale, concentration]):
            self._scale_of_x = convert_to_tensor(scale, name="scale")
            self._concentration = convert_to_tensor(concentration, name="concentration")
        parents = [self._scale_of_x, self._concentration]
        super().__init__(validate_args, name, graph_parents=parents)

    @property
    def scale(self) -> Any:
        """The scale of Weibull's distribution."""
        return self._scale_of_x

    @property
    def concentration(self) -> Any:
        """The exponent."""
        return self._concentration

    def _forward(self, x: Any) -> Any:
        return -expm1(-((x / self._scale_of_x) ** self._concentration))

    def _inverse(self, y: Any) -> Any:
        return self._scale_of_x * (-log1p(-y)) ** (1 / self._concentration)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        powers = (1 / self._concentration - 1) * log(-log1p(-y))
        return -log1p(-y) + powers + log(self._scale_of_x / self._concentration)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        z = x / self._scale_of_x
        powers = xlogy(self._concentration - 1, z) - z**self._concentration
        return powers + log(self._concentration) - log(self._scale_of_x)


class Kumaraswamy(ElementwiseBijector):
    """y = (1 - (1 - x)**(1 / concentration0))**(1 / concentration1), for x in [0, 1]."""

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        name: str = "kumaraswamy",
    ) -> None:
        with name_scope(name, values=[concentration1, concentration0]):
            self._outer = convert_to_tensor(concentration1, name="concentration1")
            self._inner = convert_to_tensor(concentration0, name="concentration0")
        super().__init__(validate_args, name, graph_parents=[self._outer, self._inner])

    @property
    def concentration1(self) -> Any:
        """The exponent of x in the inverse function. The inverse is a distribution function."""
        return self._outer

    @property
    def concentration0(self) -> Any:
        """The exponent of 1 - x**concentration1 in the inverse, the distribution function."""
        return self._inner

    def _forward(self, x: Any) -> Any:
        return exp(log1p(-exp(log1p(-x) / self._inner)) / self._outer)

    def _inverse(self, y: Any) -> Any:
        return -expm1(self._inner * log1p(-(y**self._outer)))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        rest = xlogy(self._inner - 1, -expm1(self._outer * log(y)))
        return log(self._outer) + log(self._inner) + xlogy(self._outer - 1, y) + rest


class SinhArcsinh(ElementwiseBijector):
    """y = sinh((asinh(x) + skewness) * tailweight)."""

    def __init__(
        self,
        skewness: Any = None,
        tailweight: Any = None,
        validate_args: bool = False,
        name: str = "SinhArcsinh",
    ) -> None:
        with name_scope(name, values=[skewness, tailweight]):
            self._tailweight = convert_to_tensor(
                1.0 if tailweight is None else tailweight, name="tailweight"
            )
            self._skewness = convert_to_tensor(
                0.0 if skewness is None else skewness, self._tailweight.dtype, name="skewness"
            )
            if validate_args:
                words = "Argument tailweight was not positive"
                checks = [assert_positive(self._tailweight, message=words)]
                self._tailweight = with_dependencies(checks, identity(self._tailweight))
        super().__init__(validate_args, name)

    @property
    def skewness(self) -> Any:
        """The skewness. If the skewness is 0, y is as symmetric as x."""
        return self._skewness

    @property
    def tailweight(self) -> Any:
        """The weight of the tails. If the weight is 1, y has the same tails as x."""
        return self._tailweight

    def _forward(self, x: Any) -> Any:
        return sinh((asinh(x) + self._skewness) * self._tailweight)

    def _inverse(self, y: Any) -> Any:
        return sinh(asinh(y) / self._tailweight - self._skewness)

    def _slope(self, x: Any, angle: Any) -> Any:
        return log(cosh(angle)) - 0.5 * log1p(square(x))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        slope = self._slope(y, asinh(y) / self._tailweight - self._skewness)
        return slope - log(self._tailweight)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        slope = self._slope(x, (asinh(x) + self._skewness) * self._tailweight)
        return slope + log(self._tailweight)
