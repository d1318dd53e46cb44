"""`ReduceOp`: how the values of several replicas are combined into one."""

from __future__ import annotations

import enum
from typing import Any

from gpugraph.building.variables.replication_modes import VariableAggregation


class ReduceOp(enum.Enum):
    """The sum or the mean of the values of all replicas."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: Any) -> ReduceOp:
        """Return the ReduceOp of a VariableAggregation; raise ValueError unless that is SUM or
        MEAN.
        """
        for name in ("SUM", "MEAN"):
            if aggregation == VariableAggregation[name]:
                return ReduceOp[name]
        raise ValueError(f"Could not convert from `tf.VariableAggregation` {aggregation} to "
                         "`tf.distribute.ReduceOp` type")  # fmt: skip


def as_reduce_op(value: Any) -> ReduceOp:
    """Return a ReduceOp, given as such, as a VariableAggregation, or by its name in any case.

    Raises ValueError for another name, AssertionError for another object.
    """
    if isinstance(value, ReduceOp):
        return value
    if isinstance(value, str):
        return ReduceOp(value.upper())
    if not isinstance(value, enum.Enum):
        raise AssertionError(f"reduce_op must be a `tf.distribute.ReduceOp`, not {value!r}")
    return ReduceOp.from_variable_aggregation(value)
