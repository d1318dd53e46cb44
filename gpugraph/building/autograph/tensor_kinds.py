"""Functions that return whether a value is a tensor of a certain kind."""

from __future__ import annotations

from typing import Any

from gpugraph.building.variables.variable_collections import is_tensor
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.sparse.sparse_tensor import SparseTensor

UNSPECIFIED: Any = object()
"""The default of a parameter that the caller omitted."""


def is_dense_tensor(value: Any) -> bool:
    """Return whether `value` is a dense tensor or a variable."""
    return is_tensor(value) and not isinstance(value, (SparseTensor, IndexedSlices))


def is_range_tensor(value: Any) -> bool:
    """Return whether a `tf.range` op created `value`."""
    return isinstance(value, Tensor) and value.op.type == "Range"
