"""Bijectors that permute, reshape or order elements, and that center a softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import int32
from gpugraph.base.shapes import TensorShape
from gpugraph.building.checks import assert_equal
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.bijectors.bijector import Bijector
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.arrays.reshape_and_transpose import invert_permutation, reshape
from gpugraph.ops.control.group_and_no_op import with_dependencies
from gpugraph.ops.elementwise.unary_functions import exp, log
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.nn.activations.softmax import softmax
from gpugraph.ops.reductions.ranges_and_running_sums import cumsum
from gpugraph.ops.reductions.reduction_functions import reduce_prod, reduce_sum


class Permute(Bijector):
    """The bijector y[..., i] = x[..., permutation[i]].

    Raises TypeError if the permutation does not consist of integers, and ValueError if it is not a
    permutation of 0, 1, ... length - 1.
    """

    def __init__(
        self, permutation: Any, validate_args: bool = False, name: str | None = None
    ) -> None:
        with name_scope(name, "permute", [permutation]):
            places = convert_to_tensor(permutation, name="permutation")
            if not places.dtype.is_integer:
                raise TypeError(f"permutation.dtype ({places.dtype.name}) should be `int`-like.")
            known = constant_value(places)
            if known is not None and sorted(known.tolist()) != list(range(len(known))):
                raise ValueError(
                    "Permutation over `d` must contain exactly one of each of "
                    f"`{{0, 1, ..., d}}`: {known}"
                )
            self._permutation = places
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "permute",
        )

    @property
    def permutation(self) -> Tensor:
        """The index of the element of x for each element of y."""
        return self._permutation

    def _forward(self, x: Any) -> Any:
        return gather(x, self._permutation, axis=-1)

    def _inverse(self, y: Any) -> Any:
        return gather(y, invert_permutation(self._permutation), axis=-1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return convert_to_tensor(0.0, y.dtype.base_dtype)


class Reshape(Bijector):
    """A bijector that reshapes events from `event_shape_in` to `event_shape_out`.

    One size in each of the two shapes may be -1.

    Raises ValueError if one of the shapes has negative sizes other than -1 or several sizes of -1,
    or if events have too few axes.

    Args:
      event_shape_in: by default a vector.
    """

    def __init__(
        self,
        event_shape_out: Any,
        event_shape_in: Any = (-1,),
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        with name_scope(name, "reshape", [event_shape_out, event_shape_in]):
            self._out = _sizes(event_shape_out, "event_shape_out")
            self._in = _sizes(event_shape_in, "event_shape_in")
        super().__init__(
            forward_min_event_ndims=_length(self._in),
            inverse_min_event_ndims=_length(self._out),
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "reshape",
        )

    def _reshaped(self, x: Any, rank: int, target: Tensor) -> Any:
        sizes = shape(x)
        count = sizes.shape.as_list()[0]
        split = (count - rank) if count is not None else shape(sizes)[0] - rank
        result = reshape(x, concat([sizes[:split], target], 0))
        known = constant_value(target)
        if x.shape.ndims is not None and known is not None and (known >= 0).all():
            result.set_shape(
                x.shape[: x.shape.ndims - rank].concatenate(TensorShape(known.tolist()))
            )
        return result

    def _forward(self, x: Any) -> Any:
        return self._reshaped(x, self.forward_min_event_ndims, self._out)

    def _inverse(self, y: Any) -> Any:
        return self._reshaped(y, self.inverse_min_event_ndims, self._in)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return convert_to_tensor(0.0, y.dtype.base_dtype)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return convert_to_tensor(0.0, x.dtype.base_dtype)

    def _shape_after(self, sizes: TensorShape, taken: Tensor, target: Tensor) -> TensorShape:
        known, rank = constant_value(target), _length(taken)
        if known is None or sizes.ndims is None:
            return TensorShape(None)
        if sizes.ndims < rank:
            raise ValueError(f"Input shape ({sizes}) must have ndims of at least {rank}.")
        event = sizes[sizes.ndims - rank :]
        result = [int(size) for size in known]
        if -1 in result:
            rest = int(np.prod([size for size in result if size != -1]))
            count = event.num_elements()
            result[result.index(-1)] = None if count is None else count // rest  # type: ignore
        return sizes[: sizes.ndims - rank].concatenate(TensorShape(result))

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        return self._shape_after(input_shape, self._in, self._out)

    def _inverse_event_shape(self, output_shape: TensorShape) -> TensorShape:
        return self._shape_after(output_shape, self._out, self._in)

    def _tensor_after(self, sizes: Tensor, taken: Tensor, target: Tensor) -> Tensor:
        rank = _length(taken)
        event = sizes[-rank:] if rank else sizes[:0]
        whole = reduce_prod(event) // reduce_prod(_without_negative(target))
        filled = target + cast(target < 0, int32) * (whole + 1)
        checked = filled
        if self.validate_args:
            words = "Input event_shape does not match event_shape_out."
            checks = [assert_equal(reduce_prod(filled), reduce_prod(event), message=words)]
            checked = with_dependencies(checks, filled)
        return concat([sizes[: shape(sizes)[0] - rank], checked], 0)

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return self._tensor_after(input_shape, self._in, self._out)

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return self._tensor_after(output_shape, self._out, self._in)


def _sizes(value: Any, name: str) -> Tensor:
    sizes = convert_to_tensor(value, int32, name=name)
    if sizes.shape.ndims != 1 or sizes.shape.as_list()[0] is None:
        raise ValueError(f"{name} must be a vector of known length, not {sizes}")
    known = constant_value(sizes)
    if known is not None and (known < -1).any() | ((known == -1).sum() > 1):
        raise ValueError(f"Expecting a `{name}` with at most one size of -1: {known}")
    return sizes


def _length(sizes: Tensor) -> int:
    """Return the static number of elements of the vector `sizes`."""
    return int(sizes.shape.as_list()[0] or 0)


def _without_negative(sizes: Tensor) -> Tensor:
    """Return `sizes` with 1 in place of -1."""
    return sizes + cast(sizes < 0, int32) * 2


class Ordered(Bijector):
    """A bijector from ascending vectors to arbitrary vectors: y[0] = x[0], y[i] = log(x[i] - x[i -
    1]).
    """

    def __init__(self, validate_args: bool = False, name: str = "ordered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        return concat([x[..., :1], log(x[..., 1:] - x[..., :-1])], -1)

    def _inverse(self, y: Any) -> Any:
        return cumsum(concat([y[..., :1], exp(y[..., 1:])], -1), axis=-1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return reduce_sum(y[..., 1:], -1)


class SoftmaxCentered(Bijector):
    """The bijector y = softmax of x with an appended 0.

    y has one more element than x, and its elements add up to 1.
    """

    def __init__(self, validate_args: bool = False, name: str = "softmax_centered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _resized(self, sizes: TensorShape, change: int) -> TensorShape:
        if not sizes.ndims:
            return sizes
        last = sizes.as_list()[-1]
        return sizes[:-1].concatenate(TensorShape([None if last is None else last + change]))

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        return self._resized(input_shape, 1)

    def _inverse_event_shape(self, output_shape: TensorShape) -> TensorShape:
        return self._resized(output_shape, -1)

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return concat([input_shape[:-1], input_shape[-1:] + 1], 0)

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return concat([output_shape[:-1], output_shape[-1:] - 1], 0)

    def _forward(self, x: Any) -> Any:
        return softmax(concat([x, zeros_like(x[..., :1])], -1))

    def _inverse(self, y: Any) -> Any:
        logs = log(y)
        return logs[..., :-1] - logs[..., -1:]

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -reduce_sum(log(y), -1)
