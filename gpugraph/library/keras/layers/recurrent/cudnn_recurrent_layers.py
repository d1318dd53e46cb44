"""CuDNNGRU and CuDNNLSTM: GRU and LSTM layers with variables in cuDNN's layout.

cuDNN stores a kernel [size, units] as a matrix [units, size], and has separate biases for the
inputs and the state. Once per call of a layer, the cells in this module convert the layer's kernels
and biases to the layout of `GRUCell` and `LSTMCell`.
"""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.library.keras.layers.recurrent.layers_of_cells import LayerOfCell
from gpugraph.library.keras.layers.recurrent.recurrent_cells import (
    GatedCell,
    GRUCell,
    LSTMCell,
    add_gated_bias,
)
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.reshape_and_transpose import reshape, transpose
from gpugraph.ops.arrays.split_and_unstack import split


class _CuDNNCell(GatedCell):
    """Base class of cells whose variables have cuDNN's layout."""

    def bias_shape(self) -> list[int]:
        """Return [2 * gates * units]: the number of biases for the inputs and for the state."""
        return [2 * self.gates * self.units]

    def reset_dropout_mask(self) -> None:
        """Discard the dropout masks and the converted kernels from the layer's last call."""
        super().reset_dropout_mask()
        self._forget("parameters")

    def parameters(self) -> tuple[Any, Any, Any]:
        """Return the kernels and the bias, converted to the layout of `GatedCell`.

        The weights are converted only in the first step of each call of the layer.
        """
        key = ("parameters", get_default_graph())
        if key not in self._masks:
            kernels = [
                transpose(reshape(part, [self.units, -1]))
                for part in split(self.kernel, self.gates, axis=1)
            ]
            recurrent = [transpose(part) for part in split(self.recurrent_kernel, self.gates, 1)]
            self._masks[key] = concat(kernels, 1), concat(recurrent, 1), self._plain_bias()
        plain: tuple[Any, Any, Any] = self._masks[key]
        return plain

    def _plain_bias(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define `_plain_bias`")


class _CuDNNGRUCell(_CuDNNCell, GRUCell):
    """A `GRUCell` with `reset_after` whose variables have cuDNN's layout."""

    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        self.keep_arguments(locals())
        super().__init__(
            units, recurrent_activation="sigmoid", implementation=2, reset_after=True, **kwargs
        )

    def _plain_bias(self) -> Any:
        return reshape(self.bias, [2, 3 * self.units])


class _CuDNNLSTMCell(_CuDNNCell, LSTMCell):
    """An `LSTMCell` whose variables have cuDNN's layout."""

    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        self.keep_arguments(locals())
        super().__init__(units, recurrent_activation="sigmoid", implementation=2, **kwargs)

    def add_bias(self) -> Any:
        """Create the bias. If `unit_forget_bias` is true, the forget gate's bias for the state is
        initialized to 1.
        """
        return add_gated_bias(self, self.bias_shape(), 5 * self.units, self.units)

    def _plain_bias(self) -> Any:
        return self.bias[: 4 * self.units] + self.bias[4 * self.units :]


class _CuDNNLayer(LayerOfCell):
    """Base class of CuDNNGRU and CuDNNLSTM, which accept no masks because cuDNN supports none."""

    supports_masking = False
    flags = ("return_sequences", "return_state", "go_backwards", "stateful")

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: Any = None,
        initial_state: Any = None,
        constants: Any = None,
    ) -> Any:
        """Return the last output or all outputs. Raises ValueError for inputs with a mask."""
        if mask is not None:
            raise ValueError(
                f"Masking is not supported for CuDNN RNNs. Layer {self.name} has masked inputs: "
                f"use a {type(self).__name__.removeprefix('CuDNN')} instead"
            )
        return super().call(inputs, None, training, initial_state, constants)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor, which do not include `unroll`."""
        return {key: value for key, value in super().get_config().items() if key != "unroll"}


class CuDNNGRU(_CuDNNLayer):
    """A GRU with `reset_after`, the sigmoid as recurrent activation, and variables in cuDNN's
    layout.

    The layer runs on any device. `bias` has 6 * units elements. Inputs must have no mask.
    """

    cell_class = _CuDNNGRUCell


class CuDNNLSTM(_CuDNNLayer):
    """An LSTM with the sigmoid as recurrent activation, and variables in cuDNN's layout.

    The layer runs on any device. `bias` has 8 * units elements. Inputs must have no mask.
    """

    cell_class = _CuDNNLSTMCell
