"""Iterators, which hold a position in a dataset, and the ops on their handles. A session keeps the
iterators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, as_dtype, runtime_name
from gpugraph.base.errors import FailedPreconditionError, OutOfRangeError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.shapes import TensorShape, as_shape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.control.optional_ops import OptionalValue
from gpugraph.ops.datasets.elements.dataset_declaration import FUNC, HOST, TYPES
from gpugraph.ops.datasets.elements.function_places import number_places
from gpugraph.ops.datasets.elements.pipeline_watch import Watch
from gpugraph.ops.datasets.elements.positions import packed, unpacked
from gpugraph.ops.datasets.elements.stage import (
    SLICE_S,
    Element,
    Elements,
    Pipeline,
    Stage,
    stage_in,
)
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import no_outputs
from gpugraph.ops.queues.handle_ops import Run, held_object, infer_handle, waiting_op
from gpugraph.plan.pipeline_spans import WATCH_ALL

_UNINITIALIZED = (
    "GetNext() failed because the iterator has not been initialized. Ensure that you have run the "
    "initializer operation for this iterator before getting the next element."
)


class IteratorResource:
    """An iterator in a session. After `initialize` it has a dataset and a position.

    Args:
      types, shapes: the dtypes and shapes of the elements. If `types` is empty, `initialize`
        accepts any dataset.
    """

    def __init__(self, types: Sequence[DType], shapes: Sequence[TensorShape], name: str) -> None:
        self.types, self.shapes, self.name = tuple(types), tuple(shapes), name
        self.stage: Stage | None = None
        self.elements: Elements | None = None
        self.pipeline = Pipeline()
        self.lock = new_lock()
        self.handle = ""
        self.watch: Watch | None = None

    def measure(self) -> str:
        """Return the table of the iterator's measured times. If the iterator is not measured yet,
        start to measure it.
        """
        if self.watch is None:
            self.watch = Watch(self.name)
            with self.lock:
                self.pipeline.watch, self.watch.stage = self.watch, self.stage
                if self.elements is not None:
                    self.watch.add_all(self.elements)
            return f"pipeline of '{self.name}': measured from now on"
        return self.watch.text()

    def initialize(self, stage: Stage) -> None:
        """Drop the current dataset, and start at the beginning of `stage`."""
        self._check(stage)
        self.end_of_session()
        pipeline, stage = Pipeline(), stage.apart()
        number_places(stage)
        if WATCH_ALL.is_on or self.watch is not None:
            pipeline.watch = self.watch = Watch(self.name)
            self.watch.stage = stage
            if WATCH_ALL.is_on:
                WATCH_ALL.watches.append(self.watch)
        elements = stage.elements(pipeline)
        with self.lock:
            other, of_other = self.elements, self.pipeline
            self.stage, self.elements, self.pipeline = stage, elements, pipeline
        if other is not None:  # of an initialization at the same time
            of_other.end()
            other.close()
            of_other.release()

    def _check(self, stage: Stage) -> None:
        """Raise InvalidArgumentError if the elements of `stage` do not have the iterator's dtypes
        and shapes.
        """
        if not self.types:
            return
        if len(stage.types) != len(self.types):
            raise invalid_argument(
                f"Number of components does not match: expected {len(self.types)} types but got "
                f"{len(stage.types)}."
            )
        for number, (wanted, actual) in enumerate(zip(self.types, stage.types)):
            if wanted != actual:
                raise invalid_argument(
                    f"Data type mismatch at component {number}: expected {runtime_name(wanted)} "
                    f"but got {runtime_name(actual)}."
                )
        for number, (shape, actual_shape) in enumerate(zip(self.shapes, stage.shapes)):
            if not shape.is_compatible_with(actual_shape):
                raise invalid_argument(
                    f"Incompatible shapes at component {number}: expected {shape_text(shape)} but "
                    f"got {shape_text(actual_shape)}."
                )

    def take(self) -> Element | None:
        """Return the next element. At the end, return None. Raises FailedPreconditionError if the
        iterator was not initialized.
        """
        pipeline = self.pipeline
        while not self.lock.acquire(timeout=SLICE_S):
            pipeline.check()
        try:
            if self.elements is None:
                raise FailedPreconditionError.of_no_node(_UNINITIALIZED)
            return self.elements.next()
        finally:
            self.lock.release()

    def next(self) -> Element:
        """Return the next element. Raises OutOfRangeError at the end."""
        element = self.take()
        if element is None:
            raise OutOfRangeError.of_no_node("End of sequence")
        return element

    def save(self) -> bytes:
        """Return the position as bytes."""
        with self.lock:
            if self.elements is None:
                raise FailedPreconditionError.of_no_node(
                    "SaveInternal() failed because the iterator has not been initialized. Ensure "
                    "that you have run the initializer operation for this iterator before saving "
                    "it."
                )
            begun = [stage.begun() for stage in self._stages()]
            return packed([begun, self.pipeline.saved(self.elements)])

    def restore(self, position: bytes) -> None:
        """Continue at a position that was saved by an iterator over an equal dataset."""
        with self.lock:
            if self.stage is None or self.elements is None:
                raise FailedPreconditionError.of_no_node(
                    "RestoreInternal() failed because the iterator has not been initialized. "
                    "Ensure that you have run the initializer operation for this iterator before "
                    "restoring it."
                )
            begun, place = unpacked(position)
            self.elements.close()
            self.elements = self.stage.elements(self.pipeline)
            for stage, number in zip(self._stages(), begun, strict=True):
                stage.begin_after(number)
            # iterations in it know their stages' numbers themselves
            self.pipeline.restore(self.elements, place)

    def _stages(self) -> list[Stage]:
        """Return a list of the dataset and all datasets that it reads. Each dataset occurs once,
        and the order is deterministic.
        """
        stages: dict[int, Stage] = {}
        left = [self.stage]
        while left:
            stage = left.pop()
            if stage is not None and id(stage) not in stages:
                stages[id(stage)] = stage
                left += stage.inputs()
        return list(stages.values())

    def end_of_session(self) -> None:
        """Drop the position, end the threads of the pipeline, and close its files."""
        pipeline = self.pipeline
        pipeline.end()
        with self.lock:
            elements, self.elements, self.stage = self.elements, None, None
        if elements is not None:
            elements.close()
        pipeline.release()


def iterator_in(handle: Any) -> IteratorResource:
    """Return the iterator that a handle refers to. Raises InvalidArgumentError if the handle does
    not refer to an iterator.
    """
    return held_object(handle, IteratorResource, "iterator")


def element_types(context: KernelContext) -> tuple[list[DType], list[TensorShape]]:
    """Return the dtypes and the shapes of a dataset's elements, from the attrs of a node."""
    attrs = context.attrs
    types = [as_dtype(dtype) for dtype in attrs["output_types"]]
    return types, [as_shape(shape) for shape in attrs["output_shapes"]]


def _key(context: KernelContext) -> tuple[str, str]:
    attrs = context.attrs
    return attrs.get("container", ""), attrs.get("shared_name") or f"{context.name}/private"


def _bind_iterator(context: KernelContext, handle: Any) -> Run:
    types, shapes = element_types(context)
    iterator = context.shared(*_key(context), lambda: IteratorResource(types, shapes, context.name))
    held = _checked(iterator, types, context.name)
    return lambda: handle.fill(held)


def _checked(iterator: Any, types: Sequence[DType], name: str) -> IteratorResource:
    if not isinstance(iterator, IteratorResource):
        raise invalid_argument(f"Node '{name}' shares the name of a resource of another kind")
    if list(iterator.types) != list(types) and iterator.types and types:
        names = ", ".join(dtype.name for dtype in iterator.types)
        raise invalid_argument(f"The iterator '{name}' shares has elements of {names}")
    return iterator


def _bind_one_shot(context: KernelContext, handle: Any) -> Run:
    types, shapes = element_types(context)
    iterator: Any = context.shared(
        *_key(context), lambda: IteratorResource(types, shapes, context.name)
    )
    factory = context.attrs["dataset_factory"]

    def run() -> None:
        if iterator.stage is None:
            (dataset,) = context.function(factory)([])
            with _FIRST:
                if iterator.stage is None:
                    iterator.initialize(stage_in(dataset))
        handle.fill(iterator)

    return run


_FIRST = new_lock()


def _bind_make(context: KernelContext, dataset: Any, handle: Any) -> Run:
    def run() -> Sequence[Any]:
        iterator_in(handle).initialize(stage_in(dataset))
        return ()

    return run


def _bind_next(context: KernelContext, handle: Any) -> Run:
    iterator = iterator_in(handle)
    count = len(context.output_types)

    def run() -> Element:
        element = iterator.next()
        if len(element) != count:
            raise invalid_argument(
                f"Number of components does not match: expected {count} types but got "
                f"{len(element)}."
            )
        return element

    return run


def _bind_next_optional(context: KernelContext, handle: Any) -> Run:
    iterator = iterator_in(handle)

    def run() -> Sequence[Any]:
        held = np.empty((), object)
        held[()] = OptionalValue(iterator.take())
        return [held]

    return run


def infer_elements(context: InferContext) -> Sequence[TensorShape]:
    """Return the shapes of a dataset's elements, from the attrs of a node."""
    return [as_shape(shape) for shape in context.attrs["output_shapes"]]


_ANY_TYPES = {
    "output_types": Attr("list(type)", [], minimum=0),
    "output_shapes": Attr("list(shape)", [], minimum=0),
}


def declare_handle_op(op_type: str, bind: Callable[..., Run], doc: str, **declaration: Any) -> None:
    """Declare an op that reads a handle or a dataset, and never waits for elements."""
    declaration = {"infer": infer_handle, **declaration}
    number = declaration.get("inputs", "").count(":")
    op(
        op_type, cpu=Call(make=bind, late=True, direct=True), gpu=HOST,
        memory=OpMemory(host_inputs=tuple(range(number)), host_outputs=(0,)),
        grad=NO_GRADIENT, stateful=True, doc=doc, **declaration,
    )  # fmt: skip


_SHARED = {"shared_name": Attr("string", ""), "container": Attr("string", "")}
for _op_type in ("Iterator", "IteratorV2"):
    declare_handle_op(
        _op_type, _bind_iterator, "An iterator, which MakeIterator initializes.",
        outputs="handle: resource", attrs={**_SHARED, **TYPES},
    )  # fmt: skip
declare_handle_op(
    "OneShotIterator", _bind_one_shot, "An iterator over the dataset that a function returns.",
    outputs="handle: resource", attrs={"dataset_factory": FUNC, **TYPES, **_SHARED},
)  # fmt: skip
waiting_op(
    "MakeIterator", _bind_make, "Initialize an iterator with a dataset.",
    inputs="dataset: variant, iterator: resource",
)  # fmt: skip
for _op_type in ("IteratorGetNext", "IteratorGetNextSync"):
    waiting_op(
        _op_type, _bind_next, "The next element of an iterator.", inputs="iterator: resource",
        outputs="components: output_types", attrs=TYPES, infer=infer_elements,
    )  # fmt: skip
waiting_op(
    "IteratorGetNextAsOptional", _bind_next_optional,
    "The next element of an iterator as an optional, which is empty at the end.",
    inputs="iterator: resource", outputs="optional: variant", attrs=TYPES, infer=infer_handle,
)  # fmt: skip


# -- handles as strings

_BY_STRING = "gpugraph iterator:"


def _bind_to_string(context: KernelContext, handle: Any, text: Any) -> Run:
    def run() -> None:
        iterator = iterator_in(handle)
        name = f"{_BY_STRING}{id(iterator)}"
        iterator.handle = name
        context.shared("", name, lambda: _Named(iterator))
        text[()] = name.encode()

    return run


class _Named:
    """An entry in the session's table of iterators. The key of an entry is the text of the
    iterator's handle.
    """

    def __init__(self, iterator: IteratorResource) -> None:
        self.iterator = iterator


def _bind_from_string(context: KernelContext, text: Any, handle: Any) -> Run:
    types, shapes = element_types(context)

    def run() -> None:
        name = text.item(0).decode(errors="replace")
        if not name.startswith(_BY_STRING):
            raise invalid_argument("Could not parse string_handle as a valid ResourceHandle")
        named = context.shared("", name, lambda: None)
        if named is None:
            raise invalid_argument(
                f"The string handle {name!r} is that of no iterator of this session"
            )
        iterator = named.iterator
        if types:
            probe = IteratorResource(types, shapes, context.name)
            known = Stage()
            known.types, known.shapes = iterator.types, iterator.shapes
            probe._check(known)
        handle.fill(iterator)

    return run


declare_handle_op(
    "IteratorToStringHandle", _bind_to_string, "A text that stands for an iterator.",
    inputs="resource_handle: resource", outputs="string_handle: string",
)  # fmt: skip
for _op_type in ("IteratorFromStringHandle", "IteratorFromStringHandleV2"):
    declare_handle_op(
        _op_type, _bind_from_string, "The iterator for which a text stands.",
        inputs="string_handle: string", outputs="resource_handle: resource", attrs=_ANY_TYPES,
    )  # fmt: skip


# -- positions


def _bind_serialize(context: KernelContext, handle: Any) -> Run:
    def run() -> Sequence[Any]:
        held = np.empty((), object)
        held[()] = iterator_in(handle).save()
        return [held]

    return run


def _bind_deserialize(context: KernelContext, handle: Any, serialized: Any) -> Run:
    def run() -> Sequence[Any]:
        iterator_in(handle).restore(serialized.item(0))
        return ()

    return run


waiting_op(
    "SerializeIterator", _bind_serialize, "The position of an iterator.",
    inputs="resource_handle: resource", outputs="serialized: variant", infer=infer_handle,
    attrs={"external_state_policy": Attr("int", 0)},
)  # fmt: skip
waiting_op(
    "DeserializeIterator", _bind_deserialize, "Go to a position of an iterator.",
    inputs="resource_handle: resource, serialized: variant", infer=no_outputs,
)  # fmt: skip
