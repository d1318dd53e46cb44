"""The default kind of variable that `tf.Variable` creates: by reference, or a resource."""

from __future__ import annotations

from collections.abc import Callable

_enabled = [False]

SCOPE_CHOICE: list[Callable[[], bool | None]] = []
"""Functions that return the kind that the current variable scope requests, or None."""


def enable_resource_variables() -> None:
    """Create resource variables by default from here on."""
    _enabled[0] = True


def disable_resource_variables() -> None:
    """Create reference variables by default from here on."""
    _enabled[0] = False


def resource_variables_enabled() -> bool:
    """Return whether variables are resource variables by default."""
    return _enabled[0]


def uses_resource(requested: bool | None) -> bool:
    """Return `requested` unless it is None, else the variable scope's setting, else the default."""
    for choice in (requested, *(say() for say in SCOPE_CHOICE)):
        if choice is not None:
            return bool(choice)
    return _enabled[0]
