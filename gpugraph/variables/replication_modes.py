"""How replicas of a variable would be kept equal, as programs say it.

There is one replica here, so that both say little: only whether a variable trains by default.
"""

from __future__ import annotations

import enum
from typing import Any


class VariableSynchronization(enum.Enum):
    """When replicas are made equal."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How the replicas' updates become one."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def checked_modes(synchronization: Any, aggregation: Any, name: object) -> tuple[Any, Any]:
    """Both as enums, of numbers too; the first ones for None. ValueError for what is no mode."""
    return (
        _checked(VariableSynchronization, synchronization, "synchronization", name),
        _checked(VariableAggregation, aggregation, "aggregation", name),
    )


def _checked(modes: type[enum.Enum], mode: Any, kind: str, name: object) -> enum.Enum:
    try:
        return modes(0 if mode is None else mode)
    except ValueError:
        known = ", ".join(known_mode.name for known_mode in modes)
        raise ValueError(
            f"Invalid variable {kind} mode: {mode!r} for variable: {name}; there are {known}"
        ) from None


def trains(trainable: bool | None, synchronization: object) -> bool:
    """Whether a variable is trainable: as it is said, else unless it is summed up on reading."""
    if trainable is None:
        return synchronization is not VariableSynchronization.ON_READ
    return bool(trainable)
