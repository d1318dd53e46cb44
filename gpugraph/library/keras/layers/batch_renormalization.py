"""Batch renormalization: corrects outputs in training towards moving averages, within bounds.

Ioffe 2017, Batch Renormalization: Towards Reducing Minibatch Dependence in Batch-Normalized Models
(arXiv:1702.03275).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from gpugraph.building.control_flow.smart_cond import smart_cond
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.ops.arrays.constants_and_placeholders import ones_like, zeros_like
from gpugraph.ops.elementwise.arithmetic_functions import maximum, minimum
from gpugraph.ops.elementwise.unary_functions import sqrt
from gpugraph.ops.framework.identity_and_shape import identity, stop_gradient

_BOUNDS = ("rmax", "rmin", "dmax")


def checked_clipping(clipping: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the bounds of `renorm_clipping` as a dict. Raises ValueError for unknown keys."""
    bounds = dict(clipping or {})
    if set(bounds) - set(_BOUNDS):
        raise ValueError(f"renorm_clipping {bounds} contains keys not in {list(_BOUNDS)}")
    return bounds


class DeviationInitializer:
    """An initializer of standard deviations: it returns the square roots of values from an
    initializer of variances.
    """

    def __init__(self, of_variance: Any) -> None:
        self.of_variance = of_variance

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        """Return the initial standard deviations for a variable of this shape."""
        del partition_info
        return sqrt(self.of_variance(shape, dtype=dtype))


def corrected(layer: Any, moments_of_batch: list[Any], training: Any) -> list[Any]:
    """Return [scale, bias, mean, variance]. The scale and bias correct the normalized inputs.

    The scale is sqrt(variance + epsilon) / `renorm_stddev`, and the bias is (mean - `renorm_mean`)
    / `renorm_stddev`. The scale and the bias are clipped to the layer's bounds. Outside of
    training, the scale is 1 and the bias is 0. No gradient passes through the scale and the bias.
    The returned mean and variance are computed from the batch, and the moving averages are updated
    with them. `renorm_mean` and `renorm_stddev` are updated after this function has read them.
    """
    graph = get_default_graph()
    mean, variance = moments_of_batch
    deviation = sqrt(variance + layer.epsilon)
    average = maximum(layer.renorm_stddev, sqrt(layer.epsilon))
    scale = deviation / average
    bias = (mean - layer.renorm_mean) / average
    with graph.control_dependencies([scale.op, bias.op]):
        mean, deviation = identity(mean), identity(deviation)
    scale, bias = _clipped(scale, bias, layer.renorm_clipping)
    scale = smart_cond(training, partial(identity, scale), partial(ones_like, scale))
    bias = smart_cond(training, partial(identity, bias), partial(zeros_like, bias))
    pairs = (layer.renorm_mean, mean), (layer.renorm_stddev, deviation)
    updates = [
        smart_cond(
            training,
            partial(layer.follow, variable, value, layer.renorm_momentum),
            partial(identity, variable),
        )
        for variable, value in pairs
    ]
    with graph.control_dependencies([update.op for update in updates]):
        followed = [identity(mean), identity(variance)]
    return [stop_gradient(scale), stop_gradient(bias), *followed]


def _clipped(scale: Any, bias: Any, bounds: Mapping[str, Any]) -> tuple[Any, Any]:
    if bounds.get("rmin") is not None:
        scale = maximum(scale, bounds["rmin"])
    if bounds.get("rmax") is not None:
        scale = minimum(scale, bounds["rmax"])
    if bounds.get("dmax") is not None:
        bias = minimum(maximum(bias, -bounds["dmax"]), bounds["dmax"])
    return scale, bias


def composed(scale: Any, bias: Any, gamma: Any, beta: Any) -> tuple[Any, Any]:
    """Return a scale and a bias that have the same effect on x as (x * scale + bias) * gamma +
    beta.

    Args:
      gamma, beta: the second scale and the second bias, or None.
    """
    if gamma is not None:
        scale, bias = scale * gamma, bias * gamma
    return scale, bias if beta is None else bias + beta
