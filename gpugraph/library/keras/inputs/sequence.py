"""Sequence: a data set as batches by number, which several workers may compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Sequence:
    """The base of data sets by batches: subclasses define `__getitem__` and `__len__`."""

    def __getitem__(self, index: int) -> Any:
        """The batch of a number: (inputs, targets), or with weights."""
        raise NotImplementedError(f"{type(self).__name__} does not define `__getitem__`")

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        raise NotImplementedError(f"{type(self).__name__} does not define `__len__`")

    def on_epoch_end(self) -> None:
        """Called after each epoch, when no batch is being computed."""

    def __iter__(self) -> Iterator[Any]:
        """The batches of one epoch."""
        for index in range(len(self)):
            yield self[index]
