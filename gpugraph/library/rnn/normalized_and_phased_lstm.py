"""LSTM cells of `tf.contrib.rnn` with layer normalization, and with periodically open gates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gpugraph.base import dtypes
from gpugraph.building.variable_scope import get_variable, variable_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers import layer_norm
from gpugraph.library.rnn.lstm_cells import LSTMStateTuple, TwoStateCell
from gpugraph.library.rnn.projection_wrappers import linear
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.elementwise.division import floormod
from gpugraph.ops.elementwise.unary_functions import exp, sigmoid, tanh
from gpugraph.ops.framework.identity_and_shape import stop_gradient
from gpugraph.ops.nn.activations.dropout import dropout
from gpugraph.ops.random.random_ops import random_uniform
from gpugraph.ops.random.variable_initializers import Constant, RandomUniform


class LayerNormBasicLSTMCell(TwoStateCell):
    """An LSTM with layer normalization of gates and memory, and with dropout of the new input.

    Sources: arXiv:1607.06450 (layer normalization), arXiv:1603.05118 (recurrent dropout).

    Args:
      layer_norm: whether to normalize. Otherwise there is a bias.
      norm_gain, norm_shift: the initial values of the variables `gamma` and `beta`, which exist in
        each of the scopes `input`, `transform`, `forget`, `output` and `state`.
      dropout_keep_prob: the probability, a number or a scalar tensor, with which an element of the
        new input is kept.
      dropout_prob_seed: the seed of this dropout.
      input_size: not used.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Callable[[Any], Any] = tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(num_units, reuse)
        self._forget_bias, self._activation = forget_bias, activation
        self._layer_norm, self._gain, self._shift = layer_norm, norm_gain, norm_shift
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the next state."""
        memory, last = state
        joined = linear(concat([inputs, last], 1), 4 * self._num_units, bias=not self._layer_norm)
        i, j, f, o = split(joined, 4, axis=1)
        i, j = self._norm(i, "input"), self._norm(j, "transform")
        f, o = self._norm(f, "forget"), self._norm(o, "output")
        new = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            new = dropout(new, self._keep_prob, seed=self._seed)
        kept = memory * sigmoid(f + self._forget_bias)
        new_memory = self._norm(kept + sigmoid(i) * new, "state")
        output = self._activation(new_memory) * sigmoid(o)
        return output, LSTMStateTuple(new_memory, output)

    def _norm(self, value: Any, scope: str) -> Any:
        """Return `value` after layer normalization with `gamma` and `beta` from the variable scope
        `scope`.
        """
        if not self._layer_norm:
            return value
        size = value.shape[-1:]
        with variable_scope(scope):
            get_variable("gamma", size, value.dtype, Constant(self._gain))
            get_variable("beta", size, value.dtype, Constant(self._shift))
        return layer_norm(value, reuse=True, scope=scope)


class PhasedLSTMCell(TwoStateCell):
    """An LSTM in which each unit has a cycle in time, and changes its state mainly during one phase
    of the cycle.

    Inputs are (time [batch, 1], values [batch, depth]). Source: arXiv:1610.09513. The variables are
    the kernels and biases of `mask_gates`, `new_input` and `output_gate`, and `period`, `phase` and
    `ratio_on` [num_units].

    Args:
      use_peepholes: whether the gates depend on the memory.
      leak: the factor by which a unit changes outside of that phase.
      ratio_on: the length of the phase, as a fraction of the cycle.
      trainable_ratio_on: whether the fraction is trained.
      period_init_min, period_init_max: the bounds of the initial periods. Their logarithms are
        uniformly distributed.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: float = 0.001,
        ratio_on: float = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: float = 1.0,
        period_init_max: float = 1000.0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(num_units, reuse)
        self._use_peepholes, self._leak = use_peepholes, leak
        self._ratio_on, self._trainable_ratio_on = ratio_on, trainable_ratio_on
        self._period_bounds = math.log(period_init_min), math.log(period_init_max)

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the next state."""
        memory, last = state
        time, values = inputs
        seen = [values, last]
        with variable_scope("mask_gates"):
            gates = sigmoid(linear(self._with_memory(seen, memory), 2 * self._num_units))
            input_gate, forget_gate = split(gates, 2, axis=1)
        with variable_scope("new_input"):
            new = tanh(linear(seen, self._num_units))
        new_memory = memory * forget_gate + input_gate * new
        with variable_scope("output_gate"):
            output_gate = sigmoid(linear(self._with_memory(seen, new_memory), self._num_units))
        output = tanh(new_memory) * output_gate
        openness = self._openness(time)
        new_memory = openness * new_memory + (1 - openness) * memory
        output = openness * output + (1 - openness) * last
        return output, LSTMStateTuple(new_memory, output)

    def _with_memory(self, seen: list[Any], memory: Any) -> list[Any]:
        return [*seen, memory] if self._use_peepholes else seen

    def _openness(self, time: Any) -> Tensor:
        """Return the factor by which each unit changes at `time`.

        During the open phase of the cycle, the factor rises from 0 to 1 and falls to 0 again.
        Outside of this phase, the factor is small.
        """
        sizes = [self._num_units]
        period = get_variable("period", sizes, initializer=self._first_period)
        phase = get_variable("phase", sizes, initializer=RandomUniform(0.0, period.initial_value))
        ratio_on = get_variable(
            "ratio_on",
            sizes,
            initializer=Constant(self._ratio_on),
            trainable=self._trainable_ratio_on,
        )
        cycle = _cycle_position(time, phase, period)
        rise = 2 * cycle / ratio_on
        on = where(cycle < ratio_on, 2 - rise, self._leak * cycle)
        return where(cycle < 0.5 * ratio_on, rise, on)

    def _first_period(self, shape: Any, dtype: Any = None, **_: Any) -> Tensor:
        return exp(random_uniform(shape, *self._period_bounds, dtype=dtype))


def _cycle_position(time: Any, phase: Any, period: Any) -> Tensor:
    """Return the position of each unit in its cycle, in [0, 1): float32 [batch, num_units].

    Its gradient is the gradient of (time - phase) / period: the number of completed cycles is
    treated as a constant.
    """
    length = cast(period, time.dtype)
    shifted = time - cast(phase, time.dtype)
    inside = stop_gradient(floormod(shifted, length) - shifted) + shifted
    return cast(inside / length, dtypes.float32)
