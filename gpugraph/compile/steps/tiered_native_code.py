"""Native code of a stretch, in tiers: plain steps first, then few native calls.

    plain      the steps run by NumPy; once they have taken a while, their code is compiled
    mixed      each step switches to its code in the run in which that is compiled (`step_tier`)
    settled    adjacent native steps are called as one; the others stay

Steps over much memory are compiled from the first run on: while NumPy computes the first of them,
the code of the others is compiled, or comes from the cache. One run translates or checks for at
most `PORTION_S`, so that no run of a large plan takes long for it.
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
from gpugraph.compile.steps.guarded_regions import Entry
from gpugraph.compile.steps.native_node_code import (
    Piece,
    Programs,
    compile_pieces,
    library_of,
    translate,
)
from gpugraph.compile.steps.step_tier import StepTier, failure_text, native_step, tell
from gpugraph.compile.unit.jit_settings import warn_once
from gpugraph.devices.native import (
    FINDINGS,
    NotNativeError,
    one_blas_thread,
    runtime_failure,
    runtime_reason,
)
from gpugraph.plan import NATIVE, Step, StepCode, StepSequence

WORTHWHILE_S = 0.01
"""Seconds in steps after which they are compiled: about a tenth of the compiler's time."""

WORTHWHILE_BYTES = 8 << 20
"""The size in bytes of the arrays of steps that take about as long: such steps are compiled from
the first run on.
"""

PORTION_S = 0.5
"""Seconds for which one run translates or checks steps, unless it waits for the compiler."""

MEASURED_AFTER = (8, 64, 512)
"""Runs after which slow steps are measured: code reused from the cache without a check, and
again steps that stayed with NumPy."""

MOST_NAMES = 8
"""The maximum number of steps of one state that a note of a stretch names."""


class _MixedRun:
    """A run of steps that are each in their own state; it checks for `PORTION_S`."""

    def __init__(self, tiers: Sequence[StepTier], waits: bool, compiled: bool) -> None:
        self._tiers = tiers
        self._waits = waits
        self._compiled = compiled
        self._seconds = 0.0

    def step(self, number: int) -> None:
        """Run one step."""
        may_check = self._waits or not self._seconds or self._seconds < PORTION_S
        self._seconds += self._tiers[number].run(may_check, may_try=self._compiled)

    def part(self, number: int, step: Step) -> Step:
        """Return one step of the run; other steps may run before the next."""
        tier = self._tiers[number]

        def run() -> None:
            with one_blas_thread():
                self.step(number)

        def code() -> StepCode:
            return NATIVE if tier.has_run_native else tier.status()

        return replace(step, run=run, code=code)


class TieredCode:
    """The entries of a stretch by plain steps or native calls (a `StretchCode`)."""

    def __init__(self, entries: Sequence[Entry], waits: bool) -> None:
        self.entries = entries
        self.waits = waits
        self.is_settled = False
        self._tiers = [StepTier(entry, waits) for entry in entries]
        self._sequence = StepSequence(entry.step for entry in entries)
        self._is_worthwhile = waits or _num_bytes(entries) >= WORTHWHILE_BYTES
        self._spent = 0.0
        self._translated = 0  # entries, from the first on
        self._programs: Programs = {}  # which later steps may share
        self._runs = 0  # since it was settled

    def run(self) -> None:
        """Run the steps, or the native calls that replace them."""
        if self.is_settled:
            self._sequence.run()
            if self._runs < MEASURED_AFTER[-1]:
                self._runs += 1
                if self._runs in MEASURED_AFTER:
                    self._measure()
        elif self._has_begun():
            self._run_mixed()
        else:
            start = perf_counter()
            with one_blas_thread() if self._translated else nullcontext():  # as in `_run_mixed`
                self._sequence.run()
            self._spent += perf_counter() - start
            self._is_worthwhile = self._spent >= WORTHWHILE_S

    def parts(self, traced: bool) -> list[Step]:
        """Return the current steps of a run; native steps by separate calls."""
        if self.is_settled:
            return [tier.step for tier in self._tiers]
        steps = [entry.step for entry in self.entries]
        if not self._has_begun():
            return steps
        compiled = all(tier.is_compiled for tier in self._tiers)
        run = _MixedRun(self._tiers, self.waits, compiled)
        end = replace(steps[-1], run=self._end_mixed, kind="guard")  # computes nothing
        return [*(run.part(number, step) for number, step in enumerate(steps)), end]

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """Yield the current steps, and the code that runs each of them."""
        failure = runtime_failure()
        for number, tier in enumerate(self._tiers):
            code = tier.status()
            if code.state == "waiting" and failure:
                code = StepCode("plain", failure)
            elif code.state == "waiting" and number >= self._translated:
                code = StepCode("waiting", self._delay())
            yield tier.step, code

    def _delay(self) -> str:
        """Return the reason why steps are not with the compiler yet."""
        if self._is_worthwhile:
            return "for the next run"
        return f"until the steps have taken {WORTHWHILE_S * 1e3:.0f} ms"

    def begin(self) -> None:
        """Compile the steps from the next run on, however little time they take."""
        self._is_worthwhile = True

    @property
    def final_steps(self) -> Sequence[Step] | None:
        """The steps of all further runs, adjacent native steps as one; None while undecided."""
        is_measured = self.waits or self._runs >= MEASURED_AFTER[-1]
        if self.is_settled and (is_measured or all(tier.is_final for tier in self._tiers)):
            return self._sequence.steps
        return None

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Return the steps by the code that runs them; how many share generated kernels; and the
        steps that stay with NumPy although they have native code, with the reason."""
        kernels = Counter(filter(None, (tier.generated_kernel for tier in self._tiers)))
        num_steps, num_kernels = kernels.total(), len(kernels)
        first, last = self.entries[0].step.name, self.entries[-1].step.name
        shared = f"from {first} to {last}: {num_kernels} generated kernels for {num_steps} steps"
        notes = [f"from {first} to {last}: {self._by_code(codes)}"]
        notes += [shared] if num_steps > num_kernels else []
        return [*notes, *(tier.note for tier in self._tiers if tier.note)]

    def _by_code(self, codes: Mapping[str, StepCode]) -> str:
        """Return the number of native steps, by library, and the names of the others."""
        by_state: dict[str, list[Entry]] = {"native": [], "waiting": [], "plain": []}
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
        """Return whether code is compiled or being compiled; begin once it is worthwhile."""
        if not self._is_worthwhile:
            return False
        if self._translated < len(self.entries):
            self._translate()
        return self._is_ready()

    def _is_ready(self) -> bool:
        """Return whether native code can be called: the runtime that calls it is loaded."""
        reason = runtime_reason(self.waits)
        if reason:
            warn_once(reason)
            for tier in self._tiers:
                tier.refuse_code(reason)
        return reason is not None

    def _translate(self) -> None:
        """Translate the next entries, and begin to compile them."""
        pieces: dict[int, Piece] = {}
        end = self._end_of_portion()
        for index in range(self._translated, len(self.entries)):
            piece = _piece(self.entries[index], self._programs)
            if isinstance(piece, Piece):
                pieces[index] = piece
            else:
                self._tiers[index].refuse_code(piece)
            self._translated += 1
            if perf_counter() >= end:
                break
        if self._translated == len(self.entries):
            self._programs.clear()
        codes = compile_pieces(list(pieces.values()))
        for (index, piece), code in zip(pieces.items(), codes):
            self._tiers[index].take_code(piece, code)

    def _end_of_portion(self) -> float:
        return inf if self.waits else perf_counter() + PORTION_S

    # -- step by step

    def _run_mixed(self) -> None:
        """Run each step in its current state."""
        compiled = all(tier.is_compiled for tier in self._tiers)
        run = _MixedRun(self._tiers, self.waits, compiled)
        with one_blas_thread():  # the other core is the compiler's, or that of native code
            for number in range(len(self._tiers)):
                run.step(number)
        self._end_mixed()

    def _end_mixed(self) -> None:
        """Save the findings, and settle the stretch once all steps are decided."""
        FINDINGS.keep()
        warn_once("")
        if self._translated == len(self.entries) and all(tier.is_decided for tier in self._tiers):
            self._settle()

    def _measure(self) -> None:
        """Return to single steps if the times of some steps are not known."""
        if not self.waits:
            self.is_settled = not sum(tier.measure() for tier in self._tiers)

    def _settle(self) -> None:
        steps: list[Step] = []
        for is_native, group in groupby(self._tiers, lambda tier: tier.calls is not None):
            members = list(group)
            if is_native:
                pairs = [(t.entry.step, t.calls) for t in members if t.calls is not None]
                steps.append(native_step(pairs))
                for step, _ in pairs:
                    release = getattr(step.run, "release", None)  # memory of this step only
                    if release is not None:
                        release()
            else:
                steps += [tier.step for tier in members]
        self._sequence = StepSequence(steps)
        self.is_settled = True


def _num_bytes(entries: Sequence[Entry]) -> int:
    return sum(
        array.nbytes
        for entry in entries
        if entry.native is not None
        for array in entry.native.arrays
    )


@uninterrupted
def _piece(entry: Entry, known: Programs) -> Piece | str:
    """Return the native code of an entry, or the reason why there is none. Never fails."""
    if entry.native is None:
        return entry.step.code().reason
    try:
        return translate(entry.native, known)
    except NotNativeError as error:
        return str(error)
    except Exception as error:
        tell(entry.step, error)
        return failure_text(error)
