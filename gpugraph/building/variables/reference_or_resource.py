"""The choice between the two kinds of variable that `tf.Variable` can create: reference variables
and resource variables.
"""

from __future__ import annotations

from collections.abc import Callable

_enabled = [False]

SCOPE_CHOICE: list[Callable[[], bool | None]] = []
"""Functions that return the current variable scope's `use_resource`, or None if it has none."""


def enable_resource_variables() -> None:
    """From now on, create resource variables by default."""
    _enabled[0] = True


def disable_resource_variables() -> None:
    """From now on, create reference variables by default."""
    _enabled[0] = False


def resource_variables_enabled() -> bool:
    """Return whether variables are resource variables by default."""
    return _enabled[0]


def uses_resource(requested: bool | None) -> bool:
    """Return whether to create a resource variable.

    If `requested` is None, the setting of the variable scope applies, or else the default.
    """
    for choice in (requested, *(say() for say in SCOPE_CHOICE)):
        if choice is not None:
            return bool(choice)
    return _enabled[0]
