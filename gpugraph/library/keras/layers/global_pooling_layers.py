"""Global pooling: the maximum or the mean of each channel over all spatial axes."""

from __future__ import annotations

from typing import Any

from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.elementwise_and_reductions import (
    max as max_of,
    mean,
    sum as sum_of,
)
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.layers.configured_layer import ConfiguredLayer, format_of
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims


class _GlobalPooling(ConfiguredLayer):
    """Base class of layers that reduce inputs [n, ..., channels] over the spatial axes. The result
    is [n, channels].
    """

    dimensions = 2
    is_mean = False

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = format_of(data_format)
        self.input_spec = InputSpec(ndim=self.dimensions + 2)
        self.keep_arguments({"data_format": data_format})
        first = self.data_format == "channels_first"
        self.axes = list(range(2 if first else 1, self.dimensions + (2 if first else 1)))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape [n, channels] of the outputs."""
        sizes = as_shape(input_shape).as_list()
        return TensorShape([sizes[0], sizes[1 if self.axes[0] == 2 else -1]])

    def call(self, inputs: Any) -> Tensor:
        """Return the maximum or the mean of each channel."""
        pooled: Tensor = (mean if self.is_mean else max_of)(inputs, axis=self.axes)
        return pooled


class GlobalMaxPooling1D(_GlobalPooling):
    """A layer that returns the maximum of each channel of sequences [n, steps, channels]."""

    dimensions = 1


class GlobalMaxPooling2D(_GlobalPooling):
    """A layer that returns the maximum of each channel of images."""


class GlobalMaxPooling3D(_GlobalPooling):
    """A layer that returns the maximum of each channel of volumes."""

    dimensions = 3


class GlobalAveragePooling1D(_GlobalPooling):
    """A layer that returns the mean of each channel of sequences [n, steps, channels].

    Masked steps are not included in the mean.
    """

    dimensions, is_mean, supports_masking = 1, True, True

    def call(self, inputs: Any, mask: Any = None) -> Tensor:
        """Return the means over the steps for which `mask` [n, steps] is True."""
        if mask is None:
            return super().call(inputs)
        place = 2 if self.axes == [1] else 1
        weights = expand_dims(cast(mask, inputs.dtype.base_dtype), place)
        kept: Tensor = sum_of(inputs * weights, axis=self.axes) / sum_of(weights, axis=self.axes)
        return kept

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """Return None, because the mask is about steps, and the outputs have no steps."""


class GlobalAveragePooling2D(_GlobalPooling):
    """A layer that returns the mean of each channel of images."""

    is_mean = True


class GlobalAveragePooling3D(_GlobalPooling):
    """A layer that returns the mean of each channel of volumes."""

    dimensions, is_mean = 3, True
