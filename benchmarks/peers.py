"""Runs rows of work side by side: gpugraph and whichever peers are installed.

A row is a name and, for each column, a function that prepares the work. It returns a callable that
does the work once (`Step`), or `Work`, or the time that it took itself (`Once`). Each measurement
is a separate process; columns alternate, round after round. The report has the median over the
rounds of each round's median, after a warm-up: gpugraph's lasts until the kernels are compiled in
the background. Each process also reports how long it took to prepare, how long the first step took
(caches may have compiled code of earlier rounds), and its largest resident size.

    PEERS="tensorflow=/path/to/python jax=/path/to/python" python benchmarks/control_flow.py

With --check nothing is timed: the results of all peers are compared with gpugraph's.

Peers are searched in this Python and in those that PEERS names. TensorFlow runs by its v1 API.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from peers_table import show

STARTED = time.perf_counter()
"""When this process began, without the start of Python and NumPy, which is the same for all."""

Step = Callable[[], Any]
Record = dict[str, float]


class Work(NamedTuple):
    """A step; `result` returns its results if the step itself returns none.

    per: the divisor of the time, for a step that repeats its work.
    """

    step: Step
    results: Step | None = None
    per: int = 1


class Once(NamedTuple):
    """Work that was done once and can't be repeated: the seconds it took, and its result."""

    seconds: float
    result: Any


Rows = Mapping[str, Mapping[str, Callable[[], Step | Work | Once]]]


class Column(NamedTuple):
    """The package that a column needs, and its environment variables."""

    package: str
    settings: Mapping[str, str] = {}


COLUMNS = {
    "gpugraph": Column("gpugraph"),
    "gpugraph, NumPy": Column("gpugraph", {"GPUGRAPH_NATIVE": "0"}),
    "gpugraph, waiting": Column("gpugraph", {"GPUGRAPH_NATIVE": "wait"}),
    "tensorflow": Column("tensorflow"),
    "jax": Column("jax"),
    "torch": Column("torch"),
    "torch.compile": Column("torch"),
    "onnxruntime": Column("onnxruntime"),
    "numpy": Column("numpy"),
}
DISTRIBUTIONS = {"tensorflow": "tensorflow-cpu"}
CACHES = ("XDG_CACHE_HOME", "TORCHINDUCTOR_CACHE_DIR")
"""Where gpugraph and torch keep compiled code."""

SECONDS, WARM_SECONDS, COMPILE_SECONDS = 1.0, 0.3, 60.0

TOUCHED_BYTES = 3 << 30
PROCESS_SECONDS = 300
TOLERANCE = 5e-4
"""How far the results of a peer may be from gpugraph's, relative to the largest of them.

The maximum is between Adam of TensorFlow and of torch, which adds epsilon to another quotient: 2e-4
in the loss after two steps.
"""


def tensorflow() -> Any:
    """TensorFlow as TensorFlow 1: static graphs, sessions, v1 control flow."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    tf = importlib.import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    tf.disable_control_flow_v2()
    tf.disable_resource_variables()
    tf.logging.set_verbosity("ERROR")
    return tf


# -- in the process that measures


def one(prepare: Callable[[], Step | Work | Once], column: str, keep: Path | None) -> Record:
    """Return one measurement, or the results in a file; importing the package is not timed."""
    package = COLUMNS[column].package
    tensorflow() if package == "tensorflow" else importlib.import_module(package)
    start = time.perf_counter()
    prepared = prepare()
    built = time.perf_counter() - start
    record: Record = {}
    if keep is not None:
        np.savez(keep, *results_of(prepared))
    elif isinstance(prepared, Once):
        record["us"] = prepared.seconds * 1e6
    else:
        work = prepared if isinstance(prepared, Work) else Work(prepared)
        record |= {"build_ms": built * 1e3, "first_ms": timed(work.step) * 1e3}
        warm_up(work.step, package == "gpugraph")
        record["us"] = measure(work.step) / work.per
    used = resource.getrusage(resource.RUSAGE_SELF)
    if isinstance(prepared, Once):
        record["cpu_ms"] = (used.ru_utime + used.ru_stime + compiler_seconds()) * 1e3
    most = used.ru_maxrss
    return {**record, "peak_mb": most / (1e6 if sys.platform == "darwin" else 1e3)}


def compiler_seconds() -> float:
    """CPU seconds of the processes that this one has started, such as compilers."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(step: Step) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def warm_up(step: Step, native: bool) -> None:
    """Run steps for a while, and again until the background has nothing left to compile."""
    for _ in range(3 if native else 1):
        ends = time.perf_counter() + WARM_SECONDS
        step()
        while time.perf_counter() < ends:
            step()
        if native:
            wait_for_kernels()


def wait_for_kernels() -> None:
    """Wait until no thread has anything to compile."""
    compiler = importlib.import_module("gpugraph.devices.codegen.c_compiler").compiler()
    ends = time.perf_counter() + COMPILE_SECONDS
    while compiler.status().unfinished and time.perf_counter() < ends:
        time.sleep(0.02)


def measure(step: Step) -> float:
    """Return the median time of a step, in microseconds."""
    times: list[float] = []
    ends = time.perf_counter() + SECONDS
    while len(times) < 5 or (time.perf_counter() < ends and len(times) < 10_000):
        times.append(timed(step))
    return statistics.median(times) * 1e6


def results_of(prepared: Step | Work | Once) -> list[Any]:
    """Return the results of the first three steps; those of a training step change as it learns."""
    if isinstance(prepared, Once):
        return [np.asarray(leaf) for leaf in leaves(prepared.result)]
    work = prepared if isinstance(prepared, Work) else Work(prepared)
    arrays = []
    for _ in range(3):
        output = work.step()
        result = output if work.results is None else work.results()
        arrays += [np.array(leaf) for leaf in leaves(result)]
    return arrays


def leaves(result: Any) -> Iterator[Any]:
    """Yield the values in nested lists and tuples, without None (the result of an operation)."""
    if isinstance(result, (list, tuple)):
        for item in result:
            yield from leaves(item)
    elif result is not None:
        yield result


# -- in the process that compares


def pythons() -> dict[str, str]:
    """Return the Python of each installed package."""
    paths = {
        column.package: sys.executable
        for column in COLUMNS.values()
        if importlib.util.find_spec(column.package) is not None
    }
    for entry in os.environ.get("PEERS", "").split():
        package, _, path = entry.partition("=")
        paths[package] = path
    return paths


def in_process(
    script: str, row: str, column: str, *arguments: str, cache: str = "", like: str = ""
) -> Record | None:
    """Return one measurement; None, and the reason on stderr, where it fails.

    cache: the folder of compiled code, if it is not the user's. like: the column whose settings are
    used instead of its own.
    """
    package, settings = COLUMNS[like or column]
    command = [pythons()[package], script, "--one", row, column, *arguments]
    env = {**os.environ, "PYTHONPATH": str(Path(script).resolve().parents[1]), **settings}
    env |= dict.fromkeys(CACHES, cache) if cache else {}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=env, check=False, timeout=PROCESS_SECONDS
        )
    except subprocess.TimeoutExpired:
        print(f"{row} by {column}: over {PROCESS_SECONDS} s", file=sys.stderr)
        return None
    if done.returncode:
        print(f"{row} by {column} failed:\n{done.stderr[-2000:]}", file=sys.stderr)
        return None
    record: Record = json.loads(done.stdout.splitlines()[-1])
    return record


def compare(
    rows: Rows, script: str, names: Sequence[str], rounds: int, caches: Mapping[str, str]
) -> dict[str, dict[str, Record]]:
    """Medians over the rounds, by row and column; a failed measurement is not repeated."""
    known = pythons()
    records_by_column: dict[str, dict[str, list[Record]]] = {
        name: {column: [] for column in rows[name] if COLUMNS[column].package in known}
        for name in names
    }
    for _ in range(rounds):
        for name, columns in records_by_column.items():
            for column in list(columns):
                record = with_cache(script, name, column, caches.get(name, ""))
                if record is None:
                    del columns[column]
                else:
                    columns[column].append(record)
    return {
        name: {column: middle(records) for column, records in columns.items()}
        for name, columns in records_by_column.items()
    }


def with_cache(script: str, row: str, column: str, cache: str) -> Record | None:
    """Return one measurement with an empty cache of compiled code ("cold"), or one that a process
    before has filled with the same work ("warm"), or the user's ("")."""
    if not cache:
        return in_process(script, row, column)
    with tempfile.TemporaryDirectory() as folder:
        if cache == "warm":
            in_process(script, row, column, cache=folder)
        touch_memory()
        return in_process(script, row, column, cache=folder)


def touch_memory() -> None:
    """Make a process write to more memory than a measured one uses.

    A virtual machine gives free memory back to its host after a while, and pages that the host has
    to find again are slow: the process that happens to be first would be timed too slow as a whole.
    """
    code = f"import numpy; numpy.ones({TOUCHED_BYTES}, numpy.uint8)"
    subprocess.run([sys.executable, "-c", code], check=False)


def middle(records: Sequence[Record]) -> Record:
    return {key: statistics.median(record[key] for record in records) for key in records[0]}


def check(rows: Rows, script: str, names: Sequence[str]) -> bool:
    """Print the differences of the peers' results from gpugraph's, and return whether all are
    small.

    gpugraph waits for its kernels: otherwise the first steps would run without them.
    """
    known = pythons()
    good = True
    for name in names:
        arrays: dict[str, list[Any]] = {}
        with tempfile.TemporaryDirectory() as folder:
            for column in [column for column in rows[name] if COLUMNS[column].package in known]:
                file = Path(folder) / f"{column}.npz"
                like = "gpugraph, waiting" if column == "gpugraph" else column
                if in_process(script, name, column, "--keep", str(file), like=like) is not None:
                    with np.load(file) as kept:
                        arrays[column] = list(kept.values())
                else:
                    good = False
        expected = arrays.pop("gpugraph", [])
        if not expected:
            print(f"{name:<46}nothing of gpugraph's to compare", flush=True)
            continue
        far = {column: difference(values, expected) for column, values in arrays.items()}
        good = good and all(value <= TOLERANCE for value in far.values())
        parts = [f"{column} {value:8.1e}" for column, value in far.items()]
        print(f"{name:<46}{'   '.join(parts)}", flush=True)
    return good


def difference(arrays: Sequence[Any], wanted: Sequence[Any]) -> float:
    """Return the largest difference, relative to the largest element of its result."""
    if [array.shape for array in arrays] != [array.shape for array in wanted]:
        return float("inf")
    return max(
        float(np.abs(one.astype(float) - other).max() / (np.abs(other).max() or 1))
        for one, other in zip(arrays, wanted)
    )


# -- the command line


def main(rows: Rows, script: str, caches: Mapping[str, str] | None = None) -> None:
    """The command line of a benchmark; `caches` names the rows with a cache of their own, which is
    "cold" or "warm"."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", nargs=2, metavar=("ROW", "COLUMN"), help=argparse.SUPPRESS)
    parser.add_argument("--keep", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--rows", nargs="*", help="those whose names contain one of these words")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--check", action="store_true", help="compare results, time nothing")
    chosen = parser.parse_args()
    if chosen.one:
        row, column = chosen.one
        print(json.dumps(one(rows[row][column], column, chosen.keep)))
        return
    words = chosen.rows or [""]
    names = [name for name in rows if any(word in name for word in words)]
    if not names:
        parser.error(f"no row has one of {words} in its name; rows: {', '.join(rows)}")
    if chosen.check:
        raise SystemExit(0 if check(rows, script, names) else "results differ")
    results = compare(rows, script, names, chosen.rounds, caches or {})
    show(results)
    if chosen.json:
        times = {
            name: {column: record["us"] for column, record in records.items()}
            for name, records in results.items()
        }
        record = {"machine": machine(), "unit": "us", "rows": times, "processes": results}
        chosen.json.write_text(json.dumps(record, indent=1) + "\n")


def machine() -> dict[str, Any]:
    """Return the conditions that the figures depend on."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "commit": described.stdout.strip(),
        "versions": {package: version(path, package) for package, path in pythons().items()},
    }


def version(python: str, package: str) -> str:
    """Return the package's version; gpugraph may be run from its folder."""
    name = DISTRIBUTIONS.get(package, package)
    code = f"import importlib.metadata as m; print(m.version({name!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()
