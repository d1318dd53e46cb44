"""The queue classes: tf.FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue and PriorityQueue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from hashlib import md5
from typing import Any

from gpugraph.base import dtypes as dtypes_module
from gpugraph.base.dimensions import Dimension
from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.queues.queue_arguments import component_names, component_shapes, component_types
from gpugraph.ops.random.seeds_and_streams import get_seed


class QueueBase:
    """A queue of elements, through which runs of a session exchange values.

    An element is a tuple of tensors, its components. Enqueues wait while the queue is full, and
    dequeues wait for elements. While a run waits, other runs of the session proceed.

    Raises ValueError if there are not as many shapes or names as dtypes.

    Args:
      dtypes: a list of the components' dtypes.
      shapes: a list of the components' shapes. If it is None, each element may have different
        shapes, but only `dequeue` can take elements.
      names: the names of the components, if elements are dictionaries.
      queue_ref: the queue's handle.
    """

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Tensor) -> None:
        self._dtypes = dtypes
        if shapes is not None:
            if len(shapes) != len(dtypes):
                raise ValueError("Queue shapes must have the same length as dtypes")
            self._shapes = [as_shape(shape) for shape in shapes]
        else:
            self._shapes = [TensorShape.of(None) for _ in dtypes]
        if names is not None and len(names) != len(dtypes):
            raise ValueError("Queue names must have the same length as dtypes")
        self._names: list[str] | None = None if names is None else list(names)
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index: Any, queues: Sequence[QueueBase]) -> QueueBase:
        """Return a queue that refers, in each run, to the queue at `index` in a list.

        Raises TypeError if `queues` is not a list of queues, or if their dtypes or names differ.

        Args:
          index: an int scalar.
        """
        if (
            not queues
            or not isinstance(queues, list)
            or not all(isinstance(queue, QueueBase) for queue in queues)
        ):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if not all(first.dtypes == queue.dtypes for queue in queues[1:]):
            raise TypeError("Queues do not have matching component dtypes.")
        if not all(first.names == queue.names for queue in queues[1:]):
            raise TypeError("Queues do not have matching component names.")
        shapes = [
            reduce(TensorShape.most_specific_compatible_shape, components)
            for components in zip(*(queue.shapes for queue in queues))
        ]
        handles = raw_ops.Pack([queue.queue_ref for queue in queues], axis=0)
        chosen = raw_ops.GatherV2(handles, convert_to_tensor(index), 0)
        return QueueBase(first.dtypes, shapes, first.names, chosen)

    @property
    def queue_ref(self) -> Tensor:
        """The queue's handle."""
        return self._queue_ref

    @property
    def dtypes(self) -> list[DType]:
        """The components' dtypes."""
        dtypes: list[DType] = self._dtypes
        return dtypes

    def _values(self, values: Any) -> list[Any]:
        """Return the components of an element, in order. Raises ValueError if their names do not
        match.
        """
        if isinstance(values, Mapping):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(values, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"{sorted(values)}, Queue: {sorted(self._names)}"
                )
            return [values[name] for name in self._names]
        if self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        return list(values) if isinstance(values, (list, tuple)) else [values]

    @property
    def name(self) -> str:
        """The name of the queue's operation."""
        return self._queue_ref.op.name

    def _components(self, values: Any) -> list[Tensor]:
        return [
            convert_to_tensor(value, dtype=dtype, name=f"component_{index}")
            for index, (value, dtype) in enumerate(zip(self._values(values), self._dtypes))
        ]

    @property
    def shapes(self) -> list[TensorShape]:
        """The components' shapes."""
        return self._shapes

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Return an operation that adds the element `vals`, which is a tensor, a list of
        components, or a dictionary of components.

        The operation waits while the queue is full. A run raises CancelledError if the queue is
        closed, or becomes closed during the wait. Raises ValueError if the components do not have
        the queue's shapes.
        """
        with name_scope(name, f"{self._name}_enqueue", _tensors(vals)) as scope:
            components = self._components(vals)
            for component, shape in zip(components, self._shapes):
                component.get_shape().assert_is_compatible_with(shape)
            operation: Operation = raw_ops.QueueEnqueueV2(self._queue_ref, components, name=scope)
            return operation

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Return an operation that adds elements. Element i consists of row i of each component.

        Rows are added one by one. While the queue is full, the operation waits. Raises the same
        errors as `enqueue`.
        """
        with name_scope(name, f"{self._name}_EnqueueMany", _tensors(vals)) as scope:
            components = self._components(vals)
            rows = Dimension(None)
            for component, shape in zip(components, self._shapes):
                row_shape = component.get_shape().with_rank_at_least(1)
                rows = rows.merge_with(Dimension(row_shape[0]))
                row_shape[1:].assert_is_compatible_with(shape)
            operation: Operation = raw_ops.QueueEnqueueManyV2(
                self._queue_ref, components, name=scope
            )
            return operation

    def _element(self, tensors: Any, rows: Sequence[int | None] | None) -> Any:
        """Return the outputs of a dequeue as an element: a tensor, a list or a dictionary. Set the
        known static shapes of the outputs.

        Args:
          rows: the sizes that precede the components' shapes, or None for a single element.
        """
        components = [tensors] if isinstance(tensors, Tensor) else list(tensors)
        for component, shape in zip(components, self._shapes):
            known = shape if rows is None else TensorShape.of(tuple(rows)).concatenate(shape)
            component.set_shape(known)
        if self._names:
            return dict(zip(self._names, components))
        return components[0] if len(components) == 1 else components

    def dequeue(self, name: str | None = None) -> Any:
        """Remove the next element and return its components as a tensor, a list or a dictionary.

        The run waits while the queue is empty. It raises OutOfRangeError if the queue is closed and
        empty, and CancelledError if the session is closed.
        """
        tensors = raw_ops.QueueDequeueV2(
            self._queue_ref, component_types=self._dtypes, name=name or f"{self._name}_Dequeue"
        )
        return self._element(tensors, None)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Remove `n` elements and return their components, each stacked along a new first axis.

        The run waits until there are `n` elements. It raises OutOfRangeError if the queue is closed
        and has fewer elements. The queue must have been created with the components' shapes.
        """
        tensors = raw_ops.QueueDequeueManyV2(
            self._queue_ref, n, component_types=self._dtypes,
            name=name or f"{self._name}_DequeueMany",
        )  # fmt: skip
        count = constant_value(_first(tensors).op.inputs[1])
        return self._element(tensors, [None if count is None else int(count)])

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Remove `n` elements in the same way as `dequeue_many`. However, a closed queue may return
        fewer elements, but at least one.
        """
        tensors = raw_ops.QueueDequeueUpToV2(
            self._queue_ref, n, component_types=self._dtypes,
            name=name or f"{self._name}_DequeueUpTo",
        )  # fmt: skip
        return self._element(tensors, [None])

    @property
    def names(self) -> list[str] | None:
        """The components' names, or None."""
        return self._names

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Return an operation that closes the queue. Later enqueues fail, and dequeues can only
        remove the remaining elements.

        The operation waits until all enqueues that are already waiting have completed. If
        `cancel_pending_enqueues` is true, these enqueues fail instead. A run raises CancelledError
        if the queue is closed already, unless `cancel_pending_enqueues` is set.
        """
        operation: Operation = raw_ops.QueueCloseV2(
            self._queue_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_Close",
        )
        return operation

    def is_closed(self, name: str | None = None) -> Tensor:
        """Return whether the queue is closed, a bool scalar."""
        tensor: Tensor = raw_ops.QueueIsClosedV2(
            self._queue_ref, name=name or f"{self._name}_Is_Closed"
        )
        return tensor

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements in the queue, an int32 scalar."""
        tensor: Tensor = raw_ops.QueueSizeV2(self._queue_ref, name=name or f"{self._name}_Size")
        return tensor


class FIFOQueue(QueueBase):
    """A queue whose elements leave in the order in which they were added.

    Args:
      capacity: the maximum number of elements, or -1 for no maximum.
      dtypes: the dtypes of the components, a list or a single dtype.
      shapes: the components' fully defined shapes, or None.
      shared_name: the name under which several queues in a session share their elements.

    >>> queue = tf.FIFOQueue(10, tf.int32)
    >>> session.run(queue.enqueue_many([[1, 2, 3]]))
    >>> session.run(queue.dequeue())
    np.int32(1)
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "fifo_queue",
    ) -> None:
        types, known = component_types(dtypes), component_shapes(shapes, False)
        handle = _handle(raw_ops.FIFOQueueV2, capacity, types, known, shared_name, name)
        super().__init__(types, known, component_names(names, types), handle)


class PaddingFIFOQueue(QueueBase):
    """A `FIFOQueue` whose batches may have elements of different sizes, which are padded with
    zeros.

    Args:
      shapes: a list of the components' shapes. Their ranks must be known, but sizes may be None.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types, known = component_types(dtypes), component_shapes(shapes, True)
        if known is None or len(types) != len(known):
            counts = f"received {len(types)} dtypes and {len(known or [])} shapes."
            raise ValueError(f"Shapes must be provided for all components, but {counts}")
        handle = _handle(raw_ops.PaddingFIFOQueueV2, capacity, types, known, shared_name, name)
        super().__init__(types, known, component_names(names, types), handle)


class RandomShuffleQueue(QueueBase):
    """A queue whose elements leave in random order.

    Args:
      min_after_dequeue: the number of elements that remain in the queue until it is closed, so that
        elements are well mixed.
      seed: the seed of the order. If it or the graph's seed is set, the order is the same in each
        session and in TensorFlow.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        types, known = component_types(dtypes), component_shapes(shapes, False)
        first, second = _queue_seeds(seed, shared_name)
        handle = _handle(
            partial(
                raw_ops.RandomShuffleQueueV2,
                min_after_dequeue=min_after_dequeue,
                seed=first,
                seed2=second,
            ),
            capacity,
            types,
            known,
            shared_name,
            name,
        )
        super().__init__(types, known, component_names(names, types), handle)


class PriorityQueue(QueueBase):
    """A queue whose elements leave in ascending order of an int64 number.

    The number is component 0 of each element. The components with the dtypes `types` follow it.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        component_dtypes, known = component_types(types), component_shapes(shapes, False)
        if known is None:
            raise TypeError(
                "Expected list for 'shapes' argument to 'priority_queue_v2' Op, not None."
            )
        handle = _handle(
            raw_ops.PriorityQueueV2, capacity, component_dtypes, known, shared_name, name
        )
        all_types = [dtypes_module.int64, *component_dtypes]
        all_shapes = [TensorShape.of(()), *known]
        super().__init__(all_types, all_shapes, component_names(names, all_types), handle)


def _handle(
    create: Callable[..., Any], capacity: int, types: Any, shapes: Any, shared: Any, name: Any
) -> Tensor:
    """Create a queue with the op function `create` and return the queue's handle."""
    handle: Tensor = create(
        component_types=types,
        shapes=shapes or [],
        capacity=capacity,
        shared_name=shared or "",
        name=name,
    )
    return handle


def _queue_seeds(seed: int | None, shared_name: str | None) -> tuple[int, int]:
    """Return the two seeds of a shuffling queue.

    If only the graph has a seed, the second seed of a shared queue is derived from the queue's
    shared name.
    """
    first, second = get_seed(seed)
    if first is None and second is None:
        return 0, 0
    if seed is None and shared_name is not None:
        digest = md5(shared_name.encode()).hexdigest()
        second = int(digest[:8], 16) & 0x7FFFFFFF
    return first or 0, second or 0


def _tensors(values: Any) -> list[Any]:
    if isinstance(values, Mapping):
        values = list(values.values())
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _first(tensors: Any) -> Tensor:
    tensor: Tensor = tensors if isinstance(tensors, Tensor) else tensors[0]
    return tensor
