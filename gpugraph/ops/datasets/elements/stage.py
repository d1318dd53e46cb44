"""Stages: the objects in variant tensors of datasets, and the iterations over their elements.

A `Stage` is immutable and may be iterated any number of times. `Stage.elements(pipeline)` starts an
iteration, an `Elements`: `next()` returns the arrays of the next element, or None at the end.
Elements are tuples of arrays, which nobody changes. Only one thread at a time calls an iteration.
An error that `next()` raises concerns one element; a later call goes on behind it.
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
from gpugraph.ops.datasets.elements.split_functions import parts_of
from gpugraph.ops.datasets.elements.vectorized_functions import rows_of
from gpugraph.plan import check_run

Element = tuple[Any, ...]

INFINITE, UNKNOWN = -1, -2
"""Special numbers of elements, as `tf.data.experimental.cardinality` returns them."""

SLICE_S = 0.05
"""Seconds between two checks whether an iteration that waits for a thread has ended."""


class Pipeline:
    """What the iterations of one iterator have in common: whether it has ended.

    calls: by function and place (`Function.place`), the call that all its iterations share, as it
    has the states of the function's ops: the positions in random streams go on from pass to pass.
    restored: by the name of a function that is not called yet, and its place, the positions at
    which its streams go on.
    """

    def __init__(self) -> None:
        self.is_cancelled = False
        self.calls: dict[Any, Any] = {}
        self.restored: dict[str, Any] = {}
        self.watch: Any = None  # a `pipeline_watch.Watch` that measures the iterations
        self._paused: list[Any] = []

    def call_of(self, call: Any, place: int = 0) -> Any:
        """Return the iterator's own call of a function at a place."""
        key = call.function, place
        if key not in self.calls:
            new = self.calls.setdefault(key, call.again())
            positions = self.restored.pop(_text_of(key), None)
            if positions is not None:
                new.go_to(positions)
        return self.calls[key]

    def pause(self, buffer: Any) -> None:
        """Keep the thread of a buffer from reading until the end of `saved`."""
        buffer.pause()
        self._paused.append(buffer)

    def saved(self, elements: Elements) -> list[Any]:
        """Return the positions of an iteration and of the random streams of its functions.

        No thread reads ahead meanwhile.
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
        """Continue at positions of `saved`."""
        place, streams = state
        elements.restore(place)
        self.restored = dict(streams)
        for key, call in self.calls.items():
            positions = self.restored.pop(_text_of(key), None)
            if positions is not None:
                call.go_to(positions)

    def end(self) -> None:
        """Cancel the iterations that wait, and let others use the calls."""
        self.is_cancelled = True

    def release(self) -> None:
        """Let other iterators use the calls; the iterations must have been closed."""
        for call in self.calls.values():
            call.release()
        self.calls.clear()

    def check(self) -> None:
        """Raise CancelledError if the iterator was dropped, or the current run has ended."""
        if self.is_cancelled:
            raise CancelledError.of_no_node("Iterator was cancelled")
        check_run("while a dataset was read")

    def wait(self, condition: threading.Condition) -> None:
        """Wait on a condition for a while, and check."""
        condition.wait(SLICE_S)
        self.check()


def _text_of(key: tuple[Any, int]) -> str:
    """Return the name of a function at a place."""
    function, place = key
    return f"{function.name}/{place}" if place else str(function.name)


class Stage:
    """A dataset: the dtypes and static shapes of its elements, and how to iterate over them."""

    kind: ClassVar[str] = "Dataset"
    node = ""
    """The name of the op that returned the dataset."""

    types: tuple[DType, ...]
    shapes: tuple[TensorShape, ...]

    def __init_subclass__(cls) -> None:
        if "elements" in vars(cls):
            setattr(cls, "elements", _started(vars(cls)["elements"]))  # noqa: B010

    def like(self, source: Stage) -> None:
        """Take over the dtypes and shapes of another dataset."""
        self.types, self.shapes = source.types, source.shapes

    def typed(self, attrs: Any) -> None:
        """Take the dtypes and shapes from the attrs of an op."""
        self.types = tuple(as_dtype(dtype) for dtype in attrs["output_types"])
        self.shapes = tuple(as_shape(shape) for shape in attrs["output_shapes"])

    def elements(self, pipeline: Pipeline) -> Elements:
        """Start an iteration."""
        raise NotImplementedError(f"{type(self).__name__}.elements")

    def cardinality(self) -> int:
        """Return the number of elements, INFINITE or UNKNOWN."""
        return UNKNOWN

    def apart(self) -> Stage:
        """Return a dataset that starts its own iterations, not shared with other readers of it.

        TensorFlow does so when it rewrites a dataset for an iterator: a shuffled dataset from which
        an iterator reads twice (`zip((d, d))`) has the same order in both places, and a function
        with seeds draws the same numbers.
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
        """Return how many iterations were started, if the next one depends on that."""
        return 0

    def begin_after(self, number: int) -> None:
        """Let the next iteration be the one after that many."""

    def inputs(self) -> Sequence[Stage]:
        """Return the datasets from which this one reads."""
        return [value for value in vars(self).values() if isinstance(value, Stage)]


def _started(elements: Callable[[Any, Pipeline], Elements]) -> Callable[[Any, Pipeline], Elements]:
    """Return a method `elements` that sets the iteration's origin, and shows it to the watch."""

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
    """Return an attribute of a dataset, in which datasets are `apart`."""
    if isinstance(value, (Stage, Function)):
        return value.apart()
    if isinstance(value, list) and value and isinstance(value[0], Stage):
        parts = [part.apart() for part in value]
        return value if all(map(operator.is_, parts, value)) else parts
    return value


class Elements:
    """An iteration over the elements of a dataset.

    kept: the names of the attributes that make up its position: numbers, texts, arrays, further
    iterations, and lists of these.
    """

    kept: ClassVar[tuple[str, ...]] = ()

    threaded: ClassVar[tuple[str, ...]] = ()
    """The names of attributes that worker threads call."""

    origin: Stage | None = None
    """The dataset over which this is an iteration."""

    def fullness(self) -> tuple[int, int] | None:
        """Return the number of elements in the buffer, and its capacity; None without a buffer."""
        return None

    def next(self) -> Element | None:
        """Return the next element, None at the end."""
        raise NotImplementedError(f"{type(self).__name__}.next")

    @property
    def has_rows(self) -> bool:
        """Whether `next_rows` is faster than `next`, and may replace it: the elements of several
        iterations may be read in any order.
        """
        return False

    @property
    def ahead(self) -> int:
        """The number of elements for which `next_rows` may be called before they are needed: they
        are cheap, small, and reading them has no effect.
        """
        return 1

    def next_rows(self, count: int) -> Element | None:
        """Return up to `count` next elements of one shape, stacked; None at the end.

        There may be none of them, though further ones follow. An error is raised only if no element
        precedes it.
        """
        element = self.next()
        return None if element is None else tuple([array[np.newaxis, ...] for array in element])

    def close(self) -> None:
        """End the threads of the iteration and close its files.

        All iterations among the attributes are closed, part of the position or not.
        """
        for value in list(vars(self).values()):
            for part in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(part, Elements):
                    part.close()

    def save(self) -> Any:
        """Return the position, as JSON values, arrays and bytes."""
        return [saved(getattr(self, name)) for name in self.kept]

    def restore(self, state: Any) -> None:
        """Continue at a position of `save`, made by an iteration of an equal dataset."""
        for name, part in zip(self.kept, state, strict=True):
            setattr(self, name, restored(getattr(self, name), part))


def saved(value: Any) -> Any:
    """Return an attribute of an iteration as part of a position."""
    if isinstance(value, Elements):
        return value.save()
    if isinstance(value, (list, tuple)):
        return [saved(part) for part in value]
    return value


def restored(current: Any, part: Any) -> Any:
    """Return the attribute for a part of a position; an iteration restores itself."""
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
    """A function of the program with the values that it captured, as a stage calls it.

    call: a `FunctionCall` of the session. captured: the values of the captured tensors, in order,
    except for handles of variables. The function's graph has captured constants and handles itself.
    place: the number of the place among those in which an iterator calls the function.
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
        """Return the two parts of a function that draws random numbers (`split_functions`)."""
        parts = parts_of(self.call.function)
        if parts is None:
            return None
        first, rest = (Function(self.call.of(part), self.captured) for part in parts)
        rest.place = self.place
        return first, rest

    def apart(self) -> Function:
        """Return the function with random streams of its own, if it has any."""
        return copy(self) if self.call.function.graph.has_seeds else self

    def started(self, pipeline: Pipeline) -> Callable[[Element], Element]:
        """Return the function for one iteration: a sequence of arrays in, a tuple of arrays out."""
        if self.shortcut is not None:
            return self.shortcut
        call, values = pipeline.call_of(self.call, self.place), self.values
        outputs = enumerate(self.call.function.graph.outputs)
        objects = [slot for slot, tensor in outputs if tensor.dtype.base_dtype in OBJECTS]
        if objects:
            return lambda element: _with_arrays(call([*element, *values]), objects)
        if values:
            return lambda element: tuple(call([*element, *values]))
        return lambda element: tuple(call(element))

    def started_on_rows(self, pipeline: Pipeline) -> Callable[[Element], Element] | None:
        """Return the function on stacked elements for one iteration; None if there is none."""
        if self.shortcut is not None:
            return self.shortcut
        rows = rows_of(self.call.function)
        if rows is None:
            return None
        call, values = pipeline.call_of(self.call.of(rows)), self.values
        return lambda columns: tuple(call([*columns, *values]))


def _with_arrays(results: list[Any], objects: Sequence[int]) -> Element:
    """Return results in which each object, that of a scalar, is in an array."""
    for slot in objects:
        if not isinstance(results[slot], np.ndarray):
            results[slot] = variant_of(results[slot])
    return tuple(results)


def _shortcut(inputs: Sequence[Any], outputs: Sequence[Any]) -> Callable[[Element], Element] | None:
    """Return a function that picks arguments, for a function that returns only such."""
    places = {id(tensor): number for number, tensor in enumerate(inputs)}
    if not outputs or not all(id(tensor) in places for tensor in outputs):
        return None
    picks = [places[id(tensor)] for tensor in outputs]
    if picks == list(range(len(inputs))):
        return tuple
    return lambda element: tuple([element[pick] for pick in picks])


def stage_in(array: Any) -> Stage:
    """Return the dataset in a variant tensor; InvalidArgumentError for another value."""
    if isinstance(array, Stage):  # a scalar as a function returns it
        return array
    held = array.item(0) if array.size == 1 else None
    if not isinstance(held, Stage):
        raise invalid_argument("The given variant tensor is not a dataset.")
    return held


def variant_of(held: Any) -> Any:
    """Return a variant scalar that holds an object."""
    array = np.empty((), object)
    array[()] = held
    return array


def times(first: int, second: int) -> int:
    """Return the product of two numbers of elements, either of which may be special."""
    if first == 0 or second == 0:
        return 0
    if UNKNOWN in (first, second):
        return UNKNOWN
    return INFINITE if INFINITE in (first, second) else first * second
