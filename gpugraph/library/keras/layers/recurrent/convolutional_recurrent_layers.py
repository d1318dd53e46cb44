"""Recurrent layers for sequences of images: an LSTM that computes convolutions in place of matrix
products.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.nest import flatten
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.library.keras.backend.keras_convolutions import bias_add, conv2d
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.layers.configured_layer import format_of, numbers, padding_of
from gpugraph.library.keras.layers.recurrent.layers_of_cells import LayerOfCell
from gpugraph.library.keras.layers.recurrent.recurrent_cells import LSTMCell
from gpugraph.library.keras.layers.recurrent.recurrent_dropout import DropoutCell
from gpugraph.library.keras.layers.recurrent.recurrent_layer import RNN
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.constants_and_placeholders import zeros, zeros_like
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.framework.identity_and_shape import shape as shape_of


class ConvLSTM2DCell(LSTMCell):
    """An LSTM cell for images. The cell computes convolutions in place of matrix products.

    The states have the size of the input convolution's outputs. The convolution of the states has
    the padding "same", stride 1 and no dilation.

    Args:
      filters: the number of channels of outputs and states.
      kernel_size, strides, padding, data_format, dilation_rate: options of the convolution of the
        inputs, see `Conv2D`.
    """

    implementation = 1

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
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
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        DropoutCell.__init__(self, **kwargs)
        self.keep_sizes(filters, dropout, recurrent_dropout)
        self.kernel_size = numbers(kernel_size, 2, "kernel_size")
        self.strides = numbers(strides, 2, "strides")
        self.dilation_rate = numbers(dilation_rate, 2, "dilation_rate")
        self.padding, self.data_format = padding_of(padding), format_of(data_format)
        self.channel_axis = 1 if self.data_format == "channels_first" else 3
        self.keep_arguments(locals())
        self.state_size = (filters, filters)

    def build(self, input_shape: Any) -> None:
        """Create the kernels [rows, columns, channels, 4 * filters] and the bias."""
        channels = as_shape(input_shape).as_list()[self.channel_axis]
        if channels is None:
            raise ValueError(
                "The channel dimension of the inputs should be defined. Found `None` in "
                f"{input_shape} (layer {self.name})"
            )
        width = 4 * self.units
        self.kernel = self.add_parameter("kernel", [*self.kernel_size, channels, width])
        self.recurrent_kernel = self.add_parameter(
            "recurrent_kernel", [*self.kernel_size, self.units, width], options="recurrent"
        )
        if self.use_bias:
            self.bias = self.add_bias()
        self.built = True

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """Return the output, and the list of the next states, which are the output and the
        memory.
        """
        state, memory = states[0], states[1]
        masks, recurrent_masks = self.masks_of(inputs, state, training)
        of_inputs = self._convolved(inputs, self.kernel, masks, self.input_conv)
        of_state = self._convolved(
            state, self.recurrent_kernel, recurrent_masks, self.recurrent_conv
        )
        parts = [one + other for one, other in zip(of_inputs, of_state, strict=True)]
        if self.bias is not None:
            biases = split(self.bias, 4)
            parts = [
                bias_add(part, bias, self.data_format)
                for part, bias in zip(parts, biases, strict=True)
            ]
        output, memory = self.next_of(parts, memory)
        return output, [output, memory]

    def _convolved(self, images: Any, kernel: Any, masks: Any, convolve: Any) -> list[Any]:
        """Convolve images with the four parts of a kernel, one for each gate.

        Args:
          masks: a list with a dropout mask for each gate, or None.
        """
        if masks is None:
            return list(split(convolve(images, kernel), 4, axis=self.channel_axis))
        parts = split(kernel, 4, axis=3)
        return [convolve(images * mask, part) for mask, part in zip(masks, parts, strict=True)]

    def input_conv(self, images: Any, kernel: Any) -> Any:
        """Convolve one step's inputs with the part of `kernel` for one gate."""
        return conv2d(
            images, kernel, self.strides, self.padding, self.data_format, self.dilation_rate
        )

    def recurrent_conv(self, images: Any, kernel: Any) -> Any:
        """Convolve a state with the part of `recurrent_kernel` for one gate. The size of the images
        does not change.
        """
        return conv2d(images, kernel, (1, 1), "same", self.data_format)

    def state_shape(self, input_shape: TensorShape) -> TensorShape:
        """Return the shape of the outputs and states, given the shape of the inputs of one step."""
        sizes = input_shape.as_list()
        first = 2 if self.channel_axis == 1 else 1
        for number in range(2):
            size, stride = sizes[first + number], self.strides[number]
            if size is not None:
                extent = (self.kernel_size[number] - 1) * self.dilation_rate[number]
                sizes[first + number] = -(
                    -(size if self.padding == "same" else size - extent) // stride
                )
        sizes[self.channel_axis] = self.units
        return TensorShape(sizes)


class ConvRNN2D(RNN):
    """A layer that runs a cell for images along sequences [n, steps, rows, columns, channels]. See
    `RNN`.

    The constructor raises TypeError for a list of cells, and if `unroll` is true.
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        if unroll:
            raise TypeError("Unrolling isn't possible with convolutional RNNs.")
        if isinstance(cell, (list, tuple)):
            raise TypeError("It is not possible at the moment to stack convolutional cells.")
        super().__init__(
            cell, return_sequences, return_state, go_backwards, stateful, unroll, **kwargs
        )
        self.input_spec = [InputSpec(ndim=5)]

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs. If `return_state` is true, return [this shape, shapes of
        states ...].
        """
        shape = as_shape(input_shape[0] if isinstance(input_shape, list) else input_shape)
        state = self.cell.state_shape(self._step_shape(shape))
        sizes = state.as_list()
        if self.return_sequences:
            sizes.insert(1, shape.as_list()[1])
        outputs = TensorShape(sizes)
        return [outputs, *(state for _ in self._sizes())] if self.return_state else outputs

    def shapes_of_states(self) -> list[Any]:
        """Return the shapes of the states of a stateful layer.

        Raises ValueError if the number of examples, rows or columns is unknown.
        """
        super().shapes_of_states()
        shape = self.cell.state_shape(self._step_shape(as_shape(flatten(self.input_spec)[0].shape)))
        if not shape.is_fully_defined():
            raise ValueError(
                "If a RNN is stateful, it needs to know its batch size, and the number of rows and "
                f"columns: the states are {shape.as_list()} (layer {self.name})"
            )
        return [shape for _ in self._sizes()]

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """Return a tensor of zeros for each state, with the shape of the outputs of one step."""
        shape = self.cell.state_shape(self._step_shape(inputs.shape))
        _, *sizes = shape.as_list()
        if None in sizes:
            kernel = zeros_like(self.cell.kernel[..., : self.cell.units])
            state = self.cell.input_conv(zeros_like(inputs[:, 0]), kernel)
        else:
            state = zeros(stack([shape_of(inputs)[0], *sizes]), inputs.dtype)
            state.set_shape(shape)
        return [state for _ in self._sizes()]

    def state_fits(self, shape: TensorShape, size: Any) -> bool:
        """Return whether a state of this shape is a batch of images with `size` channels."""
        axis = self.cell.channel_axis
        return shape.rank is None or (shape.rank == 4 and shape.as_list()[axis] in (None, size))


class ConvLSTM2D(LayerOfCell, ConvRNN2D):
    """A layer that runs a `ConvLSTM2DCell`. For the arguments, see `ConvLSTM2DCell` and `RNN`."""

    cell_class = ConvLSTM2DCell
    rank_of_inputs = 5
    flags = ("return_sequences", "go_backwards", "stateful")
    last_arguments = ("dropout", "recurrent_dropout")
