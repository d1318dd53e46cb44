"""Cells of `tf.contrib.rnn` with one or two gates, and NASCell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.building.variable_scope import get_variable_scope, variable_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.rnn.basic_and_gru_cells import OneState, depth_of
from gpugraph.library.rnn.lstm_cells import LSTMStateTuple
from gpugraph.library.rnn.projection_wrappers import linear
from gpugraph.library.rnn.rnn_cell_base import LayerCell, RNNCell
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.elementwise.unary_functions import sigmoid, tanh
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.activations.relu_and_elu import relu
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import Zeros


class _GatedCell(OneState, RNNCell):
    """Base class of cells whose state and output are vectors of `num_units` numbers."""

    def __init__(
        self, num_units: int, initializer: Any, forget_bias: float, reuse: bool | None
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias

    def call(self, inputs: Any, state: Any) -> Any:
        """Return (output, next state). Raises ValueError for inputs of unknown depth."""
        if inputs.shape.with_rank(2).dims[1].value is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            return self._step(inputs, state)

    def _step(self, inputs: Any, state: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define `_step`")

    def _gate(self, value: Any, before: Any, new: Any) -> Tensor:
        """Return g * before + (1 - g) * new, where the gate g is sigmoid(value + forget_bias).

        Args:
          before, new: the previous state and the proposed state.
        """
        gate = sigmoid(value + self._forget_bias)
        return gate * before + (1.0 - gate) * new


class UGRNNCell(_GatedCell):
    """The update gate cell: output = state = g * state + (1 - g) * activation(c).

    [inputs, state] @ kernel + bias is split into the halves a and c. The gate is g = sigmoid(a +
    forget_bias). Source: Collins et al., 2016 (arXiv:1611.09913).
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        forget_bias: float = 1.0,
        activation: Callable[[Any], Any] = tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(num_units, initializer, forget_bias, reuse)
        self._activation = activation

    def _step(self, inputs: Any, state: Any) -> Any:
        joined = linear(concat([inputs, state], 1), 2 * self._num_units)
        gate, new = split(joined, 2, axis=1)
        output = self._gate(gate, state, self._activation(new))
        return output, output


class IntersectionRNNCell(_GatedCell):
    """The +RNN. One gate mixes the last state into the next state, and another gate mixes the
    inputs into the output.

    Source: Collins et al., 2016 (arXiv:1611.09913). Raises ValueError if `num_in_proj` is None and
    the depth of the inputs is not num_units.

    Args:
      num_in_proj: the size to which inputs are projected if their depth is not num_units.
    """

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: Any = None,
        forget_bias: float = 1.0,
        y_activation: Callable[[Any], Any] = relu,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(num_units, initializer, forget_bias, reuse)
        self._num_in_proj, self._y_activation = num_in_proj, y_activation

    def _step(self, inputs: Any, state: Any) -> Any:
        if inputs.shape[1].value != self._num_units:
            if not self._num_in_proj:
                raise ValueError(
                    "Must have input size == output size for Intersection RNN. To fix, num_in_proj "
                    f"should be set to num_units at cell init: {inputs.shape[1]} inputs, "
                    f"{self._num_units} units"
                )
            with variable_scope("in_projection"):
                inputs = linear(inputs, self._num_units)
        joined = linear(concat([inputs, state], 1), 4 * self._num_units)
        state_gate, new_state, output_gate, new_output = split(joined, 4, axis=1)
        next_state = self._gate(state_gate, state, tanh(new_state))
        return self._gate(output_gate, inputs, self._y_activation(new_output)), next_state


class NASCell(LayerCell):
    """The cell that neural architecture search has found. Source: Zoph and Le (arXiv:1611.01578).

    The variables are `kernel` [depth, 8 * num_units], `recurrent_kernel` [output, 8 * num_units],
    `bias` [8 * num_units] and `projection_weights` [num_units, num_proj].

    Args:
      num_proj: the size to which outputs are projected.
      use_bias: whether there is a bias.
    """

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    @property
    def state_size(self) -> LSTMStateTuple:
        """An LSTMStateTuple of the memory's size, `num_units`, and the output's size."""
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> int:
        """The size of the output: `num_proj`, or `num_units` if there is no projection."""
        return self._num_units if self._num_proj is None else self._num_proj

    def build(self, inputs_shape: Any) -> None:
        """Add the kernels, the bias and the projection for inputs of this shape."""
        width = 8 * self._num_units
        self._recurrent_kernel = self.add_variable("recurrent_kernel", [self.output_size, width])
        self._kernel = self.add_variable("kernel", [depth_of(inputs_shape), width])
        if self._use_bias:
            self._bias = self.add_variable("bias", [width], initializer=Zeros())
        if self._num_proj is not None:
            self._projection = self.add_variable(
                "projection_weights", [self._num_units, self._num_proj]
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the next state."""
        memory, last = state
        recurrent = matmul(last, self._recurrent_kernel)
        if self._use_bias:
            recurrent = bias_add(recurrent, self._bias)
        x = split(matmul(inputs, self._kernel), 8, axis=1)
        h = split(recurrent, 8, axis=1)
        first = tanh(sigmoid(x[0] + h[0]) * relu(x[1] + h[1]))
        second = tanh(sigmoid(x[2] + h[2]) + relu(x[3] * h[3]))
        third = tanh(tanh(x[4] + h[4]) * sigmoid(x[5] + h[5]))
        fourth = sigmoid(tanh(x[6] + h[6]) + sigmoid(x[7] + h[7]))
        new_memory = tanh(first + memory) * second
        output = tanh(new_memory * tanh(third + fourth))
        if self._num_proj is not None:
            output = matmul(output, self._projection)
        return output, LSTMStateTuple(new_memory, output)
