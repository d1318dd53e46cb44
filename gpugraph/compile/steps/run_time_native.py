"""Native code of steps that are bound in each run, because a size is known only then.

In each run, such a step binds and calls a C function that computes rows (`RowSource`). NumPy runs
the step until its estimated total time makes a compilation worthwhile. Then the function is
compiled in the background. If the function rejects its input, NumPy runs the step and raises the
error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import string
from gpugraph.compile.analysis.counted_rows import rows_counted_by
from gpugraph.compile.analysis.native_cost import WORTHWHILE_NS, numpy_is_faster, numpy_nanoseconds
from gpugraph.compile.steps.kernel_context import BoundNode, KernelBinding
from gpugraph.compile.steps.native_node_code import Candidate, Piece, native_form, row_piece
from gpugraph.compile.steps.native_verification import are_equal, disagreement, spread
from gpugraph.compile.unit.jit_settings import Jit, warn_once
from gpugraph.config.environment import thread_count
from gpugraph.devices.native import (
    BYTES,
    NotNativeError,
    Prepared,
    prepare_source,
    runtime_failure,
    runtime_reason,
)
from gpugraph.kernel import RowSource
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.plan import NATIVE, StepCode

_MANY = 64
"""The number of strings from which on an array is kept for later runs."""

_MOST_ROOM = 8
"""The largest kept array is this multiple of the array that is needed."""

_MOST_SHAPES = 64
"""The maximum number of sets of shapes whose numbers are kept."""

_MOST_HOST_BYTES = 64
"""The largest host input, in bytes, that is part of a key."""

_OWN_REFERENCES = 2
"""The references to an array that only one variable holds, with that of `getrefcount` itself."""

_LISTED_REFERENCES = 4
"""The references to an array in a list that a loop's variable holds too, and a native call."""


class _BoundCall(NamedTuple):
    """An earlier call: the bound function, its arrays, and the shapes of its outputs.

    Args:
      results: the outputs whose sizes the function determines, and the array of the counts.
    """

    call: Callable[[], int]
    arrays: Sequence[Any]
    shapes: Sequence[tuple[int, ...]]
    results: list[Any]


def run_time_native(bound: BoundNode, jit: Jit, verifies: bool) -> RunTimeNative | None:
    """Return the native code of a node that is bound in each run. Return None if the node has no
    native code.

    Args:
      verifies: whether the first native run of the node is compared with NumPy.
    """
    native = native_form(bound.node)
    if not jit.is_on or not isinstance(native, RowSource) or bound.runner.has_kernels:
        return None
    return None if bound.is_late else RunTimeNative(native, bound, jit, verifies)


def plain_reason(bound: BoundNode, jit: Jit, otherwise: str) -> str:
    """Return the reason why a node's step does not use native code.

    If the op has a native form, return `otherwise`.
    """
    runner = bound.runner
    if runner.device_type != "CPU":
        return f"it is on {runner.name.rpartition('device:')[2]}"
    if native_form(bound.node) is None:
        return "the op has none"
    if bound.is_late:
        return "it reads values on the host in each run"
    return otherwise if jit.is_on else jit.reason


class RunTimeNative:
    """The native code of a step: a C function that computes rows. The function replaces NumPy when
    it is compiled.
    """

    def __init__(self, native: RowSource, bound: BoundNode, jit: Jit, verifies: bool) -> None:
        self.native, self.bound, self.jit = native, bound, jit
        self.is_over = False  # whether NumPy is used permanently
        delay = f"until the step has taken an estimated {WORTHWHILE_NS / 1e6:.0f} ms"
        self._code = StepCode("waiting", delay)
        self._verifies = verifies
        self._spares: dict[int, Any] = {}  # arrays of strings, by output
        self._last: _BoundCall | None = None
        self._numbers: dict[Any, tuple[Sequence[int], str, Any]] = {}
        texts = any(dtype.base_dtype is string for dtype in bound.node.output_types)
        self._may_repeat = not bound.host and not texts and native.sizes is not None
        self._spent = 0.0  # estimated nanoseconds in NumPy so far
        self._counted = rows_counted_by(native, len(bound.node.output_types))
        self._writes = tuple(sorted(DECLARATIONS[bound.node.type].memory.writes))

    @property
    def code(self) -> StepCode:
        """The code that the next run uses. This is NumPy's code until it is known whether native
        code is used.
        """
        failure = runtime_failure() if self._code.state == "waiting" else ""
        return StepCode("plain", failure) if failure else self._code

    def run(
        self, context: KernelBinding, arrays: Sequence[Any], plain: Callable[[], Any]
    ) -> Sequence[Any] | None:
        """Run the step in NumPy or native code. Return the outputs whose sizes the kernel
        determines, or None if there are no such outputs.

        Args:
          arrays: the inputs, and the outputs except those whose sizes the kernel determines.
          plain: a function that runs the step in NumPy.
        """
        last = self._repeated(context, arrays) if self._may_repeat else None
        if last is not None:
            if last.call():
                return plain()
            self._last = last
            return self._cut(last.results)
        call, results = self._known(context, arrays) or (None, [])
        if call is None:
            ready = None if self.is_over else self._ready(context, arrays)
            if ready is None:
                self._spent += numpy_nanoseconds(arrays)
                return plain()
            piece, code = ready
            if self._verifies:
                self._verify(code, context, arrays)
                self._verifies = False
            call, results = self._bound(piece, code, context, arrays)
            self._keep(context, arrays, code)
        if call():
            return plain()
        self._code = NATIVE
        if self._may_repeat:
            self._last = _BoundCall(call, arrays, list(context.output_shapes), results)
        return self._cut(results)

    def _repeated(self, context: KernelBinding, arrays: Sequence[Any]) -> _BoundCall | None:
        """Return the last call if it used the same arrays, and nothing else refers to its
        results.
        """
        last, self._last = self._last, None  # other threads now find none
        if last is None or any(one is not other for one, other in zip(arrays, last.arrays)):
            return None
        if not self._set_sizes(context, arrays) or list(context.output_shapes) != last.shapes:
            return None
        is_shared = any(getrefcount(result) > _LISTED_REFERENCES for result in last.results)
        return None if is_shared else last

    def _set_sizes(self, context: KernelBinding, arrays: Sequence[Any]) -> bool:
        """Set the output shapes that depend on values. Return whether there is native code for
        these values.
        """
        if self.native.sizes is None:
            return True
        try:
            context.output_shapes = self.native.sizes(context, *arrays)
        except (NotImplementedError, NotNativeError):
            return False
        return True

    def _key(self, context: KernelBinding, arrays: Sequence[Any]) -> Any:
        """Return a key of the shapes and host inputs, on which the function's integer parameters
        depend. Return None if an array must be checked.
        """
        key = [array.shape for array in arrays if array.flags.c_contiguous]
        if len(key) < len(arrays):
            return None
        for slot in self.bound.host:
            value = np.asarray(context.value(slot))
            if value.dtype.hasobject or value.nbytes > _MOST_HOST_BYTES:
                return None
            key.append((value.shape, value.tobytes()))
        return (*key, *context.output_shapes)

    def _known(
        self, context: KernelBinding, arrays: Sequence[Any]
    ) -> tuple[Callable[[], int], list[Any]] | None:
        """Return the result of `_bound`, built from the integer parameters of an earlier call with
        these shapes. Return None if there was no such call.
        """
        if not self._numbers or not self._set_sizes(context, arrays):
            return None
        known = self._numbers.get(self._key(context, arrays))
        if known is None:
            return None
        numbers, dtype, code = known
        results = self._results(context)
        call = code.bind(self.native.function, numbers, [*arrays, *results], _new_bytes, dtype)
        return call, results

    def _keep(self, context: KernelBinding, arrays: Sequence[Any], code: Any) -> None:
        """Keep the integer parameters of a call, for later calls with the same shapes."""
        key = self._key(context, arrays)
        if key is None:
            return
        if len(self._numbers) >= _MOST_SHAPES:
            self._numbers.clear()
        element = self.native.element
        name = BYTES if element is None else str(arrays[element].dtype)
        self._numbers[key] = self.native.parameters(context), name, code

    # -- its code

    def _ready(self, context: KernelBinding, arrays: Sequence[Any]) -> tuple[Piece, Any] | None:
        """Return the `Piece` for these arrays and its compiled function. If the function is not
        compiled yet, return None.
        """
        if not self.jit.waits and self._spent < WORTHWHILE_NS:
            return None
        try:
            piece = self._piece(context, arrays)
        except (NotImplementedError, NotNativeError) as error:
            self._code = StepCode("plain", f"{error} in the last run")
            return None
        assert piece.source is not None
        prepared = prepare_source(*piece.source)
        code = prepared.get(self.jit.waits)
        reason = prepared.reason or runtime_reason(False)
        if code is None or reason:
            self._code = StepCode("waiting", "for the compiler")
            if reason:
                self.is_over, self._code = True, StepCode("plain", reason)
                warn_once(reason)
            return None
        return piece, code

    def prepared(self, context: KernelBinding, arrays: Sequence[Any]) -> Prepared[Any] | None:
        """Return the code for these inputs, which may not be compiled yet. If there is no native
        code for these inputs, or if their strings are already freed, return None.
        """
        if any(array.dtype == object and None in array.ravel().tolist() for array in arrays):
            return None
        try:
            if self.native.sizes is not None:
                context.output_shapes = self.native.sizes(context, *arrays)
            piece = row_piece(self.native, context, arrays, _new_bytes)
        except (NotImplementedError, NotNativeError):
            return None
        assert piece.source is not None
        return prepare_source(*piece.source)

    def _piece(self, context: KernelBinding, arrays: Sequence[Any]) -> Piece:
        """Return the `Piece` for these arrays. Raises NotImplementedError or NotNativeError if
        there is no native code for these arrays.
        """
        if not self.native.takes_empty and not all(array.size for array in arrays):
            raise NotNativeError("a tensor was empty")
        if not all(array.flags.c_contiguous for array in arrays):
            raise NotNativeError("an array was not C-ordered")
        if numpy_is_faster(self.bound.node.type, arrays, thread_count()):
            raise NotNativeError("NumPy is faster")
        if self.native.sizes is not None:
            context.output_shapes = self.native.sizes(context, *arrays)
        return row_piece(self.native, context, arrays, _new_bytes)

    def _bound(
        self, piece: Piece, code: Any, context: KernelBinding, arrays: Sequence[Any]
    ) -> tuple[Callable[[], int], list[Any]]:
        """Return a callable that calls the function on these arrays, and a list of arrays.

        The list contains the outputs whose sizes the function determines, followed by the array
        that receives the number of rows.
        """
        results = self._results(context)
        if results:
            arrays = [*arrays, *results]
            piece = row_piece(self.native, context, arrays, _new_bytes)
        return piece.bind(code).calls[0], results

    def _results(self, context: KernelBinding) -> list[Any]:
        """Return new arrays for the outputs whose sizes the function determines, and for the
        counts. If there are no such outputs, return an empty list.
        """
        if self.native.sizes is None:
            return []
        types = [dtype.as_numpy_dtype for dtype in self.bound.node.output_types]
        pairs = zip(context.output_shapes, types, strict=True)
        results = [self._new(slot, *pair) for slot, pair in enumerate(pairs)]
        return [*results, np.zeros(max(1, len(self._counted)), np.int64)]

    def _new(self, slot: int, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return a new array for an output. If the previous array has many strings and nothing else
        refers to it, it is returned again, and the native function overwrites its strings in place.
        """
        size = prod(shape)
        if dtype is not object or size < _MANY:
            return np.empty(shape, dtype)
        spare = self._spares.pop(slot, None)  # other threads now find none
        is_fit = spare is not None and size <= spare.size <= _MOST_ROOM * size
        if not is_fit or getrefcount(spare) > _OWN_REFERENCES:
            spare = np.empty(size, object)
        array = spare[:size].reshape(shape)
        self._spares[slot] = spare
        return array

    def _cut(self, results: Sequence[Any]) -> list[Any] | None:
        """Return the outputs, each truncated to the number of rows that the function has
        written.
        """
        if not results:
            return None
        *outputs, counts = results
        for rows, count in zip(self._counted, counts.tolist()):
            for slot in rows.slots:
                outputs[slot] = outputs[slot][:count]
        return outputs

    # -- the first time

    def _verify(self, code: Any, context: KernelBinding, arrays: Sequence[Any]) -> None:
        """Run the step in NumPy and in native code, and compare the results. Both use separate
        memory and copies of variables.

        Raises InternalError if the results differ, unless the native code rejects the input.
        """
        trial = self._candidate(context, arrays).apart(isolated=True)
        other, before = trial.apart(isolated=True), trial.apart(isolated=True)
        piece = row_piece(self.native, context, trial.arrays, _new_bytes)
        call, results = self._bound(piece, code, context, trial.arrays)
        if call():
            return
        owned: list[Any] = []
        try:
            returned = other.bind(context.owning(owned), other.arrays)()
        finally:
            for container in owned:
                container.release()
        expected = other.written if self.native.sizes is None else returned
        found = self._cut(results) or trial.written
        tolerance = None if results else lambda: spread(before, expected)
        if not are_equal(found, expected, piece.is_exact, tolerance):
            raise disagreement()

    def _candidate(self, context: KernelBinding, arrays: Sequence[Any]) -> Candidate:
        slots = self.bound.array_slots
        types = [self.bound.node.input_types[slot].base_dtype for slot in slots]
        variables = frozenset(
            index for index, slot in enumerate(slots) if slot in self.bound.variables
        )
        return Candidate(
            self.native,
            context,
            types,
            arrays,
            len(slots),
            variables,
            self._writes,
            partial(self.bound.runner.bind, self.bound.kernel),
        )


def _new_bytes(size: int) -> Any:
    return np.empty(size, np.uint8)
