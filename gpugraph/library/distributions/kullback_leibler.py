"""Kullback-Leibler divergences: functions registered for pairs of distribution classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.building.control_flow.assertion import Assert
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.elementwise.comparison_and_select import logical_not
from gpugraph.ops.elementwise.unary_functions import is_nan
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.reductions.reduction_functions import reduce_any

_DIVERGENCES: dict[tuple[type, type], Callable[..., Tensor]] = {}


def _registered(type_a: type, type_b: type) -> Callable[..., Tensor] | None:
    """Return the divergence that is registered for the nearest base classes of the two types, or
    None.
    """
    best: tuple[int, Callable[..., Tensor]] | None = None
    for far_a, base_a in enumerate(type_a.__mro__):
        for far_b, base_b in enumerate(type_b.__mro__):
            function = _DIVERGENCES.get((base_a, base_b))
            if function is not None and (best is None or far_a + far_b < best[0]):
                best = far_a + far_b, function
    return best[1] if best else None


def kl_divergence(
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """Return KL(a || b) = E_a[log a(X) - log b(X)], one value for each distribution of the batch.

    Raises NotImplementedError for classes without a registered divergence. If `allow_nan_stats` is
    false and a divergence is NaN, a run raises InvalidArgumentError.
    """
    divergence = _registered(type(distribution_a), type(distribution_b))
    if divergence is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{type(distribution_a).__name__} and distribution_b type "
            f"{type(distribution_b).__name__}"
        )
    with name_scope("KullbackLeibler"):
        result = divergence(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return result
        result = identity(result, name="kl")
        message = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN "
            "values (and was called with allow_nan_stats=False). Values:"
        )
        with control_dependencies(
            [Assert(logical_not(reduce_any(is_nan(result))), [message, result])]
        ):
            return identity(result, name="checked_kl")


class RegisterKL:
    """A decorator that registers `function(a, b, name=None)` as the divergence of two classes."""

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn: Any) -> Any:
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _DIVERGENCES:
            a, b = (cls.__name__ for cls in self._key)
            registered = _DIVERGENCES[self._key]
            raise ValueError(f"KL({a} || {b}) has already been registered to: {registered}")
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn
