"""Cells in which each element of the state depends only on itself and the inputs.

These are IndRNNCell, and SRUCell, the simple recurrent unit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.rnn.basic_and_gru_cells import OneState, depth_of
from gpugraph.library.rnn.rnn_cell_base import LayerCell
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.elementwise.unary_functions import sigmoid, tanh
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import RandomUniform, Zeros


class IndRNNCell(OneState, LayerCell):
    """A cell with output = state = activation(inputs @ kernel_w + state * kernel_u + bias).
    kernel_u is a vector.

    Source: Li et al., 2018 (arXiv:1803.04831).
    """

    def __init__(
        self,
        num_units: int,
        activation: Callable[[Any], Any] | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._activation = num_units, activation or tanh

    def build(self, inputs_shape: Any) -> None:
        """Create `kernel_w` [depth, num_units], `kernel_u` [1, num_units] and `bias`."""
        units = self._num_units
        self._kernel_w = self.add_variable("kernel_w", shape=[depth_of(inputs_shape), units])
        self._kernel_u = self.add_variable(
            "kernel_u", shape=[1, units], initializer=RandomUniform(-1, 1, dtype=self.dtype)
        )
        self._bias = self.add_variable("bias", shape=[units], initializer=Zeros(dtype=self.dtype))
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Return (output, next state)."""
        joined = matmul(inputs, self._kernel_w) + state * self._kernel_u
        output = self._activation(bias_add(joined, self._bias))
        return output, output


class SRUCell(OneState, LayerCell):
    """The simple recurrent unit. Its gates depend only on the inputs (Lei et al., 2017,
    arXiv:1709.02755).

    The quarters of inputs @ kernel give x0, f, r and x3. The state is c = f * c + (1 - f) * x0, and
    the output is r * activation(c) + (1 - r) * x3.
    """

    def __init__(
        self,
        num_units: int,
        activation: Callable[[Any], Any] | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._activation = num_units, activation or tanh

    def build(self, inputs_shape: Any) -> None:
        """Create `kernel` [depth, 4 num_units] and `bias` [2 num_units]."""
        units = self._num_units
        self._kernel = self.add_variable("kernel", shape=[depth_of(inputs_shape), 4 * units])
        self._bias = self.add_variable(
            "bias", shape=[2 * units], initializer=Zeros(dtype=self.dtype)
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Return (output, next state)."""
        units = self._num_units
        new, gates, passed = split(matmul(inputs, self._kernel), [units, 2 * units, units], axis=1)
        forget, reset = split(sigmoid(bias_add(gates, self._bias)), 2, axis=1)
        state = forget * state + (1.0 - forget) * new
        return reset * self._activation(state) + (1.0 - reset) * passed, state
