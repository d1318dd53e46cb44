"""What layers have in common: functions made of classes, weights, sizes and formats."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any

from gpugraph.base.named_function import named, with_signature
from gpugraph.graph.attr_values import whole_number
from gpugraph.keras.engine.layer_configs import arguments_config
from gpugraph.layers.base_layer import Layer
from gpugraph.ops.random.variable_initializers import Ones, Zeros
from gpugraph.variables.module import snake_case

ONES, ZEROS = Ones(), Zeros()
"""Default initializers, where the scope has none."""


def layer_function(
    layer: type[Layer], order: str = "", *, reuse: bool = True, **defaults: Any
) -> Callable[..., Any]:
    """The function that applies a new layer to `inputs`: `conv2d` of `Conv2D`.

    It takes what the constructor and `call` take. order: its parameters' names after `inputs`, by
    default the constructor's. reuse: whether `reuse` follows `name`: for layers with variables,
    whose variable scope is `name` itself. defaults: those that differ from the constructor's.
    """
    call = inspect.signature(layer.call).parameters
    known = {**call, **inspect.signature(layer).parameters}
    known["name"] = Parameter("name", Parameter.POSITIONAL_OR_KEYWORD, default=None)
    names = order.split() or [name for name in known if name not in ("kwargs", *call)]
    parameters = [Parameter("inputs", Parameter.POSITIONAL_OR_KEYWORD)]
    for name in names:
        parameters.append(known[name].replace(default=defaults.get(name, known[name].default)))
        if reuse and name == "name":
            parameters.append(Parameter("reuse", Parameter.POSITIONAL_OR_KEYWORD, default=None))
    doc = f"A new `{layer.__name__}` layer, applied to `inputs`.\n\n{layer.__doc__}"

    @with_signature(inspect.Signature(parameters))
    @named(snake_case(layer.__name__), doc)
    def function(**arguments: Any) -> Any:
        called = {name: arguments.pop(name) for name in call if name in arguments}
        if reuse:
            arguments |= {"_reuse": arguments.pop("reuse"), "_scope": arguments["name"]}
        return layer(**arguments).apply(**called)

    function.__module__ = layer.__module__
    return function


class LayerOfArguments(Layer):
    """A layer that has each argument of its constructor as an attribute of that name."""

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor as a dict of plain values."""
        return {**super().get_config(), **arguments_config(self)}

    def add_parameter(self, name: str, shape: Any, dtype: Any = None, options: str = "") -> Any:
        """A trained variable with the layer's arguments `kernel_initializer` and so on.

        options: what these arguments begin with, by default the name.
        """
        initializer, regularizer, constraint = (
            getattr(self, f"{options or name}_{kind}")
            for kind in ("initializer", "regularizer", "constraint")
        )
        return self.add_weight(name, shape, dtype, initializer, regularizer, constraint=constraint)


def numbers(value: Any, count: int, name: str) -> tuple[int, ...]:
    """A number for all of `count` dimensions, or one for each; ValueError for anything else."""
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


def channels_first(data_format: str) -> bool:
    """Whether channels come before the pixels; ValueError for an unknown format."""
    known = ("channels_first", "channels_last")
    if str(data_format).lower() not in known:
        raise ValueError(
            f"The `data_format` argument must be one of {', '.join(known)}. Received: {data_format}"
        )
    return str(data_format).lower() == known[0]


def padding_of(value: str) -> str:
    """ "valid" or "same"; ValueError for another padding."""
    padding = str(value).lower()
    if padding not in ("valid", "same"):
        raise ValueError(
            f'The `padding` argument must be a list/tuple or one of "valid", "same". Received: '
            f"{value}"
        )
    return padding
