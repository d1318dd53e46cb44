"""The modes through which programs request how TensorFlow synchronizes the replicas of a variable.

In gpugraph, a variable has only one replica, so the modes have a single effect: a variable with the
synchronization ON_READ is not trainable by default.
"""

from __future__ import annotations

import enum
from operator import attrgetter
from typing import Any


class VariableSynchronization(enum.Enum):
    """The time at which the replicas of a variable are synchronized."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """The way of combining the updates of a variable's replicas."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3  # an older name


class VariableAggregationV2(enum.Enum):
    """The way of combining the updates of a variable's replicas:
    `tf.compat.v2.VariableAggregation`.

    Each member is equal to the `VariableAggregation` of the same name.
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
    """Return a property whose value is a constructor argument of a variable."""
    return property(attrgetter(f"_{name}"), doc=doc)


class ReplicatedState:
    """The properties of a variable that concern its training and its replicas."""

    trainable = _stated("trainable", "Whether optimizers change it by default.")
    constraint = _stated("constraint", "The function that optimizers apply to a new value.")
    synchronization = _stated("synchronization", "When replicas would be synchronized.")
    aggregation = _stated("aggregation", "How the replicas' updates would be combined.")


def checked_modes(synchronization: Any, aggregation: Any, name: object) -> tuple[Any, Any]:
    """Return both modes as enums. The default is AUTO for `synchronization`, and NONE for
    `aggregation`.

    Raises ValueError if a mode is invalid.
    """
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
    """Return `trainable`. If `trainable` is None, return whether `synchronization` is not
    ON_READ.
    """
    if trainable is None:
        return synchronization is not VariableSynchronization.ON_READ
    return bool(trainable)
