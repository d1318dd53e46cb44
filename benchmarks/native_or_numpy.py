"""The time of native code beside NumPy's, for every op's samples at several sizes.

    python benchmarks/native_or_numpy.py [--only WORD ...] [--rounds N] [--dtypes NAME ...]

prints, for each form of native code and each op, the ratio of both times (native:NumPy) at sizes of
about 10, 1,000, 100,000 and 1,000,000 elements; forms that are slower by more than SLOWER come
first. `gpugraph/compile/analysis/native_cost.py` holds the conclusions. A sample grows along axes
on which its op agrees with larger inputs; an op that refuses all of these has no row for that size.
Times are minima of rounds in which both ways alternate, for a busy machine; GPUGRAPH_THREADS=1
compares single threads.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from math import inf, prod
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

os.environ["GPUGRAPH_NATIVE"] = "wait"
os.environ.setdefault("GPUGRAPH_GPU", "0")

import numpy as np

import gpugraph as tf
from gpugraph.compile.steps import step_list
from gpugraph.compile.steps.native_calls import native_step
from gpugraph.compile.steps.native_node_code import Candidate, compile_pieces, translate
from gpugraph.devices.native import NotNativeError
from gpugraph.graph.op_def import host_slots
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.plan import Step

sys.path.append(str(Path(__file__).resolve().parents[1]))
samples, one_op, sampling = map(
    importlib.import_module, ("tests.ops.samples", "tests.ops.one_op", "tests.ops.sampling")
)

SIZES = (10, 1_000, 100_000, 1_000_000)
SLOWER = 1.3
MOST_GROWTH = 10
"""The maximum number of elements of an output, relative to the size."""

LEAST_S = 2e-4
"""The minimum duration of a measurement: short steps are repeated."""


Way = Callable[[int, np.ndarray], np.ndarray]
"""Returns a larger array for the input of a slot."""


class Measured(NamedTuple):
    """The seconds of one step by both ways; elements: of its largest array."""

    form: str
    op_type: str
    label: str
    elements: int
    native: float
    plain: float

    @property
    def ratio(self) -> float:
        """Return the time of native code relative to NumPy's."""
        return self.native / self.plain


def entries_of(op_type: str, sample: Any) -> Iterator[Any]:
    """Return the steps of the op on a sample, in a plan whose inputs have their values."""
    collected: list[Any] = []
    stretches = step_list.with_native_stretches

    def collect(entries: Any, *options: Any) -> Any:
        collected.extend(entries)
        return list(entries)

    step_list.with_native_stretches = collect
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            one_op.run_together(session, [one_op.Built(op_type, sample)])
            yield from collected
    finally:
        step_list.with_native_stretches = stretches


def grown(array: np.ndarray, axis: int, count: int) -> np.ndarray:
    """Repeat an array along an axis."""
    return np.repeat(array, count, axis) if array.ndim > axis or axis < 0 < array.ndim else array


def grown_samples(op_type: str, sample: Any, elements: int) -> Iterator[Any]:
    """Yield larger samples, each along other axes, for an op to accept one."""
    op_def = DECLARATIONS[op_type].op_def
    host = host_slots(op_def.inputs, op_def.host_inputs, sample.all_attrs(op_def))
    flat = [array.size for slot, array in enumerate(sample.flat) if slot not in host]
    factor = elements // max(max(flat, default=1), 1)
    if factor <= 1:
        yield sample
        return
    root = max(2, round(factor**0.5))
    ways: list[Way] = [
        lambda slot, array: grown(array, -1, factor),
        lambda slot, array: grown(array, 0, factor),
        lambda slot, array: grown(array, 0, factor) if slot == 0 else array,
        lambda slot, array: grown(array, -1, factor) if slot == 0 else array,
        lambda slot, array: grown(array, 0, factor) if slot < 2 else array,
        lambda slot, array: grown(grown(array, -1, root), 0, root),
        lambda slot, array: np.repeat(array, factor) if array.ndim == 0 else array,
    ]
    for way in ways:
        slots = itertools.count()
        inputs = [
            [grown_input(next(slots), array, way, host) for array in item]
            if isinstance(item, list)
            else grown_input(next(slots), item, way, host)
            for item in sample.inputs
        ]
        yield sampling.Sample(tuple(inputs), sample.attrs)


def grown_input(slot: int, array: np.ndarray, way: Way, host: Any) -> np.ndarray:
    """Return a larger input; those that are read on the host, such as axes, stay."""
    return array if slot in host else way(slot, array)


def seconds(run: Callable[[], Any], repeats: int) -> float:
    """Return the seconds of one call."""
    start = perf_counter()
    for _ in range(repeats):
        run()
    return (perf_counter() - start) / repeats


def repeats_of(run: Callable[[], Any]) -> int:
    """Return how often a step must run to be measured."""
    run()
    return max(1, min(10_000, int(LEAST_S / max(seconds(run, 1), 1e-8))))


def measured(op_type: str, label: str, step: Step, native: Candidate, rounds: int) -> Measured:
    """Measure a step by both ways. NotNativeError if it has no native code."""
    piece = translate(native)
    [code] = compile_pieces([piece])
    function = None if code is None else code.get(True)
    if code is not None and function is None:
        raise NotNativeError(code.reason)
    calls = native_step([(step, piece.bind(function))]).run
    ways = {"native": calls, "plain": step.run}
    repeats = {name: repeats_of(run) for name, run in ways.items()}
    least = dict.fromkeys(ways, inf)
    for _ in range(rounds):
        for name, run in ways.items():
            least[name] = min(least[name], seconds(run, repeats[name]))
    form = type(native.native).__name__
    elements = max(prod(array.shape) for array in native.arrays)
    return Measured(form, op_type, label, elements, least["native"], least["plain"])


def rows_of(op_type: str, sample: Any, size: int, rounds: int) -> Iterator[Measured]:
    """Yield the measurement of an op on the first larger sample that it accepts."""
    for larger in grown_samples(op_type, sample, size):
        try:
            shapes = [shape.as_list() for shape in one_op.infer(op_type, larger)]
            if max(map(prod, shapes), default=0) > MOST_GROWTH * size:
                continue  # such as a diagonal matrix
            for entry in entries_of(op_type, larger):
                if entry.native is not None and entry.step.op_type == op_type:
                    yield measured(op_type, larger.label, entry.step, entry.native, rounds)
                    return
        except Exception:  # the op refuses this sample, or this form refuses it
            continue
        return  # it has no native code


def kinds_of(op_type: str, dtypes: list[str]) -> Iterator[Any]:
    """Yield the samples of an op to measure: one per dtype."""
    seen: set[str] = set()
    for sample in samples.TABLE[op_type].samples:
        names = [array.dtype.name for array in sample.flat]
        kind = next((name for name in names if name in dtypes), "")
        if kind and kind not in seen and "object" not in names:
            seen.add(kind)
            yield sample


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[], help="op types that contain a word")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--dtypes", nargs="*", default=["float32", "int32", "bool", "float64"])
    options = parser.parse_args()
    table: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for op_type in sorted(samples.TABLE):
        if options.only and not any(word in op_type for word in options.only):
            continue
        if op_type not in DECLARATIONS:
            continue
        for sample in kinds_of(op_type, options.dtypes):
            sizes = set()
            for size in SIZES:
                for row in rows_of(op_type, sample, size, options.rounds):
                    if row.elements in sizes:
                        break  # the op refuses larger samples
                    sizes.add(row.elements)
                    table[row.form, op_type].append(row)
                    print(
                        f"{row.form:20} {op_type:32} {row.elements:>9} {row.ratio:7.2f} "
                        f"{row.native * 1e6:9.1f}:{row.plain * 1e6:<9.1f} {row.label[:90]}",
                        flush=True,
                    )
    print(f"\nslower than {SLOWER} times NumPy:")
    for (form, op_type), rows in sorted(table.items()):
        for row in rows:
            if row.ratio > SLOWER:
                print(f"{form:20} {op_type:32} {row.elements:>9} {row.ratio:7.2f} {row.label[:90]}")


if __name__ == "__main__":
    main()
