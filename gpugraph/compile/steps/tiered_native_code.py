"""Native code of a stretch: its way from plain steps to few native calls.

    plain      the steps run by NumPy; once they have taken a while, their code is compiled
    checking   all is compiled: in one run each step's code is held against its plain step
    settled    what held is called, runs of it as one; the other steps stay

A check computes a step twice from the same inputs, into memory of its own: no variable is written
twice, no other run sees anything, and what differs is the code and not what came before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from time import perf_counter
from typing import Any, NamedTuple

from gpugraph.base.errors import InternalError
from gpugraph.compile.steps.native_node_code import (
    Calls,
    Candidate,
    NativeCall,
    Piece,
    prepared,
    translate,
)
from gpugraph.compile.steps.result_comparison import alike
from gpugraph.compile.unit.jit_settings import tell
from gpugraph.devices.native import NotNativeError, Prepared, failed_at, runtime_reason, sequence
from gpugraph.plan import Step, blame

WORTHWHILE_S = 0.01
"""Seconds in steps after which they are compiled: about a tenth of what the compiler takes."""

Run = Callable[[], Any]


class Item(NamedTuple):
    """A step and what it may be as native code."""

    step: Step
    native: Candidate | None


class _Begun(NamedTuple):
    """The native code of an item on its way."""

    at: int
    piece: Piece
    prepared: Prepared[Any] | None

    @property
    def is_done(self) -> bool:
        """Whether it is compiled, or has failed."""
        made = self.prepared
        return made is None or made.get() is not None or bool(made.reason)


class Code:
    """`run` is what a stretch does after its guards; `steps` says it step by step."""

    def __init__(self, items: Sequence[Item], waits: bool) -> None:
        self.items = items
        self.waits = waits
        self.runs: list[Run] = [item.step.run for item in items]
        self.is_settled = False
        self._spent = 0.0
        self._begun: list[_Begun] | None = None
        self._native: Mapping[int, Calls] = {}

    def run(self) -> None:
        """One run of the steps, by what there is."""
        if not self.is_settled and self._is_compiled():
            self._check()
            return
        current: Run | None = None
        start = 0.0 if self.is_settled else perf_counter()
        try:
            for current in self.runs:
                current()
        except Exception as error:
            blame(error, current)
            raise
        if not self.is_settled:
            self._spent += perf_counter() - start

    def steps(self) -> list[Step]:
        """What a run does now, one by one: native steps by calls of their own."""
        if not self.is_settled and self._is_compiled():
            first, last = self.items[0].step, self.items[-1].step
            return [first._replace(name=f"{first.name} .. {last.name}", run=self._check)]
        found = []
        for at, item in enumerate(self.items):
            if at in self._native:
                call = _refusing([(item, self._native[at])])
                found.append(item.step._replace(run=call, kind="native"))
            else:
                found.append(item.step)
        return found

    # -- compiling

    def _is_compiled(self) -> bool:
        """Whether all that can be is compiled; it is begun when the time for it has come."""
        if self._begun is None:
            if not self.waits and self._spent < WORTHWHILE_S:
                return False
            self._begin()
        assert self._begun is not None
        reason = runtime_reason(self.waits)
        if reason:
            tell(reason)
            self._begun = []
        elif reason is None:
            return False
        if self.waits:
            for each in self._begun:
                if each.prepared is not None:
                    each.prepared.get(True)
        return all(each.is_done for each in self._begun)

    def _begin(self) -> None:
        pieces = []
        for at, item in enumerate(self.items):
            piece = _piece(item)
            if piece is not None:
                pieces.append((at, piece))
        made = prepared([piece for _, piece in pieces])
        self._begun = [_Begun(at, piece, each) for (at, piece), each in zip(pieces, made)]

    # -- checking

    def _check(self) -> None:
        """A run in which each step's native code is held against the step."""
        begun = {each.at: each for each in self._begun or ()}
        native: dict[int, Calls] = {}
        for at, item in enumerate(self.items):
            run = item.step.run
            if at in begun:
                calls = _sound(item, begun[at])
                if calls is not None:
                    native[at] = calls
                    run = _refusing([(item, calls)])
            try:
                run()
            except Exception as error:
                blame(error, item.step.run)
                raise
        tell("")
        self._settle(native)

    def _settle(self, native: Mapping[int, Calls]) -> None:
        self._native = native
        self.runs = []
        for is_native, group in groupby(enumerate(self.items), lambda each: each[0] in native):
            members = list(group)
            if is_native:
                self.runs.append(_refusing([(item, native[at]) for at, item in members]))
                for _, item in members:
                    release = getattr(item.step.run, "release", None)  # memory of the step's own
                    if release is not None:
                        release()
            else:
                self.runs += [item.step.run for _, item in members]
        self.is_settled = True
        self._begun = None


def _piece(item: Item) -> Piece | None:
    """The native code of an item, if there is any. Nothing fails for want of it."""
    if item.native is None:
        return None
    try:
        return translate(item.native)
    except NotNativeError:
        return None
    except Exception as error:
        tell(f"'{item.step.name}' ({item.step.op_type}): {type(error).__name__}: {error}")
        return None


def _sound(item: Item, begun: _Begun) -> Calls | None:
    """The item's native calls, if they compute what the plain step does."""
    made, step = begun.prepared, item.step
    assert item.native is not None
    function = made.get() if made is not None else None
    if made is not None and function is None:
        tell(made.reason)
        return None
    plain, native = item.native.apart(), item.native.apart()
    try:
        plain.run_plain()
    except Exception as error:
        blame(error, step.run)
        raise
    try:
        calls = begun.piece.bind(function)
        refused = any(call() for call in translate(native).bind(function).calls)
    except NotNativeError:
        return None
    except Exception as error:
        tell(f"'{step.name}' ({step.op_type}): {type(error).__name__}: {error}")
        return None
    if not refused and alike(native.written, plain.written):
        return calls
    tell(
        f"that of '{step.name}' ({step.op_type}) computes other numbers than NumPy: the step "
        "amplifies rounding errors, or the C compiler is not sound"
    )
    return None


def _refusing(members: Sequence[tuple[Item, Calls]]) -> NativeCall:
    """Native steps as one call. Where one refuses what it is given, its plain step says why."""
    parts = [call for _, each in members for call in each.calls]
    call = parts[0] if len(parts) == 1 else sequence(parts)
    if not any(each.may_fail for _, each in members):
        return call
    steps = [item.step for item, each in members for _ in each.calls]

    def run() -> int:
        if call():
            step = steps[failed_at(call) if len(parts) > 1 else 0]
            try:
                step.run()
            except Exception as error:
                blame(error, step.run)
                raise
            raise InternalError(None, None, f"The native code of '{step.name}' failed")
        return 0

    return run
