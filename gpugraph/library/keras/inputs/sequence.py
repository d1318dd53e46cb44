"""Sequence: a data set of numbered batches, which several workers can compute in any order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Sequence:
    """Base class of data sets of batches. Subclasses define `__getitem__` and `__len__`."""

    def __getitem__(self, index: int) -> Any:
        """Return batch number `index`: (inputs, targets) or (inputs, targets, weights)."""
        raise NotImplementedError(f"{type(self).__name__} does not define `__getitem__`")

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        raise NotImplementedError(f"{type(self).__name__} does not define `__len__`")

    def on_epoch_end(self) -> None:
        """Handle the end of an epoch, when no worker computes a batch. Subclasses may override this
        method.
        """

    def __iter__(self) -> Iterator[Any]:
        """Yield the batches of one epoch."""
        for index in range(len(self)):
            yield self[index]
