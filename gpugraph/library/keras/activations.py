"""`tf.keras.activations`: functions of one tensor, and their lookup by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.elementwise_and_reductions import elu as elu, relu as relu
from gpugraph.library.keras.backend.keras_losses import hard_sigmoid as hard_sigmoid
from gpugraph.library.keras.keras_objects import deserialize_keras_object
from gpugraph.ops.elementwise import unary_functions
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.activations import selu_softsign_swish
from gpugraph.ops.nn.activations.softmax import softmax as softmax_of


def softmax(x: Any, axis: int = -1) -> Tensor:
    """Return exp(x) / sum(exp(x)), where the sum is along `axis`. Raises ValueError if `x` has
    fewer than two axes.
    """
    x = convert_to_tensor(x)
    if x.shape.rank is not None and x.shape.rank < 2:
        raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")
    return softmax_of(x, axis)


def linear(x: Any) -> Any:
    """Return `x` unchanged."""
    return x


def selu(x: Any) -> Tensor:
    """Return scale * x for x > 0, else scale * alpha * (exp(x) - 1).

    `scale` and `alpha` are the constants of `tf.nn.selu`.
    """
    return selu_softsign_swish.selu(x)


def softplus(x: Any) -> Tensor:
    """Return log(1 + exp(x))."""
    return unary_functions.softplus(x)


def softsign(x: Any) -> Tensor:
    """Return x / (1 + |x|)."""
    return selu_softsign_swish.softsign(x)


tanh = unary_functions.tanh
sigmoid = unary_functions.sigmoid
exponential = unary_functions.exp

_NAMES = "elu exponential hard_sigmoid linear relu selu sigmoid softmax softplus softsign tanh"
_ACTIVATIONS: dict[str, Callable[..., Any]] = {name: globals()[name] for name in _NAMES.split()}


def serialize(activation: Callable[..., Any]) -> str:
    """Return the name of an activation, for `deserialize`."""
    for name, function in _ACTIVATIONS.items():
        if function is activation:
            return name
    return str(activation.__name__)


def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """Return the activation with this name, from `custom_objects` or this module.

    Raises ValueError for an unknown name.
    """
    return deserialize_keras_object(name, _ACTIVATIONS, custom_objects, "activation function")


def get(identifier: Any) -> Any:
    """Return the activation function with the name `identifier`. Return `linear` for None.

    A callable is returned unchanged. Raises TypeError for anything else.
    """
    if identifier is None:
        return linear
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise TypeError(f"Could not interpret activation function identifier: {identifier!r}")
