"""One step in transition from NumPy to native code.

    plain      NumPy, until the code is compiled
    check      once, the code's numbers are compared with those of NumPy from the same inputs; code
               that this machine has checked before skips it
    trial      a few more runs by either, if it is open which of them is faster
    decided    native code, or NumPy permanently

A check takes as long as one step by NumPy, which computes into separate memory. A step that writes
variables computes both ways there: no variable is written twice, and no other run sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from gpugraph.base.errors import InternalError
from gpugraph.compile.steps.guarded_regions import Entry
from gpugraph.compile.steps.native_node_code import Calls, Candidate, NativeCall, Piece, translate
from gpugraph.compile.steps.result_comparison import TAKES_LONGER, UNSOUND, are_equal, spread
from gpugraph.compile.unit.jit_settings import warn_once
from gpugraph.devices.codegen.object_cache import key_of
from gpugraph.devices.native import (
    FINDINGS,
    NotNativeError,
    Prepared,
    Program,
    failed_at,
    one_blas_thread,
    sequence,
    shared_code_key,
)
from gpugraph.plan import NATIVE, Step, StepCode, noting_step

NOISE_S = 1e-3
"""The minimum time difference for one way to count as faster."""

MARGIN = 1.2
"""Native code slower than this multiple of NumPy is rejected."""

KEPT_MARGIN = 2.0
"""The same for later processes: another program may have taken a core during the trial."""

_CLEAR = 0.5
"""Native code that takes at most this part of NumPy's time in the check counts as faster."""

_SLOWER = "slower than one thread of NumPy"

_TRIAL = ("plain", "native", "plain", "native")
"""The runs that decide, alternately, by the minimum time of each; twice as many before rejecting
native code.
"""


class StepTier:
    """A step, by NumPy or by its native code. `step` is the one to run once that is decided."""

    def __init__(self, entry: Entry, waits: bool) -> None:
        self.entry = entry
        self.step: Step = entry.step
        self.waits = waits
        self.calls: Calls | None = None  # sound native code, if it is used
        self.is_decided = entry.native is None
        self.note = ""  # why NumPy is used although there is native code
        self.reason = ""  # why the step has no native code, or none that is used
        self.has_run_native = False  # in its last run
        self.piece: Piece | None = None
        self.code: Prepared[Any] | None = None
        self._sound: Calls | None = None
        self._native: Step | None = None
        self._times = {"plain": inf, "native": inf}
        self._turns: list[str] = []
        self._is_doubted = False  # whether native code was slow in one trial
        self._checked = 0.0  # seconds of NumPy in a check
        self.is_measured = False

    # -- before there is code

    def take_code(self, piece: Piece, code: Prepared[Any] | None) -> None:
        """Set the step's code, whose compilation begins."""
        self.piece, self.code = piece, code

    def refuse_code(self, reason: str) -> None:
        """Keep NumPy for this reason."""
        self.piece, self.code = None, None
        self._decide("plain", reason)

    def status(self) -> StepCode:
        """Return the code that runs the step now. The caller checks whether it is compiled yet."""
        if self.entry.native is None:
            return self.entry.step.code()
        if self.is_decided:
            return NATIVE if self.calls is not None else StepCode("plain", self.reason)
        if self.code is not None and self.code.reason:
            return StepCode("plain", self.code.reason)
        if self._turns:
            return StepCode("waiting", "until both ways are timed")
        is_there = self.code is None or self.code.get() is not None
        return StepCode("waiting", "for a check" if is_there else "for the compiler")

    @property
    def generated_kernel(self) -> Prepared[Any] | None:
        """The kernel that runs the step, if it was generated from the step's expressions."""
        is_generated = self.piece is not None and isinstance(self.piece.source, Program)
        return self.code if is_generated and self.calls is not None else None

    @property
    def is_compiled(self) -> bool:
        """Whether its code is ready, or will never be."""
        code = self.code
        if self.piece is None or code is None:
            return self.piece is not None or self.is_decided
        return code.get(self.waits) is not None or bool(code.reason)

    # -- a run

    def run(self, may_check: bool, may_try: bool) -> float:
        """Run the step once in its current state; return the seconds that the transition took.

        may_try: whether a trial continues. While the compiler has a core, native code that needs
        both seems slow.
        """
        start = perf_counter()
        if self.is_decided:
            self.has_run_native = self.calls is not None
            with noting_step(self.entry.step):
                self.step.run()
            return 0.0
        if self._turns and may_try and (may_check or self._turns[0] == "native"):
            self._timed(self._turns.pop(0))
            if not self._turns:
                self._decide_by_times()
            return perf_counter() - start
        if self._turns or not may_check or not self.is_compiled:
            self._timed(min(self._times, key=self._times.__getitem__))
            return 0.0
        if not self._is_trusted():
            plain = self._check()
            return max(perf_counter() - start - plain, 1e-9)
        self._start_trusted()
        seconds = perf_counter() - start
        self._timed("native" if self.calls is not None else "plain")
        return seconds

    def _timed(self, way: str) -> None:
        step = self._native if way == "native" else self.entry.step
        assert step is not None
        self.has_run_native = way == "native"
        start = perf_counter()
        with noting_step(self.entry.step):
            step.run()
        self._times[way] = min(self._times[way], perf_counter() - start)

    @property
    def is_final(self) -> bool:
        """Whether the decision is final: there is nothing to measure."""
        is_known = self.is_measured or self._sound is None or self._times["native"] < NOISE_S
        return self.is_decided and is_known

    def measure(self) -> bool:
        """Begin a trial if native code isn't known to be faster; return whether it begins."""
        if self.is_final:
            return False
        self.is_decided, self.calls, self._turns = False, None, list(_TRIAL)
        return True

    # -- checking

    @property
    def _key(self) -> str:
        """The key of the library that has the step's code, or of the runtime, which calls NumPy's
        BLAS.
        """
        return shared_code_key() if self.code is None else self.code.key

    def _finding(self, word: str) -> str:
        """Return a finding about the step's code: for its op and function, or `word` for its
        shapes.
        """
        native = self.entry.native
        assert native is not None and self.piece is not None
        compiled = self.code.get() if self.code is not None else None
        types = [member.op_type for member in native.context.attrs.get("members", ())]
        function = self.piece.mark or getattr(compiled, "name", "")
        what: tuple[Any, ...] = (self.step.op_type, types, function, native.types)
        if word != "sound":
            what += ([array.shape for array in native.arrays], self.piece.details)
        return f"{word} {key_of(*map(repr, what))[:24]}"

    def _is_trusted(self) -> bool:
        return FINDINGS.has(self._key, self._finding("sound"))

    def _start_trusted(self) -> None:
        """Bind code that was checked before; earlier measurements decide at once."""
        self._sound = self._bound()
        if self._sound is None:
            self._decide("plain", self.reason)
            return
        self._native = native_step([(self.entry.step, self._sound)])
        self.is_measured = self.waits or FINDINGS.has(self._key, self._finding("faster"))
        slower = not self.is_measured and FINDINGS.has(self._key, self._finding(_SLOWER))
        self._decide("plain" if slower else "native", TAKES_LONGER)
        if slower:
            name = f"{self.entry.step.name} ({self.entry.step.op_type})"
            self.note = f"by NumPy: {name}, whose native code took longer before"

    def _bound(self) -> Calls | None:
        assert self.piece is not None
        function = self.code.get() if self.code is not None else None
        if self.code is not None and function is None:
            self.reason = self.code.reason
            warn_once(self.reason)
            return None
        try:
            return self.piece.bind(function)
        except NotNativeError as error:
            self.reason = str(error)
        except Exception as error:
            self.reason = failure_text(error)
            tell(self.step, error)
        return None

    def _check(self) -> float:
        """Run the step by its code and compare it with NumPy; return the seconds NumPy took."""
        calls = self._bound()
        if calls is None:
            self._decide("plain", self.reason)
            self._timed("plain")
            return 0.0
        self._sound = calls
        self._native = native_step([(self.entry.step, calls)])
        if not self._is_sound():
            self._sound = None
            warn_once(
                f"that of '{self.step.name}' ({self.step.op_type}) computes other numbers than "
                "NumPy: the step amplifies rounding errors, or the C compiler is not sound"
            )
            self.has_run_native = False  # NumPy's results were written
            self._decide("plain", UNSOUND)
            return self._checked
        FINDINGS.add(self._key, self._finding("sound"))
        plain, native = self._times["plain"], self._times["native"]
        self.is_measured = self.waits or max(plain, native) >= NOISE_S
        if self.waits or native < max(_CLEAR * plain, NOISE_S):
            self._decide("native")
            if self.is_measured and not self.waits:
                FINDINGS.add(self._key, self._finding("faster"))
        else:
            self._turns = list(_TRIAL)
        return self._checked

    def _is_sound(self) -> bool:
        """Run the step, by its code if that computes the same as NumPy."""
        native = self.entry.native
        assert native is not None
        if native.writes:
            is_sound = self._agree_apart(native)
            self._timed("native" if is_sound else "plain")
            return is_sound
        before = native.apart()
        plain = self._plain_apart(native.apart())
        self._timed("native")
        if self._agrees(native, plain, before):
            return True
        if native.variables and self._agree_apart(native):  # another run wrote one meanwhile
            return True
        for array, expected in zip(native.written, plain.written):
            np.copyto(array, expected)
        return False

    def _agree_apart(self, native: Candidate) -> bool:
        """Return whether both ways agree on copies of variables, which no other run writes."""
        trial = native.apart(isolated=True)
        before = trial.apart(isolated=True)
        plain = self._plain_apart(trial.apart(isolated=True))  # of the same values
        function = self.code.get() if self.code is not None else None
        try:
            refused = any(call() for call in translate(trial).bind(function).calls)
        except Exception as error:
            tell(self.step, error)
            return False
        return not refused and self._agrees(trial, plain, before)

    def _agrees(self, native: Candidate, plain: Candidate, before: Candidate) -> bool:
        """Return whether both have written the same. before: the step as it was before."""
        assert self.piece is not None
        expected = plain.written
        return are_equal(
            native.written, expected, self.piece.is_exact, lambda: spread(before, expected)
        )

    def _plain_apart(self, plain: Candidate) -> Candidate:
        """Return the candidate, computed by NumPy in separate memory."""
        start = perf_counter()
        with noting_step(self.entry.step):
            plain.run_plain()
        self._checked = perf_counter() - start
        self._times["plain"] = min(self._times["plain"], self._checked)
        return plain

    # -- deciding

    def _decide_by_times(self) -> None:
        plain, native = self._times["plain"], self._times["native"]
        self.is_measured, self.note = True, ""
        is_slow = native - plain > NOISE_S and native > MARGIN * plain
        if is_slow and not self._is_doubted:  # another program may have had a core for a moment
            self._is_doubted, self._turns = True, list(_TRIAL)
        elif is_slow:
            self._is_doubted = False
            if native > KEPT_MARGIN * plain:
                FINDINGS.add(self._key, self._finding(_SLOWER))
            self._decide("plain", TAKES_LONGER)
            self.is_measured = (
                False  # to be repeated after more runs: another program may have had a core
            )
            self.note = (
                f"by NumPy: {self.step.name} ({self.step.op_type}), {plain * 1e3:.1f} ms where "
                f"native code takes {native * 1e3:.1f}"
            )
        else:
            self._is_doubted = False
            FINDINGS.add(self._key, self._finding("faster"))
            self._decide("native")

    def _decide(self, way: str, reason: str = "") -> None:
        """Keep one way; the reason is that for NumPy."""
        self.is_decided, self.reason = True, reason
        self.calls = self._sound if way == "native" else None
        if way == "native" and self._native:
            self.step = self._native
        else:
            self.step = self.entry.step if self._sound is None else _plain_step(self.entry.step)


def _plain_step(step: Step) -> Step:
    """Return a step by NumPy among native ones, without BLAS threads, which would spin after it."""

    def run() -> None:
        with one_blas_thread():
            step.run()

    return replace(step, run=run)


def failure_text(error: Exception) -> str:
    """Return the reason for NumPy after an error in building native code."""
    return f"{type(error).__name__}: {error}"


def tell(step: Step, error: Exception) -> None:
    """Warn of native code that could not be built."""
    warn_once(f"'{step.name}' ({step.op_type}): {failure_text(error)}")


def native_step(members: Sequence[tuple[Step, Calls]]) -> Step:
    """Return steps as one native call; if a call refuses its input, its plain step raises the
    reason.
    """
    first, _ = members[0]
    return replace(first, run=_native_call(members), kind="native", code=native_code)


def native_code() -> StepCode:
    """Return the code of a step that is native."""
    return NATIVE


class RefusableCall:
    """A native call of steps that may refuse its input; then the plain step raises the reason."""

    def __init__(self, call: NativeCall, steps: Sequence[Step]) -> None:
        """Wrap a call. steps: that of each call in the sequence that `call` is."""
        self.call = call
        self.steps = steps

    def __call__(self) -> int:
        return self.refuse() if self.call() else 0

    def refuse(self) -> int:
        """Raise the error of the step whose call has failed."""
        step = self.steps[failed_at(self.call) if len(self.steps) > 1 else 0]
        with noting_step(step):
            step.run()
            raise InternalError.of_no_node(f"The native code of '{step.name}' failed")


def _native_call(members: Sequence[tuple[Step, Calls]]) -> NativeCall:
    parts = [call for _, calls in members for call in calls.calls]
    call = parts[0] if len(parts) == 1 else sequence(parts)
    if not any(calls.may_fail for _, calls in members):
        return call
    return RefusableCall(call, [step for step, calls in members for _ in calls.calls])
