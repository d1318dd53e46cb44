"""Bijector: a function with an inverse, and the logarithms of the determinants of its Jacobians.

A subclass defines `_forward`, `_inverse`, and either `_inverse_log_det_jacobian` or
`_forward_log_det_jacobian`. The latter two compute the logarithm for the last `min_event_ndims`
axes. The public methods add up the logarithms over the remaining axes of an event.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpugraph.base.dtypes import int32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.constants_and_placeholders import ones
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import rank, shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_sum


class Bijector:
    """A function y = forward(x) with an inverse. `x` and `y` are events: tensors with a minimum
    number of axes.

    Args:
      graph_parents: tensors on which the bijector depends.
      is_constant_jacobian: whether the determinant of the Jacobian does not depend on x.
      validate_args: whether runs check arguments.
      dtype: the dtype of x and y. If the dtype is None, any dtype is allowed.
      forward_min_event_ndims, inverse_min_event_ndims: the number of axes of x, or of y, that are
        transformed together. If the two numbers are equal, a caller may pass only one of them.
      name: the name scope of the bijector's operations; by default the class's name in snake case.
    """

    _is_injective = True

    def __init__(
        self,
        graph_parents: Sequence[Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: Any = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            raise ValueError(
                "Must specify at least one of `forward_min_event_ndims` and "
                "`inverse_min_event_ndims`."
            )
        ranks = {
            "forward_min_event_ndims": forward_min_event_ndims,
            "inverse_min_event_ndims": inverse_min_event_ndims,
        }
        known = next(value for value in ranks.values() if value is not None)
        for key, value in ranks.items():
            ranks[key] = known if value is None else value
            if not isinstance(ranks[key], int):
                raise TypeError(f"Expected {key} to be of type int, got {type(value).__name__}")
            if known < 0 or (value or 0) < 0:
                raise ValueError(f"{key} must be a non-negative integer.")
        self._graph_parents = list(graph_parents or ())
        for number, parent in enumerate(self._graph_parents):
            if not isinstance(parent, Tensor):
                raise ValueError(f"Graph parent item {number} is not a Tensor; {parent}.")
        self._forward_rank: int = ranks["forward_min_event_ndims"] or 0
        self._inverse_rank: int = ranks["inverse_min_event_ndims"] or 0
        self._is_constant_jacobian, self._validate_args = is_constant_jacobian, validate_args
        self._dtype, self._name = dtype, name or _snake_case(type(self).__name__)
        self._pairs: list[tuple[Tensor, Tensor]] = []

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors on which the bijector depends."""
        return self._graph_parents

    @property
    def forward_min_event_ndims(self) -> int:
        """The number of axes of x that are transformed together."""
        return self._forward_rank

    @property
    def inverse_min_event_ndims(self) -> int:
        """The number of axes of y that are transformed together."""
        return self._inverse_rank

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the determinant of the Jacobian does not depend on x."""
        return self._is_constant_jacobian

    @property
    def validate_args(self) -> bool:
        """Whether runs check arguments."""
        return self._validate_args

    @property
    def dtype(self) -> Any:
        """The dtype of x and y. If the dtype is None, any dtype is allowed."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name scope of the bijector's operations."""
        return self._name

    # -- shapes of events

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        return input_shape

    def _inverse_event_shape(self, output_shape: TensorShape) -> TensorShape:
        return output_shape

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return input_shape

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return output_shape

    def forward_event_shape(self, input_shape: Any) -> TensorShape:
        """Return the static shape of y, given the shape of an event x."""
        return self._forward_event_shape(TensorShape(input_shape))

    def inverse_event_shape(self, output_shape: Any) -> TensorShape:
        """Return the static shape of x, given the shape of an event y."""
        return self._inverse_event_shape(TensorShape(output_shape))

    def forward_event_shape_tensor(
        self, input_shape: Any, name: str = "forward_event_shape_tensor"
    ) -> Tensor:
        """Return the shape of y as an int32 vector, given the shape of an event x."""
        with self._scope(name, input_shape):
            sizes = convert_to_tensor(input_shape, int32, name="input_shape")
            return self._forward_event_shape_tensor(sizes)

    def inverse_event_shape_tensor(
        self, output_shape: Any, name: str = "inverse_event_shape_tensor"
    ) -> Tensor:
        """Return the shape of x as an int32 vector, given the shape of an event y."""
        with self._scope(name, output_shape):
            sizes = convert_to_tensor(output_shape, int32, name="output_shape")
            return self._inverse_event_shape_tensor(sizes)

    # -- values

    def _forward(self, x: Any) -> Any:
        raise NotImplementedError("forward not implemented.")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError("inverse not implemented")

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        raise NotImplementedError("inverse_log_det_jacobian not implemented.")

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        raise NotImplementedError("forward_log_det_jacobian not implemented.")

    def forward(self, x: Any, name: str = "forward", **kwargs: Any) -> Any:
        """Return y, given x. The bijector remembers the pair, so that `inverse(y)` returns x
        itself.
        """
        with self._scope(name, x):
            x = self._argument(x, "x")
            if not self._is_injective or kwargs:
                return self._forward(x, **kwargs)
            return self._known_y(x)

    def inverse(self, y: Any, name: str = "inverse", **kwargs: Any) -> Any:
        """Return x, given y. If several x have the same y, return all of these x as a tuple."""
        with self._scope(name, y):
            y = self._argument(y, "y")
            if not self._is_injective or kwargs:
                return self._inverse(y, **kwargs)
            return self._known_x(y)

    def _known_y(self, x: Any) -> Any:
        for known_x, known_y in self._pairs:
            if known_x is x:
                return known_y
        y = self._forward(x)
        self._pairs.append((x, y))
        return y

    def _known_x(self, y: Any) -> Any:
        for known_x, known_y in self._pairs:
            if known_y is y:
                return known_x
        x = self._inverse(y)
        self._pairs.append((x, y))
        return x

    def inverse_log_det_jacobian(
        self, y: Any, event_ndims: Any, name: str = "inverse_log_det_jacobian", **kwargs: Any
    ) -> Any:
        """Return log |det dx/dy| of events with `event_ndims` axes.

        Raises ValueError if `event_ndims` is less than `inverse_min_event_ndims`.
        """
        with self._scope(name, y):
            y = self._argument(y, "y")
            ndims = _checked_rank(event_ndims, self._inverse_rank)
            if _has(self, "_inverse_log_det_jacobian"):
                logs = self._inverse_log_det_jacobian(y, **kwargs)
                return _for_each(logs, lambda part: _summed(y, part, self._inverse_rank, ndims))
            if not _has(self, "_forward_log_det_jacobian"):
                return self._inverse_log_det_jacobian(y)
            x = (
                self._known_x(y)
                if self._is_injective and not kwargs
                else self._inverse(y, **kwargs)
            )
            logs = self._forward_log_det_jacobian(x, **kwargs)
            ndims = ndims + self._forward_rank - self._inverse_rank
            return _for_each(logs, lambda part: -_summed(x, part, self._forward_rank, ndims))

    def forward_log_det_jacobian(
        self, x: Any, event_ndims: Any, name: str = "forward_log_det_jacobian", **kwargs: Any
    ) -> Any:
        """Return log |det dy/dx| of events with `event_ndims` axes.

        Raises ValueError if `event_ndims` is less than `forward_min_event_ndims`, and
        NotImplementedError if several x have the same y.
        """
        if not self._is_injective:
            raise NotImplementedError(
                "forward_log_det_jacobian cannot be implemented for non-injective transforms."
            )
        with self._scope(name, x):
            x = self._argument(x, "x")
            ndims = _checked_rank(event_ndims, self._forward_rank)
            if _has(self, "_forward_log_det_jacobian"):
                logs = self._forward_log_det_jacobian(x, **kwargs)
                return _summed(x, logs, self._forward_rank, ndims)
            if not _has(self, "_inverse_log_det_jacobian"):
                return self._forward_log_det_jacobian(x)
            y = self._forward(x, **kwargs) if kwargs else self._known_y(x)
            logs = self._inverse_log_det_jacobian(y, **kwargs)
            ndims = ndims + self._inverse_rank - self._forward_rank
            return -_summed(y, logs, self._inverse_rank, ndims)

    @contextmanager
    def _scope(self, name: str, *values: Any) -> Iterator[None]:
        with name_scope(self._name), name_scope(name, values=list(values)):
            yield

    def _argument(self, value: Any, name: str) -> Tensor:
        tensor = convert_to_tensor(value, name=name)
        if self._dtype is not None and self._dtype.base_dtype != tensor.dtype.base_dtype:
            raise TypeError(f"Input had dtype {self._dtype} but expected {tensor.dtype}.")
        return tensor


def _snake_case(name: str) -> str:
    partly = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name.lstrip("_"))
    return re.sub("([a-z0-9])([A-Z])", r"\1_\2", partly).lower()


def _has(bijector: Bijector, method: str) -> bool:
    """Return whether the bijector's class, or an `Inline` bijector, defines a method."""
    defined = getattr(bijector, method)
    return getattr(defined, "__func__", defined) is not getattr(Bijector, method)


def _for_each(logs: Any, function: Any) -> Any:
    return tuple(map(function, logs)) if isinstance(logs, tuple) else function(logs)


def _checked_rank(event_ndims: Any, minimum: int) -> Any:
    """Return `event_ndims` as an int if its value is known, else as a tensor. Raises ValueError if
    the value is less than `minimum`.
    """
    tensor = convert_to_tensor(event_ndims, name="event_ndims")
    if not tensor.dtype.is_integer:
        raise ValueError(f"Expected integer dtype, got dtype {tensor.dtype}")
    known = constant_value(tensor)
    if known is None:
        return tensor
    if known.ndim:
        raise ValueError(f"Expected scalar event_ndims, got shape {tensor.shape}")
    if minimum > int(known):
        raise ValueError(f"event_ndims ({known}) must be larger than min_event_ndims ({minimum})")
    return int(known)


def _summed(values: Tensor, logs: Any, minimum: int, ndims: Any) -> Any:
    """Return the logarithms, summed over all axes of an event except its last `minimum` axes."""
    logs = convert_to_tensor(logs)
    count = rank(values)
    sizes = shape(values)[count - ndims : count - minimum]
    whole = ones(sizes, logs.dtype) * logs
    if isinstance(ndims, int):
        axes: Any = list(range(minimum - ndims, 0))
        return reduce_sum(whole, axes) if axes else whole
    return reduce_sum(whole, range_of(minimum - ndims, 0))
