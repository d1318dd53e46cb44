"""`create_partitioned_variables`: an older function that creates a partitioned variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.building.variable_scope.scope_entry_and_reuse import variable_scope
from gpugraph.building.variables import Variable


def create_partitioned_variables(
    shape: Sequence[int],
    slicing: Sequence[int],
    initializer: Any,
    dtype: Any = dtypes.float32,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Variable]:
    """Return the parts of a partitioned variable, named `name/part_0` and so on. Axis i is divided
    into `slicing[i]` parts.

    Raises ValueError if `slicing` and `shape` have different lengths, if `slicing` divides several
    axes, or if it divides an axis into more parts than the axis has elements.
    """
    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a partitioned Variable must have the same length, but "
            f"shape: {shape}, slicing: {slicing}"
        )
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {shape}")
    for count, size in zip(slicing, shape):
        if count > size:
            raise ValueError(f"Cannot create {count} slices for size {size}. Shape: {shape}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        parts = scope._get_partitioned_variable(
            None,
            shape,
            lambda **_: slicing,
            dtype=dtype,
            initializer=initializer,
            trainable=trainable,
            collections=collections,
        )
    return list(parts)
