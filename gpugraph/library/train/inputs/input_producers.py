"""Producers: queues that threads fill with file names, numbers or rows, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.shapes import as_shape
from gpugraph.building.control_flow.assertion import Assert
from gpugraph.building.variables import Variable
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.summary.summary_functions import scalar
from gpugraph.library.train.coordination.queue_runner import QueueRunner, add_queue_runner
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.queues.queue_classes import FIFOQueue, QueueBase
from gpugraph.ops.random.multinomial_and_shuffle import random_shuffle

_NO_STRINGS = "string_input_producer requires a non-null input tensor"


def match_filenames_once(pattern: Any, name: str | None = None) -> Any:
    """Create a local variable. When it is initialized, its value becomes the paths that match
    `pattern`.
    """
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            raw_ops.MatchingFiles(pattern),
            trainable=False,
            validate_shape=False,
            name=scope,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Return `tensor`, limited to `num_epochs` runs. Later runs raise OutOfRangeError.

    A local variable counts the runs. If `num_epochs` is None, there is no limit. Raises ValueError
    if `num_epochs` is less than 1.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(
            constant(0, dtypes.int64),
            name="epochs",
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """Create a queue of the rows of a tensor, repeated endlessly or `num_epochs` times.

    A runner that fills the queue is added to the graph. Raises ValueError if neither the tensor nor
    `element_shape` determines the shape of a row.

    Args:
      shuffle: whether to shuffle the rows in each epoch.
      summary_name: the name of a summary of the fraction of `capacity` that is in use. If it is
        None, there is no summary.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        shape = rows.get_shape()[1:].merge_with(as_shape(element_shape))
        if not shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be "
                "specified"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(
            capacity, [rows.dtype.base_dtype], [shape], shared_name=shared_name, name=name
        )
        enqueue = queue.enqueue_many([rows])
        add_queue_runner(QueueRunner(queue, [enqueue], cancel_op=cancel_op))
        if summary_name is not None:
            fullness = raw_ops.Cast(queue.size(), dtypes.float32) * (1.0 / capacity)
            scalar(summary_name, fullness)
        return queue


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """Create a queue of strings, for example of the paths for a reader. For the arguments, see
    `input_producer`.

    Raises ValueError if `string_tensor` is an empty list. If it is a tensor without elements, a run
    raises InvalidArgumentError.
    """
    is_list = isinstance(string_tensor, (list, tuple, np.ndarray))
    if is_list and len(string_tensor) == 0:
        raise ValueError(_NO_STRINGS)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, dtype=dtypes.string)
        is_some = raw_ops.Greater(raw_ops.Size(strings), 0)
        with control_dependencies([Assert(is_some, [_NO_STRINGS])]):
            strings = identity(strings)
        return input_producer(
            strings, [], num_epochs, shuffle, seed, capacity, shared_name,
            f"fraction_of_{capacity}_full", scope, cancel_op,
        )  # fmt: skip


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Create a queue of the int32 numbers from 0 to `limit` - 1. For the arguments, see
    `input_producer`.
    """
    with name_scope(name, "input_producer", [limit]) as scope:
        numbers = raw_ops.Range(0, limit, 1)
        return input_producer(
            numbers, [], num_epochs, shuffle, seed, capacity, shared_name,
            f"fraction_of_{capacity}_full", scope,
        )  # fmt: skip


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Return one row of each tensor. In each run, the index of the rows is the next index from a
    queue.

    For the arguments, see `input_producer`. Raises ValueError if the list is empty.
    """
    with name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor(tensor) for tensor in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        count = raw_ops.Shape(tensors[0])[0]
        queue = range_input_producer(count, num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [raw_ops.GatherV2(tensor, index, 0) for tensor in tensors]
