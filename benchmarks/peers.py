"""Runs rows of work side by side: gpugraph and whichever peers are installed.

A row is a name and, for each peer, a function that prepares the work and returns what does it
once, and gives its results. Each measurement is a process of its own; peers take turns, round
after round. What is reported is the median over the rounds of each round's median.

    PEERS="tensorflow=/path/to/python jax=/path/to/python" python benchmarks/control_flow.py

With --check nothing is timed: the results of all peers are compared with gpugraph's.

Peers are looked for in this Python and in those that PEERS names. TensorFlow runs by its v1 API.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Rows", "main", "tensorflow"]

Step = Callable[[], Any]
Rows = Mapping[str, Mapping[str, Callable[[], Step]]]
MODULES = {"gpugraph": "gpugraph", "tensorflow": "tensorflow", "jax": "jax", "numpy": "numpy"}
PACKAGES = {"tensorflow": "tensorflow-cpu"}
SECONDS = 1.0
TOLERANCE = 1e-4
"""How far the results of a peer may be from gpugraph's, relative to the largest of them."""


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


def measure(step: Step) -> float:
    """The median time of a step, in microseconds."""
    step()
    step()
    times: list[float] = []
    ends = time.perf_counter() + SECONDS
    while len(times) < 5 or (time.perf_counter() < ends and len(times) < 10_000):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def pythons() -> dict[str, str]:
    """The Python of each peer that is there."""
    found = {
        peer: sys.executable
        for peer, module in MODULES.items()
        if importlib.util.find_spec(module) is not None
    }
    for entry in os.environ.get("PEERS", "").split():
        peer, _, path = entry.partition("=")
        found[peer] = path
    return found


def in_process(python: str, script: str, row: str, peer: str, *more: str) -> float | None:
    """One measurement; None, and the reason on stderr, where it fails."""
    command = [python, script, "--one", row, peer, *more]
    env = {**os.environ, "PYTHONPATH": str(Path(script).resolve().parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        print(f"{row} by {peer} failed:\n{done.stderr[-2000:]}", file=sys.stderr)
        return None
    return float(done.stdout.split()[-1])


def compare(rows: Rows, script: str, names: Sequence[str], rounds: int) -> dict[str, Any]:
    """Medians in microseconds, by row and peer."""
    known = pythons()
    taken: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    for _ in range(rounds):
        for name in names:
            for peer in rows[name]:
                time_us = in_process(known[peer], script, name, peer) if peer in known else None
                if time_us is not None:
                    taken[name].setdefault(peer, []).append(time_us)
    return {
        name: {peer: statistics.median(times) for peer, times in found.items()}
        for name, found in taken.items()
    }


def show(results: Mapping[str, Mapping[str, float]]) -> None:
    """Prints one line a row: microseconds of each, and how many times faster gpugraph is."""
    for name, found in results.items():
        own = found.get("gpugraph")
        parts = [f"{peer} {time_us:10.1f}" for peer, time_us in found.items()]
        others = [time_us for peer, time_us in found.items() if peer != "gpugraph"]
        ratio = f"   best peer / gpugraph {min(others) / own:6.2f}" if own and others else ""
        print(f"{name:<44}{'   '.join(parts)}{ratio}")


def results_of(step: Step) -> list[Any]:
    """The numbers that the first three steps give; a training step's change as it learns."""
    return [np.asarray(each) for _ in range(3) for each in leaves(step())]


def leaves(result: Any) -> Iterator[Any]:
    """The values in nested lists and tuples; None, what an operation gives, left out."""
    if isinstance(result, (list, tuple)):
        for each in result:
            yield from leaves(each)
    elif result is not None:
        yield result


def check(rows: Rows, script: str, names: Sequence[str]) -> bool:
    """Prints how far the peers' results are from gpugraph's; whether that is near enough."""
    known = pythons()
    good = True
    for name in names:
        found: dict[str, list[Any]] = {}
        with tempfile.TemporaryDirectory() as folder:
            for peer in [peer for peer in rows[name] if peer in known]:
                file = Path(folder) / f"{peer}.npz"
                if in_process(known[peer], script, name, peer, "--keep", str(file)) is not None:
                    with np.load(file) as kept:
                        found[peer] = list(kept.values())
                else:
                    good = False
        own = found.pop("gpugraph", [])
        far = {peer: difference(values, own) for peer, values in found.items()}
        good = good and all(each <= TOLERANCE for each in far.values())
        parts = [f"{peer} {each:8.1e}" for peer, each in far.items()]
        print(f"{name:<44}{'   '.join(parts)}")
    return good


def difference(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """The largest difference, relative to the largest element of the result it is in."""
    if [each.shape for each in found] != [each.shape for each in wanted]:
        return float("inf")
    return max(
        float(np.abs(one.astype(float) - other).max() / (np.abs(other).max() or 1))
        for one, other in zip(found, wanted)
    )


def main(rows: Rows, script: str) -> None:
    """The command line of a benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", nargs=2, metavar=("ROW", "PEER"), help=argparse.SUPPRESS)
    parser.add_argument("--keep", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--rows", nargs="*", default=list(rows))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--check", action="store_true", help="compare results, time nothing")
    chosen = parser.parse_args()
    if chosen.one:
        row, peer = chosen.one
        step = rows[row][peer]()
        if chosen.keep:
            np.savez(chosen.keep, *results_of(step))
        print(0 if chosen.keep else measure(step))
        return
    if chosen.check:
        raise SystemExit(0 if check(rows, script, chosen.rows) else "results differ")
    results = compare(rows, script, chosen.rows, chosen.rounds)
    show(results)
    if chosen.json:
        record = {"machine": machine(), "unit": "us", "rows": results}
        chosen.json.write_text(json.dumps(record, indent=1) + "\n")


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "commit": described.stdout.strip(),
        "versions": {peer: version(path, peer) for peer, path in pythons().items()},
    }


def version(python: str, peer: str) -> str:
    code = f"import importlib.metadata as m; print(m.version({PACKAGES.get(peer, peer)!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()
