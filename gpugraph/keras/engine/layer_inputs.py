"""Inputs of layers: values as tensors, and the shape of those that a model begins with."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from gpugraph.base.nest import is_nested
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def take_input_shape(options: dict[str, Any]) -> tuple[int | None, ...] | None:
    """The shape of the first input, with the batch in front, of a constructor's options."""
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
    """TypeError for options of a layer's constructor that no class of the layer has taken."""
    if options:
        known = [
            parameter.name
            for parameter in inspect.signature(type(layer).__init__).parameters.values()
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ][1:]
        raise TypeError(
            f"Keyword argument not understood: {', '.join(options)}. {type(layer).__name__} takes "
            f"{', '.join([*known, 'what every layer takes'])}"
        )


def has_tensors(value: Any) -> bool:
    """Whether it is a tensor or variable, or a structure with one."""
    if isinstance(value, Mapping):
        return any(is_tensor(key) or has_tensors(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return any(has_tensors(item) for item in value)
    return is_tensor(value)


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor, or a variable."""
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def tensor_of_value(value: Any) -> Any:
    """Numbers and arrays as tensors; tensors and variables unchanged."""
    if value is None or is_tensor(value):
        return value
    return value if is_nested(value) else convert_to_tensor(value)
