"""Functions of `tf.contrib.slim` that read and decode the records of data sets, or that create
queues of batches.
"""

from __future__ import annotations

from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.base.nest import flatten, pack_sequence_as
from gpugraph.library import summary
from gpugraph.library.train import QueueRunner, add_queue_runner
from gpugraph.ops.queues.queue_classes import FIFOQueue, PaddingFIFOQueue
from gpugraph.tensorflow_import.internals.slim_internals import parallel_read


class DataProvider:
    """An object that has a tensor for each item of a data set, such as an image and a label."""

    def __init__(self, items_to_tensors: Any, num_samples: int | None) -> None:
        self._items_to_tensors, self._num_samples = items_to_tensors, num_samples

    def get(self, items: Any) -> list[Any]:
        """Return the tensors of the named items. Raises ValueError if an item is unknown."""
        unknown = set(items) - set(self.list_items())
        if unknown:
            raise ValueError(f"Items {sorted(unknown)} are not among {self.list_items()}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> list[str]:
        """Return the names of the items."""
        return list(self._items_to_tensors)

    def num_samples(self) -> int | None:
        """Return the number of records, or None if it is unknown."""
        return self._num_samples


class DatasetDataProvider(DataProvider):
    """A provider that reads and decodes the records of a `slim.dataset.Dataset`, one at a time."""

    def __init__(
        self,
        dataset: Any,
        num_readers: int = 1,
        reader_kwargs: Any = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        key, record = parallel_read(
            dataset.data_sources,
            reader_class=dataset.reader,
            num_epochs=num_epochs,
            num_readers=num_readers,
            reader_kwargs=reader_kwargs,
            shuffle=shuffle,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            seed=seed,
            scope=scope,
        )
        items = dataset.decoder.list_items()
        tensors = dict(zip(items, dataset.decoder.decode(record, items)))
        if record_key in tensors:
            raise ValueError(
                f"The item name used for `record_key` cannot also be used: {record_key}"
            )
        super().__init__({**tensors, record_key: key}, dataset.num_samples)


class _PrefetchQueue:
    """A queue of structures of tensors."""

    def __init__(self, queue: Any, structure: Any) -> None:
        self._queue, self._structure = queue, structure

    def dequeue(self, name: str | None = None) -> Any:
        """Return the next structure in the queue."""
        parts = self._queue.dequeue(name=name)
        listed = list(parts) if isinstance(parts, (list, tuple)) else [parts]
        return pack_sequence_as(self._structure, listed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)


def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return a queue that threads fill with the tensors. Its method `dequeue` returns them in the
    same structure.
    """
    listed = [tf.convert_to_tensor(tensor) for tensor in flatten(tensors)]
    kind: Any = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    queue = kind(
        capacity,
        [tensor.dtype for tensor in listed],
        [tensor.shape for tensor in listed],
        shared_name=shared_name,
        name=name or "prefetch_queue",
    )
    add_queue_runner(QueueRunner(queue, [queue.enqueue(listed)] * num_threads))
    fill = tf.cast(queue.size(), tf.convert_to_tensor(0.0).dtype) * (1.0 / capacity)
    summary.scalar(f"fraction_of_{capacity}_full", fill)
    return _PrefetchQueue(queue, tensors)
