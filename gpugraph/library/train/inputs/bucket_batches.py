"""Batches whose elements are in the same bucket. Each bucket has a queue, and the batches of all
buckets are put into one queue.

elements --which bucket?--> queue of bucket 0 --batch_size at a time--+
                       '--> queue of bucket 1 ------------------------+--> queue of batches
                       '--> ...                                       '
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import CancelledError, OutOfRangeError
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow.case_and_switch_case import case
from gpugraph.building.control_flow.smart_cond import smart_cond
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.summary.summary_functions import scalar
from gpugraph.library.train.coordination.queue_runner import QueueRunner, add_queue_runner
from gpugraph.library.train.inputs.batches import (
    as_lists,
    element_shapes,
    element_types,
    keep_condition,
    structured_as,
)
from gpugraph.library.train.inputs.sparse_components import (
    sparse_components,
    storable,
    with_sparse,
    without_sparse,
)
from gpugraph.ops.control.group_and_no_op import group, no_op
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.queues.queue_classes import FIFOQueue, PaddingFIFOQueue, QueueBase

_ENDS = OutOfRangeError, CancelledError


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Return (the bucket, the batch), where all elements of the batch are in the bucket. The bucket
    is an int32 scalar.

    Raises ValueError if the length of a list is not `num_buckets`, or if the shape of an element is
    unknown. A run raises InvalidArgumentError if `which_bucket` is not the number of a bucket.

    For the other arguments, see `tf.train.maybe_batch`.

    Args:
      tensors: one element, see `tf.train.batch`.
      which_bucket: the element's bucket, an int32 scalar from 0 to `num_buckets` - 1.
      batch_size: a number, or a list with a number for each bucket.
      capacity: the capacity of the queue of batches. It is also the capacity of each bucket's
        queue, unless `bucket_capacities` is passed.
    """
    sizes = _one_each("batch_size", batch_size, num_buckets)
    capacities = _one_each(
        "bucket_capacities", capacity if bucket_capacities is None else bucket_capacities,
        num_buckets,
    )  # fmt: skip
    elements = _elements(tensors)
    with name_scope(name, "bucket", without_sparse(elements)) as scope:
        sparse = sparse_components([elements])
        elements = [storable(tensor, many=False) for tensor in elements]
        types = element_types([elements])
        known = element_shapes([elements], shapes, False, sparse)
        queue_class = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues: list[QueueBase] = [
            queue_class(size, types, known, shared_name=shared_name and f"{shared_name}_{number}")
            for number, size in enumerate(capacities)
        ]
        keep = keep_condition(keep_input, enqueue_many=False)
        enqueue = smart_cond(keep, partial(_enqueue, queues, which_bucket, elements), no_op)
        _add_runner(queues, [enqueue] * num_threads)
        rows = None if allow_smaller_final_batch or len(set(sizes)) > 1 else sizes[0]
        batches = _queue_of_batches(queues, sizes, rows, capacity, allow_smaller_final_batch)
        number, *batch = batches.dequeue(name=f"{scope}dequeue_top")
        result = with_sparse(batch[0] if len(batch) == 1 else batch, sparse, many=False)
        return number, structured_as(tensors, result)


def _elements(tensors: Any) -> list[Any]:
    """Return the tensors of an element. A single tensor is treated as a list of one tensor."""
    is_alone = not isinstance(tensors, (list, tuple, Mapping))
    return as_lists([[tensors] if is_alone else tensors])[0]


def _one_each(name: str, values: Any, num_buckets: int) -> list[Any]:
    if not isinstance(values, (list, tuple)):
        return [values] * num_buckets
    if len(values) != num_buckets:
        raise ValueError(
            f"The list {name} ({values}) must have exactly num_buckets ({num_buckets}) elements."
        )
    return list(values)


def _enqueue(queues: Sequence[QueueBase], which_bucket: Any, elements: Sequence[Tensor]) -> Any:
    """Return an operation that enqueues an element into the queue of its bucket."""
    number = convert_to_tensor(which_bucket, dtypes.int32, name="which_bucket")
    pairs: list[tuple[Any, Callable[[], Any]]] = [
        (raw_ops.Equal(number, index), partial(queue.enqueue, elements))
        for index, queue in enumerate(queues)
    ]
    return case(pairs, exclusive=True)


def _add_runner(queues: Sequence[QueueBase], operations: Sequence[Any]) -> None:
    """Add a runner that enqueues elements, and closes the queues of all buckets at the end."""
    close = group(*(queue.close() for queue in queues))
    cancel = group(*(queue.close(cancel_pending_enqueues=True) for queue in queues))
    add_queue_runner(QueueRunner(queues[0], operations, close, cancel, _ENDS))


def _queue_of_batches(
    queues: Sequence[QueueBase], sizes: Sequence[Any], rows: Any, capacity: int, is_smaller: bool
) -> QueueBase:
    """Return a queue of pairs (bucket, batch), and add the runner that fills it.

    Args:
      sizes: the batch size of each bucket.
      rows: the number of rows of every batch, or None if it differs between batches.
    """
    known = isinstance(rows, (int, np.integer))
    shapes = [
        TensorShape([rows if known else None]).concatenate(shape) for shape in queues[0].shapes
    ]
    queue_class = FIFOQueue if all(s.is_fully_defined() for s in shapes) else PaddingFIFOQueue
    batches = queue_class(
        capacity, [dtypes.int32, *queues[0].dtypes], [TensorShape([]), *shapes], name="top_queue"
    )
    operations = []
    for number, (queue, size) in enumerate(zip(queues, sizes)):
        dequeue = queue.dequeue_up_to if is_smaller else queue.dequeue_many
        batch = dequeue(size, name=f"read_bucket_{number}")
        batch = batch if isinstance(batch, list) else [batch]
        label = f"enqueue_from_bucket_{number}"
        operations.append(batches.enqueue([np.array(number, np.int32), *batch], name=label))
        scalar(f"bucket/{queue.name}/size", raw_ops.Cast(queue.size(), dtypes.float32))
    fraction = raw_ops.Cast(batches.size(), dtypes.float32) * (1.0 / capacity)
    scalar(f"bucket/fraction_of_{capacity}_full", fraction)
    add_queue_runner(QueueRunner(batches, operations, queue_closed_exception_types=_ENDS))
    return batches


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Return (the lengths, the batch) for batches of sequences of similar length. The lengths are
    an int32 vector.

    If `tensors` is a list of one tensor, the batch is a list. Raises TypeError if the boundaries
    are not a list of ints, and ValueError if they do not increase.

    For the other arguments, see `bucket`.

    Args:
      input_length: the length of an element, an int32 scalar.
      bucket_boundaries: ascending ints. Bucket n contains the sequences whose length is at least
        boundary n - 1 and less than boundary n. The number of buckets is the number of boundaries
        plus 1.
    """
    _check_boundaries(bucket_boundaries)
    elements = _elements(tensors)
    with name_scope(name, "bucket_by_sequence_length", [input_length, *without_sparse(elements)]):
        length = convert_to_tensor(input_length, dtypes.int32, name="input_length")
        boundaries = np.array(bucket_boundaries, np.int32)
        reached = raw_ops.Cast(raw_ops.GreaterEqual(length, boundaries), DstT=dtypes.int32)
        _, (lengths, *batch) = bucket(
            [length, *elements],
            raw_ops.Sum(reached, np.array([0], np.int32)),
            batch_size,
            len(boundaries) + 1,
            num_threads,
            capacity,
            bucket_capacities,
            None if shapes is None else [TensorShape([]), *shapes],
            dynamic_pad,
            allow_smaller_final_batch,
            keep_input,
            shared_name,
        )
        return lengths, structured_as(tensors, batch)


def _check_boundaries(boundaries: Any) -> None:
    if not isinstance(boundaries, (list, tuple)):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {boundaries}")
    if not boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for first, second in pairwise(boundaries):
        if not (isinstance(first, int) and isinstance(second, int)):
            raise TypeError(f"bucket boundaries must be integers, but saw: {first} and {second}")
        if first >= second:
            raise ValueError(
                "Buckets must contain sequential increasing lengths, but saw: "
                f"{first} before {second}"
            )
