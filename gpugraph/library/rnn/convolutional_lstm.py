"""LSTM cells that compute convolutions in place of matrix products (Shi et al., 2015,
arXiv:1506.04214).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.building.variable_scope import get_variable
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.rnn.lstm_cells import LSTMStateTuple
from gpugraph.library.rnn.rnn_cell_base import RNNCell
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.elementwise.unary_functions import sigmoid, tanh
from gpugraph.ops.nn.convolution.convolution_of_any_rank import convolution
from gpugraph.ops.random.variable_initializers import Zeros


class ConvLSTMCell(RNNCell):
    """An LSTM cell for inputs [batch, ..., channels] with one to three spatial axes.

    The variables are `kernel` [*kernel_shape, channels, 4 * output_channels] and `biases`.

    Args:
      conv_ndims: the number of spatial axes: 1, 2 or 3.
      input_shape: the shape of an input, without the batch.
      output_channels: the number of channels of output and state.
      kernel_shape: the size of the kernel along each spatial axis.
      use_bias: whether there is a bias.
      skip_connection: whether the channels of the inputs are appended to the outputs.
      forget_bias: a constant that is added to the forget gate.
      initializers: ignored, as in TensorFlow.
      name: the name of the cell.
    """

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Sequence[int],
        output_channels: int,
        kernel_shape: Sequence[int],
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: str = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._conv_ndims, self._kernel_shape = conv_ndims, list(kernel_shape)
        self._output_channels, self._use_bias = output_channels, use_bias
        self._skip_connection, self._forget_bias = skip_connection, forget_bias
        places = list(input_shape[:-1])
        outputs = output_channels + (input_shape[-1] if skip_connection else 0)
        self._state_shape = TensorShape([*places, output_channels])
        self._output_shape = TensorShape([*places, outputs])

    @property
    def output_size(self) -> TensorShape:
        """The shape of an output, without the batch."""
        return self._output_shape

    @property
    def state_size(self) -> LSTMStateTuple:
        """An LSTMStateTuple of two shapes, without the batch."""
        return LSTMStateTuple(self._state_shape, self._state_shape)

    def call(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """Return (output, next state)."""
        cell, hidden = state
        joined = self._convolution(concat([inputs, hidden], -1))
        gate, new, forget, output = split(joined, 4, axis=self._conv_ndims + 1)
        cell = sigmoid(forget + self._forget_bias) * cell + sigmoid(gate) * tanh(new)
        result = tanh(cell) * sigmoid(output)
        next_state = LSTMStateTuple(cell, result)
        return (concat([result, inputs], -1) if self._skip_connection else result), next_state

    def _convolution(self, joined: Tensor) -> Tensor:
        channels = joined.shape[-1].value
        outputs = 4 * self._output_channels
        sizes = [*self._kernel_shape, channels, outputs]
        result = convolution(joined, get_variable("kernel", sizes, joined.dtype), "SAME")
        if self._use_bias:
            result = result + get_variable("biases", [outputs], joined.dtype, Zeros())
        return result


class Conv1DLSTMCell(ConvLSTMCell):
    """A ConvLSTMCell for inputs [batch, width, channels]."""

    def __init__(self, name: str = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """A ConvLSTMCell for inputs [batch, height, width, channels]."""

    def __init__(self, name: str = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """A ConvLSTMCell for inputs [batch, depth, height, width, channels]."""

    def __init__(self, name: str = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)
