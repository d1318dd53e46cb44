"""The batches of an epoch: rows of arrays, or values of a generator or a Sequence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.library.keras.engine.layer_inputs import is_tensor
from gpugraph.library.keras.inputs.enqueuers import (
    GeneratorEnqueuer,
    OrderedEnqueuer,
    SequenceEnqueuer,
)
from gpugraph.library.keras.inputs.sequence import Sequence as BatchSequence


class Batch(NamedTuple):
    """The data of one step.

    Args:
      arrays: an array for each tensor to feed.
      size: the number of examples.
      weighted: for each output, whether its examples have weights.
    """

    arrays: Sequence[Any]
    size: int
    weighted: tuple[bool, ...]


def take(array: Any, rows: Any) -> Any:
    """Return rows, selected by their indices, of an array, a sparse matrix or an array in a
    file.
    """
    if isinstance(array, np.ndarray):
        return array.take(rows, axis=0)
    if hasattr(array, "tocoo"):
        return array[rows]
    order = np.argsort(rows)  # h5py requires ascending indices
    return np.asarray(array[rows[order]])[np.argsort(order)]


class ArrayBatches:
    """Batches of rows of arrays that have the same number of rows.

    Args:
      shuffle: True, "batch" or False. If `shuffle` is True, the examples are in a new random order
        in each epoch. If `shuffle` is "batch", the batches are in a random order.
      steps: the number of batches in an epoch.
    """

    counts_samples = True
    random: Any = np.random
    """The source of random orders; several processes that train one model share a seed."""

    def __init__(
        self,
        arrays: Sequence[Any],
        weighted: tuple[bool, ...],
        batch_size: int,
        shuffle: Any = False,
    ) -> None:
        self.arrays = [array.tocsr() if hasattr(array, "tocsr") else array for array in arrays]
        self.weighted = weighted
        self.batch_size, self.shuffle = batch_size, shuffle
        self.samples = int(self.arrays[0].shape[0]) if self.arrays else 0
        self.steps: int | None = -(-self.samples // batch_size)

    def epoch(self) -> Iterator[Batch]:
        """Yield the batches of one epoch."""
        size, total = self.batch_size, self.samples
        starts = np.arange(0, total, size)
        order = None
        if self.shuffle == "batch":
            whole = starts[: total // size]
            starts = np.concatenate([self.random.permutation(whole), starts[len(whole) :]])
        elif self.shuffle:
            order = self.random.permutation(total)
        arrays, weighted = self.arrays, self.weighted
        for start in starts.tolist():
            end = min(start + size, total)
            if order is None:
                yield Batch([array[start:end] for array in arrays], end - start, weighted)
            else:
                rows = order[start:end]
                yield Batch([take(array, rows) for array in arrays], end - start, weighted)

    def close(self) -> None:
        """Do nothing, because there are no workers."""


class StepBatches:
    """The same data, arrays or tensors of the graph, for each of `steps` steps."""

    counts_samples = False

    def __init__(self, arrays: Callable[[], Batch], steps: int) -> None:
        self._arrays = arrays
        self.steps: int | None = steps
        self.samples: int | None = None

    def epoch(self) -> Iterator[Batch]:
        """Yield the batches of one epoch."""
        for _ in range(self.steps or 0):
            yield self._arrays()

    def close(self) -> None:
        """Do nothing, because there are no workers."""


class GeneratorBatches:
    """Batches of a generator, iterator or Sequence, which workers prepare in advance.

    Args:
      convert: a function from a value of the source to a Batch.
      steps: the number of batches in an epoch. None means the length of a Sequence, or all batches
        of a generator.
      workers: the number of workers, which may be 0.
      steps_name: the name of the user's argument for `steps`, for messages.
    """

    counts_samples = False

    def __init__(
        self,
        source: Any,
        convert: Callable[[Any], Batch],
        steps: int | None,
        workers: int = 1,
        max_queue_size: int = 10,
        use_multiprocessing: bool = False,
        shuffle: bool = False,
        steps_name: str = "steps",
    ) -> None:
        self._source, self._convert = source, convert
        self.steps_name = steps_name
        self.steps = len(source) if steps is None and hasattr(source, "__len__") else steps
        self.samples: int | None = None
        self._workers, self._size = workers, max_queue_size
        self._processes, self._shuffle = use_multiprocessing, shuffle
        self._enqueuer: SequenceEnqueuer | None = None
        self._values: Iterator[Any] | None = None

    def _start(self) -> Iterator[Any]:
        is_sequence = isinstance(self._source, BatchSequence)
        if self._workers < 1:
            return self._endless() if is_sequence else iter(self._source)
        if is_sequence:
            self._enqueuer = OrderedEnqueuer(self._source, self._processes, self._shuffle)
        else:
            self._enqueuer = GeneratorEnqueuer(iter(self._source), self._processes)
        self._enqueuer.start(self._workers, self._size)
        return self._enqueuer.get()

    def _endless(self) -> Iterator[Any]:
        while True:
            order = np.random.permutation(len(self._source)) if self._shuffle else None
            for index in range(len(self._source)):
                yield self._source[index if order is None else int(order[index])]
            self._source.on_epoch_end()

    def epoch(self) -> Iterator[Batch]:
        """Yield the batches of one epoch.

        If the generator ends early, there are fewer than `steps` batches.
        """
        if self._values is None:
            self._values = self._start()
        for value in itertools.islice(self._values, self.steps):
            yield self._convert(value)
        if self.steps is None and not self.restarts():
            self.close()

    def restarts(self) -> bool:
        """Return whether each epoch starts at the first batch, as it does for a Sequence."""
        return not hasattr(self._source, "__next__")

    def close(self) -> None:
        """Stop the workers, and forget the position in the data."""
        enqueuer, self._enqueuer = self._enqueuer, None
        self._values = None
        if enqueuer is not None:
            enqueuer.stop()


def has_tensors(data: Any) -> bool:
    """Return whether `data` is a tensor or variable of the graph, or a list or dict that contains
    such a value.
    """
    if isinstance(data, dict):
        return any(is_tensor(value) for value in data.values())
    if isinstance(data, (list, tuple)):
        return any(is_tensor(value) for value in data)
    return is_tensor(data)
