"""Ops on iterators and datasets, which save and restore positions as strings, write a dataset's
records to files, or distribute elements among several devices.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from typing import Any

from gpugraph.base.errors import OutOfRangeError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.whole_files import system_errors
from gpugraph.formats.record_files import TFRecordWriter
from gpugraph.kernel import KernelContext
from gpugraph.ops.datasets.elements.dataset_declaration import TYPES
from gpugraph.ops.datasets.elements.stage import SLICE_S, Element, Pipeline, stage_in
from gpugraph.ops.datasets.iterator_ops import (
    IteratorResource,
    declare_handle_op,
    element_types,
    infer_elements,
    iterator_in,
)
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import no_outputs
from gpugraph.ops.queues.handle_ops import Run, held_object, infer_handle, waiting_op


def _bind_position(context: KernelContext, handle: Any) -> Run:
    return lambda: [iterator_in(handle).save()]


def _bind_go_to(context: KernelContext, handle: Any, position: Any) -> Run:
    def run() -> Sequence[Any]:
        iterator_in(handle).restore(position.item(0))
        return ()

    return run


waiting_op(
    "_IteratorPosition", _bind_position, "The position of an iterator as a string.",
    inputs="iterator: resource", outputs="position: string", infer=infer_handle,
)  # fmt: skip
waiting_op(
    "_SetIteratorPosition", _bind_go_to, "Go to a position of an iterator.",
    inputs="iterator: resource, position: string",
)  # fmt: skip


# -- files


def _bind_write(context: KernelContext, dataset: Any, filename: Any, compression: Any) -> Run:
    def run() -> Sequence[Any]:
        path = os.fsdecode(filename.item(0))
        pipeline = Pipeline()
        elements = stage_in(dataset).elements(pipeline)
        try:
            with system_errors(path), TFRecordWriter(path, compression.item(0).decode()) as writer:
                while (element := elements.next()) is not None:
                    pipeline.check()
                    writer.write(element[0].item())
        finally:
            pipeline.end()
            elements.close()
            pipeline.release()
        return ()

    return run


for _op_type in ("DatasetToTFRecord", "ExperimentalDatasetToTFRecord"):
    waiting_op(
        _op_type, _bind_write, "Write the elements of a dataset as the records of a file.",
        inputs="input_dataset: variant, filename: string, compression_type: string",
        infer=no_outputs,
    )  # fmt: skip


# -- several devices


class SplitIterator(IteratorResource):
    """An iterator that distributes its elements among `count` shards. Element i belongs to shard i
    modulo `count`.
    """

    def __init__(self, types: Any, shapes: Any, name: str, count: int) -> None:
        super().__init__(types, shapes, name)
        self.count = count
        self.ahead: list[deque[Element]] = [deque() for _ in range(count)]
        self.turn = 0
        self.turn_lock = new_lock()
        self.incarnation = 0

    def initialize(self, stage: Any) -> None:
        """Start at the beginning of a dataset."""
        super().initialize(stage)
        with self.turn_lock:
            self.ahead = [deque() for _ in range(self.count)]
            self.turn = 0
            self.incarnation += 1

    def next_of(self, shard: int) -> Element:
        """Return the next element of a shard. Raises OutOfRangeError at the end."""
        if not 0 <= shard < self.count:
            raise invalid_argument(f"Invalid shard_num provided for the iterator: {shard}")
        pipeline = self.pipeline
        while not self.turn_lock.acquire(timeout=SLICE_S):
            pipeline.check()
        try:
            while not self.ahead[shard]:
                element = self.take()
                if element is None:
                    raise OutOfRangeError.of_no_node("End of sequence")
                self.ahead[self.turn].append(element)
                self.turn = (self.turn + 1) % self.count
            return self.ahead[shard].popleft()
        finally:
            self.turn_lock.release()


def _bind_split(context: KernelContext, handle: Any) -> Run:
    types, shapes = element_types(context)
    count = len(context.attrs["devices"])
    name = context.attrs["shared_name"] or f"{context.name}/private"
    iterator = context.shared(
        context.attrs["container"], name, lambda: SplitIterator(types, shapes, name, count)
    )
    return lambda: handle.fill(iterator)


def _bind_begin(context: KernelContext, dataset: Any, handle: Any, _: Any) -> Run:
    def run() -> Sequence[Any]:
        iterator = held_object(handle, SplitIterator, "iterator for several devices")
        iterator.initialize(stage_in(dataset))
        return [iterator.incarnation]

    return run


def _bind_next_of(context: KernelContext, handle: Any, shard: Any, _: Any) -> Run:
    iterator = held_object(handle, SplitIterator, "iterator for several devices")
    return lambda: iterator.next_of(int(shard))


declare_handle_op(
    "MultiDeviceIterator", _bind_split, "An iterator whose elements go to several devices in turn.",
    outputs="handle: resource",
    attrs={
        "devices": Attr("list(string)", required=True, minimum=1),
        "shared_name": Attr("string", required=True), "container": Attr("string", required=True),
        **TYPES,
    },
)  # fmt: skip
waiting_op(
    "MultiDeviceIteratorInit", _bind_begin, "Initialize an iterator for several devices.",
    inputs="dataset: variant, multi_device_iterator: resource, max_buffer_size: int64",
    outputs="incarnation_id: int64", infer=infer_handle,
)  # fmt: skip
waiting_op(
    "MultiDeviceIteratorGetNextFromShard", _bind_next_of, "The next element of a device.",
    inputs="multi_device_iterator: resource, shard_num: int32, incarnation_id: int64",
    outputs="components: output_types", attrs=TYPES, infer=infer_elements,
)  # fmt: skip
