"""`tf.keras.utils.HDF5Matrix`: an array in an HDF5 file, from which training reads batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gpugraph.library.keras.saving.hdf5_groups import opened_file, part_of


class HDF5Matrix:
    """Rows `start` to `end` (exclusive) of an array in an HDF5 file. Rows are read when they are
    accessed.

    The file stays open. Reading is fastest with `fit(..., shuffle="batch")`, because the rows of a
    batch are then adjacent. The constructor raises OSError if the file is not an HDF5 file,
    ValueError if the file has no array of this name, and ImportError if h5py is not installed.

    Args:
      datapath: the path of the file.
      dataset: the name of the array in the file.
      end: the end of the rows. If `end` is None, all rows after `start` are included.
      normalizer: a function that is applied to the values that are read, or None.
    """

    refs: ClassVar[dict[Any, Any]] = {}
    """The open files by path; they are shared by all objects of the class."""

    def __init__(
        self,
        datapath: Any,
        dataset: str,
        start: int = 0,
        end: int | None = None,
        normalizer: Callable[[Any], Any] | None = None,
    ) -> None:
        if datapath not in self.refs:
            self.refs[datapath] = opened_file(datapath)
        self.data = part_of(self.refs[datapath], dataset)
        self.start = start
        self.end = self.data.shape[0] if end is None else end
        self.normalizer = normalizer

    def __len__(self) -> int:
        return int(self.end - self.start)

    def __getitem__(self, key: Any) -> Any:
        """Return the rows for an index, a slice, or an array or list of indices.

        Raises IndexError for an index beyond the end.
        """
        rows = range(len(self))
        if isinstance(key, slice):
            if key.stop is not None and key.stop > len(self):
                raise IndexError(
                    f"Rows up to {key.stop} were requested, but there are only {len(self)}"
                )
            chosen = rows[key]
            place: Any = slice(self.start + chosen.start, self.start + chosen.stop, chosen.step)
        elif isinstance(key, (int, np.integer)):
            place = self.start + rows[key]
        else:
            place = [self.start + rows[number] for number in key]
        values = self._read(place)
        return values if self.normalizer is None else self.normalizer(values)

    def _read(self, place: Any) -> Any:
        """Return the rows that `place`, an index, a slice or a list, selects in the file's array.

        The rows of a list are read once each and in ascending order, as h5py requires, and are then
        rearranged.
        """
        if not isinstance(place, list):
            return self.data[place]
        numbers, order = np.unique(place, return_inverse=True)
        return self.data[numbers][order]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the selected rows, after the normalizer is applied."""
        return (len(self), *self[0].shape) if self.normalizer else (len(self), *self.data.shape[1:])

    @property
    def dtype(self) -> Any:
        """The dtype of the values, after the normalizer is applied."""
        return self[0].dtype if self.normalizer else self.data.dtype

    @property
    def ndim(self) -> int:
        """The number of axes of the array in the file."""
        return int(self.data.ndim)

    @property
    def size(self) -> int:
        """The number of elements in rows `start` to `end`."""
        return int(np.prod(self.shape))
