"""Input for replicas: datasets whose batches are divided among the replicas, and input functions.

A global batch is divided into equal parts, one for each replica of all workers. If the last batch
is smaller, that batch is divided into parts of ceil(size / replicas) elements, so its last parts
may be smaller or empty. Each worker reads the whole dataset and uses only the parts of its
replicas. So a global batch contains the same elements as a batch on a single device. In contrast,
the elements of an input function are batches for single replicas: each replica receives the next
batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpugraph.base import nest
from gpugraph.building.replication.input_context import (
    InputContext as InputContext,
    InputReplicationMode as InputReplicationMode,
)
from gpugraph.building.replication.replicated_values import PerReplica, regroup
from gpugraph.graph.client.default_graph_functions import device, get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.distribute.device_lists import canonical_device
from gpugraph.library.distribute.numpy_datasets import numpy_dataset
from gpugraph.library.distribute.steps_on_iterator import MultiStepContext, run_steps_on_iterator
from gpugraph.ops.control.group_and_no_op import group, no_op
from gpugraph.ops.framework.op_declaration import raw_ops

_NO_ITERATION = (
    "__iter__() is only supported inside of tf.function or when eager execution is enabled."
)


class DistributedIterator:
    """An iterator whose `get_next` returns per-replica values.

    Args:
      source: the iterator of a dataset, or a function that returns the tensors of one replica.
      parts: the number of parts of a global batch, or None if each element is for one replica.
      first: the index of the part for this worker's first replica.
    """

    def __init__(
        self, strategy: Any, source: Any, parts: int | None = None, first: int = 0
    ) -> None:
        self._strategy, self._source, self._parts, self._first = strategy, source, parts, first

    def initialize(self) -> Any:
        """Return the operation that initializes the iterator."""
        return group(*([] if callable(self._source) else [self._source.initializer]))

    @property
    def initializer(self) -> Any:
        """The operation that initializes the iterator."""
        return no_op() if callable(self._source) else self._source.initializer

    def next(self) -> Any:
        """Return the next element of each replica, as `get_next` does."""
        return self.get_next()

    __next__ = next

    def get_iterator(self, worker: str) -> Any:
        """Return the iterator whose elements the device `worker` reads, or None."""
        return self._source if worker == self._strategy.extended._input_device() else None

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element of each replica, as a structure of per-replica values.

        After the last element, a run raises OutOfRangeError.
        """
        devices = self._strategy.extended.worker_devices
        if self._parts is None or len(devices) == self._parts == 1:
            return regroup(self._elements(devices, name), PerReplica, devices)
        return self.divided(self._source.get_next(name))

    def divided(self, element: Any) -> Any:
        """Divide an element into parts, and return a structure of per-replica values.

        If each element is for one replica, `element` is a batch of such elements.
        """
        devices = self._strategy.extended.worker_devices
        if self._parts is None:
            rows = [nest.map_structure(lambda value, n=n: value[n], element)
                    for n in range(len(devices))]  # fmt: skip
            return regroup(rows, PerReplica, devices)
        values = []
        for number, where in enumerate(devices):
            with device(where):
                take = partial(self._part, index=self._first + number)
                values.append(nest.map_structure(take, element))
        return regroup(values, PerReplica, devices)

    def _elements(self, devices: tuple[str, ...], name: str | None) -> list[Any]:
        values: list[Any] = []
        for where in devices:
            before = [
                tensor.op for tensor in nest.flatten(values[-1:]) if isinstance(tensor, Tensor)
            ]
            with get_default_graph().control_dependencies(before):
                if callable(self._source):
                    with device(where):
                        values.append(self._source())
                else:
                    values.append(self._source.get_next(name))
        return values

    def _part(self, value: Any, index: int) -> Tensor:
        """Return part `index` of a batch. Raises TypeError if the batch is not a tensor."""
        if not isinstance(value, Tensor):
            raise TypeError(f"Only batches of tensors can be divided among replicas, not {value!r}")
        count = self._parts
        assert count is not None
        rows = value.shape[:1].sizes
        known = rows[0] if rows else None
        if known is not None and known % count == 0:
            part: Tensor = value[index * (known // count) : (index + 1) * (known // count)]
            return part
        total = raw_ops.Shape(value)[0]
        size = (total + (count - 1)) // count
        start = raw_ops.Minimum(size * index, total)
        result: Tensor = value[start : raw_ops.Minimum(start + size, total)]
        return result

    @property
    def output_types(self) -> Any:
        """The structure of the dtypes of a replica's element."""
        return self._source.output_types

    @property
    def output_shapes(self) -> Any:
        """The structure of the static shapes of the dataset's elements."""
        return self._source.output_shapes

    @property
    def output_classes(self) -> Any:
        """The structure of the classes of an element's parts."""
        return self._source.output_classes

    @property
    def element_spec(self) -> Any:
        """The structure of the types of the dataset's elements."""
        return self._source.element_spec

    def __iter__(self) -> Any:
        raise RuntimeError("Iterating over a distributed iterator requires eager execution: call "
                           "get_next()")  # fmt: skip


class DistributedDataset:
    """A dataset for several replicas. Each batch is divided among the replicas, or each element is
    for one replica.

    The methods that create iterators have the same names as the methods of a dataset.
    """

    def __init__(self, strategy: Any, dataset: Any, parts: int | None, first: int) -> None:
        self._strategy, self._dataset, self._parts, self._first = strategy, dataset, parts, first

    def make_initializable_iterator(self, shared_name: str | None = None) -> DistributedIterator:
        """Return an iterator. A program must run its `initializer` before it reads elements."""
        return self._make(self._dataset.make_initializable_iterator(shared_name))

    def make_one_shot_iterator(self) -> DistributedIterator:
        """Return an iterator that needs no initialization."""
        return self._make(self._dataset.make_one_shot_iterator())

    _make_initializable_iterator = make_initializable_iterator
    _make_one_shot_iterator = make_one_shot_iterator

    @property
    def element_spec(self) -> Any:
        """The structure of the types of the dataset's elements."""
        return self._dataset.element_spec

    def __iter__(self) -> Any:
        raise RuntimeError(_NO_ITERATION)

    def reduce(self, initial_state: Any, reduce_fn: Callable[..., Any]) -> Any:
        """Return the final state of a reduction. The next state is `reduce_fn(state, element)`. An
        element is a structure of per-replica values.

        Raises RuntimeError outside of a `tf.function`.
        """
        if not get_default_graph().building_function:
            raise RuntimeError(_NO_ITERATION)
        divide = self._make(None)

        def reduce(state: Any, *element: Any) -> Any:
            parts = divide.divided(element[0] if len(element) == 1 else element)
            return reduce_fn(state, parts)

        count = len(self._strategy.extended.worker_devices)
        dataset = self._dataset
        if self._parts is None:
            dataset = dataset.batch(count, drop_remainder=True)
        return dataset.reduce(initial_state, reduce)

    def _make(self, iterator: Any) -> DistributedIterator:
        return DistributedIterator(self._strategy, iterator, self._parts, self._first)


class DistributesInput:
    """A mixin for strategies with several replicas: the input methods of `StrategyExtended`."""

    _task: Any = None
    _strategy: Any

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of the replicas."""
        raise NotImplementedError

    @property
    def _num_replicas_in_sync(self) -> int:
        raise NotImplementedError

    def _first_replica(self) -> int | None:
        """Return the index of this worker's first replica among the replicas of all workers.

        Return None if the workers are not synchronous, because then replicas are counted for each
        worker separately.
        """
        local = len(self.worker_devices)
        is_several = self._num_replicas_in_sync > local
        return local * self._task.number if is_several else 0

    def _make_dataset_iterator(self, dataset: Any) -> DistributedIterator:
        return self._experimental_distribute_dataset(dataset).make_initializable_iterator()

    def _experimental_distribute_dataset(self, dataset: Any) -> DistributedDataset:
        parts = self._num_replicas_in_sync
        return DistributedDataset(self._strategy, dataset, parts, self._first_replica() or 0)

    def _experimental_distribute_datasets_from_function(self, dataset_fn: Any) -> Any:
        return DistributedDataset(self._strategy, dataset_fn(self._input_context()), None, 0)

    def _experimental_run_steps_on_iterator(
        self, fn: Callable[..., Any], iterator: Any, iterations: Any, initial_loop_values: Any
    ) -> MultiStepContext:
        return run_steps_on_iterator(fn, iterator, iterations, initial_loop_values)

    def _experimental_make_numpy_dataset(self, numpy_input: Any, session: Any) -> Any:
        where = self.worker_devices[0] if self._task is None else self._task.device
        return numpy_dataset(numpy_input, where, session)

    def _input_device(self) -> str:
        """Return the device that reads the input of this process."""
        task = "/replica:0/task:0" if self._task is None else self._task.device
        return canonical_device(f"{task}/device:CPU:0")

    def _input_context(self) -> InputContext:
        if self._task is None:
            return InputContext(num_replicas_in_sync=self._num_replicas_in_sync)
        task = self._task
        return InputContext(task.num_workers, task.number, self._num_replicas_in_sync)

    def _make_input_fn_iterator(
        self, input_fn: Callable[..., Any], replication_mode: Any = InputReplicationMode.PER_WORKER
    ) -> DistributedIterator:
        del replication_mode  # there is one
        result = input_fn(self._input_context())
        if hasattr(result, "make_initializable_iterator"):
            result = result.make_initializable_iterator()
        elif not callable(result):
            raise ValueError("input_fn must return a tf.data.Dataset or a callable.")
        return DistributedIterator(self._strategy, result)
