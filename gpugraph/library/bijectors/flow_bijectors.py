"""Flows: bijectors in which a neural network computes the shift and scale of an element from other
elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import float32
from gpugraph.building.control_flow.while_loop import while_loop
from gpugraph.building.variable_scope import get_variable
from gpugraph.building.variable_scope.make_template import make_template
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.bijectors.bijector import Bijector
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.elementwise.unary_functions import exp
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.tensordot import tensordot
from gpugraph.ops.nn.activations.relu_and_elu import relu
from gpugraph.ops.random.variable_initializers import GlorotNormal
from gpugraph.ops.reductions.clip_by_norm import clip_by_value
from gpugraph.ops.reductions.reduction_functions import reduce_sum

Network = Callable[..., Any]
"""A function that returns (shift, log_scale). Each may be None."""


def affine_masks(count: int, inputs: int, units: int, exclusive: bool) -> Any:
    """Return the mask [inputs, units], of 0 and 1, of a masked layer with `count` blocks.

    Block i of the outputs depends on blocks 0 to i of the inputs. If `exclusive` is true, block i
    of the outputs does not depend on block i of the inputs.
    """
    mask = np.zeros([units, inputs], np.float32)
    rows, columns = units // count, inputs // count
    for block in range(count):
        last = (block + (0 if exclusive else 1)) * columns
        mask[block * rows : (block + 1) * rows, :last] = 1
    return mask.T


def masked_dense(
    inputs: Any,
    units: int,
    num_blocks: int | None = None,
    exclusive: bool = False,
    kernel_initializer: Any = None,
    reuse: Any = None,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Tensor:
    """Return the output of a dense layer with a masked kernel.

    Block i of the output depends only on blocks 0 to i of the inputs. Source: Germain et al.,
    arXiv:1502.03509.

    Raises NotImplementedError if the size of the inputs' last axis is unknown.

    Args:
      kwargs: may contain `activation`.
    """
    del reuse, args
    inputs = convert_to_tensor(inputs, name="inputs")
    size = inputs.shape.with_rank_at_least(1).as_list()[-1]
    if size is None:
        raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
    mask = affine_masks(num_blocks or size, size, units, exclusive)
    with name_scope(name, "masked_dense", [inputs]):
        kernel = get_variable(
            f"{name or 'masked_dense'}/kernel",
            [size, units],
            float32,
            kernel_initializer or GlorotNormal(),
        )
        bias = get_variable(f"{name or 'masked_dense'}/bias", [units], float32)
        outputs = tensordot(inputs, kernel * mask, 1) + bias
        activation = kwargs.get("activation")
        return outputs if activation is None else activation(outputs)


def masked_autoregressive_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = relu,
    log_scale_min_clip: float = -5.0,
    log_scale_max_clip: float = 3.0,
    log_scale_clip_gradient: bool = False,
    name: str | None = None,
    **kwargs: Any,
) -> Network:
    """Return a network of masked layers for MaskedAutoregressiveFlow. All calls share its
    variables.

    Args:
      hidden_layers: the number of units in each hidden layer.
      shift_only: whether the network computes only a shift. In this case, the scale is 1.
      log_scale_min_clip, log_scale_max_clip: bounds of the logarithm of the scale.
    """
    del log_scale_clip_gradient, kwargs

    def network(x: Any) -> tuple[Any, Any]:
        size: Any = convert_to_tensor(x).shape.with_rank_at_least(1).as_list()[-1]
        outputs = x
        for number, units in enumerate(hidden_layers):
            outputs = masked_dense(
                outputs, units, size, number == 0, name=f"dense_{number}", activation=activation
            )
        count = size if shift_only else 2 * size
        outputs = masked_dense(outputs, count, size, not hidden_layers, name="outputs")
        if shift_only:
            return outputs, None
        pairs = [outputs[..., start::2] for start in (0, 1)]
        return pairs[0], clip_by_value(pairs[1], log_scale_min_clip, log_scale_max_clip)

    return make_template(name or "masked_autoregressive_default_template", network)


class MaskedAutoregressiveFlow(Bijector):
    """The bijector y[i] = x[i] * exp(log_scale(y[:i])) + shift(y[:i]).

    The forward function needs as many steps as an event has elements. Source: Papamakarios et al.,
    arXiv:1705.07057.

    Args:
      shift_and_log_scale_fn: a function from y to (shift, logarithm of the scale). Element i of the
        results must depend only on y[:i]. Each result may be None.
      unroll_loop: whether to build the steps without a while loop.
    """

    def __init__(
        self,
        shift_and_log_scale_fn: Network,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        unroll_loop: bool = False,
        name: str | None = None,
    ) -> None:
        self._network, self._unroll = shift_and_log_scale_fn, unroll_loop
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "masked_autoregressive_flow",
        )

    def _step(self, x: Any, y: Any) -> Any:
        shift, log_scale = self._network(y)
        y = x if log_scale is None else x * exp(log_scale)
        return y if shift is None else y + shift

    def _forward(self, x: Any) -> Any:
        size = x.shape.with_rank_at_least(1).as_list()[-1]
        if size is None:
            raise ValueError("The size of events must be known prior to graph execution.")
        y = zeros_like(x)
        if self._unroll:
            for _ in range(size):
                y = self._step(x, y)
            return y
        y = self._step(x, y)  # creates the variables outside of the loop
        return while_loop(
            lambda count, y: count < size,
            lambda count, y: (count + 1, self._step(x, y)),
            (convert_to_tensor(1), y),
        )[1]

    def _inverse(self, y: Any) -> Any:
        shift, log_scale = self._network(y)
        x = y if shift is None else y - shift
        return x if log_scale is None else x * exp(-log_scale)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        _, log_scale = self._network(y)
        if log_scale is None:
            return convert_to_tensor(0.0, y.dtype.base_dtype)
        return -reduce_sum(log_scale, -1)


def real_nvp_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = relu,
    name: str | None = None,
    **kwargs: Any,
) -> Network:
    """Return a network of dense layers for RealNVP. All calls share the network's variables.

    Args:
      hidden_layers: the number of units in each hidden layer.
      shift_only: whether the network computes only a shift. In this case, the scale is 1.
    """
    del kwargs

    def dense(x: Any, units: int, number: str) -> Any:
        size = x.shape.as_list()[-1]
        kernel = get_variable(f"dense_{number}/kernel", [size, units], float32, GlorotNormal())
        return tensordot(x, kernel, 1) + get_variable(f"dense_{number}/bias", [units], float32)

    def network(x: Any, output_units: int) -> tuple[Any, Any]:
        outputs = convert_to_tensor(x, name="x")
        for number, units in enumerate(hidden_layers):
            outputs = activation(dense(outputs, units, str(number)))
        outputs = dense(outputs, output_units * (1 if shift_only else 2), "outputs")
        if shift_only:
            return outputs, None
        return outputs[..., :output_units], outputs[..., output_units:]

    return make_template(name or "real_nvp_default_template", network)


class RealNVP(Bijector):
    """A bijector that keeps the first `num_masked` elements, and applies an affine function to the
    remaining elements.

    Source: Dinh et al., arXiv:1605.08803. Raises ValueError unless `num_masked` is positive.

    Args:
      shift_and_log_scale_fn: a function from the first elements and the number of remaining
        elements to (shift, logarithm of the scale). Each result may be None.
    """

    def __init__(
        self,
        num_masked: int,
        shift_and_log_scale_fn: Network,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        if num_masked <= 0:
            raise ValueError("num_masked must be a positive integer.")
        self._masked, self._network = num_masked, shift_and_log_scale_fn
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "real_nvp",
        )

    def _parts(self, x: Any) -> tuple[Any, Any, Any, Any]:
        size = x.shape.with_rank_at_least(1).as_list()[-1]
        if size is None:
            raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
        if self._masked >= size:
            raise ValueError("Number of masked units must be smaller than the event size.")
        first, others = x[..., : self._masked], x[..., self._masked :]
        return first, others, *self._network(first, size - self._masked)

    def _forward(self, x: Any) -> Any:
        first, others, shift, log_scale = self._parts(x)
        others = others if log_scale is None else others * exp(log_scale)
        return concat([first, others if shift is None else others + shift], -1)

    def _inverse(self, y: Any) -> Any:
        first, others, shift, log_scale = self._parts(y)
        others = others if shift is None else others - shift
        return concat([first, others if log_scale is None else others * exp(-log_scale)], -1)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        log_scale = self._parts(x)[3]
        if log_scale is None:
            return convert_to_tensor(0.0, x.dtype.base_dtype)
        return reduce_sum(log_scale, -1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        log_scale = self._parts(y)[3]
        if log_scale is None:
            return convert_to_tensor(0.0, y.dtype.base_dtype)
        return -reduce_sum(log_scale, -1)
