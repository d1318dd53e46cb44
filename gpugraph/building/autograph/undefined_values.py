"""Placeholders for variables of a converted function that have no value yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


class Undefined:
    """The value of a variable before its first assignment. All its attributes are undefined as
    well.
    """

    __slots__ = ("symbol_name",)

    def __init__(self, symbol_name: str) -> None:
        self.symbol_name = symbol_name

    def read(self) -> NoReturn:
        """Raise the UnboundLocalError for a variable that is read before it is assigned."""
        raise UnboundLocalError(f"'{self.symbol_name}' is used before assignment")

    def __repr__(self) -> str:
        return self.symbol_name

    def __getattr__(self, name: str) -> Undefined:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Undefined:
        return self


class UndefinedReturnValue:
    """The value of the result variable of a converted function before a `return` statement is
    executed.
    """


def ld(value: Any) -> Any:
    """Return a variable's value. Raises UnboundLocalError if it is undefined."""
    return value.read() if isinstance(value, Undefined) else value


def ldu(load: Callable[[], Any], name: str) -> Any:
    """Return `load()`. If it fails because the attribute, item or variable does not exist, return
    an Undefined.
    """
    try:
        return load()
    except (KeyError, AttributeError, NameError):
        return Undefined(name)


def is_missing(value: Any) -> bool:
    """Return whether the value is None or undefined."""
    return value is None or isinstance(value, (Undefined, UndefinedReturnValue))
