"""Functions that a factory makes: each under the name and docstring of a public one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def named(name: str, doc: str) -> Callable[[Function], Function]:
    """A decorator that sets a function's name and docstring."""

    def decorate(function: Function) -> Function:
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        return function

    return decorate
