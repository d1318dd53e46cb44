"""Stages, which are the objects in variant tensors of datasets, and the iterations over their
elements.

A `Stage` is immutable and may be iterated any number of times. `Stage.elements(pipeline)` starts an
iteration, an `Elements`: `next()` returns the arrays of the next element, or None at the end.
Elements are tuples of arrays, which must not be changed. Only one thread at a time may call an
iteration. If `next()` raises an error, the error concerns one element. The next call continues with
the following element.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np

from gpugraph.base.dtypes import OBJECTS, DType, as_dtype
from gpugraph.base.errors import CancelledError, invalid_argument
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.resource_handles import handle_maker
from gpugraph.ops.datasets.elements.dataset_calls import dataset_plan_of
from gpugraph.ops.datasets.elements.split_functions import parts_of
from gpugraph.ops.datasets.elements.vectorized_functions import rows_of
from gpugraph.plan import check_run

Element = tuple[Any, ...]

INFINITE, UNKNOWN = -1, -2
"""Special numbers of elements, as `tf.data.experimental.cardinality` returns them."""

SLICE_S = 0.05
"""Seconds between two checks whether an iteration that waits for a thread has ended."""


class Pipeline:
    """The state that all iterations of one iterator share. It contains the iterator's function
    calls, and records whether the iterator has ended.

    `calls` is a dict from (function, place) to a function call, where a place is `Function.place`.
    All iterations share the call, because it holds the positions in the function's random streams,
    which continue from one pass to the next. `restored` is a dict from (function name, place) to
    the restored positions of a function that was not called yet.
    """

    def __init__(self) -> None:
        self.is_cancelled = False
        self.calls: dict[Any, Any] = {}
        self.restored: dict[str, Any] = {}
        self.watch: Any = None  # a `pipeline_watch.Watch` that measures the iterations
        self._paused: list[Any] = []

    def call_of(self, call: Any, place: int = 0) -> Any:
        """Return this iterator's call of a function. If the function is called at several places in
        the dataset, each place has a separate call.
        """
        key = call.function, place
        if key not in self.calls:
            new = self.calls.setdefault(key, call.again())
            positions = self.restored.pop(_text_of(key), None)
            if positions is not None:
                new.go_to(positions)
        return self.calls[key]

    def pause(self, buffer: Any) -> None:
        """Stop the thread of `buffer` from reading until `saved` ends."""
        buffer.pause()
        self._paused.append(buffer)

    def saved(self, elements: Elements) -> list[Any]:
        """Return the position of an iteration and the positions of its functions' random streams.

        During the call, no thread reads ahead.
        """
        try:
            place = elements.save()
            calls = {_text_of(key): call.positions() for key, call in self.calls.items()}
            return [place, [[name, streams] for name, streams in calls.items() if streams]]
        finally:
            paused, self._paused = self._paused, []
            for buffer in paused:
                buffer.go_on()

    def restore(self, elements: Elements, state: Any) -> None:
        """Continue at the positions that `saved` returned."""
        place, streams = state
        elements.restore(place)
        self.restored = dict(streams)
        for key, call in self.calls.items():
            positions = self.restored.pop(_text_of(key), None)
            if positions is not None:
                call.go_to(positions)

    def end(self) -> None:
        """Cancel all iterations that are waiting."""
        self.is_cancelled = True

    def release(self) -> None:
        """Release the function calls, so that another iterator can use them. The caller must have
        closed the iterations.
        """
        for call in self.calls.values():
            call.release()
        self.calls.clear()

    def check(self) -> None:
        """Raise CancelledError if the iterator was dropped or the current run has ended."""
        if self.is_cancelled:
            raise CancelledError.of_no_node("Iterator was cancelled")
        check_run("while a dataset was read")

    def wait(self, condition: threading.Condition) -> None:
        """Wait on `condition` for a short time, then call `check`."""
        condition.wait(SLICE_S)
        self.check()


def _text_of(key: tuple[Any, int]) -> str:
    """Return a text that identifies a function and a place."""
    function, place = key
    return f"{function.name}/{place}" if place else str(function.name)


class Stage:
    """A dataset. It has the dtypes and static shapes of its elements, and starts iterations over
    them.
    """

    kind: ClassVar[str] = "Dataset"
    node = ""
    """The name of the op that returned the dataset."""

    may_be_read_ahead: ClassVar[bool] = True
    """Whether elements may be read before they are needed, if the same holds for the sources and
    the functions have no effects."""

    types: tuple[DType, ...]
    shapes: tuple[TensorShape, ...]

    def __init_subclass__(cls) -> None:
        if "elements" in vars(cls):
            setattr(cls, "elements", _started(vars(cls)["elements"]))  # noqa: B010

    def like(self, source: Stage) -> None:
        """Set the dtypes and shapes to those of the dataset `source`."""
        self.types, self.shapes = source.types, source.shapes

    def typed(self, attrs: Any) -> None:
        """Set the dtypes and shapes from the attrs of an op."""
        self.types = tuple(as_dtype(dtype) for dtype in attrs["output_types"])
        self.shapes = tuple(as_shape(shape) for shape in attrs["output_shapes"])

    def elements(self, pipeline: Pipeline) -> Elements:
        """Start an iteration."""
        raise NotImplementedError(f"{type(self).__name__}.elements")

    def cardinality(self) -> int:
        """Return the number of elements, or INFINITE, or UNKNOWN."""
        return UNKNOWN

    def apart(self) -> Stage:
        """Return a copy of this dataset and its sources in which every dataset has exactly one
        reader.

        TensorFlow also copies a dataset when it rewrites the dataset for an iterator. Each copy has
        its own random streams, which start at the same seeds. If an iterator reads a shuffled
        dataset twice (`zip((d, d))`), the elements of the two copies therefore have the same order.
        """
        copies = {
            name: new for name, value in vars(self).items() if (new := _apart(value)) is not value
        }
        if not copies:
            return self
        result = copy(self)
        vars(result).update(copies)
        return result

    def begun(self) -> int:
        """Return the number of iterations that were started, or 0 if the next iteration does not
        depend on this number.
        """
        return 0

    def begin_after(self, number: int) -> None:
        """Let the next iteration be the one that would follow `number` iterations."""

    def inputs(self) -> Sequence[Stage]:
        """Return the datasets that this dataset reads."""
        return [value for value in vars(self).values() if isinstance(value, Stage)]


def _started(elements: Callable[[Any, Pipeline], Elements]) -> Callable[[Any, Pipeline], Elements]:
    """Return a method `elements` that also sets the iteration's origin and adds the iteration to
    the watch.
    """

    @functools.wraps(elements)
    def started(self: Stage, pipeline: Pipeline) -> Elements:
        result = elements(self, pipeline)
        if result.origin is None:
            result.origin = self
            if pipeline.watch is not None:
                pipeline.watch.add(self, result)
        return result

    return started


def _apart(value: Any) -> Any:
    """Return an attribute of a dataset after calling `apart` on each dataset and function in it."""
    if isinstance(value, (Stage, Function)):
        return value.apart()
    if isinstance(value, list) and value and isinstance(value[0], Stage):
        parts = [part.apart() for part in value]
        return value if all(map(operator.is_, parts, value)) else parts
    return value


class Elements:
    """An iteration over the elements of a dataset.

    Args:
      kept: the names of the attributes that `save` stores. Their values are numbers, texts, arrays,
        other iterations, and lists of these.
    """

    kept: ClassVar[tuple[str, ...]] = ()

    threaded: ClassVar[tuple[str, ...]] = ()
    """The names of attributes that worker threads call."""

    origin: Stage | None = None
    """The dataset over which this is an iteration."""

    def fullness(self) -> tuple[int, int] | None:
        """Return (number of elements in the buffer, its capacity), or None if there is no
        buffer.
        """
        return None

    def next(self) -> Element | None:
        """Return the next element. At the end, return None."""
        raise NotImplementedError(f"{type(self).__name__}.next")

    @property
    def has_rows(self) -> bool:
        """Whether callers should call `next_rows` instead of `next`. It is true only if the order
        in which several iterations are read does not matter.
        """
        return False

    @property
    def ahead(self) -> int:
        """The number of elements that `next_rows` may read before they are needed.

        The number exceeds 1 only if elements are cheap and small, and reading them has no side
        effect.
        """
        return 1

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` of the next elements, which have the same shape, stacked. At the
        end, return None.

        The returned block may be empty even before the end. If an element raises an error, the
        elements before it are returned first, and the next call raises the error.
        """
        element = self.next()
        return None if element is None else tuple([array[np.newaxis, ...] for array in element])

    def close(self) -> None:
        """End the threads of the iteration and close its files.

        This also closes all iterations that are attributes of this one.
        """
        for value in list(vars(self).values()):
            if isinstance(value, Elements):
                value.close()
            elif isinstance(value, (list, tuple)):
                for part in value:
                    if isinstance(part, Elements):
                        part.close()

    def save(self) -> Any:
        """Return the position as nested lists of numbers, texts, arrays and bytes."""
        return [saved(getattr(self, name)) for name in self.kept]

    def restore(self, state: Any) -> None:
        """Continue at a position that was saved by an iteration over an equal dataset."""
        for name, part in zip(self.kept, state, strict=True):
            setattr(self, name, restored(getattr(self, name), part))


def saved(value: Any) -> Any:
    """Return the value that a position stores for an attribute of an iteration."""
    if isinstance(value, Elements):
        return value.save()
    if isinstance(value, (list, tuple)):
        return [saved(part) for part in value]
    return value


def restored(current: Any, part: Any) -> Any:
    """Return the value of an attribute from `part`, which `saved` returned for it. If `current` is
    an iteration, restore it in place.
    """
    if isinstance(current, Elements):
        if part is None:
            current.close()
            return None
        current.restore(part)
        return current
    if isinstance(current, tuple) and isinstance(part, list):
        return tuple(part)
    if isinstance(current, list) and current and isinstance(current[0], Elements):
        return [restored(one, other) for one, other in zip(current, part, strict=True)]
    return part


class Function:
    """A function of the program that a stage calls, with its captured values.

    `place` is the number of the place in the dataset that calls the function. Each place has its
    own random streams.

    Args:
      call: a `KernelFunction` of the session.
      captured: the values of the captured tensors, in order, except for handles of variables. The
        function's graph itself contains captured constants and handles.
    """

    place = 0

    def __init__(self, call: Any, captured: Sequence[Any]) -> None:
        self.call, self.captured = call, captured
        graph = call.function.graph
        rest = iter(captured)
        self.values = []
        for tensor in graph.captures.values():
            if handle_maker(tensor) is None:
                value = next(rest)
                if tensor.op.type == "Placeholder":
                    self.values.append(value)
        self.python: Callable[..., Any] | None = graph.python_call
        outputs = graph.outputs
        self.shortcut = _shortcut(graph.inputs, outputs) if not graph.controls else None

    def parts(self) -> tuple[Function, Function] | None:
        """Return the two functions into which `parts_of` splits this function, or None if it can't
        be split.
        """
        parts = parts_of(self.call.function)
        if parts is None:
            return None
        first, rest = (Function(self.call.of(part), self.captured) for part in parts)
        rest.place = self.place
        return first, rest

    def apart(self) -> Function:
        """Return a copy of the function with separate random streams. If it has no random streams,
        return itself.
        """
        return copy(self) if self.call.function.graph.has_seeds else self

    def started(self, pipeline: Pipeline) -> Callable[[Element], Element]:
        """Return a callable that calls the function for elements of one iteration. It receives a
        sequence of arrays and returns a tuple of arrays.
        """
        if self.shortcut is not None:
            return self.shortcut
        call, values = pipeline.call_of(self.call, self.place), self.values
        plan = dataset_plan_of(self.call.function.graph)
        if plan is not None:
            run = plan.bound(call)
            return lambda element: run([*element, *values])
        outputs = enumerate(self.call.function.graph.outputs)
        objects = [slot for slot, tensor in outputs if tensor.dtype.base_dtype in OBJECTS]
        if objects:
            return lambda element: _with_arrays(call([*element, *values]), objects)
        if values:
            return lambda element: tuple(call([*element, *values]))
        return lambda element: tuple(call(element))

    def started_on_several(
        self, pipeline: Pipeline
    ) -> Callable[[Sequence[Element]], list[Element]] | None:
        """Return a callable that returns the results for several elements of one iteration, or None
        if the function must be called for each element separately.
        """
        call, values = pipeline.call_of(self.call, self.place), self.values
        if self.shortcut is not None or not getattr(call, "takes_several", False):
            return None
        return lambda elements: [
            tuple(results) for results in call.several([[*each, *values] for each in elements])
        ]

    def started_on_rows(self, pipeline: Pipeline) -> Callable[[Element], Element] | None:
        """Return a callable that applies the function to stacked elements of one iteration, or None
        if the function can't be vectorized.
        """
        if self.shortcut is not None:
            return self.shortcut
        rows = rows_of(self.call.function)
        if rows is None or any(rows.is_ragged):
            return None
        call, values = pipeline.call_of(self.call.of(rows.function)), self.values
        return lambda columns: tuple(call([*columns, *values]))

    def started_on_ragged_rows(
        self, pipeline: Pipeline, are_ragged: Sequence[bool] | None = None
    ) -> tuple[Callable[[Sequence[Any]], Element], Sequence[bool]] | None:
        """Return a callable that applies the function to blocks of elements of one iteration, and
        for each output, whether it is ragged (`vectorized_functions.RowsFunction`). Return None if
        there is no such callable, or if no argument and no output is ragged.

        Args:
          are_ragged: for each argument, whether it is ragged. By default, no argument is ragged.
        """
        rows = None if self.shortcut is not None else rows_of(self.call.function, are_ragged)
        if rows is None or not any((*rows.is_ragged, *(are_ragged or ()))):
            return None
        call, values = pipeline.call_of(self.call.of(rows.function)), self.values
        return lambda columns: tuple(call([*columns, *values])), rows.is_ragged


def _with_arrays(results: list[Any], objects: Sequence[int]) -> Element:
    """Return the results with each scalar of an object dtype converted to an array."""
    for slot in objects:
        if not isinstance(results[slot], np.ndarray):
            results[slot] = variant_of(results[slot])
    return tuple(results)


def _shortcut(inputs: Sequence[Any], outputs: Sequence[Any]) -> Callable[[Element], Element] | None:
    """If each output of the function is one of its inputs, return a callable that selects the
    outputs from the arguments. Otherwise return None.
    """
    places = {id(tensor): number for number, tensor in enumerate(inputs)}
    if not outputs or not all(id(tensor) in places for tensor in outputs):
        return None
    picks = [places[id(tensor)] for tensor in outputs]
    if picks == list(range(len(inputs))):
        return tuple
    return lambda element: tuple([element[pick] for pick in picks])


def stage_in(array: Any) -> Stage:
    """Return the dataset in a variant tensor. Raises InvalidArgumentError if the tensor holds no
    dataset.
    """
    if isinstance(array, Stage):  # a scalar as a function returns it
        return array
    held = array.item(0) if array.size == 1 else None
    if not isinstance(held, Stage):
        raise invalid_argument("The given variant tensor is not a dataset.")
    return held


def variant_of(held: Any) -> Any:
    """Return a scalar variant array that contains the object `held`."""
    array = np.empty((), object)
    array[()] = held
    return array


def times(first: int, second: int) -> int:
    """Return the product of two cardinalities, each of which may be INFINITE or UNKNOWN."""
    if first == 0 or second == 0:
        return 0
    if UNKNOWN in (first, second):
        return UNKNOWN
    return INFINITE if INFINITE in (first, second) else first * second
