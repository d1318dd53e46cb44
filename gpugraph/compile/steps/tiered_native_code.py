"""Native code of a stretch, in tiers: plain steps first, then few native calls.

    plain      the steps run by NumPy; once they have taken a while, their code is compiled
    checking   all is compiled: one run compares each step's code with its plain step
    settled    sound code is called, steps in a row as one; the other steps stay

A check computes a step twice from the same inputs, into memory of its own: no variable is written
twice, no other run sees anything, and only the code differs. One run translates or checks at most
`PORTION` steps, so that no run of a large plan takes long for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from time import perf_counter
from typing import Any, NamedTuple

from gpugraph.base.errors import InternalError
from gpugraph.compile.steps.guarded_regions import Entry
from gpugraph.compile.steps.native_node_code import (
    Calls,
    NativeCall,
    Piece,
    compile_pieces,
    translate,
)
from gpugraph.compile.steps.result_comparison import are_close
from gpugraph.compile.unit.jit_settings import warn_once
from gpugraph.devices.native import NotNativeError, Prepared, failed_at, runtime_reason, sequence
from gpugraph.plan import Step, StepSequence, noting_step

WORTHWHILE_S = 0.01
"""Seconds in steps after which they are compiled: about a tenth of what the compiler takes."""


PORTION = 4096
"""Steps that one run translates or checks, unless it waits for the compiler: a second or two."""


class _Compilation(NamedTuple):
    """The native code of an entry while it is compiled. None: there is nothing to compile."""

    piece: Piece
    prepared: Prepared[Any] | None

    @property
    def is_done(self) -> bool:
        """Whether it is compiled, or has failed."""
        code = self.prepared
        return code is None or code.get() is not None or bool(code.reason)


class TieredCode:
    """The entries of a stretch by plain steps or native calls (a `StretchCode`)."""

    def __init__(self, entries: Sequence[Entry], waits: bool) -> None:
        self.entries = entries
        self.waits = waits
        self.is_settled = False
        self._sequence = StepSequence(entry.step for entry in entries)
        self._spent = 0.0
        self._compilations: dict[int, _Compilation] | None = None  # by index of the entry
        self._pieces: dict[int, Piece] = {}
        self._translated = 0  # entries, from the first on
        self._checked = 0
        self._native: dict[int, Calls] = {}

    def run(self) -> None:
        """Runs the steps, or the native calls that replace them."""
        if self.is_settled:
            self._sequence.run()
        elif self._is_compiled():
            self._check()
        else:
            start = perf_counter()
            self._sequence.run()
            self._spent += perf_counter() - start

    def parts(self, traced: bool) -> list[Step]:
        """The steps of which a run consists now; native steps by calls of their own."""
        steps = [entry.step for entry in self.entries]
        if not self.is_settled:
            if self._is_compiled():
                name = f"{steps[0].name} .. {steps[-1].name}"
                return [replace(steps[0], name=name, run=self._check)]
            return steps
        for index, calls in self._native.items():
            steps[index] = _native_step([(steps[index], calls)])
        return steps

    # -- compiling

    def _is_compiled(self) -> bool:
        """Whether all code is compiled; compilation begins when the time for it has come."""
        if self._compilations is None:
            if not self.waits and self._spent < WORTHWHILE_S:
                return False
            self._begin()
        if self._compilations is None:
            return False
        reason = runtime_reason(self.waits)
        if reason:
            warn_once(reason)
            self._compilations = {}
        elif reason is None:
            return False
        if self.waits:
            for compilation in self._compilations.values():
                if compilation.prepared is not None:
                    compilation.prepared.get(True)
        return all(compilation.is_done for compilation in self._compilations.values())

    def _begin(self) -> None:
        """Translates the next entries; after the last of them, their compilation begins."""
        end = self._end_of_portion(self._translated)
        for index in range(self._translated, end):
            piece = _piece(self.entries[index])
            if piece is not None:
                self._pieces[index] = piece
        self._translated = end
        if end == len(self.entries):
            codes = compile_pieces(list(self._pieces.values()))
            self._compilations = {
                index: _Compilation(piece, code)
                for (index, piece), code in zip(self._pieces.items(), codes)
            }
            self._pieces = {}

    def _end_of_portion(self, first: int) -> int:
        return len(self.entries) if self.waits else min(first + PORTION, len(self.entries))

    # -- checking

    def _check(self) -> None:
        """A run in which the native code of the next steps is compared with them."""
        compilations = self._compilations or {}
        native: dict[int, Calls] = {}
        end = self._end_of_portion(self._checked)
        portion = range(self._checked, end)
        for index, entry in enumerate(self.entries):
            step = entry.step
            with noting_step(step):
                if index in portion and index in compilations:
                    calls = _sound_calls(entry, compilations[index])
                    if calls is not None:
                        native[index] = calls
                        step = _native_step([(step, calls)])
                step.run()
        warn_once("")
        self._native.update(native)
        self._checked = end
        if end == len(self.entries):
            self._settle(self._native)

    def _settle(self, native: Mapping[int, Calls]) -> None:
        steps: list[Step] = []
        for is_native, group in groupby(range(len(self.entries)), native.__contains__):
            indices = list(group)
            members = [self.entries[index].step for index in indices]
            if is_native:
                steps.append(_native_step([(self.entries[i].step, native[i]) for i in indices]))
                for step in members:
                    release = getattr(step.run, "release", None)  # memory of the step's own
                    if release is not None:
                        release()
            else:
                steps += members
        self._sequence = StepSequence(steps)
        self.is_settled = True
        self._compilations = None


def _piece(entry: Entry) -> Piece | None:
    """The native code of an entry, if there is any. Nothing fails for want of it."""
    if entry.native is None:
        return None
    try:
        return translate(entry.native)
    except NotNativeError:
        return None
    except Exception as error:
        _tell(entry.step, error)
        return None


def _tell(step: Step, error: Exception) -> None:
    warn_once(f"'{step.name}' ({step.op_type}): {type(error).__name__}: {error}")


def _sound_calls(entry: Entry, compilation: _Compilation) -> Calls | None:
    """The entry's native calls, if they compute what the plain step does."""
    code, step = compilation.prepared, entry.step
    assert entry.native is not None
    function = code.get() if code is not None else None
    if code is not None and function is None:
        warn_once(code.reason)
        return None
    plain, native = entry.native.apart(), entry.native.apart()
    plain.run_plain()
    try:
        calls = compilation.piece.bind(function)
        refused = any(call() for call in translate(native).bind(function).calls)
    except NotNativeError:
        return None
    except Exception as error:
        _tell(step, error)
        return None
    if not refused and are_close(native.written, plain.written):
        return calls
    warn_once(
        f"that of '{step.name}' ({step.op_type}) computes other numbers than NumPy: the step "
        "amplifies rounding errors, or the C compiler is not sound"
    )
    return None


def _native_step(members: Sequence[tuple[Step, Calls]]) -> Step:
    """Steps as one native call. If a call refuses its input, its plain step raises the reason."""
    first, _ = members[0]
    call = _native_call(members)
    return replace(first, run=call, kind="native")


def _native_call(members: Sequence[tuple[Step, Calls]]) -> NativeCall:
    parts = [call for _, calls in members for call in calls.calls]
    call = parts[0] if len(parts) == 1 else sequence(parts)
    if not any(calls.may_fail for _, calls in members):
        return call
    steps = [step for step, calls in members for _ in calls.calls]

    def run() -> int:
        if call():
            step = steps[failed_at(call) if len(parts) > 1 else 0]
            with noting_step(step):
                step.run()
                raise InternalError.of_no_node(f"The native code of '{step.name}' failed")
        return 0

    return run
