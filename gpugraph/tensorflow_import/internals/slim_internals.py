"""The functions of `tf.contrib.slim` on queues, summaries, readers of several files and
descriptions of data sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.base import dtypes as dtypes_of_tensors
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library import summary
from gpugraph.library.train import Coordinator, QueueRunner, add_queue_runner
from gpugraph.library.train.inputs.input_producers import string_input_producer
from gpugraph.ops.queues.queue_classes import FIFOQueue, RandomShuffleQueue
from gpugraph.platform import files


@contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Run the queue runners of the graph in threads during a `with` block."""
    coordinator = Coordinator()
    threads: list[Any] = []
    for runner in get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
        threads.extend(runner.create_threads(session, coord=coordinator, daemon=True, start=True))
    try:
        yield
    finally:
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=120)


NestedQueueRunnerError = RuntimeError
"""TensorFlow's error for a nested `QueueRunners` block. It is never raised here: blocks may be
nested.
"""


def _summary_name(tensor: Any, name: Any, prefix: Any, postfix: Any = None) -> str:
    chosen = name or tensor.op.name
    return "/".join(filter(None, [prefix, chosen, postfix]))


def add_histogram_summary(tensor: Any, name: Any = None, prefix: Any = None) -> Any:
    """Add a summary of a tensor's histogram."""
    return summary.histogram(_summary_name(tensor, name, prefix), tensor)


def _printed(text: str, is_printed: bool, tensor: Any) -> Any:
    return tf.Print(tensor, [tensor], f"{text}: ") if is_printed else tensor


def add_scalar_summary(
    tensor: Any, name: Any = None, prefix: Any = None, print_summary: bool = False
) -> Any:
    """Add a summary of a scalar. If `print_summary` is true, the scalar is also logged."""
    tag = _summary_name(tensor, name, prefix)
    return summary.scalar(tag, _printed(tag, print_summary, tensor))


def add_image_summary(
    tensor: Any, name: Any = None, prefix: Any = None, print_summary: bool = False
) -> Any:
    """Add a summary of images. If `print_summary` is true, the images are also logged."""
    tag = _summary_name(tensor, name, prefix)
    return summary.image(tag, _printed(tag, print_summary, tensor))


def add_zero_fraction_summary(
    tensor: Any, name: Any = None, prefix: Any = None, print_summary: bool = False
) -> Any:
    """Add a summary of the fraction of zeros in a tensor."""
    share = tf.reduce_mean(
        tf.cast(tf.equal(tensor, tf.zeros_like(tensor)), dtypes_of_tensors.float32)
    )
    tag = _summary_name(tensor, name, prefix, "Fraction of Zero Values")
    return summary.scalar(tag, _printed(tag, print_summary, share))


def add_histogram_summaries(tensors: Any, prefix: Any = None) -> list[Any]:
    """Add a summary of each tensor's histogram."""
    return [add_histogram_summary(tensor, prefix=prefix) for tensor in tensors]


def add_scalar_summaries(
    tensors: Any, prefix: Any = None, print_summary: bool = False
) -> list[Any]:
    """Add a summary of each scalar."""
    return [add_scalar_summary(tensor, None, prefix, print_summary) for tensor in tensors]


def add_image_summaries(tensors: Any, prefix: Any = None) -> list[Any]:
    """Add a summary of each tensor of images."""
    return [add_image_summary(tensor, prefix=prefix) for tensor in tensors]


def add_zero_fraction_summaries(tensors: Any, prefix: Any = None) -> list[Any]:
    """Add a summary of the fraction of zeros in each tensor."""
    return [add_zero_fraction_summary(tensor, prefix=prefix) for tensor in tensors]


class Dataset:
    """The description of a data set. It consists of the pattern of the files, the reader and the
    decoder of the records, and texts about the items.
    """

    def __init__(
        self,
        data_sources: Any,
        reader: Any,
        decoder: Any,
        num_samples: int,
        items_to_descriptions: Any,
        **kwargs: Any,
    ) -> None:
        vars(self).update(
            kwargs,
            data_sources=data_sources,
            reader=reader,
            decoder=decoder,
            num_samples=num_samples,
            items_to_descriptions=items_to_descriptions,
        )


def get_data_files(data_sources: Any) -> list[str]:
    """Return the paths that match the patterns. Raises ValueError if no file matches."""
    if isinstance(data_sources, (list, tuple)):
        paths = [file for source in data_sources for file in get_data_files(source)]
    else:
        paths = files.Glob(data_sources)
    if not paths:
        raise ValueError(f"No data files found in {data_sources}")
    return paths


def parallel_read(
    data_sources: Any,
    reader_class: Any,
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Any = None,
    shuffle: bool = True,
    dtypes: Any = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """Return the next (key, record) from a queue that several readers fill.

    Args:
      shuffle: whether the order is random.
    """
    kinds = dtypes or [dtypes_of_tensors.string] * 2
    names = string_input_producer(
        get_data_files(data_sources), num_epochs=num_epochs, shuffle=shuffle, seed=seed
    )
    if shuffle:
        queue: Any = RandomShuffleQueue(capacity, min_after_dequeue, kinds, [[], []], seed=seed)
    else:
        queue = FIFOQueue(capacity, kinds, [[], []])
    readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
    add_queue_runner(QueueRunner(queue, [queue.enqueue(reader.read(names)) for reader in readers]))
    return queue.dequeue(name=scope)


def single_pass_read(
    data_sources: Any, reader_class: Any, reader_kwargs: Any = None, scope: str | None = None
) -> Any:
    """Return the next (key, record) in the files. Each record occurs once, in order."""
    names = string_input_producer(get_data_files(data_sources), num_epochs=1, shuffle=False)
    return reader_class(**(reader_kwargs or {})).read(names, name=scope)
