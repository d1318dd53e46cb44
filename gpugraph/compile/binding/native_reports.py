"""Native code for kernels that report a size.

Such a kernel computes outputs whose number of rows depends on values. There are two kinds of native
code for it. Some kernels, such as the kernel of Where, have a counter. The counter counts the rows
first. When the size is reported, the op's function writes the outputs. For any other kernel, the
function writes its outputs to side buffers, which have room for the largest possible outputs. When
the size is reported, the rows are copied from the side buffers to the outputs. Outputs whose sizes
are not reported are written to their own memory immediately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.sizes import SizeTrace, literals_refused
from gpugraph.compile.binding.binder import Binder
from gpugraph.compile.binding.open_binding import OpenBinder
from gpugraph.compile.binding.open_steps import CurrentSizes, Opened
from gpugraph.compile.steps.dynamic_steps import DynamicStep
from gpugraph.compile.steps.native_node_code import row_piece
from gpugraph.compile.unit.compile_unit import Home, TensorId
from gpugraph.devices.native import NotNativeError, OpenCall, OpenView, move, sequence, words_of
from gpugraph.kernel import RowSource
from gpugraph.plan import Run, Step


class NativeReport(NamedTuple):
    """The native calls of a kernel that reports a size.

    Args:
      call: the call that counts the rows.
      after: the calls that write the outputs, once their sizes are known.
      count: an array with the numbers of rows.
    """

    call: Opened
    after: Sequence[Opened]
    count: Any


def native_report(
    step: Step, run: DynamicStep, binder: OpenBinder, trace: SizeTrace, sizes: CurrentSizes
) -> NativeReport | None:
    """Return the native calls of a kernel that reports a size, or None if it has no native code.
    Raises NotNativeError or another error if the code can't be bound to open sizes.

    Args:
      sizes: the current sizes, from which copies that are bound to one set of sizes get their
        arrays.
    """
    if run.native is None:
        return None
    return _Report(step, run, run.native.native, binder, trace, sizes).calls()


class _Report:
    """An object that builds the calls of one kernel. It binds the calls to arrays, and also to
    views with open sizes.
    """

    def __init__(
        self,
        step: Step,
        run: DynamicStep,
        native: RowSource,
        binder: OpenBinder,
        trace: SizeTrace,
        sizes: CurrentSizes,
    ) -> None:
        self.step, self.run, self.native, self.binder, self.trace = step, run, native, binder, trace
        self.sizes, self.count = sizes, np.zeros(len(run.counted), np.int64)
        self._arrays: Any = self._inputs(binder.plain)
        self._views: Any = self._inputs(binder)

    def _inputs(self, binder: Binder) -> list[Any]:
        """Return the inputs: the values of constants, and the arrays of all other inputs."""
        values, homes = self.binder.plain.unit.values, binder.unit.homes
        if any(self.run.bound.inputs[slot][0] not in values for slot in self.run.bound.host):
            raise NotNativeError("a value on the host that is not constant")
        return [
            values[key] if key in values else binder.array(homes[key])
            for key, _ in self.run.bound.inputs
        ]

    def calls(self) -> NativeReport:
        """Return the kernel's native calls."""
        keys = [key for key, _ in self.run.bound.outputs]
        if self.native.counter:
            outputs = self._homes(self.binder.plain, keys), self._homes(self.binder, keys)
            empty = [(0, *shape[1:]) for shape in (array.shape for array in outputs[0])]
            counter = self._opened(self.native.counter, ([], []), (empty, empty))
            if not any(prod(shape[1:]) for shape in empty):  # there is nothing to write
                return NativeReport(counter, [], self.count)
            return NativeReport(counter, [self._opened(self.native.function, outputs)], self.count)
        arrays, views, after = [], [], []
        for slot, key in enumerate(keys):
            if any(slot in rows.slots for rows in self.run.counted):
                array, view, copy = self._aside(slot, key)
                after.append(copy)
            else:
                [array], [view] = (
                    self._homes(self.binder.plain, [key]),
                    self._homes(self.binder, [key]),
                )
            arrays.append(array)
            views.append(view)
        return NativeReport(self._opened(self.native.function, (arrays, views)), after, self.count)

    @staticmethod
    def _homes(binder: Binder, keys: Sequence[TensorId]) -> list[Any]:
        return [binder.array(binder.unit.homes[key]) for key in keys]

    def _aside(self, slot: int, key: TensorId) -> tuple[Any, Any, Opened]:
        """Return a side buffer with room for the largest output, as an array and as a view, and the
        call that copies its rows to the output.
        """
        home = self.binder.unit.homes[key]
        bounds = [self._bounds(inputs)[slot] for inputs in (self._arrays, self._views)]
        size = prod(bounds[1]) * home.dtype.itemsize
        storage = replace(home.storage, kind="aside", size=size)
        self.binder.asides[key[0], -1 - slot] = Home(storage, bounds[1], home.dtype)
        array = np.empty(bounds[0], home.dtype.as_numpy_dtype)
        view = self.binder.array(self.binder.asides[key[0], -1 - slot])
        [to], [open_to] = self._homes(self.binder.plain, [key]), self._homes(self.binder, [key])
        rows = OpenView.whole(view.start, open_to.shape, open_to.dtype)
        call = move(array[: len(to)], to)
        with literals_refused(), self.trace.recording() as conditions:
            opened = move(rows, open_to)
        if not isinstance(opened, OpenCall):
            raise NotNativeError("a copy that is bound to arrays")
        words = [(words_of(call, opened), opened)]
        return (
            array,
            view,
            Opened(self.step, call, words, list(conditions), partial(self._copy, rows, open_to)),
        )

    def _copy(self, source: OpenView, target: OpenView, _: Binder) -> Run:
        """Return the call that copies the rows for the current sizes."""
        arrays = self.sizes.array(source), self.sizes.array(target)
        return move(*arrays) if arrays[1].size else sequence([])

    def _bounds(self, inputs: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
        """Return an upper bound for the shape of each output."""
        assert self.native.sizes is not None
        context = self.run.context(inputs, [])
        return self.native.sizes(context, *self._taken(inputs))

    def _taken(self, inputs: Sequence[Any]) -> list[Any]:
        return [inputs[slot] for slot in self.run.bound.array_slots]

    def _opened(
        self, function: str, outputs: tuple[list[Any], list[Any]], shapes: Any = None
    ) -> Opened:
        """Return the call of a function in the op's native code.

        Args:
          outputs: the arrays of the outputs, and their views with open sizes.
          shapes: the shapes with which the call uses these arrays and views, if they are not the
            shapes of the arrays and views themselves.
        """
        call = self._bound(function, self._arrays, outputs[0], shapes and shapes[0])
        with literals_refused(), self.trace.recording() as conditions:
            opened = self._bound(function, self._views, outputs[1], shapes and shapes[1])
        words = [(words_of(call, opened), opened)]
        return Opened(self.step, call, words, list(conditions), _no_call)

    def _bound(
        self, function: str, inputs: Sequence[Any], outputs: Sequence[Any], shapes: Any
    ) -> Any:
        shapes = [output.shape for output in outputs] if shapes is None else shapes
        context = self.run.context(inputs, shapes)
        arrays = [*self._taken(inputs), *outputs, self.count]
        piece = row_piece(self.native._replace(function=function), context, arrays, _new_bytes)
        code = self.run.code_of(piece)
        if code is None:
            raise NotNativeError("its code is not compiled")
        [call] = piece.bind(code).calls
        return call


def _no_call(_: Binder) -> None:
    """Return None, because this call can't be bound to one set of sizes."""


def _new_bytes(size: int) -> Any:
    return np.empty(size, np.uint8)
