"""Inputs of layers: conversion to tensors, and the input shape among the constructor arguments of a
first layer.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpugraph.base.nest import flatten, map_structure
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_NUMBERS = (np.ndarray, np.generic, int, float, complex)
"""Classes of values that a layer's call converts to tensors."""


def take_input_shape(options: dict[str, Any]) -> tuple[int | None, ...] | None:
    """Remove the input shape from a constructor's options. Return the shape with the batch axis, or
    None.

    The shape is in the option `batch_input_shape`, or in one of the options `input_shape` and
    `input_dim`, to which `batch_size` adds the batch axis.
    """
    batch_size = options.pop("batch_size", None)
    size = options.pop("input_dim", None)
    sizes = options.pop("input_shape", size)
    whole = options.pop("batch_input_shape", None)
    if whole is not None:
        return tuple(whole)
    if sizes is None:
        return None
    return (batch_size, *(sizes if isinstance(sizes, (list, tuple)) else (sizes,)))


def refuse_keywords(layer: Any, options: Mapping[str, Any]) -> None:
    """Raise TypeError if a constructor option is accepted by neither the layer's class nor a base
    class.
    """
    if options:
        known = [
            parameter.name
            for parameter in inspect.signature(type(layer).__init__).parameters.values()
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ][1:]
        raise TypeError(
            f"Keyword argument not understood: {', '.join(options)}. {type(layer).__name__} takes "
            f"{', '.join([*known, 'and the arguments of every layer'])}"
        )


def has_tensors(value: Any) -> bool:
    """Return whether `value` is a tensor or variable, or a structure that contains one."""
    if isinstance(value, Mapping):
        return any(is_tensor(key) or has_tensors(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return any(has_tensors(item) for item in value)
    return is_tensor(value)


def is_tensor(value: Any) -> bool:
    """Return whether `value` is a tensor or a variable."""
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def tensor_of_value(value: Any) -> Any:
    """Convert numbers and arrays to tensors. Return any other value unchanged."""
    return convert_to_tensor(value) if isinstance(value, _NUMBERS) else value


def shapes_and_dtype(inputs: Any) -> tuple[Any, Any]:
    """Return the shapes of inputs, in the structure of the inputs, and the dtype of the first
    input.

    The shapes are None if an input has no shape. The dtype is None if the first input has no dtype.
    """
    tensors = flatten(inputs)
    dtype = None if isinstance(tensors[0], type) else getattr(tensors[0], "dtype", None)
    has_shapes = all(hasattr(tensor, "shape") for tensor in tensors)
    shapes = map_structure(lambda tensor: tensor.shape, inputs) if has_shapes else None
    return shapes, None if dtype is None else dtype.base_dtype


def map_shapes(function: Any, shape: Any) -> Any:
    """Apply `function` to one shape, or to each shape in nested lists, tuples and dicts."""
    if isinstance(shape, dict):
        return {name: map_shapes(function, item) for name, item in shape.items()}
    parts = (tuple, list, dict, TensorShape)
    if isinstance(shape, (list, tuple)) and any(isinstance(item, parts) for item in shape):
        listed = [map_shapes(function, item) for item in shape]
        return tuple(listed) if isinstance(shape, tuple) else listed
    return function(as_shape(shape))
