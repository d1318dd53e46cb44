"""TensorFlow's messages for what is below `formats`, which registers them when it is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_finders: list[Callable[[str], Any]] = []


def register_messages(find: Callable[[str], Any]) -> None:
    """Registers the function that gives the class of a message by its name."""
    _finders[:] = [find]


def message_class(name: str) -> Any:
    """The class of a message; ModuleNotFoundError where protobuf is not installed."""
    return _finders[0](name)
