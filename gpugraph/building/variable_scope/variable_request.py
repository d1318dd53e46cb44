"""A request to the variable store: the variable's name and its properties."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpugraph.base import dtypes
from gpugraph.building.variables.replication_modes import (
    VariableAggregation,
    VariableSynchronization,
)


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE
"""Value of `reuse`: return the variable if it exists, otherwise create it."""


def no_regularizer(_: Any) -> None:
    """Return None, which means no loss. Passed as a regularizer, this function overrides the
    regularizer of an outer scope.
    """


@dataclass(frozen=True)
class VariableSpec:
    """A request for the variable with the full name `name`. All other fields are parameters of
    `get_variable`.

    Args:
      reuse: with True, the variable must exist. With False, the variable must not exist. With any
        other value, the variable is created if it does not exist.
    """

    name: str
    shape: Any = None
    dtype: Any = dtypes.float32
    initializer: Any = None
    regularizer: Any = None
    reuse: Any = None
    trainable: bool | None = None
    collections: Sequence[str] | None = None
    caching_device: Any = None
    partitioner: Any = None
    validate_shape: bool = True
    use_resource: bool | None = None
    constraint: Any = None
    synchronization: Any = VariableSynchronization.AUTO
    aggregation: Any = VariableAggregation.NONE

    @property
    def gives_value(self) -> bool:
        """Whether the initializer is the initial value itself, rather than a function that creates
        it.
        """
        return self.initializer is not None and not callable(self.initializer)


@dataclass(frozen=True)
class PartitionInfo:
    """The position, in the whole variable, of the part that is being initialized."""

    full_shape: Sequence[int]
    var_offset: Sequence[int]

    def single_offset(self, shape: Sequence[int]) -> int:
        """Return the part's offset in the dimension that is divided, or 0 if no dimension is
        divided.

        Raises ValueError if several dimensions are divided.

        Args:
          shape: the shape of the part.
        """
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self.var_offset[axis]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """Return the dimension in which a part of this shape is smaller than the whole variable. If
        there is no such dimension, return None.

        Raises ValueError if the part has another rank than the whole variable, extends beyond the
        whole variable, or is smaller in several dimensions.
        """
        if len(shape) != len(self.full_shape):
            raise ValueError(f"A part of shape {list(shape)} is of another rank than {self}")
        bounds = zip(self.var_offset, shape, self.full_shape)
        if any(offset + size > full for offset, size, full in bounds):
            raise ValueError(f"A part of shape {list(shape)} reaches beyond {self}")
        cut = [axis for axis, size in enumerate(shape) if size != self.full_shape[axis]]
        if len(cut) > 1:
            raise ValueError(f"A part of shape {list(shape)} is cut in several dimensions: {self}")
        return cut[0] if cut else None
