"""Names of `tensorflow.python.keras.utils` that custom layers for TensorFlow 1 import.

Programs find them through `module_table`. Nothing in this package uses them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.shapes import TensorShape
from gpugraph.building.variables import Variable
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.layers.configured_layer import (
    format_of as normalize_data_format,  # noqa: F401
    numbers as normalize_tuple,  # noqa: F401
    padding_of as normalize_padding,  # noqa: F401
)
from gpugraph.ops.sparse.sparse_tensor import SparseTensor

# -- conv_utils


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """Return the output size of a convolution along one axis. Return None if `input_length` is
    None.
    """
    if input_length is None:
        return None
    window = filter_size + (filter_size - 1) * (dilation - 1)
    lost = {"same": 0, "causal": 0, "valid": window - 1, "full": 1 - window}[padding]
    return (input_length - lost + stride - 1) // stride


def conv_input_length(
    output_length: int | None, filter_size: int, padding: str, stride: int
) -> int | None:
    """Return the input size for which a convolution has an output of `output_length`.

    Return None if `output_length` is None.
    """
    if output_length is None:
        return None
    added = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * added + filter_size


def deconv_output_length(
    input_length: int | None,
    filter_size: int,
    padding: str,
    output_padding: int | None = None,
    stride: int = 0,
    dilation: int = 1,
) -> int | None:
    """Return the output size of a transposed convolution along one axis. Return None if
    `input_length` is None.
    """
    if input_length is None:
        return None
    window = filter_size + (filter_size - 1) * (dilation - 1)
    if output_padding is None:
        added = {"valid": max(window - stride, 0), "full": 2 - stride - window, "same": 0}
        return input_length * stride + added[padding]
    cut = {"same": window // 2, "valid": 0, "full": window - 1}[padding]
    return (input_length - 1) * stride + window - 2 * cut + output_padding


def convert_data_format(data_format: str, ndim: int) -> str:
    """Convert a data format of Keras to a data format of ops. For example, "channels_last" becomes
    "NHWC" if `ndim` is 4.

    Raises ValueError if the format or the number of dimensions is not supported.
    """
    letters = {3: "W", 4: "HW", 5: "DHW"}
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError("Invalid data_format: " + str(data_format))
    if ndim not in letters:
        raise ValueError("Input rank not supported: " + str(ndim))
    return f"N{letters[ndim]}C" if data_format == "channels_last" else f"NC{letters[ndim]}"


# -- generic_utils, layer_utils


def to_list(x: Any) -> list[Any]:
    """Return `x` if it is a list. If it is not, return a list whose only item is `x`."""
    return x if isinstance(x, list) else [x]


def unpack_singleton(x: Sequence[Any]) -> Any:
    """Return the only item of `x`. If it has several items, return `x` unchanged."""
    return x[0] if len(x) == 1 else x


def has_arg(fn: Callable[..., Any], name: str, accept_all: bool = False) -> bool:
    """Return whether a function has a parameter `name`.

    Args:
      accept_all: whether a parameter `**kwargs` accepts the argument too.
    """
    parameters = inspect.signature(fn).parameters
    by_kwargs = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return name in parameters or (accept_all and by_kwargs)


def count_params(weights: Sequence[Any]) -> int:
    """Return the total number of elements of the variables. A variable that occurs twice is counted
    once.
    """
    return sum(int(np.prod(weight.shape.as_list())) for weight in dict.fromkeys(weights))


# -- tf_utils


def shape_type_conversion(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method so that it receives shapes as tuples, and its results are converted to
    TensorShapes.

    The returned method accepts tuples and TensorShapes.
    """

    def convert(instance: Any, input_shape: Any) -> Any:
        if input_shape is not None:
            input_shape = convert_shapes(input_shape, to_tuples=True)
        output_shape = fn(instance, input_shape)
        return None if output_shape is None else convert_shapes(output_shape, to_tuples=False)

    return convert


def convert_shapes(input_shape: Any, to_tuples: bool = True) -> Any:
    """Convert a shape, or nested lists of shapes, to tuples of sizes or to TensorShapes."""
    if isinstance(input_shape, TensorShape) or _is_shape(input_shape):
        shape = TensorShape(input_shape)
        return tuple(shape.as_list()) if to_tuples else shape
    return [convert_shapes(shape, to_tuples) for shape in input_shape]


def _is_shape(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(
        size is None or isinstance(size, (int, np.integer)) for size in value
    )


def is_tensor_or_variable(x: Any) -> bool:
    """Return whether `x` is a tensor, a SparseTensor or a variable."""
    return isinstance(x, (Tensor, SparseTensor, Variable))


is_symbolic_tensor = is_tensor_or_variable
