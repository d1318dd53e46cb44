"""Locally connected layers: convolutions with a different kernel for each output position."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.keras_convolutions import bias_add, local_conv
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.layers.configured_layer import (
    ConfiguredLayer,
    format_of,
    numbers,
    padding_of,
)
from gpugraph.ops.arrays.reshape_and_transpose import reshape, transpose
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.sparse.sparse_functions import sparse_tensor_dense_matmul
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


class _LocallyConnected(ConfiguredLayer):
    """A layer that returns activation(sums + bias). The sums are over windows, as in a convolution.

    Each output position has its own kernel and bias. The arguments `*_initializer`, `*_regularizer`
    and `*_constraint` are options of `kernel` and `bias`. Raises ValueError if a size of the inputs
    is unknown, or if the padding or the implementation is not one of the values below.

    Args:
      filters: the number of output channels.
      kernel_size, strides: the size of a window, and the distance between windows.
      padding: "valid", or "same" for implementations 2 and 3.
      implementation: the format of `kernel`. 1 is [positions, elements of a window, filters]. 2 is
        a dense matrix from all inputs to all outputs, [..., channels, ..., filters], whose elements
        outside of the windows are ignored. 3 is a vector of that matrix's elements inside of
        windows, sorted by output, then by input.
      use_bias: whether there is a `bias` [..., filters], with an element for each output.
    """

    dimensions = 1

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.filters = filters
        self.kernel_size = numbers(kernel_size, self.dimensions, "kernel_size")
        self.strides = numbers(strides, self.dimensions, "strides")
        self.padding = padding_of(padding)
        if implementation not in (1, 2, 3):
            raise ValueError(f"Unrecognized implementation mode: {implementation}.")
        if self.padding != "valid" and implementation == 1:
            raise ValueError(
                f"Invalid border mode for {type(self).__name__} (only 'valid' is supported if "
                f"implementation is 1): {padding}"
            )
        self.data_format = format_of(data_format)
        self.implementation = implementation
        self.keep_arguments(locals())
        self.input_spec = InputSpec(ndim=self.dimensions + 2)
        self.kernel: Any = None
        self.bias: Any = None
        self._windows: Any = None
        self._places: Any = None

    def _sizes(self, input_shape: Any) -> tuple[list[Any], list[Any]]:
        """Return the sizes of an example of the inputs and of an example of the outputs. An unknown
        size is None.
        """
        sizes = as_shape(input_shape).as_list()[1:]
        is_first = self.data_format == "channels_first"
        space = sizes[1:] if is_first else sizes[:-1]
        cut = [window if self.padding == "valid" else 1 for window in self.kernel_size]
        places = [
            None if size is None else (size - less) // stride + 1
            for size, less, stride in zip(space, cut, self.strides)
        ]
        return sizes, [self.filters, *places] if is_first else [*places, self.filters]

    def _space(self, sizes: list[Any]) -> list[Any]:
        """Return the spatial sizes of an example: `sizes` without the channels."""
        return sizes[1:] if self.data_format == "channels_first" else sizes[:-1]

    def _mask(self, sizes: list[int], outputs: list[int]) -> np.ndarray:
        """Return a bool array [*sizes, *outputs]: whether each input is in the window of each
        output.

        Args:
          sizes, outputs: the sizes of an example of the inputs and of the outputs. In the result,
            the sizes of the input channels and of the output channels are 1.
        """
        mask = np.ones((), bool)
        axes = zip(self._space(sizes), self._space(outputs), self.kernel_size, self.strides)
        for size, number, window, stride in axes:
            before = 0 if self.padding == "valid" else window // 2
            offsets = np.arange(size)[:, None] - stride * np.arange(number) + before
            mask = np.multiply.outer(mask, (offsets >= 0) & (offsets < window))
        order = range(mask.ndim)
        mask = mask.transpose([*order[::2], *order[1::2]])
        channels = 0 if self.data_format == "channels_first" else self.dimensions
        return np.expand_dims(mask, (channels, channels + self.dimensions + 1))

    def build(self, input_shape: Any) -> None:
        """Create `kernel` and `bias`."""
        sizes, outputs = self._sizes(input_shape)
        if None in (*sizes, *outputs):
            raise ValueError(
                f"The spatial dimensions of the inputs to {type(self).__name__} should be fully-"
                f"defined, but layer received the inputs shape {input_shape}"
            )
        is_first = self.data_format == "channels_first"
        channels = sizes[0 if is_first else -1]
        places = self._space(outputs)
        if self.implementation == 1:
            shape = [prod(places), prod(self.kernel_size) * channels, self.filters]
        else:
            shape = [*sizes, *outputs]
            self._windows = self._mask(sizes, outputs)
        if self.implementation == 3:
            connected = np.broadcast_to(self._windows, shape).reshape(prod(sizes), prod(outputs))
            self._places = np.argwhere(connected.T)
            shape = [len(self._places)]
        self.kernel = self.add_parameter("kernel", shape)
        if self.use_bias:
            self.bias = self.add_parameter("bias", [*places, self.filters])
        self.input_spec = InputSpec(
            ndim=self.dimensions + 2, axes={1 if is_first else -1: channels}
        )
        self.built = True

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape [n, ..., filters], or [n, filters, ...] for "channels_first"."""
        return TensorShape([as_shape(input_shape).as_list()[0], *self._sizes(input_shape)[1]])

    def call(self, inputs: Any) -> Tensor:
        """Return activation(sums over windows + bias)."""
        outputs = self._sums(inputs)
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias, self.data_format)
        activated: Tensor = self.activation(outputs)
        return activated

    def _sums(self, inputs: Any) -> Tensor:
        sizes, outputs = self._sizes(inputs.shape)
        if self.implementation == 1:
            places = self._space(outputs)
            windows = self.kernel_size, self.strides
            return local_conv(inputs, self.kernel, *windows, places, self.data_format)
        shape = [prod(sizes), prod(outputs)]
        flat = reshape(inputs, [-1, shape[0]])
        if self.implementation == 2:
            mask = self._windows.astype(inputs.dtype.as_numpy_dtype)
            sums = matmul(flat, reshape(self.kernel * mask, shape))
        else:
            matrix = SparseTensor(self._places, self.kernel, shape[::-1])
            sums = transpose(sparse_tensor_dense_matmul(matrix, flat, adjoint_b=True))
        return reshape(sums, [-1, *outputs])


class LocallyConnected1D(_LocallyConnected):
    __doc__ = _LocallyConnected.__doc__


class LocallyConnected2D(_LocallyConnected):
    __doc__ = _LocallyConnected.__doc__

    dimensions = 2
