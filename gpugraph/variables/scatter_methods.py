"""The methods of a Variable that change some rows of it, given as IndexedSlices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.state import scatter_updates


def by_rows(kind: str, doc: str) -> Callable[..., Tensor]:
    """The method `scatter_<kind>(sparse_delta, use_locking, name)`."""
    update = getattr(scatter_updates, kind)

    def change(
        self: Any, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta!r}")
        return update(
            self, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name
        )

    change.__name__ = kind
    change.__doc__ = f"{doc}; TypeError for a `sparse_delta` that is no IndexedSlices."
    return change


def by_coordinates(kind: str, doc: str) -> Callable[..., Tensor]:
    """The method `scatter_nd_<kind>(indices, updates, name)`."""
    update = getattr(scatter_updates, kind)

    def change(self: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        return update(self, indices, updates, use_locking=True, name=name)

    change.__name__ = kind
    change.__doc__ = doc
    return change
