"""Joins the native calls of several steps into one call, and handles calls that reject their input.

The lanes of a phase (`compile/memory/replica_lanes.py`) may run on separate threads. Each lane is
then one call, which runs its kernels in sequence, and one more call runs all lanes at the same
time. Within a lane, each kernel uses one thread. So lanes run at the same time only if they keep
all threads busy, or if no kernel is large enough for several threads. If one lane writes an array
that overlaps an array of another lane, the lanes run one after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

from gpugraph.compile.steps.guarded_regions import GuardedStep
from gpugraph.compile.steps.native_node_code import Calls, Candidate, NativeCall
from gpugraph.config.environment import thread_count
from gpugraph.devices.native import (
    NotNativeError,
    beside,
    failed_at,
    failed_lanes,
    is_tiled,
    one_blas_thread,
    sequence,
    threads_of,
)
from gpugraph.kernel import MatmulWithEpilogue, MatrixProducts
from gpugraph.plan import NATIVE, Step, StepCode, noting_step

Member = tuple[GuardedStep, Calls]


class Part(NamedTuple):
    """A native call and the steps that it performs. If the call runs several lanes, `lanes` holds
    the call and the steps of each lane. Otherwise `steps` holds one step for each kernel that the
    call runs.
    """

    call: NativeCall
    steps: Sequence[Step]
    lanes: Sequence[tuple[NativeCall, Sequence[Step]]] = ()


def _parts_of(members: Sequence[Member]) -> list[Part]:
    """Return the calls of adjacent native steps, in order. If it is faster to run the lanes of a
    phase at the same time, one call runs all of these lanes.
    """
    parts: list[Part] = []
    for phase, group in groupby(members, key=_phase):
        inside = list(group)
        lanes = [list(lane) for _, lane in groupby(inside, key=lambda member: member[0].lane)]
        if phase is None or len(lanes) < 2 or not _pay(lanes) or _collide(lanes):
            parts += [Part(call, [entry.step]) for entry, calls in inside for call in calls.calls]
        else:
            parts.append(_beside(lanes))
    return parts


def _phase(member: Member) -> int | None:
    lane = member[0].lane
    return None if lane is None else lane.phase


def _beside(lanes: Sequence[Sequence[Member]]) -> Part:
    calls = []
    for lane in lanes:
        inside = [(call, entry.step) for entry, calls_of in lane for call in calls_of.calls]
        calls.append((sequence([call for call, _ in inside]), [step for _, step in inside]))
    return Part(beside([call for call, _ in calls]), [], calls)


def _pay(lanes: Sequence[Sequence[Member]]) -> bool:
    """Return whether running the lanes at the same time is expected to be faster than running them
    one after another.
    """
    if len(lanes) % thread_count() == 0:
        return True
    return all(threads_of(call) < 2 for lane in lanes for _, calls in lane for call in calls.calls)


def _collide(lanes: Sequence[Sequence[Member]]) -> bool:
    """Return whether a lane writes memory that another lane reads or writes."""
    spans = sorted((*span, number, writes) for number, lane in enumerate(lanes)
                   for span, writes in _spans(lane))  # fmt: skip
    ends: dict[tuple[int, bool], int] = {}
    for start, end, number, writes in spans:
        for (other, wrote), until in ends.items():
            if other != number and until > start and (writes or wrote):
                return True
        ends[number, writes] = max(end, ends.get((number, writes), 0))
    return False


def _spans(lane: Sequence[Member]) -> Iterator[tuple[tuple[int, int], bool]]:
    """Yield each range of memory that the steps of a lane use, and whether they write it."""
    for entry, _ in lane:
        assert entry.native is not None
        written = {id(array) for array in entry.native.written}
        for array in entry.native.arrays:
            if array.size:
                yield _span(array), id(array) in written


def _span(array: Any) -> tuple[int, int]:
    start = end = array.__array_interface__["data"][0]
    for size, stride in zip(array.shape, array.strides):
        reach = (size - 1) * stride
        start, end = start + min(reach, 0), end + max(reach, 0)
    return start, end + array.itemsize


def native_step(members: Sequence[Member]) -> Step:
    """Return one step that makes the native calls of several steps. Lanes may run at the same time.
    If a call rejects its input, the NumPy step of that call runs instead. A step that
    holds locks is the only member.
    """
    (first, _), call = members[0], _native_call(members)
    holding = first.native and first.native.holding
    if holding:
        return replace(first.step, run=holding(call), code=native_code)
    return replace(first.step, run=call, kind="native", code=native_code)


def step_beside_native(step: Step) -> Step:
    """Return a NumPy step that uses only one BLAS thread, to run between native steps. Additional
    BLAS threads would keep spinning after the step.
    """

    def run() -> None:
        with one_blas_thread():
            step.run()

    return replace(step, run=run)


def native_code() -> StepCode:
    """Return the `StepCode` of a native step."""
    return NATIVE


class RefusableCall:
    """A native call of several steps. If the input of a step is rejected, its NumPy step runs
    instead, and raises the error if there is one.
    """

    def __init__(self, call: NativeCall, parts: Sequence[Part]) -> None:
        """Wrap a call.

        Args:
          parts: the calls of which `call` consists, in sequence. A single part is `call` itself.
        """
        self.call = call
        self.parts = parts

    @property
    def steps(self) -> Sequence[Step]:
        """The steps that the calls perform, in the order of the calls."""
        return [step for part in self.parts
                for steps in ([part.steps] if not part.lanes else [s for _, s in part.lanes])
                for step in steps]  # fmt: skip

    def __call__(self) -> int:
        return self.refuse() if self.call() else 0

    def refuse(self) -> int:
        """Run the NumPy step whose native call has rejected its input. The step raises the error,
        unless NumPy supports more inputs than the native code. In that case, the remaining calls
        follow.
        """
        number = failed_at(self.call) if len(self.parts) > 1 else 0
        done = _run_plain(self.parts[number])
        for part in self.parts[number + 1 :]:
            is_done = done is not None and [done] == list(part.steps)
            if not is_done and part.call():
                done = _run_plain(part)
        return 0


def _run_plain(part: Part) -> Step | None:
    """Run the steps of a part in NumPy, from the step on whose native call has rejected its input.
    Return the step, or None if the part has lanes.
    """
    if not part.lanes:
        _run_noting(part.steps[0])
        return part.steps[0]
    for number in failed_lanes(part.call):
        call, steps = part.lanes[number]
        previous = None
        for step in steps[failed_at(call) :]:
            if step is not previous:
                _run_noting(step)
            previous = step
    return None


def _run_noting(step: Step) -> None:
    with noting_step(step):
        step.run()


def _native_call(members: Sequence[Member]) -> NativeCall:
    parts = _parts_of(members)
    call = parts[0].call if len(parts) == 1 else sequence([part.call for part in parts])
    if not any(calls.may_fail for _, calls in members):
        return call
    return RefusableCall(call, parts)


def library_of(step: Candidate, known: dict[Any, str]) -> str:
    """Return the name of the library that computes a step's matrix products. Return "" if the step
    computes none.

    Args:
      known: the results for earlier steps. New results are added.
    """
    native = step.native
    if not isinstance(native, (MatrixProducts, MatmulWithEpilogue)) or not step.inputs:
        return ""
    layouts = [(array.shape, array.strides, array.dtype.char) for array in step.arrays]
    key = id(native), id(step.context.attrs), *layouts
    if key not in known:
        known[key] = _library_of(native, step)
    return known[key]


def _library_of(native: MatrixProducts | MatmulWithEpilogue, step: Candidate) -> str:
    try:
        form = native if isinstance(native, MatrixProducts) else native.products
        triples = form.matrices(step.context, *step.arrays)
        is_own = not isinstance(native, MatrixProducts) or is_tiled(triples)
    except (NotNativeError, NotImplementedError):
        return ""
    return "tiles" if is_own else "NumPy's BLAS"
