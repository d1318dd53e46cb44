"""Native code of steps that are bound at each run, since a size is known only then.

Such a step uses functions of rows (`RowSource`), which are bound in the run. It runs by NumPy
until it has taken a while; then the function is compiled in the background. Its first results are
compared with NumPy's, unless this machine has compared that function before. If its input is
refused, NumPy raises the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from gpugraph.compile.steps.kernel_context import BoundNode, KernelBinding
from gpugraph.compile.steps.native_node_code import (
    Candidate,
    Piece,
    native_form,
    native_of,
    row_piece,
)
from gpugraph.compile.steps.result_comparison import TAKES_LONGER, UNSOUND, are_equal, spread
from gpugraph.compile.unit.jit_settings import Jit, warn_once
from gpugraph.devices.codegen.object_cache import key_of
from gpugraph.devices.native import (
    FINDINGS,
    NotNativeError,
    prepare_source,
    runtime_failure,
    runtime_reason,
)
from gpugraph.kernel import RowSource
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.plan import NATIVE, StepCode

_WORTHWHILE_S = 0.01
"""Seconds in the step after which it is compiled."""

_CHECKED_LATER = StepCode("waiting", "for a check")

_MARGIN, _NOISE_S, _MOST_SLOWER = 1.2, 1e-3, 3
"""Native code is rejected if it exceeds NumPy's time by this factor and by this many seconds, in
this many checks.
"""


def run_time_native(bound: BoundNode, jit: Jit) -> RunTimeNative | None:
    """Return the native code of a node that is bound at each run, or None."""
    native = native_of(bound.node)
    if not jit.is_on or not isinstance(native, RowSource) or bound.runner.has_kernels:
        return None
    return None if bound.is_late else RunTimeNative(native, bound, jit)


def plain_reason(bound: BoundNode, jit: Jit, otherwise: str) -> str:
    """Return the reason why a node's step has no native code; `otherwise` if it could have some."""
    runner = bound.runner
    if runner.device_type != "CPU":
        return f"it is on {runner.name.rpartition('device:')[2]}"
    if native_of(bound.node) is None:
        return "NumPy computes bfloat16" if native_form(bound.node, "CPU") else "the op has none"
    if bound.is_late:
        return "it reads values on the host in each run"
    return otherwise if jit.is_on else jit.reason


class RunTimeNative:
    """A function of rows in transition from NumPy to native code."""

    def __init__(self, native: RowSource, bound: BoundNode, jit: Jit) -> None:
        self.native, self.bound, self.jit = native, bound, jit
        self.is_over = False  # NumPy permanently
        self._code = StepCode("waiting", f"until the step has taken {_WORTHWHILE_S * 1e3:.0f} ms")
        self._is_sound = False
        self._times_slower = 0
        self._spent = 0.0
        self._writes = tuple(sorted(DECLARATIONS[bound.node.type].writes))

    @property
    def code(self) -> StepCode:
        """The code that its next run uses, as far as known."""
        failure = runtime_failure() if self._code.state == "waiting" else ""
        return StepCode("plain", failure) if failure else self._code

    def run(
        self, context: KernelBinding, arrays: Sequence[Any], plain: Callable[[], Any]
    ) -> Sequence[Any] | None:
        """Run the step by NumPy or native code; return the outputs whose sizes were counted.

        arrays: inputs and outputs, without the outputs that are counted.
        """
        ready = None if self.is_over else self._ready(context, arrays)
        if ready is None:
            start = perf_counter()
            returned = plain()
            self._spent += perf_counter() - start
            return returned
        piece, code = ready
        if not self._is_sound:
            returned = plain()  # raises for refused input
            self._check(piece, code, context, arrays)
            return returned
        call, results = self._bound(piece, code, context, arrays)
        if call():
            return plain()
        self._code = NATIVE
        return self._cut(results)

    # -- its code

    def _ready(self, context: KernelBinding, arrays: Sequence[Any]) -> tuple[Piece, Any] | None:
        """Return the piece for these arrays, and its code, if that is ready."""
        if not self.jit.waits and self._spent < _WORTHWHILE_S:
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
                self._stop(reason)
            return None
        self._key = prepared.key
        self._is_sound = self._is_sound or FINDINGS.has(self._key, self._finding(piece))
        return piece, code

    def _piece(self, context: KernelBinding, arrays: Sequence[Any]) -> Piece:
        """Return the piece for these arrays. NotImplementedError or NotNativeError if there is
        none.
        """
        if not self.native.takes_empty and not all(array.size for array in arrays):
            raise NotNativeError("a tensor was empty")
        if not all(array.flags.c_contiguous for array in arrays):
            raise NotNativeError("an array was not C-ordered")
        if self.native.sizes is not None:
            context.output_shapes = self.native.sizes(context, *arrays)
        return row_piece(self.native, context, arrays, _new_bytes)

    def _finding(self, piece: Piece) -> str:
        node = self.bound.node
        what = node.type, piece.mark, [dtype.name for dtype in node.input_types]
        return f"sound {key_of(*map(repr, what))[:24]}"

    def _bound(
        self, piece: Piece, code: Any, context: KernelBinding, arrays: Sequence[Any]
    ) -> tuple[Callable[[], int], list[Any]]:
        """Return a call for these arrays, and the outputs that it counts, with the count."""
        results: list[Any] = []
        if self.native.sizes is not None:
            shapes = context.output_shapes
            types = [dtype.as_numpy_dtype for dtype in self.bound.node.output_types]
            results = [np.empty(shape, dtype) for shape, dtype in zip(shapes, types, strict=True)]
            results.append(np.zeros(1, np.int64))
            arrays = [*arrays, *results]
            piece = row_piece(self.native, context, arrays, _new_bytes)
        return piece.bind(code).calls[0], results

    def _cut(self, results: Sequence[Any]) -> list[Any] | None:
        """Return the outputs, cut to the count where they are counted."""
        if not results:
            return None
        *outputs, count = results
        return [
            output[: int(count[0])] if slot in self.native.counted else output
            for slot, output in enumerate(outputs)
        ]

    # -- the first time

    def _check(
        self, piece: Piece, code: Any, context: KernelBinding, arrays: Sequence[Any]
    ) -> None:
        """Compute by NumPy and natively, from copies of variables and into separate memory."""
        trial = self._candidate(context, arrays).apart(isolated=True)
        other, before = trial.apart(isolated=True), trial.apart(isolated=True)
        owned: list[Any] = []
        try:
            start = perf_counter()
            returned = other.bind(context.owning(owned), other.arrays)()
            plain_s = perf_counter() - start
            expected = other.written if self.native.sizes is None else returned
            piece = row_piece(self.native, context, trial.arrays, _new_bytes)
            call, results = self._bound(piece, code, context, trial.arrays)
            start = perf_counter()
            refused = call()
            native_s = perf_counter() - start
        finally:
            for container in owned:
                container.release()
        node = self.bound.node
        found = self._cut(results) or trial.written
        if refused or not are_equal(
            found, expected, piece.is_exact, None if results else lambda: spread(before, expected)
        ):
            self._stop(f"that of '{node.name}' ({node.type}) computes other numbers than NumPy")
            self._code = StepCode("plain", UNSOUND)
        elif native_s - plain_s > _NOISE_S and native_s > _MARGIN * plain_s:
            self._times_slower += 1  # another program may have had a core
            self.is_over = self._times_slower == _MOST_SLOWER
            self._code = StepCode("plain", TAKES_LONGER) if self.is_over else _CHECKED_LATER
        else:
            self._code = NATIVE  # from the next run on
            self._is_sound = True
            FINDINGS.add(self._key, self._finding(piece))
            FINDINGS.keep()

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

    def _stop(self, reason: str) -> None:
        self.is_over = True
        self._code = StepCode("plain", reason)
        warn_once(reason)


def _new_bytes(size: int) -> Any:
    return np.empty(size, np.uint8)
