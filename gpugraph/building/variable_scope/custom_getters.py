"""Custom getters: who is called instead of the store, and what a function may be called with.

A scope's getter is called first, and calls the one of the scope around it by its own `getter`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any


def nested(inner: Callable[..., Any], outer: Callable[..., Any] | None) -> Callable[..., Any]:
    """The getter of a scope inside a scope that has one, too: `inner`, whose getter is `outer`."""
    if outer is None or not callable(inner):
        return inner  # the store refuses what is not callable

    def get(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not passes(inner, "constraint"):
            kwargs.pop("constraint", None)
        return inner(partial(outer, getter), *args, **kwargs)

    return get


def accepts(function: Callable[..., Any], name: str) -> bool:
    """Whether `function` takes an argument of this name."""
    parameter = _parameters(function).get(name)
    return parameter is not None and parameter.kind is not inspect.Parameter.POSITIONAL_ONLY


def needs_nothing(function: Callable[..., Any]) -> bool:
    """Whether `function` can be called without arguments."""
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(
        parameter.kind in optional or parameter.default is not inspect.Parameter.empty
        for parameter in _parameters(function).values()
    )


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """What `function` takes; nothing if that is unknown, as of some functions written in C."""
    try:
        return dict(inspect.signature(function).parameters)
    except ValueError:
        return {}


def passes(custom_getter: Callable[..., Any], name: str) -> bool:
    """Whether a custom getter takes this argument, by its name or among any others."""
    return accepts(custom_getter, name) or any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD
        for parameter in _parameters(custom_getter).values()
    )
