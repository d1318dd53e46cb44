"""Batches. Threads compute elements and enqueue them, and a batch consists of several elements that
are dequeued together.

A function with `maybe` in its name skips elements for which `keep_input` is False. A function with
`join` in its name takes a list of elements, and each element has its own thread. All other
functions take one element and the number of threads, and all threads compute this element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.control_flow.smart_cond import smart_cond
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.summary.summary_functions import scalar
from gpugraph.library.train.coordination.queue_runner import QueueRunner, add_queue_runner
from gpugraph.library.train.inputs.sparse_components import (
    sparse_components,
    storable,
    with_sparse,
    without_sparse,
)
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.queues.queue_classes import (
    FIFOQueue,
    PaddingFIFOQueue,
    QueueBase,
    RandomShuffleQueue,
)
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


class _QueueKind(NamedTuple):
    """A queue of `capacity` elements.

    Args:
      create: a function that creates the queue from the dtypes and shapes of an element's
        components.
      min_size: the number of elements that remain in the queue after a dequeue, as long as the
        queue is open.
    """

    create: Callable[[list[DType], list[TensorShape]], QueueBase]
    capacity: int
    min_size: int = 0

    def summarize(self, queue: QueueBase) -> None:
        """Add a summary of the number of elements that can be dequeued, divided by the maximum of
        this number.
        """
        size, span = queue.size(), self.capacity - self.min_size
        over = f"over_{self.min_size}_of_{span}" if self.shuffles(queue) else f"of_{span}"
        if self.shuffles(queue):
            size = raw_ops.Maximum(0, size - self.min_size)
        scalar(f"fraction_{over}_full", raw_ops.Cast(size, dtypes.float32) * (1.0 / span))

    def shuffles(self, queue: QueueBase) -> bool:
        """Return whether `queue` is shuffled, so that `min_size` elements remain in it."""
        return isinstance(queue, RandomShuffleQueue)


class _Batching(NamedTuple):
    """The common parameters of the functions of this module.

    Attributes:
      num_threads: the number of threads that compute each element of the list.
    """

    scope: str
    queue_kind: _QueueKind
    batch_size: Any
    enqueue_many: bool
    shapes: Any
    is_smaller_allowed: bool
    keep_input: Any = True
    num_threads: int = 1


def _batched(tensors_list: Sequence[Any], batching: _Batching, name: str | None) -> Any:
    lists = as_lists(tensors_list)
    if not lists[0]:
        raise ValueError(f"Expected at least one tensor in {batching.scope}().")
    with name_scope(
        name, batching.scope, [*without_sparse(lists[0]), batching.keep_input]
    ) as scope:
        sparse = sparse_components(lists)
        lists = [
            [storable(tensor, batching.enqueue_many) for tensor in tensors] for tensors in lists
        ]
        keep = keep_condition(batching.keep_input, batching.enqueue_many)
        types = element_types(lists)
        queue = batching.queue_kind.create(
            types, element_shapes(lists, batching.shapes, batching.enqueue_many, sparse)
        )
        enqueue = queue.enqueue_many if batching.enqueue_many else queue.enqueue
        operations = [_enqueue(enqueue, tensors, keep) for tensors in lists]
        add_queue_runner(QueueRunner(queue, operations * batching.num_threads))
        batching.queue_kind.summarize(queue)
        dequeue = queue.dequeue_up_to if batching.is_smaller_allowed else queue.dequeue_many
        batch = dequeue(batching.batch_size, name=scope)
        return structured_as(tensors_list[0], with_sparse(batch, sparse, batching.enqueue_many))


def as_lists(tensors_list: Sequence[Any]) -> list[list[Any]]:
    """Return the components of each element as a list. The components of a dict are sorted by key.

    Raises ValueError if there are no elements, or if their keys differ.
    """
    if not isinstance(tensors_list, (list, tuple)):
        raise TypeError(f"Expected a list of sets of tensors, got {tensors_list!r}")
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    if not isinstance(tensors_list[0], Mapping):
        return [list(tensors) for tensors in tensors_list]
    keys = sorted(tensors_list[0])
    if any(sorted(tensors) != keys for tensors in tensors_list):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    return [[tensors[key] for key in keys] for tensors in tensors_list]


def structured_as(tensors: Any, batch: Any) -> Any:
    """If the elements are dicts, return a batch as a dict. Otherwise return the batch, which is a
    tensor or a list, unchanged.
    """
    if not isinstance(tensors, Mapping):
        return batch
    return dict(zip(sorted(tensors), batch if isinstance(batch, list) else [batch]))


def keep_condition(keep_input: Any, enqueue_many: bool) -> Tensor:
    """Return `keep_input` as a bool tensor. The tensor is a scalar. If `enqueue_many` is true, it
    may also be a vector.

    Raises ValueError if the tensor has any other rank, or if its rank is unknown.
    """
    keep = convert_to_tensor(keep_input, dtype=dtypes.bool)
    rank = keep.get_shape().rank
    if rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and rank == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def element_types(lists: Sequence[Sequence[Tensor]]) -> list[DType]:
    """Return the dtypes of an element's components. Raises TypeError if the dtypes are not the same
    in all lists.
    """
    types = [[tensor.dtype.base_dtype for tensor in tensors] for tensors in lists]
    for other in types[1:]:
        if other != types[0]:
            raise TypeError(
                f"Expected types to be consistent: {', '.join(t.name for t in types[0])} vs. "
                f"{', '.join(t.name for t in other)}."
            )
    return types[0]


def element_shapes(
    lists: Sequence[Sequence[Tensor]], shapes: Any, many: bool, sparse: Mapping[int, SparseTensor]
) -> list[TensorShape]:
    """Return the shapes of an element's components. Raises ValueError if a rank is unknown.

    Args:
      shapes: the shapes that the program passes, or None.
      many: whether each list has several elements, one in each row.
      sparse: a dict from positions in the lists to SparseTensors.
    """
    if shapes is not None:
        known = [as_shape(shape) for shape in shapes]
        return [TensorShape.of((3,)) if index in sparse else s for index, s in enumerate(known)]
    result = []
    for tensors in zip(*lists):
        merged = TensorShape.of(None)
        for tensor in tensors:
            shape = tensor.get_shape()
            if shape.rank is None:
                raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
            merged = merged.merge_with(shape.with_rank_at_least(1)[1:] if many else shape)
        result.append(merged)
    return result


def _enqueue(enqueue: Callable[..., Any], tensors: Sequence[Tensor], keep: Tensor) -> Any:
    if keep.get_shape().rank:
        rows = raw_ops.Cast(keep, DstT=dtypes.int32)
        return enqueue(
            [raw_ops.DynamicPartition(tensor, rows, num_partitions=2)[1] for tensor in tensors]
        )
    return smart_cond(keep, lambda: enqueue(tensors), no_op)


def _in_order(capacity: int, dynamic_pad: bool, shared_name: str | None) -> _QueueKind:
    queue_class = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return _QueueKind(
        lambda types, shapes: queue_class(capacity, types, shapes, shared_name=shared_name),
        capacity,
    )


def _shuffling(
    capacity: int, min_after_dequeue: int, seed: int | None, shared_name: str | None
) -> _QueueKind:
    """Return the kind of a shuffling queue. Raises ValueError if no element could ever be
    dequeued.
    """
    if capacity <= min_after_dequeue:
        raise ValueError(
            f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}."
        )
    return _QueueKind(
        lambda types, shapes: RandomShuffleQueue(
            capacity, min_after_dequeue, types, shapes, seed=seed, shared_name=shared_name
        ),
        capacity,
        min_after_dequeue,
    )


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches of elements, in the order in which the threads compute the elements.

    Raises ValueError if the shape of an element is unknown. If `dynamic_pad` is true, only the rank
    must be known.

    Args:
      tensors: one element, which the threads compute repeatedly. It is a list or dictionary of
        tensors and SparseTensors. The result has the same structure, and each tensor has a row for
        each of `batch_size` elements. If it is a list of one tensor, the result is a tensor.
      enqueue_many: whether `tensors` contains several elements, one in each row.
      num_threads: the number of threads. Their runner is added to the graph.
      shapes: the shapes of an element's tensors. They are needed if the tensors have unknown
        shapes.
      dynamic_pad: whether elements of different sizes are padded with zeros.
      allow_smaller_final_batch: whether the remaining elements at the end of the input also form a
        batch.
    """
    return maybe_batch(
        tensors, True, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches as `batch` does, but only of elements for which `keep_input` is True.

    Args:
      keep_input: a bool scalar. If `enqueue_many` is true, it may also be a vector.
    """
    queue_kind = _in_order(capacity, dynamic_pad, shared_name)
    batching = _Batching(
        "batch", queue_kind, batch_size, enqueue_many, shapes, allow_smaller_final_batch,
        keep_input, num_threads,
    )  # fmt: skip
    return _batched([tensors], batching, name)


def batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches as `batch` does, but of elements from several sources. Each source has a
    thread.
    """
    return maybe_batch_join(
        tensors_list, True, batch_size, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_batch_join(
    tensors_list: Sequence[Any],
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches as `batch_join` does, but only of elements for which `keep_input` is True."""
    queue_kind = _in_order(capacity, dynamic_pad, shared_name)
    batching = _Batching(
        "batch_join", queue_kind, batch_size, enqueue_many, shapes, allow_smaller_final_batch,
        keep_input,
    )  # fmt: skip
    return _batched(tensors_list, batching, name)


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches as `batch` does, but of elements that are drawn at random from the queue.

    After each draw, at least `min_after_dequeue` elements remain in the queue. Raises ValueError if
    the capacity is not greater than `min_after_dequeue`.
    """
    return maybe_shuffle_batch(
        tensors, batch_size, capacity, min_after_dequeue, True, num_threads, seed, enqueue_many,
        shapes, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches as `shuffle_batch` does, but only of elements for which `keep_input` is
    True.
    """
    queue_of = _shuffling(capacity, min_after_dequeue, seed, shared_name)
    common = batch_size, enqueue_many, shapes, allow_smaller_final_batch, keep_input, num_threads
    return _batched([tensors], _Batching("shuffle_batch", queue_of, *common), name)


def maybe_shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches as `shuffle_batch_join` does, but only of elements for which `keep_input` is
    True.
    """
    queue_kind = _shuffling(capacity, min_after_dequeue, seed, shared_name)
    batching = _Batching(
        "shuffle_batch_join", queue_kind, batch_size, enqueue_many, shapes,
        allow_smaller_final_batch, keep_input,
    )  # fmt: skip
    return _batched(tensors_list, batching, name)


def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches as `shuffle_batch` does, but of elements from several sources. Each source has
    a thread.
    """
    return maybe_shuffle_batch_join(
        tensors_list, batch_size, capacity, min_after_dequeue, True, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip
