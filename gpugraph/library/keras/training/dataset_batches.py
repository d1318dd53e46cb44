"""Datasets and iterators of tf.data as the data of `fit`, `evaluate` and `predict`."""

from __future__ import annotations

from collections.abc import Iterator as PythonIterator
from itertools import chain
from typing import Any

from gpugraph.base.errors import OutOfRangeError
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.library.data.dataset_base import DatasetBase
from gpugraph.library.data.dataset_queries import cardinality
from gpugraph.library.data.iterators import Iterator, make_initializable
from gpugraph.library.keras.backend.keras_session import get_session
from gpugraph.library.keras.inputs.sequence import Sequence


class DatasetBatches(Sequence):
    """The batches of a dataset as a Sequence. The batches are read in order, and each epoch starts
    at the first batch.

    Args:
      steps: the number of batches of an epoch, by default all batches.
    """

    def __init__(self, dataset: Any, steps: int | None) -> None:
        self._session = get_session()
        with dataset._variant_tensor.graph.as_default():
            iterator = make_initializable(dataset)
            self._next, self._begin = iterator.get_next(), iterator.initializer
            number = cardinality(dataset)
        self._steps = self._count(int(self._session.run(number)), steps)
        self._position = 0
        self._lock = new_lock()

    def _count(self, number: int, steps: int | None) -> int:
        if steps is not None:
            return steps if number < 0 else min(steps, number)
        if number == -1:
            raise ValueError(
                "When passing an infinitely repeating dataset, you must specify the "
                "`steps_per_epoch` argument (`steps` to evaluate and predict)."
            )
        if number >= 0:
            return number
        self._session.run(self._begin)
        count = 0
        try:
            while True:
                self._session.run(self._next)
                count += 1
        except OutOfRangeError:
            return count

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        return self._steps

    def __getitem__(self, index: int) -> Any:
        """Return the next batch. The index is ignored, because a dataset has only one order."""
        with self._lock:
            if self._position == 0:
                self._session.run(self._begin)
            self._position = (self._position + 1) % max(self._steps, 1)
            return self._session.run(self._next)

    def first(self) -> Any:
        """Return the first batch. After this call, the first batch is read again."""
        with self._lock:
            self._position = 0
            self._session.run(self._begin)
            return self._session.run(self._next)


def with_first_batch(data: Any) -> tuple[Any, Any]:
    """Return the first batch of a Sequence or generator, and data that still yields this batch."""
    if isinstance(data, DatasetBatches):
        return data.first(), data
    if isinstance(data, Sequence):
        return data[0], data
    first = next(data)
    return first, chain([first], data)


def batches_of(
    data: Any, steps: int | None, is_repeated: bool = False, batch_size: int | None = None
) -> Any:
    """Return a Sequence or generator for a dataset or an iterator. Return any other data unchanged.

    Raises ValueError for a dataset with a `batch_size`, because its elements are batches.

    Args:
      is_repeated: whether each use starts at the first batch, as it does for validations.
        Otherwise, if the number of steps is given, an epoch continues where the previous one ended.
    """
    if batch_size is not None and isinstance(data, DatasetBase):
        raise ValueError(
            "The `batch_size` argument must not be specified for the given input type. Received "
            f"input: {data}, batch_size: {batch_size}"
        )
    if isinstance(data, Iterator):
        return _values(data)
    if not isinstance(data, DatasetBase):
        return data
    if steps is None or is_repeated:
        return DatasetBatches(data, steps)
    with data._variant_tensor.graph.as_default():
        return _values(make_initializable(data))


def _values(iterator: Iterator) -> PythonIterator[Any]:
    session = get_session()
    with iterator._iterator_resource.graph.as_default():
        following = iterator.get_next()
    if iterator._initializer is not None:
        session.run(iterator._initializer)
    return _generated(session, following)


def _generated(session: Any, following: Any) -> PythonIterator[Any]:
    while True:
        try:
            yield session.run(following)
        except OutOfRangeError:
            return


def kind_of_data(x: Any) -> str:
    """Return the word for a Sequence or a generator in messages."""
    return "`keras.utils.Sequence`" if isinstance(x, Sequence) else "generator"


def refuse_beside_generator(x: Any, **arguments: Any) -> None:
    """Raise ValueError if one of `arguments`, which are only allowed with arrays, is not None."""
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(
                f"`{name}` argument is not supported when using {kind_of_data(x)} as input: it "
                "yields targets and weights itself"
            )
