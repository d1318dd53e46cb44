"""The configuration of a layer as a dict of plain values, and arguments made of such a dict.

Functions of this package are told by name, initializers by class and their own arguments. A
function of the program is kept as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from gpugraph.ops.elementwise import unary_functions
from gpugraph.ops.nn.activations import relu_and_elu, selu_softsign_swish, softmax
from gpugraph.ops.random import variable_initializers

_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(unary_functions, name) for name in ("sigmoid", "tanh", "exp", "softplus")},
    **{name: getattr(relu_and_elu, name) for name in ("relu", "relu6", "elu", "leaky_relu")},
    **{name: getattr(selu_softsign_swish, name) for name in ("selu", "softsign", "swish")},
    "softmax": softmax.softmax,
}
"""The functions that a configuration names."""

_LINEAR = "linear"


def arguments_config(layer: Any) -> dict[str, Any]:
    """The arguments of a layer's constructor, from attributes `name` or `_name`."""
    left_out = ("self", "name", "trainable", "dtype", "kwargs")
    names = list(inspect.signature(type(layer).__init__).parameters)
    config = {}
    for name in names:
        if name not in left_out:
            value = getattr(layer, name) if hasattr(layer, name) else getattr(layer, f"_{name}")
            config[name] = _plain(name, value)
    return config


def _plain(name: str, value: Any) -> Any:
    """A value of a configuration for an argument."""
    if name == "activation":
        return _LINEAR if value is None else named_activation(value)
    if isinstance(value, variable_initializers.Initializer):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    return value


def named_activation(function: Callable[..., Any]) -> Any:
    """The name of an activation of this package; another function as it is."""
    name = getattr(function, "__name__", "")
    return name if _ACTIVATIONS.get(name) is function else function


def from_plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a configuration tells."""
    return {name: _argument(name, value) for name, value in config.items()}


def _argument(name: str, value: Any) -> Any:
    if name == "activation" and isinstance(value, str):
        return activation_named(value)
    if isinstance(value, Mapping) and "class_name" in value:
        made_of = getattr(variable_initializers, value["class_name"], None)
        if made_of is None:
            raise ValueError(f"Unknown initializer: {value['class_name']} (argument {name})")
        return made_of.from_config(value["config"])
    return value


def activation_named(name: str) -> Callable[..., Any] | None:
    """The activation of a configuration; None for "linear". ValueError for an unknown name."""
    if name == _LINEAR:
        return None
    if name not in _ACTIVATIONS:
        raise ValueError(
            f"Unknown activation function: {name}. It is one of {', '.join(sorted(_ACTIVATIONS))}"
        )
    return _ACTIVATIONS[name]
