"""Pooling layers: the maximum or the mean of windows along one, two or three axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.layers.configured_layer import (
    ConfiguredLayer,
    format_of,
    numbers,
    padding_of,
)
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.nn.pooling.pool_functions import avg_pool, avg_pool3d, max_pool, max_pool3d


class _Pooling(ConfiguredLayer):
    """Base class of layers that pool windows of inputs [n, ..., channels], or of inputs [n,
    channels, ...] for "channels_first".

    Raises ValueError if the inputs do not have the expected rank, or if windows are larger than the
    inputs.

    Args:
      pool_size: the size of a window: one number, or a number for each spatial axis.
      strides: the distance between windows: one number, or a number for each spatial axis. The
        default is `pool_size`.
      padding: "valid" or "same".
    """

    dimensions = 2
    pool_function: Callable[..., Tensor]
    """The pooling function of `tf.nn`, for images or volumes."""

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.input_spec = InputSpec(ndim=self.dimensions + 2)
        self.pool_size = numbers(pool_size, self.dimensions, "pool_size")
        self.strides = self.pool_size
        if strides is not None:
            self.strides = numbers(strides, self.dimensions, "strides")
        self.padding = padding_of(padding)
        self.data_format = format_of(data_format)
        self._first = self.data_format == "channels_first"
        self.keep_arguments(locals())

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape of the pooled inputs."""
        return self.shape_by_trial(input_shape)

    def call(self, inputs: Tensor) -> Tensor:
        """Apply `pool_function` to the inputs. Sequences are pooled as images of width 1."""
        is_1d, first = self.dimensions == 1, self._first
        size, strides = (
            [*([1, 1] if first else [1]), *sizes, *([1] if is_1d else []), *([] if first else [1])]
            for sizes in (self.pool_size, self.strides)
        )
        layout = {3: ("NDHWC", "NCDHW")}.get(self.dimensions, ("NHWC", "NCHW"))[first]
        axis = 3 if first else 2
        images = expand_dims(inputs, axis) if is_1d else inputs
        outputs: Tensor = self.pool_function(
            images, size, strides, self.padding.upper(), data_format=layout
        )
        return squeeze(outputs, [axis]) if is_1d else outputs


class MaxPooling1D(_Pooling):
    """A layer that returns the maximum of each window of inputs [n, steps, channels], for each
    channel.
    """

    dimensions = 1
    pool_function = staticmethod(max_pool)


class AveragePooling1D(_Pooling):
    """A layer that returns the mean of each window of inputs [n, steps, channels], for each
    channel.
    """

    dimensions = 1
    pool_function = staticmethod(avg_pool)


class MaxPooling2D(_Pooling):
    """A layer that returns the maximum of each window of images [n, h, w, channels]. See
    `tf.nn.max_pool`.
    """

    pool_function = staticmethod(max_pool)


class AveragePooling2D(_Pooling):
    """A layer that returns the mean of each window of images [n, h, w, channels]. See
    `tf.nn.avg_pool`.
    """

    pool_function = staticmethod(avg_pool)


class MaxPooling3D(_Pooling):
    """A layer that returns the maximum of each window of volumes [n, d, h, w, channels].

    See `tf.nn.max_pool3d`.
    """

    dimensions = 3
    pool_function = staticmethod(max_pool3d)


class AveragePooling3D(_Pooling):
    """A layer that returns the mean of each window of volumes [n, d, h, w, channels].

    See `tf.nn.avg_pool3d`.
    """

    dimensions = 3
    pool_function = staticmethod(avg_pool3d)
