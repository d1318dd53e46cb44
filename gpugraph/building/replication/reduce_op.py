"""`ReduceOp`: the way of combining the values of several replicas."""

from __future__ import annotations

import enum
from typing import Any

from gpugraph.building.variables.replication_modes import VariableAggregation


class ReduceOp(enum.Enum):
    """The way of combining the values of all replicas: SUM or MEAN."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: Any) -> ReduceOp:
        """Return the ReduceOp for a VariableAggregation. Raises ValueError unless `aggregation` is
        SUM or MEAN.
        """
        for name in ("SUM", "MEAN"):
            if aggregation == VariableAggregation[name]:
                return ReduceOp[name]
        raise ValueError(f"Could not convert from `tf.VariableAggregation` {aggregation} to "
                         "`tf.distribute.ReduceOp` type")  # fmt: skip


def as_reduce_op(value: Any) -> ReduceOp:
    """Convert a ReduceOp, a VariableAggregation, or a name in upper or lower case to a ReduceOp.

    Raises ValueError for an unknown name, and AssertionError for any other object.
    """
    if isinstance(value, ReduceOp):
        return value
    if isinstance(value, str):
        return ReduceOp(value.upper())
    if not isinstance(value, enum.Enum):
        raise AssertionError(f"reduce_op must be a `tf.distribute.ReduceOp`, not {value!r}")
    return ReduceOp.from_variable_aggregation(value)
