"""The default kind of variable that `tf.Variable` creates: by reference, or a resource."""

from __future__ import annotations

from collections.abc import Callable

_enabled = [False]

SCOPE_CHOICE: list[Callable[[], bool | None]] = []
"""What says whether the current variable scope asks for a kind."""


def enable_resource_variables() -> None:
    """From here on variables are resource variables where nothing else is asked for."""
    _enabled[0] = True


def disable_resource_variables() -> None:
    """From here on variables are reference variables where nothing else is asked for."""
    _enabled[0] = False


def resource_variables_enabled() -> bool:
    """Whether variables are resource variables where nothing else is asked for."""
    return _enabled[0]


def uses_resource(asked: bool | None) -> bool:
    """What is asked for, else what the variable scope says, else what is enabled."""
    for choice in (asked, *(say() for say in SCOPE_CHOICE)):
        if choice is not None:
            return bool(choice)
    return _enabled[0]
