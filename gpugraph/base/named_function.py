"""Functions made of others: under the name and docstring of a public one, with its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from inspect import Parameter
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def named(name: str, doc: str) -> Callable[[Function], Function]:
    """A decorator that sets a function's name and docstring."""

    def decorate(function: Function) -> Function:
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        return function

    return decorate


def add_parameters(
    function: Callable[..., Any], call: Callable[..., Any], **defaults: Any
) -> Callable[..., Any]:
    """`function` with further parameters, which stand before `name`, or last without one.

    What it returns is `call(arguments, **others)`: the arguments of `function` by name, and those
    of the further parameters, whose defaults these are.
    """
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    names = [parameter.name for parameter in parameters]
    index = names.index("name") if "name" in names else len(names)
    parameters[index:index] = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default)
        for name, default in defaults.items()
    ]
    signature = signature.replace(parameters=parameters, return_annotation=Parameter.empty)

    @wraps(function)
    def extended(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = bound.arguments
        others = {name: arguments.pop(name) for name in defaults}
        return call(arguments, **others)

    extended.__signature__ = signature  # type: ignore[attr-defined]
    return extended
