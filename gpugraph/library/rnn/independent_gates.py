"""GRUs and LSTMs in which each unit uses only its own state (arXiv:1803.04831)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.rnn.basic_and_gru_cells import OneState, depth_of
from gpugraph.library.rnn.lstm_cells import LSTMStateTuple
from gpugraph.library.rnn.rnn_cell_base import LayerCell
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.arrays.tile_and_pad import tile
from gpugraph.ops.elementwise.unary_functions import sigmoid, tanh
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import Constant, RandomUniform, Zeros


class IndyGRUCell(OneState, LayerCell):
    """A GRUCell whose products with the state are elementwise."""

    def __init__(
        self,
        num_units: int,
        activation: Callable[[Any], Any] | None = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._activation = num_units, activation or tanh
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def build(self, inputs_shape: Any) -> None:
        """Create `kernel_w`, `kernel_u` and `bias`, once for the gates and once for the
        candidate.
        """
        depth, units = depth_of(inputs_shape), self._num_units
        self._parts = [
            (
                self.add_variable(
                    f"{name}/kernel_w", shape=[depth, width], initializer=self._kernel_initializer
                ),
                self.add_variable(
                    f"{name}/kernel_u",
                    shape=[1, width],
                    initializer=RandomUniform(-1, 1, dtype=self.dtype),
                ),
                self.add_variable(
                    f"{name}/bias", shape=[width], initializer=self._bias_initializer or first
                ),
            )
            for name, width, first in (
                ("gates", 2 * units, Constant(1.0)),
                ("candidate", units, Zeros()),
            )
        ]
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Return (output, next state). The two are the same tensor."""
        (gate_w, gate_u, gate_bias), (w, u, bias) = self._parts
        gates = bias_add(matmul(inputs, gate_w) + tile(state, [1, 2]) * gate_u, gate_bias)
        reset, update = split(sigmoid(gates), 2, axis=1)
        candidate = bias_add(matmul(inputs, w) + reset * state * u, bias)
        output = update * state + (1.0 - update) * self._activation(candidate)
        return output, output


class IndyLSTMCell(LayerCell):
    """A BasicLSTMCell whose products with the output are elementwise."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: Callable[[Any], Any] | None = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._activation = activation or tanh
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    @property
    def state_size(self) -> LSTMStateTuple:
        """The sizes of the memory and of the output."""
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        """Create `kernel_w` [depth, 4 units], `kernel_u` [1, 4 units] and `bias` [4 units]."""
        width = 4 * self._num_units
        self._kernel_w = self.add_variable(
            "kernel_w", shape=[depth_of(inputs_shape), width], initializer=self._kernel_initializer
        )
        self._kernel_u = self.add_variable(
            "kernel_u", shape=[1, width], initializer=RandomUniform(-1, 1, dtype=self.dtype)
        )
        self._bias = self.add_variable(
            "bias", shape=[width], initializer=self._bias_initializer or Zeros()
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Return (output, next state)."""
        memory, output = state
        joined = matmul(inputs, self._kernel_w) + tile(output, [1, 4]) * self._kernel_u
        entry, new, forget, leave = split(bias_add(joined, self._bias), 4, axis=1)
        memory = memory * sigmoid(forget + self._forget_bias) + sigmoid(entry) * self._activation(
            new
        )
        output = self._activation(memory) * sigmoid(leave)
        return output, LSTMStateTuple(memory, output)


def best_effort_input_batch_size(flat_input: Sequence[Any]) -> Any:
    """Return the batch size of inputs [time, batch, ...]: an int if it is known statically,
    otherwise a tensor.
    """
    for tensor in flat_input:
        sizes = tensor.shape
        if sizes.rank is None:
            continue
        if sizes.rank < 2:
            raise ValueError(f"Expected input tensor {tensor} to have rank at least 2")
        if sizes[1].value is not None:
            return sizes[1].value
    return shape(flat_input[0])[1]
