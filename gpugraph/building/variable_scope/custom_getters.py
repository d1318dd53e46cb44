"""Custom getters, which `get_variable` calls instead of the store, and their parameters.

The innermost scope's getter is called first. The argument `getter` of a custom getter calls the
getter of the next outer scope. The argument `getter` of the outermost getter calls the store.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any


def nested(inner: Callable[..., Any], outer: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return the getter of a nested scope: a function that calls `inner` with `outer` as its
    argument `getter`.
    """
    if outer is None or not callable(inner):
        return inner  # the store rejects an object that is not callable

    def get(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not passes(inner, "constraint"):
            kwargs.pop("constraint", None)
        return inner(partial(outer, getter), *args, **kwargs)

    return get


def accepts(function: Callable[..., Any], name: str) -> bool:
    """Return whether `function` has a parameter of this name."""
    parameter = _parameters(function).get(name)
    return parameter is not None and parameter.kind is not inspect.Parameter.POSITIONAL_ONLY


def needs_nothing(function: Callable[..., Any]) -> bool:
    """Return whether `function` can be called without arguments."""
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(
        parameter.kind in optional or parameter.default is not inspect.Parameter.empty
        for parameter in _parameters(function).values()
    )


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of `function`. If the parameters are unknown, return an empty dict. The
    parameters of some functions written in C are unknown.
    """
    try:
        return dict(inspect.signature(function).parameters)
    except ValueError:
        return {}


def passes(custom_getter: Callable[..., Any], name: str) -> bool:
    """Return whether a custom getter accepts this argument, by its name or through `**kwargs`."""
    return accepts(custom_getter, name) or any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD
        for parameter in _parameters(custom_getter).values()
    )
