"""Layers that change the spatial sizes of sequences, images and volumes: padding, cropping,
upsampling.

Inputs are [n, ..., channels], or [n, channels, ...] for "channels_first".
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.array_functions import repeat_elements
from gpugraph.library.keras.backend.keras_convolutions import resize_images
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.layers.configured_layer import ConfiguredLayer, format_of, numbers
from gpugraph.ops.arrays.tile_and_pad import pad


class _Space(ConfiguredLayer):
    """Base class of layers that change the sizes of the spatial axes."""

    dimensions = 2
    has_format = True

    def __init__(self, data_format: str | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = format_of(data_format if self.has_format else "channels_last")
        self.input_spec = InputSpec(ndim=self.dimensions + 2)
        self.first_axis = 2 if self.data_format == "channels_first" else 1

    def new_size(self, axis: int, size: int) -> int:
        """Return the output size for the input size of a spatial axis. Axes are numbered from 0."""
        raise NotImplementedError

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape of the inputs with the new spatial sizes."""
        sizes = as_shape(input_shape).as_list()
        for axis in range(self.dimensions):
            size = sizes[self.first_axis + axis]
            if size is not None:
                sizes[self.first_axis + axis] = self.new_size(axis, size)
        return TensorShape(sizes)


def pairs(value: Any, count: int, name: str) -> tuple[tuple[int, int], ...]:
    """Return `count` pairs (before, after). `value` is a number, `count` numbers, or `count` pairs.

    A number n means the pair (n, n). Raises ValueError for any other value.

    Args:
      name: the argument's name, for the message.
    """
    if count == 1 and isinstance(value, (tuple, list)) and not isinstance(value[0], (tuple, list)):
        value = (value,)
    if isinstance(value, int):
        return ((value, value),) * count
    if not hasattr(value, "__len__") or len(value) != count:
        raise ValueError(f"`{name}` should have {count} elements. Found: {value!r}")
    first, last = [], []
    for part in value:
        before, after = numbers(part, 2, f"{name} entry")
        first.append(before)
        last.append(after)
    return tuple(zip(first, last))


class _Padding(_Space):
    """Base class of layers that add zeros before and after the elements of the spatial axes.

    Args:
      padding: a number for both ends of every axis, a number for each axis, or a pair (before,
        after) for each axis.
    """

    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding = pairs(padding, self.dimensions, "padding")
        self.keep_arguments({"padding": padding} | _format_argument(self))

    def new_size(self, axis: int, size: int) -> int:
        """Return the size of a spatial axis including the zeros."""
        return size + sum(self.padding[axis])

    def call(self, inputs: Any) -> Tensor:
        """Return the padded inputs."""
        ends = [[0, 0]] * (self.dimensions + 2)
        ends[self.first_axis : self.first_axis + self.dimensions] = map(list, self.padding)
        return pad(inputs, ends)


class _Cropping(_Space):
    """Base class of layers that remove elements at the start and end of the spatial axes.

    Args:
      cropping: a number for both ends of every axis, a number for each axis, or a pair (before,
        after) for each axis.
    """

    def __init__(self, cropping: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping = pairs(cropping, self.dimensions, "cropping")
        self.keep_arguments({"cropping": cropping} | _format_argument(self))

    def new_size(self, axis: int, size: int) -> int:
        """Return the size of a spatial axis without the removed elements."""
        return size - sum(self.cropping[axis])

    def call(self, inputs: Any) -> Tensor:
        """Return the cropped inputs."""
        parts: list[Any] = [slice(None)] * (self.dimensions + 2)
        for axis, (before, after) in enumerate(self.cropping):
            parts[self.first_axis + axis] = slice(before, -after if after else None)
        left: Tensor = inputs[tuple(parts)]
        return left


class _Upsampling(_Space):
    """Base class of layers that repeat each element along the spatial axes.

    Args:
      size: the number of repetitions, or a number for each axis.
    """

    def __init__(self, size: Any = 2, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.size: Any = numbers(size, self.dimensions, "size")
        self.keep_arguments({"size": size} | _format_argument(self))

    def new_size(self, axis: int, size: int) -> int:
        """Return the size of a spatial axis, multiplied by its number of repetitions."""
        return size * int(self.size[axis])

    def call(self, inputs: Any) -> Tensor:
        """Return the inputs with each element repeated."""
        for axis in range(self.dimensions):
            inputs = repeat_elements(inputs, self.size[axis], self.first_axis + axis)
        repeated: Tensor = inputs
        return repeated


def _format_argument(layer: _Space) -> dict[str, Any]:
    """Return {"data_format": ...} if the layer has this argument, otherwise an empty dict."""
    return {"data_format": layer.data_format} if layer.has_format else {}


class ZeroPadding1D(_Padding):
    """A layer that adds zeros before the first step and after the last step of [n, steps,
    channels].
    """

    dimensions, has_format = 1, False

    def __init__(self, padding: Any = 1, **kwargs: Any) -> None:
        super().__init__(padding, **kwargs)
        self.padding: Any = self.padding

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor, with `padding` as one pair."""
        return {**super().get_config(), "padding": self.padding[0]}


class ZeroPadding2D(_Padding):
    """A layer that adds zeros around images [n, rows, columns, channels]."""

    def __init__(
        self, padding: Any = (1, 1), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(padding, data_format, **kwargs)


class ZeroPadding3D(_Padding):
    """A layer that adds zeros around volumes [n, depth, rows, columns, channels]."""

    dimensions = 3

    def __init__(
        self, padding: Any = (1, 1, 1), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(padding, data_format, **kwargs)


class Cropping1D(_Cropping):
    """A layer that removes the first and the last steps of sequences [n, steps, channels]."""

    dimensions, has_format = 1, False

    def __init__(self, cropping: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(cropping, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor, with `cropping` as one pair."""
        return {**super().get_config(), "cropping": self.cropping[0]}


class Cropping2D(_Cropping):
    """A layer that removes outer rows and columns of images [n, rows, columns, channels]."""

    def __init__(
        self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(cropping, data_format, **kwargs)


class Cropping3D(_Cropping):
    """A layer that removes the outer elements of volumes [n, depth, rows, columns, channels]."""

    dimensions = 3

    def __init__(
        self,
        cropping: Any = ((1, 1), (1, 1), (1, 1)),
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cropping, data_format, **kwargs)


class UpSampling1D(_Upsampling):
    """A layer that repeats each step of [n, steps, channels] `size` times."""

    dimensions, has_format = 1, False

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(size, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor, with `size` as one number."""
        return {**super().get_config(), "size": self.size[0]}


class UpSampling2D(_Upsampling):
    """A layer that enlarges images by integer factors.

    Args:
      size: the factors of the rows and the columns.
      interpolation: "nearest" or "bilinear".
    """

    def __init__(
        self,
        size: Any = (2, 2),
        data_format: str | None = None,
        interpolation: str = "nearest",
        **kwargs: Any,
    ) -> None:
        super().__init__(size, data_format, **kwargs)
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError(
                '`interpolation` argument should be one of `"nearest"` or `"bilinear"`, not '
                f"{interpolation!r}"
            )
        self.interpolation = interpolation
        self.keep_arguments({"interpolation": interpolation})

    def call(self, inputs: Any) -> Tensor:
        """Return the enlarged images."""
        height, width = self.size
        return resize_images(inputs, height, width, self.data_format, self.interpolation)


class UpSampling3D(_Upsampling):
    """A layer that enlarges volumes by integer factors. It repeats each element along the spatial
    axes.
    """

    dimensions = 3

    def __init__(
        self, size: Any = (2, 2, 2), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(size, data_format, **kwargs)
