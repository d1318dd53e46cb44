"""The code of a run of steps: NumPy at first, later a few native calls.

    plain      NumPy runs the steps; when compilation pays off, it starts
    mixed      each step switches to its native code once that is compiled
    joined     adjacent native steps are called as one; other steps remain separate

Compiled code is used unless `native_cost` estimates that NumPy is faster. The compilation of steps
on large arrays starts in the first run. While NumPy computes the first steps, the code of later
steps is compiled or loaded from the cache. In one run, at most `PORTION_S` seconds are spent on
translating and binding, so that the first runs of a large plan are not delayed much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import groupby
from math import inf
from time import perf_counter
from typing import Any

from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.compile.analysis.native_cost import (
    WORTHWHILE_NS,
    numpy_calls,
    numpy_is_faster,
    numpy_nanoseconds,
)
from gpugraph.compile.steps.guarded_regions import GuardedStep
from gpugraph.compile.steps.native_calls import library_of, native_step, step_beside_native
from gpugraph.compile.steps.native_node_code import (
    Calls,
    Piece,
    Programs,
    compile_pieces,
    translate,
)
from gpugraph.compile.steps.native_verification import run_verified
from gpugraph.compile.unit.jit_settings import warn_once
from gpugraph.config.environment import thread_count
from gpugraph.devices.native import (
    NotNativeError,
    Prepared,
    Program,
    one_blas_thread,
    runtime_failure,
    runtime_reason,
)
from gpugraph.plan import NATIVE, Step, StepCode, StepSequence, noting_step

PORTION_S = 0.5
"""The maximum number of seconds for which a run translates or binds steps, unless it waits for the
compiler.
"""

MOST_NAMES = 8
"""The maximum number of steps in the same state that a report line names."""


class MemberStep:
    """A step in a run of steps. NumPy runs the step until its native code is compiled.

    Attributes:
      step: the step to run now.
      calls: the native calls, if native code is used.
      reason: the reason why no native code is used.
    """

    def __init__(self, entry: GuardedStep) -> None:
        self.entry = entry
        self.step: Step = entry.step
        self.calls: Calls | None = None
        self.reason = ""
        self.is_decided = entry.native is None
        self.piece: Piece | None = None
        self.code: Prepared[Any] | None = None  # the compiled piece; None if it needs no compiler

    def refuse(self, reason: str) -> None:
        """Use NumPy for this step in all further runs.

        Args:
          reason: the reason why native code is not used.
        """
        self.piece = self.code = None
        self.is_decided, self.reason = True, reason

    def status(self) -> StepCode:
        """Return a description of the code that currently runs the step."""
        if self.entry.native is None:
            return self.entry.step.code()
        if self.is_decided:
            return NATIVE if self.calls is not None else StepCode("plain", self.reason)
        if self.code is not None and self.code.reason:
            return StepCode("plain", self.code.reason)
        is_there = self.code is None or self.code.get() is not None
        return StepCode("waiting", "for the next run" if is_there else "for the compiler")

    @property
    def generated_kernel(self) -> Prepared[Any] | None:
        """The generated kernel that runs the step, or None if other code runs it."""
        is_generated = self.piece is not None and isinstance(self.piece.source, Program)
        return self.code if is_generated and self.calls is not None else None

    def switch(self, waits: bool, verifies: bool) -> None:
        """Run the step once, in native code if it is compiled."""
        piece, function = self.piece, self.prepare(waits)
        native = self.entry.native
        with noting_step(self.entry.step):
            if verifies and self.calls is not None and piece and native is not None:
                run_verified(native, piece, function, self.step.run)
            else:
                self.step.run()

    def prepare(self, waits: bool) -> Any:
        """Return the step's compiled code, if there is any, and use it from now on."""
        function = None
        if self.code is not None and self.piece is not None:
            function = self.code.get(waits)
            if self.code.reason:
                warn_once(self.code.reason)
                self.refuse(self.code.reason)
        if self.piece is not None and (self.code is None or function is not None):
            self._bind(self.piece, function)
        return function

    def _bind(self, piece: Piece, function: Any) -> None:
        try:
            self.calls = piece.bind(function)
        except NotNativeError as error:
            self.refuse(str(error))
        except Exception as error:
            self.refuse(_failure(self.step, error))
        else:
            self.step, self.is_decided = native_step([(self.entry, self.calls)]), True


class _MixedRun:
    """A run of steps in which some steps are native and others are not. A run spends at most
    `PORTION_S` seconds on binding.
    """

    def __init__(self, members: Sequence[MemberStep], waits: bool, verifies: bool) -> None:
        self._members = members
        self._waits, self._verifies = waits, verifies
        self._ends: float | None = None  # set by the first step that may switch

    def step(self, number: int) -> None:
        """Run the step with this index."""
        member = self._members[number]
        if not member.is_decided and self._may_switch():
            member.switch(self._waits, self._verifies)
            return
        with noting_step(member.entry.step):
            member.step.run()

    def _may_switch(self) -> bool:
        if self._ends is None:
            self._ends = inf if self._waits else perf_counter() + PORTION_S
            return True
        return perf_counter() < self._ends

    def part(self, number: int, step: Step) -> Step:
        """Return the step with index `number` as a separate step, for callers that run steps one by
        one.
        """

        def run() -> None:
            with one_blas_thread():
                self.step(number)

        return replace(step, run=run, code=self._members[number].status)


class CompiledStretch:
    """The code of a run of steps on the CPU: the NumPy steps, or the native calls that replace
    them.

    Args:
      waits: whether runs wait for the compiler.
      verifies: whether the first native run of a step is compared with NumPy.
    """

    def __init__(self, entries: Sequence[GuardedStep], waits: bool, verifies: bool = False) -> None:
        self.entries = entries
        self.waits, self.verifies = waits, verifies
        self.is_joined = False
        self._has_run = False
        self._may_be_native = any(entry.native is not None for entry in entries)
        self._members = [MemberStep(entry) for entry in entries]
        self._sequence = StepSequence(entry.step for entry in entries)
        self._cost = sum(map(_nanoseconds, entries))
        self.spent = WORTHWHILE_NS if waits else 0.0  # estimated nanoseconds in NumPy so far
        self._translated = 0  # the number of leading entries
        self._programs: Programs = {}  # by later steps that may share them

    def run(self) -> None:
        """Run the steps, or the native calls that replace them."""
        self._has_run = True
        if self.is_joined:
            self._sequence.run()
        elif self._has_begun():
            run = _MixedRun(self._members, self.waits, self.verifies)
            with one_blas_thread():  # other cores compile or run native code
                for number in range(len(self._members)):
                    run.step(number)
            self._end_mixed()
        else:
            with one_blas_thread() if self._may_be_native else nullcontext():
                self._sequence.run()

    def parts(self, traced: bool) -> list[Step]:
        """Return the steps as the next run executes them, with each native step as a separate
        call.
        """
        if self.is_joined:
            return [member.step for member in self._members]
        steps = [entry.step for entry in self.entries]
        if not self._has_begun():
            return steps
        run = _MixedRun(self._members, self.waits, self.verifies)
        end = replace(steps[-1], run=self._end_mixed, kind="guard")  # only joins the steps
        return [*(run.part(number, step) for number, step in enumerate(steps)), end]

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """Yield each step as the next run executes it, with the code that runs it."""
        failure = runtime_failure()
        for number, member in enumerate(self._members):
            code = member.status()
            if code.state == "waiting" and failure:
                code = StepCode("plain", failure)
            elif code.state == "waiting" and number >= self._translated:
                code = StepCode("waiting", self._delay())
            yield member.step, code

    def _delay(self) -> str:
        """Return text for the report about when the steps will be compiled."""
        if self.spent + self._cost >= WORTHWHILE_NS:
            return "for the next run"
        return f"until the steps have taken an estimated {WORTHWHILE_NS / 1e6:.0f} ms"

    def begin(self) -> None:
        """Let the next run start the compilation of the steps, even if NumPy runs them quickly."""
        self.spent = max(self.spent, WORTHWHILE_NS)

    @property
    def members(self) -> Sequence[MemberStep]:
        """The members of the run of steps."""
        return self._members

    def advance(self) -> bool:
        """Switch steps to native code outside of a run, for example the steps of a branch that was
        never taken. Return whether the code of all steps is final.
        """
        if not self.is_joined and not (self.verifies and self._has_run):
            self.begin()
            if self._has_begun():
                for member in self._members:
                    if not member.is_decided:
                        member.prepare(self.waits)
                self._end_mixed()
        return self.is_joined

    @property
    def final_steps(self) -> Sequence[Step] | None:
        """The steps that all further runs execute, with adjacent native steps joined. The property
        is None while the code of a step may still change.
        """
        return self._sequence.steps if self.is_joined else None

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Return report lines about the code of the steps, and about the number of steps that share
        generated kernels.
        """
        kernels = Counter(filter(None, (member.generated_kernel for member in self._members)))
        num_steps, num_kernels = kernels.total(), len(kernels)
        first, last = self.entries[0].step.name, self.entries[-1].step.name
        shared = f"from {first} to {last}: {num_kernels} generated kernels for {num_steps} steps"
        notes = [f"from {first} to {last}: {self._by_code(codes)}"]
        return notes + ([shared] if num_steps > num_kernels else [])

    def _by_code(self, codes: Mapping[str, StepCode]) -> str:
        """Return text with the number of native steps for each library, and the names of the steps
        without native code.
        """
        by_state: dict[str, list[GuardedStep]] = {"native": [], "waiting": [], "plain": []}
        for entry in self.entries:
            by_state[codes[entry.step.label].state].append(entry)
        known: dict[Any, str] = {}
        natives = [entry.native for entry in by_state["native"]]
        counts = Counter(library_of(native, known) for native in natives if native is not None)
        libraries = ", ".join(f"{count} by {name}" for name, count in counts.items() if name)
        parts = [f"native {len(natives)} steps" + (f" ({libraries})" if libraries else "")]
        for state, head in (("waiting", "waiting"), ("plain", "by NumPy")):
            steps = [entry.step for entry in by_state[state]]
            names = [f"{step.name} ({step.op_type})" for step in steps[:MOST_NAMES]]
            rest = " ..." if len(steps) > MOST_NAMES else ""
            parts += [f"{head} {len(steps)}: {', '.join(names)}{rest}"] if steps else []
        return "; ".join(parts if natives else parts[1:])

    # -- compiling

    def _has_begun(self) -> bool:
        """Return whether native code can be called in this run, and start the compilation if it has
        become worthwhile.

        Native code can be called if the runtime is loaded, and the code of the steps is compiled or
        being compiled.
        """
        self.spent += self._cost
        if self.spent < WORTHWHILE_NS:
            return False
        if self._translated < len(self.entries):
            self._translate()
        reason = runtime_reason(self.waits)
        if reason:
            warn_once(reason)
            for member in self._members:
                if not member.is_decided:
                    member.refuse(reason)
        return reason is not None

    def _translate(self) -> None:
        """Translate the next steps to C, and start their compilation."""
        pieces: dict[int, Piece] = {}
        end = inf if self.waits else perf_counter() + PORTION_S
        for index in range(self._translated, len(self.entries)):
            piece = _piece(self.entries[index], self._programs)
            if isinstance(piece, Piece):
                pieces[index] = piece
            else:
                self._members[index].refuse(piece)
            self._translated += 1
            if perf_counter() >= end:
                break
        if self._translated == len(self.entries):
            self._programs.clear()
        codes = compile_pieces(list(pieces.values()))
        for (index, piece), code in zip(pieces.items(), codes):
            self._members[index].piece, self._members[index].code = piece, code

    # -- joining

    def _end_mixed(self) -> None:
        """Join adjacent native steps if the code of all steps is final."""
        warn_once("")
        if self._translated == len(self.entries) and all(m.is_decided for m in self._members):
            self._join()

    def _join(self) -> None:
        """Join adjacent native steps into one call."""
        if any(member.calls is not None for member in self._members):
            for member in self._members:
                if member.calls is None and member.entry.native is not None:
                    member.step = step_beside_native(member.step)
        steps: list[Step] = []
        for _, group in groupby(self._members, _joined_key):
            members = list(group)
            if members[0].calls is not None:
                pairs = [(m.entry, m.calls) for m in members if m.calls is not None]
                steps.append(native_step(pairs))
                for entry, _ in pairs:
                    release = getattr(
                        entry.step.run, "release", None
                    )  # frees memory of the plain step
                    if release is not None:
                        release()
            else:
                steps += [member.step for member in members]
        self._sequence = StepSequence(steps)
        self.is_joined = True


def _joined_key(member: MemberStep) -> Any:
    """Return a key that is equal for adjacent steps that become one native call, or that all stay
    separate. A native call that holds locks has a unique key.
    """
    native = member.entry.native
    if member.calls is not None and native is not None and native.holding:
        return id(member)
    return member.calls is not None


def _nanoseconds(entry: GuardedStep) -> float:
    """Estimate the time that NumPy takes for a step, in nanoseconds. A step without a native form
    counts as a single NumPy call.
    """
    if entry.native is None:
        return numpy_nanoseconds(())
    members = entry.native.context.attrs.get("members", ())
    calls = len(members) or numpy_calls(entry.native.native)
    return numpy_nanoseconds(entry.native.arrays, calls)


@uninterrupted
def _piece(entry: GuardedStep, known: Programs) -> Piece | str:
    """Return the native code of a step, or the reason why the step has no native code. This
    function never raises an error.
    """
    if entry.native is None:
        return entry.step.code().reason
    if numpy_is_faster(entry.step.op_type, entry.native.arrays, thread_count()):
        return "NumPy is faster"
    try:
        return translate(entry.native, known)
    except NotNativeError as error:
        return str(error)
    except Exception as error:
        return _failure(entry.step, error)


def _failure(step: Step, error: Exception) -> str:
    """Log a warning that native code could not be built. Return the reason as text for the
    report.
    """
    reason = f"{type(error).__name__}: {error}"
    warn_once(f"'{step.name}' ({step.op_type}): {reason}")
    return reason
