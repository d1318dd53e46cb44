"""Pooling layers: the largest element, or the mean, of windows along one to three dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.layers.base_layer import Layer
from gpugraph.layers.layer_arguments import applied, channels_first, numbers, padding_of
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.nn.pooling.pool_functions import avg_pool, avg_pool3d, max_pool, max_pool3d


class _Pooling(Layer):
    """Windows over inputs [n, ..., channels] ("channels_first": [n, channels, ...]).

    pool_size, strides: how large windows are, and how far apart: a number, or one a dimension.
    padding: "valid" or "same".

    ValueError for inputs of another rank, and for windows larger than they are.
    """

    dimensions = 2

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.input_rank = self.dimensions + 2
        self.pool_size = numbers(pool_size, self.dimensions, "pool_size")
        self.strides = numbers(
            pool_size if strides is None else strides, self.dimensions, "strides"
        )
        self.padding = padding_of(padding)
        self._first = channels_first(data_format)

    def pooled(self, inputs: Tensor) -> Tensor:
        """What comes of the windows of `inputs`."""
        raise NotImplementedError

    def call(self, inputs: Tensor) -> Tensor:
        return self.pooled(inputs)

    def _with(self, function: Callable[..., Tensor], inputs: Tensor) -> Tensor:
        count = self.dimensions
        size, strides = (
            [1, 1, *each] if self._first else [1, *each, 1]
            for each in (self.pool_size, self.strides)
        )
        layout = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[count][self._first]
        return function(inputs, size, strides, self.padding, data_format=layout)

    def _with_one(self, function: Callable[..., Tensor], inputs: Tensor) -> Tensor:
        """Over inputs [n, steps, channels], as images that are one pixel wide."""
        axis = 3 if self._first else 2
        images = expand_dims(inputs, axis)
        size, strides = (
            [1, 1, *each, 1] if self._first else [1, *each, 1, 1]
            for each in (self.pool_size, self.strides)
        )
        layout = "NCHW" if self._first else "NHWC"
        return squeeze(function(images, size, strides, self.padding, data_format=layout), [axis])


class MaxPooling1D(_Pooling):
    """The largest element of windows along inputs [n, steps, channels], channel by channel."""

    dimensions = 1

    def pooled(self, inputs: Tensor) -> Tensor:
        return self._with_one(max_pool, inputs)


class AveragePooling1D(_Pooling):
    """The mean of windows along inputs [n, steps, channels], channel by channel."""

    dimensions = 1

    def pooled(self, inputs: Tensor) -> Tensor:
        return self._with_one(avg_pool, inputs)


class MaxPooling2D(_Pooling):
    """The largest element of windows over images [n, h, w, channels]; see `tf.nn.max_pool`."""

    def pooled(self, inputs: Tensor) -> Tensor:
        return self._with(max_pool, inputs)


class AveragePooling2D(_Pooling):
    """The mean of windows over images [n, h, w, channels]; see `tf.nn.avg_pool`."""

    def pooled(self, inputs: Tensor) -> Tensor:
        return self._with(avg_pool, inputs)


class MaxPooling3D(_Pooling):
    """The largest element of windows in volumes [n, d, h, w, channels]; see `tf.nn.max_pool3d`."""

    dimensions = 3

    def pooled(self, inputs: Tensor) -> Tensor:
        return self._with(max_pool3d, inputs)


class AveragePooling3D(_Pooling):
    """The mean of windows in volumes [n, d, h, w, channels]; see `tf.nn.avg_pool3d`."""

    dimensions = 3

    def pooled(self, inputs: Tensor) -> Tensor:
        return self._with(avg_pool3d, inputs)


def max_pooling1d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """A `MaxPooling1D` layer applied to `inputs`."""
    return applied(MaxPooling1D, locals())


def average_pooling1d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """An `AveragePooling1D` layer applied to `inputs`."""
    return applied(AveragePooling1D, locals())


def max_pooling2d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """A `MaxPooling2D` layer applied to `inputs`."""
    return applied(MaxPooling2D, locals())


def average_pooling2d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """An `AveragePooling2D` layer applied to `inputs`."""
    return applied(AveragePooling2D, locals())


def max_pooling3d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """A `MaxPooling3D` layer applied to `inputs`."""
    return applied(MaxPooling3D, locals())


def average_pooling3d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """An `AveragePooling3D` layer applied to `inputs`."""
    return applied(AveragePooling3D, locals())
