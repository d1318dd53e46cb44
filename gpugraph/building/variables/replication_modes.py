"""How replicas of a variable would be kept equal, as programs say it.

There is one replica here, so that both say little: only whether a variable trains by default.
"""

from __future__ import annotations

import enum
from operator import attrgetter
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
    ONLY_FIRST_TOWER = 3  # an older name


class VariableAggregationV2(enum.Enum):
    """How the replicas' updates become one: `tf.compat.v2.VariableAggregation`.

    Equal to the `VariableAggregation` of the same name.
    """

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (VariableAggregation, type(self))) and other.value == self.value

    def __hash__(self) -> int:
        return hash(VariableAggregation(self.value))


def _stated(name: str, doc: str) -> Any:
    """The property of what a variable was made with."""
    return property(attrgetter(f"_{name}"), doc=doc)


class ReplicatedState:
    """What a variable says of its training and of its replicas."""

    trainable = _stated("trainable", "Whether optimizers change it by default.")
    constraint = _stated("constraint", "What makes a new value of what an optimizer wrote.")
    synchronization = _stated("synchronization", "When replicas would be made equal.")
    aggregation = _stated("aggregation", "How the replicas' updates would become one.")


def checked_modes(synchronization: Any, aggregation: Any, name: object) -> tuple[Any, Any]:
    """Both as enums, of numbers too; the first ones for None. ValueError for what is no mode."""
    return (
        _checked(VariableSynchronization, synchronization, "synchronization", name),
        _checked(VariableAggregation, aggregation, "aggregation", name),
    )


def _checked(modes: type[enum.Enum], mode: Any, kind: str, name: object) -> enum.Enum:
    number = mode.value if isinstance(mode, VariableAggregationV2) else mode
    try:
        return modes(0 if number is None else number)
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
