"""The memory of a training step: planned, the lower bound, and that of TensorFlow and JAX.

    PEERS="tensorflow=/path/to/python jax=/path/to/python" python benchmarks/memory.py [ROW ...]

Of each network of memory_networks.py a table shows, in MiB and without variables:

    bound     the maximum of bytes that live at a time in the order of the plan
    planned   the arena, and how many times the bound that is
    BFC       the same buffers by the BFC allocator, one after the other
    gpugraph, TensorFlow, JAX   the peak of a step that was run, above the memory before it

A peak counts the process's memory from malloc (`live_bytes.c`, preloaded) and, of gpugraph, the
blocks of its allocator. TensorFlow runs without oneDNN, whose allocator keeps freed memory. JAX's
weights are donated, and its step is compiled; `temp` is its compiler's figure.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from memory_networks import NETWORKS, Network, training
from peers import pythons, tensorflow

HERE = Path(__file__).resolve().parent
ROUNDS, WARM_UP = 5, 4
SETTINGS = {
    "gpugraph": {"GPUGRAPH_NATIVE": "wait"},
    "tensorflow": {"TF_ENABLE_ONEDNN_OPTS": "0"},
    "jax": {"JAX_PLATFORMS": "cpu"},
}

Record = dict[str, float]


def own() -> Any:
    """gpugraph."""
    return importlib.import_module("gpugraph")


# -- plans


def planned(network: Network) -> Record:
    """Return bytes of the plan of a training step: bound, arena, and BFC's."""
    tf, memory = own(), importlib.import_module("gpugraph.memory")
    with tf.Graph().as_default():
        fetches, batch = training(tf, network)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            arenas = session.explain(fetches, dict(zip(batch, network.arrays()))).arenas
    (arena,) = arenas.values()
    lives = [memory.Lifetime(row.num_bytes, row.first, row.last) for row in arena.buffers]
    trace = memory.AllocationTrace.of_lifetimes(lives)
    peaks = {row.policy: row.peak_bytes for row in memory.compare(trace)}
    return {**peaks, "bound": arena.bound, "arena": arena.num_bytes}


# -- peaks, in a process of their own


def peak(step: Callable[[], Any], live_bytes: Any, allocators: Sequence[Any] = ()) -> int:
    """Return the bytes at the peak of a step above its start: from malloc, and in cells of
    allocators.

    The middle of some runs.
    """
    for _ in range(WARM_UP):
        step()
    peaks = []
    for _ in range(ROUNDS):
        time.sleep(0.1)  # the step before may have memory to free
        for allocator in allocators:
            allocator.clear_stats()
        live_bytes.live_bytes_restart()
        step()
        peaks.append(live_bytes.live_bytes_peak())
        for stats in (allocator.get_stats() for allocator in allocators):
            peaks[-1] += stats.peak_bytes_in_use - stats.bytes_in_use
    return sorted(peaks)[ROUNDS // 2]


def graph_step(tf: Any, network: Network) -> tuple[Any, Callable[[], Any]]:
    """Return a session whose variables have values, and a training step in it."""
    fetches, batch = training(tf, network)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    feeds = dict(zip(batch, network.arrays()))
    return session, lambda: session.run(fetches, feeds)


def own_peak(network: Network, live_bytes: Any) -> Record:
    """Return gpugraph's peak: its allocator provides the arena, and buffers sized during the
    run.
    """
    session, step = graph_step(own(), network)
    allocators = [device.allocator for device in session._backend.devices]
    before = requested(allocators)
    most = peak(step, live_bytes, allocators)
    return {"peak": most + requested(allocators) - before}


def requested(allocators: Sequence[Any]) -> int:
    """Return the requested bytes in use: of a plan its arena and its kernels' scratch.

    BFC allocates more, up to twice as much, and the rest is never touched.
    """
    live = [entry for allocator in allocators for entry in allocator.live_allocations()]
    return sum(entry.requested for entry in live)


def tensorflow_peak(network: Network, live_bytes: Any) -> Record:
    """TensorFlow's."""
    _, step = graph_step(tensorflow(), network)
    return {"peak": peak(step, live_bytes)}


def jax_peak(network: Network, live_bytes: Any) -> Record:
    """JAX's, and the temporary memory that its compiler reports."""
    jax = importlib.import_module("jax")
    compiled, weights, batch = importlib.import_module("memory_jax").training(network)
    arrays = [jax.device_put(array) for array in batch]
    state = [weights]

    def step() -> None:
        state[0], loss = compiled(state[0], *arrays)
        loss.block_until_ready()

    fed = sum(array.nbytes for array in batch)  # in gpugraph's and TensorFlow's peaks too
    temporary = compiled.memory_analysis().temp_size_in_bytes
    return {"peak": peak(step, live_bytes) + fed, "temp": temporary + fed}


SIDES = {"gpugraph": own_peak, "tensorflow": tensorflow_peak, "jax": jax_peak}


def measured(side: str, python: str, name: str, library: str) -> Record:
    """Return a peak in a new process; nothing where that fails."""
    command = [python, __file__, "--side", side, name]
    environment = {**os.environ, **SETTINGS[side], "LD_PRELOAD": library}
    environment["PYTHONPATH"] = str(HERE.parent)
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    if answer.returncode:
        print(answer.stderr[-2000:], file=sys.stderr)
        return {}
    return json.loads(answer.stdout.splitlines()[-1])


def main() -> None:
    """Print the table, or measures one side."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="networks; all of them")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.rows or list(NETWORKS)
    if options.side:
        live_bytes = ctypes.CDLL(None)
        live_bytes.live_bytes_peak.restype = ctypes.c_long
        print(json.dumps(SIDES[options.side](NETWORKS[names[0]], live_bytes)))
        return
    interpreters = {**pythons(), "gpugraph": sys.executable}
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/live_bytes.so"
        source = str(HERE / "live_bytes.c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        print(
            "| MiB | bound | planned | of bound | BFC | gpugraph | TensorFlow | JAX | JAX: temp |"
        )
        print("|---" * 9 + "|")
        for name in names:
            sides = {
                side: measured(side, interpreters[side], name, library)
                for side in SIDES
                if side in interpreters
            }
            print(row(name, planned(NETWORKS[name]), sides), flush=True)


def row(name: str, plan: Record, sides: dict[str, Record]) -> str:
    """Return a network's line of the table."""
    peaks = [sides.get(side, {}).get("peak") for side in SIDES]
    columns = [plan["bound"], plan["arena"], None, plan["BFC"], *peaks]
    columns.append(sides.get("jax", {}).get("temp"))
    cells = ["-" if size is None else f"{size / 2**20:.2f}" for size in columns]
    cells[2] = f"{plan['arena'] / plan['bound']:.4f}"
    return f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
