"""TensorReader: the tensors of a checkpoint in the V1 or V2 format. A tensor can be read as a whole
or in part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np

from gpugraph.base.errors import InvalidArgumentError, NotFoundError, invalid_argument
from gpugraph.formats.checkpoints.bundle_entries import BundleEntry
from gpugraph.formats.checkpoints.slices import (
    Slice,
    bounds,
    check_slice,
    overlap,
    shape_of_slice,
    within,
)

R = TypeVar("R", bound="TensorReader")


def no_checkpoint(prefix: str) -> NotFoundError:
    """Return the error for a checkpoint that does not exist."""
    text = "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for"
    return NotFoundError(None, None, f"{text} {prefix}")


class TensorReader(ABC):
    """An open checkpoint. Used as a context manager, the reader closes itself.

    Args:
      entries: the entry of each tensor, by name, with its dtype and shape. If the tensor is stored
        in parts, the entry also has the parts.
    """

    prefix: str
    entries: dict[str, BundleEntry]

    def __enter__(self: R) -> R:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close the files."""

    def entry(self, name: str) -> BundleEntry:
        """Return the entry of a tensor. Raises NotFoundError if the checkpoint does not contain the
        tensor.
        """
        found = self.entries.get(name)
        if found is None:
            raise NotFoundError(None, None, f"Key {name} not found in checkpoint {self.prefix}")
        return found

    def read(self, name: str) -> Any:
        """Return a tensor as an array. Strings are returned as bytes.

        Raises NotFoundError if the checkpoint does not contain the tensor, and DataLossError if the
        tensor is damaged.
        """
        entry = self.entry(name)
        if not entry.slices:
            return self._value(entry, name)
        return self.read_slice(name, entry.shape, ((0, -1),) * len(entry.shape))

    @abstractmethod
    def _value(self, entry: BundleEntry, name: str) -> Any:
        """Return a tensor that is not stored in parts."""

    def read_slice(self, name: str, shape: Sequence[int], part: Slice) -> Any:
        """Return a part of a tensor. The tensor may be stored as a whole or in any parts.

        Raises InvalidArgumentError if the tensor has another shape, or if the stored parts do not
        cover `part`.

        Args:
          shape: the full shape that the caller expects.
        """
        entry = self.entry(name)
        if tuple(shape) != entry.shape:
            raise invalid_argument(
                f"tensor_name = {name}: shape in shape_and_slice spec {list(shape)} does not match "
                f"the shape stored in checkpoint: {list(entry.shape)}"
            )
        check_slice(shape, part, name)
        wanted = bounds(shape, part)
        if not entry.slices:
            return np.ascontiguousarray(self._value(entry, name)[wanted])
        if part in entry.slices:
            return self._part(name, entry, part)
        return self._joined(name, entry, part, wanted)

    @abstractmethod
    def _part(self, name: str, entry: BundleEntry, part: Slice) -> Any:
        """Return a part that the checkpoint stores as a separate entry."""

    def _joined(self, name: str, entry: BundleEntry, part: Slice, wanted: tuple[slice, ...]) -> Any:
        """Return a part of a tensor, joined from the stored parts that overlap it.

        Args:
          wanted: the bounds of `part`.
        """
        shared = []
        missing = prod(shape := shape_of_slice(entry.shape, part))
        for stored in entry.slices:
            check_slice(entry.shape, stored, f"{name} in {self.prefix}")
            both = overlap(wanted, bounds(entry.shape, stored))
            if both is not None:
                self._check_part(name, entry, stored)
                missing -= prod(size.stop - size.start for size in both)
                shared.append((stored, both))
        if missing > 0:  # checked before memory for the whole part is allocated
            raise self._incomplete(name, part)
        result = np.empty(shape, entry.dtype.as_numpy_dtype)
        is_there = np.zeros(shape, bool)
        for stored, both in shared:
            target = within(both, wanted)
            result[target] = self._part(name, entry, stored)[
                within(both, bounds(entry.shape, stored))
            ]
            is_there[target] = True
        if not is_there.all():
            raise self._incomplete(name, part)
        return result

    @abstractmethod
    def _check_part(self, name: str, entry: BundleEntry, part: Slice) -> None:
        """Raise DataLossError unless the stored part exists and has as many values as its shape."""

    def _incomplete(self, name: str, part: Slice) -> InvalidArgumentError:
        return invalid_argument(
            f"Checkpoint {self.prefix} does not have all of the slice {part} of {name}"
        )
