"""Bijectors that combine other bijectors or functions: chains, inverses, inline functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.bijectors.bijector import Bijector
from gpugraph.ops.framework.identity_and_shape import size


class Chain(Bijector):
    """The composition bijectors[0](bijectors[1](...(x))).

    Raises NotImplementedError for bijectors that are not injective.
    """

    def __init__(
        self,
        bijectors: Sequence[Bijector] | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self._bijectors = tuple(bijectors or ())
        if any(not bijector._is_injective for bijector in self._bijectors):
            raise NotImplementedError("Invert is not implemented for non-injective bijectors.")
        names = [bijector.name for bijector in self._bijectors]
        default = "identity" if not names else "_of_".join(["chain", *names])
        super().__init__(
            graph_parents=[p for bijector in self._bijectors for p in bijector.graph_parents],
            is_constant_jacobian=all(each.is_constant_jacobian for each in self._bijectors),
            validate_args=validate_args,
            forward_min_event_ndims=_needed(
                [(b.forward_min_event_ndims, b.inverse_min_event_ndims) for b in self._bijectors]
            ),
            inverse_min_event_ndims=_needed(
                [
                    (b.inverse_min_event_ndims, b.forward_min_event_ndims)
                    for b in reversed(self._bijectors)
                ]
            ),
            name=name or default,
        )

    @property
    def bijectors(self) -> tuple[Bijector, ...]:
        """The bijectors of the chain. The last bijector is applied first."""
        return self._bijectors

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        for bijector in reversed(self._bijectors):
            input_shape = bijector.forward_event_shape(input_shape)
        return input_shape

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        for bijector in reversed(self._bijectors):
            input_shape = bijector.forward_event_shape_tensor(input_shape)
        return input_shape

    def _inverse_event_shape(self, output_shape: TensorShape) -> TensorShape:
        for bijector in self._bijectors:
            output_shape = bijector.inverse_event_shape(output_shape)
        return output_shape

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        for bijector in self._bijectors:
            output_shape = bijector.inverse_event_shape_tensor(output_shape)
        return output_shape

    def _forward(self, x: Any, **kwargs: Any) -> Any:
        for bijector in reversed(self._bijectors):
            x = bijector.forward(x, **kwargs.get(bijector.name, {}))
        return x

    def _inverse(self, y: Any, **kwargs: Any) -> Any:
        for bijector in self._bijectors:
            y = bijector.inverse(y, **kwargs.get(bijector.name, {}))
        return y

    def _inverse_log_det_jacobian(self, y: Any, **kwargs: Any) -> Any:
        total: Any = 0.0
        ndims = self.inverse_min_event_ndims
        for bijector in self._bijectors:
            options = kwargs.get(bijector.name, {})
            total = total + bijector.inverse_log_det_jacobian(y, ndims, **options)
            ndims = _rank_after(bijector, y, ndims, "inverse_event_shape")
            y = bijector.inverse(y, **options)
        return total

    def _forward_log_det_jacobian(self, x: Any, **kwargs: Any) -> Any:
        total: Any = 0.0
        ndims = self.forward_min_event_ndims
        for bijector in reversed(self._bijectors):
            options = kwargs.get(bijector.name, {})
            total = total + bijector.forward_log_det_jacobian(x, ndims, **options)
            ndims = _rank_after(bijector, x, ndims, "forward_event_shape")
            x = bijector.forward(x, **options)
        return total


def _rank_after(bijector: Bijector, value: Tensor, ndims: Any, method: str) -> Any:
    """Return the rank of an event after a bijector was applied to it, as an int if it is known."""
    if isinstance(ndims, int) and value.shape.ndims is not None:
        sizes = value.shape[value.shape.ndims - ndims :]
        known: int | None = getattr(bijector, method)(sizes).ndims
        if known is not None:
            return known
    changes = bijector.inverse_min_event_ndims - bijector.forward_min_event_ndims
    return ndims + (changes if method.startswith("forward") else -changes)


def _needed(pairs: Sequence[tuple[int, int]]) -> int:
    """Return the minimum rank of the events to which a chain of bijectors can be applied.

    Args:
      pairs: for each bijector, the minimum ranks of its arguments and of its results. The bijector
        that is applied last comes first.
    """
    needed = 0
    for argument, result in pairs:
        # what the bijector's results must have is `needed`, at least `result`
        needed = argument + max(0, needed - result)
    return needed


class Invert(Bijector):
    """The inverse of a bijector.

    Raises NotImplementedError for a bijector that is not injective.
    """

    def __init__(
        self, bijector: Bijector, validate_args: bool = False, name: str | None = None
    ) -> None:
        if not isinstance(bijector, Bijector):
            raise TypeError(f"bijector must be a Bijector, not {bijector!r}")
        if not bijector._is_injective:
            raise NotImplementedError("Invert is not implemented for non-injective bijectors.")
        self._bijector = bijector
        super().__init__(
            graph_parents=bijector.graph_parents,
            is_constant_jacobian=bijector.is_constant_jacobian,
            validate_args=validate_args,
            dtype=bijector.dtype,
            forward_min_event_ndims=bijector.inverse_min_event_ndims,
            inverse_min_event_ndims=bijector.forward_min_event_ndims,
            name=name or f"invert_{bijector.name}",
        )

    @property
    def bijector(self) -> Bijector:
        """The bijector that is inverted."""
        return self._bijector

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        return self._bijector.inverse_event_shape(input_shape)

    def _inverse_event_shape(self, output_shape: TensorShape) -> TensorShape:
        return self._bijector.forward_event_shape(output_shape)

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return self._bijector.inverse_event_shape_tensor(input_shape)

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return self._bijector.forward_event_shape_tensor(output_shape)

    def _forward(self, x: Any, **kwargs: Any) -> Any:
        return self._bijector.inverse(x, **kwargs)

    def _inverse(self, y: Any, **kwargs: Any) -> Any:
        return self._bijector.forward(y, **kwargs)

    def _inverse_log_det_jacobian(self, y: Any, **kwargs: Any) -> Any:
        rank = self.inverse_min_event_ndims
        return self._bijector.forward_log_det_jacobian(y, rank, **kwargs)

    def _forward_log_det_jacobian(self, x: Any, **kwargs: Any) -> Any:
        rank = self.forward_min_event_ndims
        return self._bijector.inverse_log_det_jacobian(x, rank, **kwargs)


class Inline(Bijector):
    """A bijector that consists of the program's functions.

    Each function has the arguments and the result of the method of the same name. A method raises
    NotImplementedError if there is no function for the method.
    """

    def __init__(
        self,
        forward_fn: Any = None,
        inverse_fn: Any = None,
        inverse_log_det_jacobian_fn: Any = None,
        forward_log_det_jacobian_fn: Any = None,
        forward_event_shape_fn: Any = None,
        forward_event_shape_tensor_fn: Any = None,
        inverse_event_shape_fn: Any = None,
        inverse_event_shape_tensor_fn: Any = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ) -> None:
        super().__init__(
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            forward_min_event_ndims=forward_min_event_ndims,
            inverse_min_event_ndims=inverse_min_event_ndims,
            name=name,
        )
        for method, function in (
            ("_forward", forward_fn),
            ("_inverse", inverse_fn),
            ("_inverse_log_det_jacobian", inverse_log_det_jacobian_fn),
            ("_forward_log_det_jacobian", forward_log_det_jacobian_fn),
            ("_forward_event_shape", forward_event_shape_fn),
            ("_forward_event_shape_tensor", forward_event_shape_tensor_fn),
            ("_inverse_event_shape", inverse_event_shape_fn),
            ("_inverse_event_shape_tensor", inverse_event_shape_tensor_fn),
        ):
            if function is not None:
                setattr(self, method, function)


class ConditionalBijector(Bijector):
    """A bijector whose methods pass additional keyword arguments to `_forward` and similar
    methods.
    """


def rank_of_event(event_shape: Tensor, known: TensorShape) -> Any:
    """Return the rank of an event.

    Args:
      event_shape: the shape of the event as a vector.
      known: the static shape. If the rank of this shape is known, the result is an int, otherwise a
        tensor.
    """
    return size(event_shape) if known.ndims is None else known.ndims
