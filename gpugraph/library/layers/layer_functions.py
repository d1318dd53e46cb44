"""Generates classes of `tf.layers` whose defaults differ from Keras's defaults, and functions from
classes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

from gpugraph.base.named_function import named, with_signature
from gpugraph.building.variables.module import snake_case
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.layers.base_layer import Layer


def layer_function(
    layer: type[Layer], order: str = "", *, reuse: bool = True, **defaults: Any
) -> Callable[..., Tensor]:
    """Return a function such as `conv2d`, which creates a layer (`Conv2D`) and applies it to
    `inputs`.

    The function accepts the arguments of the constructor and of `call`.

    Args:
      order: the names of the function's parameters after `inputs`, by default the parameters of
        the constructor.
      reuse: whether the function has a parameter `reuse` after `name`, as it does for layers with
        variables. `name` is then the variable scope.
      defaults: a dict from names of parameters to default values. These replace the defaults of
        the constructor.
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
    doc = f"Apply a new `{layer.__name__}` layer to `inputs`.\n\n{layer.__doc__}"

    @with_signature(inspect.Signature(parameters, return_annotation="Tensor"))
    @named(snake_case(layer.__name__), doc)
    def function(**arguments: Any) -> Tensor:
        called = {name: arguments.pop(name) for name in call if name in arguments}
        if reuse:
            arguments |= {"_reuse": arguments.pop("reuse"), "_scope": arguments["name"]}
        return layer(**arguments).apply(**called)

    function.__module__ = layer.__module__
    return function


def with_defaults(
    defaults: Mapping[str, Any], without: str = ""
) -> Callable[[type[Layer]], type[Layer]]:
    """Return a decorator of layer classes that replaces defaults of the constructor's parameters.

    `trainable` and `name` become positional parameters before the other keyword arguments.

    Args:
      defaults: a dict from parameters to their new defaults. The value Parameter.empty makes a
        parameter required. Passing None for a required parameter raises ValueError.
      without: the names of parameters to remove.
    """

    def decorate(layer: type[Layer]) -> type[Layer]:
        original = inspect.signature(layer.__init__).parameters.values()
        optional = [parameter.name for parameter in original if parameter.default is None]
        required = [name for name in optional if defaults.get(name) is Parameter.empty]
        parameters = [
            parameter.replace(default=defaults.get(parameter.name, parameter.default))
            for parameter in original
            if parameter.kind is not Parameter.VAR_KEYWORD and parameter.name not in without.split()
        ]
        has_weights = any(parameter.name.endswith("_initializer") for parameter in parameters)
        known = {parameter.name for parameter in parameters} | set(without.split())
        for name, default in (("trainable", True), ("name", None)):
            if name not in known and (name == "name" or has_weights):
                parameters.append(Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default))
        further = [p for p in original if p.kind is Parameter.VAR_KEYWORD]
        construct = layer.__init__

        @with_signature(inspect.Signature([*parameters, *further]))
        def __init__(self: Any, kwargs: Any = None, **arguments: Any) -> None:
            for name in required:
                if arguments[name] is None:
                    raise ValueError(f"Argument `{name}` must not be None.")
            construct(self, **arguments, **(kwargs or {}))

        setattr(layer, "__init__", __init__)  # noqa: B010
        return layer

    return decorate
