"""ConfiguredLayer: a layer whose constructor arguments become attributes and are part of its
configuration.

This module also has the checks of arguments that several layers share.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.attr_values import whole_number
from gpugraph.library.keras.backend.array_functions import known_format
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.engine.layer_configs import object_of_argument, plain_argument

_OF_ALL_LAYERS = ("self", "name", "trainable", "dtype", "kwargs")


class ConfiguredLayer(Layer):
    """A layer that stores each argument of its constructor in an attribute of the same name.

    A constructor ends with `self.keep_arguments(locals())`. Activations, initializers, regularizers
    and constraints may be passed as names or configurations, and are stored as functions.
    """

    activation: Any
    use_bias: bool
    _argument_names: tuple[str, ...] = ()

    def __init__(self, *args: Any, activity_regularizer: Any = None, **kwargs: Any) -> None:
        regularizer = object_of_argument("activity_regularizer", activity_regularizer)
        super().__init__(*args, activity_regularizer=regularizer, **kwargs)

    def keep_arguments(self, arguments: Mapping[str, Any]) -> None:
        """Store a constructor's arguments as attributes, and record their names for `get_config`.

        If the constructor has already set an attribute, the attribute keeps its value.
        """
        for name, value in arguments.items():
            if name in _OF_ALL_LAYERS or name.startswith("_"):
                continue
            if name not in self._argument_names:
                self._argument_names += (name,)
            if name not in vars(self) and name != "activity_regularizer":
                setattr(self, name, object_of_argument(name, value))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor as a dict of plain Python values."""
        arguments = {
            name: plain_argument(name, getattr(self, name)) for name in self._argument_names
        }
        return {**super().get_config(), **arguments}

    def add_parameter(self, name: str, shape: Any, dtype: Any = None, options: str = "") -> Any:
        """Create a trained variable. Its initializer, regularizer and constraint are attributes of
        the layer.

        Args:
          options: the prefix of these attributes' names, such as `kernel` in `kernel_initializer`;
            by default `name`.
        """
        initializer, regularizer, constraint = (
            getattr(self, f"{options or name}_{kind}", None)
            for kind in ("initializer", "regularizer", "constraint")
        )
        return self.add_weight(name, shape, dtype, initializer, regularizer, constraint=constraint)


class SameShape(ConfiguredLayer):
    """A layer whose outputs have the shape and the mask of its inputs."""

    supports_masking = True

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape of the outputs, which is the shape of the inputs."""
        return as_shape(input_shape)


def numbers(value: Any, count: int, name: str) -> tuple[int, ...]:
    """Return a tuple of `count` ints. The value is one int, which is repeated, or a sequence of
    ints.

    Raises ValueError for any other value.

    Args:
      name: the argument's name, for the message.
    """
    if isinstance(value, int):
        return (value,) * count
    try:
        sizes = tuple(whole_number(name, size) for size in value)
    except (TypeError, ValueError):
        sizes = ()
    if len(sizes) != count:
        raise ValueError(
            f"The `{name}` argument must be a tuple of {count} integers. Received: {value!r}"
        )
    return sizes


def format_of(data_format: Any) -> str:
    """Return the value if it is "channels_first" or "channels_last". If the value is None, return
    `image_data_format()`.

    Raises ValueError for any other value.
    """
    try:
        return known_format(None if data_format is None else str(data_format).lower())
    except ValueError:
        raise ValueError(
            "The `data_format` argument must be one of channels_first, channels_last. Received: "
            f"{data_format}"
        ) from None


def padding_of(value: Any, *further: str) -> str:
    """Return the padding in lower case. Raises ValueError unless the padding is "valid", "same" or
    one of `further`.
    """
    padding = str(value).lower()
    known = ("valid", "same", *further)
    if padding not in known:
        raise ValueError(
            "The `padding` argument must be a list/tuple or one of "
            f"{', '.join(repr(name) for name in known)}. Received: {value}"
        )
    return padding
