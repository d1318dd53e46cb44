"""Methods of a Variable that add to or subtract from its value, or that change some of its rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.named_function import named
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.state import count_up_to as counting, scatter_updates


def by_difference(kind: str, op_type: str, doc: str) -> Callable[..., Any]:
    """Return the method `kind(delta, use_locking, name, read_value)`, which creates an op of type
    `op_type`.
    """

    @named(kind, doc)
    def change(
        self: Any,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        return self._changed_by(op_type, delta, read_value, use_locking=use_locking, name=name)

    return change


def by_rows(kind: str, doc: str) -> Callable[..., Tensor]:
    """Return the method `scatter_<kind>(sparse_delta, use_locking, name)`."""
    update = getattr(scatter_updates, kind)

    @named(kind, f"{doc}; TypeError for a `sparse_delta` of another type.")
    def change(
        self: Any, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta!r}")
        return update(
            self, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name
        )

    return change


def by_coordinates(kind: str, doc: str) -> Callable[..., Tensor]:
    """Return the method `scatter_nd_<kind>(indices, updates, name)`."""
    update = getattr(scatter_updates, kind)

    @named(kind, doc)
    def change(self: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        return update(self, indices, updates, use_locking=True, name=name)

    return change


def count_up_to(self: Any, limit: int) -> Tensor:
    """Increment the variable in each run, and return the value before the increment. Raises
    OutOfRangeError if the value is `limit`.

    See `tf.count_up_to`.
    """
    return counting.count_up_to(self, limit)
