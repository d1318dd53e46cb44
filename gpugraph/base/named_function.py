"""Decorators that give a generated function the name, docstring and parameters of a public
function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, Signature
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def named(name: str, doc: str) -> Callable[[Function], Function]:
    """Return a decorator that sets a function's name and docstring."""

    def decorate(function: Function) -> Function:
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        return function

    return decorate


def with_signature(signature: Signature) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a function the parameters of `signature`.

    The decorated function receives every argument by keyword, including the default of each omitted
    argument.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                fault = _unexpected_keyword(signature, kwargs) or str(error)
                raise TypeError(f"{call.__name__}() {fault}") from None
            bound.apply_defaults()
            return function(**bound.arguments)

        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__annotations__ = {
            name: parameter.annotation
            for name, parameter in signature.parameters.items()
            if parameter.annotation is not Parameter.empty
        }
        return call

    return decorate


def _unexpected_keyword(signature: Signature, kwargs: Mapping[str, Any]) -> str:
    """Return the text of Python's error for the first keyword that is not a parameter, or "".

    Python reports such a keyword before a missing argument, but `Signature.bind` reports the
    missing argument first.
    """
    parameters = signature.parameters
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return ""
    name = next((name for name in kwargs if name not in parameters), None)
    return "" if name is None else f"got an unexpected keyword argument {name!r}"


def with_parameters_of(
    function: Callable[..., Any], **defaults: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the decorator `with_signature` for the signature of `function`.

    Args:
      defaults: new defaults for parameters of `function`, by name.
    """
    signature = inspect.signature(function)
    parameters = [
        parameter.replace(default=defaults.get(name, parameter.default))
        for name, parameter in signature.parameters.items()
    ]
    return with_signature(signature.replace(parameters=parameters))


def add_parameters(
    function: Callable[..., Any], call: Callable[..., Any], **defaults: Any
) -> Callable[..., Any]:
    """Return `function` with additional parameters. They are inserted before the parameter `name`
    or, if there is none, at the end.

    The new function returns `call(arguments, **others)`. `arguments` is a dict with the arguments
    of `function` by name. `others` are the arguments of the additional parameters.

    Args:
      defaults: the additional parameters with their defaults.
    """
    signature = inspect.signature(function)
    names, parameters = list(signature.parameters), list(signature.parameters.values())
    index = names.index("name") if "name" in names else len(names)
    parameters[index:index] = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default)
        for name, default in defaults.items()
    ]

    @with_signature(Signature(parameters))
    @wraps(function)
    def extended(**arguments: Any) -> Any:
        others = {name: arguments.pop(name) for name in defaults}
        return call(arguments, **others)

    return extended
