"""BasicRNNCell, the plain recurrent cell, and GRUCell, the gated recurrent unit."""

from __future__ import annotations

from typing import Any

from gpugraph.base.shapes import as_shape
from gpugraph.library.rnn.rnn_cell_base import LayerCell
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.elementwise.unary_functions import sigmoid, tanh
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import Constant, Zeros


def depth_of(input_shape: Any) -> int:
    """Return the static size of the last axis of inputs. Raises ValueError if it is unknown."""
    sizes = as_shape(input_shape).sizes
    depth = sizes[-1] if sizes else None
    if depth is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {input_shape}")
    return int(depth)


class OneState:
    """A mixin of cells whose state and output are vectors of `num_units` numbers."""

    _num_units: int

    @property
    def state_size(self) -> int:
        """The size of the state, which is `num_units`."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """The size of the output, which is `num_units`."""
        return self._num_units


class _OneStateCell(OneState, LayerCell):
    """Base class of cells whose output is also the next state."""

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._activation = activation or tanh


class BasicRNNCell(_OneStateCell):
    """The basic recurrent cell: output = state = activation([inputs, state] @ kernel + bias).

    The activation is tanh by default. For inputs of size depth, the variables are `kernel` [depth +
    num_units, num_units] and `bias` [num_units].
    """

    def build(self, input_shape: Any) -> None:
        """Add kernel and bias for inputs of this shape."""
        rows = depth_of(input_shape) + self._num_units
        self._kernel = self.add_variable("kernel", [rows, self._num_units])
        self._bias = self.add_variable("bias", [self._num_units], initializer=Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Return (output, next state). The two are the same tensor."""
        together = bias_add(matmul(concat([inputs, state], 1), self._kernel), self._bias)
        output = self._activation(together)
        return output, output


class GRUCell(_OneStateCell):
    """The gated recurrent unit. Source: Cho et al., 2014 (arXiv:1406.1078).

    The gates r and u are the two halves of sigmoid([inputs, state] @ gates/kernel + gates/bias).
    The candidate c is activation([inputs, r * state] @ candidate/kernel + candidate/bias), where
    the activation is tanh by default. The output and next state is u * state + (1 - u) * c. The
    initial bias of the gates is 1.

    >>> cell = tf.nn.rnn_cell.GRUCell(4)
    >>> output, state = cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))
    >>> output.shape.as_list()
    [2, 4]
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def build(self, input_shape: Any) -> None:
        """Add kernels and biases for inputs of this shape."""
        rows, units = depth_of(input_shape) + self._num_units, self._num_units
        kernels, biases = self._kernel_initializer, self._bias_initializer
        self._gate_kernel = self.add_variable(
            "gates/kernel", [rows, 2 * units], initializer=kernels
        )
        self._gate_bias = self.add_variable(
            "gates/bias", [2 * units], initializer=biases or Constant(1.0)
        )
        self._candidate_kernel = self.add_variable(
            "candidate/kernel", [rows, units], initializer=kernels
        )
        self._candidate_bias = self.add_variable(
            "candidate/bias", [units], initializer=biases or Zeros()
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Return (output, next state). The two are the same tensor."""
        gates = bias_add(matmul(concat([inputs, state], 1), self._gate_kernel), self._gate_bias)
        reset, update = split(sigmoid(gates), 2, axis=1)
        past = reset * state
        candidate = self._activation(
            bias_add(
                matmul(concat([inputs, past], 1), self._candidate_kernel), self._candidate_bias
            )
        )
        output = update * state + (1 - update) * candidate
        return output, output
