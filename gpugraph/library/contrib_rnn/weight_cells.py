"""RNN cells that receive their weights as tensors, and cells that have them as variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.library.contrib_rnn.canonical_weights import GRU, LSTM, RELU
from gpugraph.library.rnn.basic_and_gru_cells import GRUCell, depth_of
from gpugraph.library.rnn.fused_networks import LSTMBlockCell
from gpugraph.library.rnn.rnn_cell_base import RNNCell
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.elementwise.unary_functions import sigmoid, tanh
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.activations.relu_and_elu import relu
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import Constant, Zeros


class WeightCell(RNNCell):
    """A cell whose kernels and biases are tensors. It maps (inputs, states) to (output, new
    states).
    """

    def __init__(self, units: int, step: Callable[..., Any], num_states: int) -> None:
        super().__init__()
        self._units, self._step, self._num_states = units, step, num_states

    @property
    def state_size(self) -> Any:
        """The size of the state. For an LSTM, the size is a tuple of two sizes."""
        return (self._units,) * 2 if self._num_states == 2 else self._units

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self._units

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the next state."""
        return self._step(inputs, state)


def cell_of(mode: str, units: int, kernels: Sequence[Any], biases: Sequence[Any]) -> WeightCell:
    """Return the cell with these kernels and biases, in the form of the results of
    `canonical_weights.to_cells`.
    """
    if mode == LSTM:
        return WeightCell(units, lambda x, s: _lstm_step(x, s, kernels[0], biases[0]), 2)
    if mode == GRU:
        return WeightCell(units, lambda x, s: _gru_step(x, s, kernels, biases), 1)
    activation = relu if mode == RELU else tanh

    def step(inputs: Any, state: Any) -> Any:
        output = activation(bias_add(matmul(concat([inputs, state], 1), kernels[0]), biases[0]))
        return output, output

    return WeightCell(units, step, 1)


def _lstm_step(inputs: Any, state: Any, kernel: Any, bias: Any) -> Any:
    memory, output = state
    gates = bias_add(matmul(concat([inputs, output], 1), kernel), bias)
    entry, candidate, forget, exit_gate = split(gates, 4, axis=1)
    memory = sigmoid(forget) * memory + sigmoid(entry) * tanh(candidate)
    output = sigmoid(exit_gate) * tanh(memory)
    return output, (memory, output)


def _gru_step(inputs: Any, state: Any, kernels: Sequence[Any], biases: Sequence[Any]) -> Any:
    gates = sigmoid(bias_add(matmul(concat([inputs, state], 1), kernels[0]), biases[0]))
    reset, update = split(gates, 2, axis=1)
    of_inputs = bias_add(matmul(inputs, kernels[1]), biases[1])
    of_state = bias_add(matmul(state, kernels[2]), biases[2])
    output = (1 - update) * tanh(of_inputs + reset * of_state) + update * state
    return output, output


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """An LSTM cell that can restore checkpoints of `CudnnLSTM`. Its forget bias is 0."""

    def __init__(self, num_units: int, reuse: bool | None = None) -> None:
        super().__init__(
            num_units, forget_bias=0, cell_clip=None, use_peephole=False, reuse=reuse,
            name="cudnn_compatible_lstm_cell",
        )  # fmt: skip


class CudnnCompatibleGRUCell(GRUCell):
    """A GRU cell that can restore checkpoints of `CudnnGRU`.

    The reset gate is applied after the product with the state, and the candidate has two biases.
    """

    def __init__(
        self, num_units: int, reuse: bool | None = None, kernel_initializer: Any = None
    ) -> None:
        super().__init__(num_units, None, reuse, kernel_initializer)

    def build(self, input_shape: Any) -> None:
        """Add kernels and biases for inputs of this shape."""
        shape = TensorShape(input_shape)
        if shape[-1].value is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {shape}")
        depth, units = depth_of(input_shape), self._num_units
        kernels = {
            "gates": ([depth + units, 2 * units], Constant(1.0)),
            "candidate/input_projection": ([depth, units], Zeros()),
            "candidate/hidden_projection": ([units, units], Zeros()),
        }
        self._parts = [
            (
                self.add_variable(f"{name}/kernel", sizes, initializer=self._kernel_initializer),
                self.add_variable(
                    f"{name}/bias", sizes[1:], initializer=self._bias_initializer or first
                ),
            )
            for name, (sizes, first) in kernels.items()
        ]
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Return (output, next state). The two are the same tensor."""
        kernels, biases = zip(*self._parts)
        return _gru_step(inputs, state, kernels, biases)
