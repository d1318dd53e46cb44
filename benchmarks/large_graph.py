"""How building, the first run and the next runs grow with the number of operations.

    python benchmarks/large_graph.py [SIZE ...]

Each size is measured in a separate process, on a chain and on a wide graph of additions of
scalars: CPU time of this process, and memory; per operation too, where level columns mean linear
growth. The memory is that of the graph, and the peak until the runs are over.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import gpugraph as tf

SIZES = (1_000, 10_000, 100_000)


def build(kind: str, size: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return a placeholder, and a tensor computed from it by `size` additions."""
    x = tf.placeholder(tf.float32, [])
    if kind == "chain":
        total = x
        for _ in range(size):
            total = total + x
        return x, total
    width = size // 2
    rows = [x + x for _ in range(width)]
    while len(rows) > 1:
        paired = [a + b for a, b in zip(rows[::2], rows[1::2])]
        rows = paired + rows[len(rows) - len(rows) % 2 :]
    return x, rows[0]


def memory_in_use() -> int:
    """Return bytes of this process that are in memory."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS"))


def measure(kind: str, size: int) -> dict[str, float]:
    """Return seconds of building, of the first run, and of the median next run; bytes, as said
    above.
    """
    clock = time.process_time
    with tf.Graph().as_default(), tf.Session() as session:  # loads that any first use causes
        session.run(build(kind, 8)[1], {"Placeholder:0": 1.0})
    before = memory_in_use()
    with tf.Graph().as_default(), tf.Session() as session:
        start = clock()
        x, total = build(kind, size)
        built, graph = clock(), memory_in_use()
        session.run(total, {x: 1.0})
        first = clock()
        later = []
        for _ in range(9):
            begin = clock()
            session.run(total, {x: 1.0})
            later.append(clock() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    times = {"build": built - start, "first": first - built, "next": statistics.median(later)}
    return {**times, "graph": graph - before, "peak": peak - before}


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--one"]:
        print(json.dumps(measure(arguments[1], int(arguments[2]))))
        return
    heads = ("build", "first run", "next run")
    print(f"{'graph':<6}{'ops':>8}", *(f"{head:>22}" for head in heads), "  graph    peak")
    for kind in ("chain", "wide"):
        for size in [int(argument) for argument in arguments] or SIZES:
            command = [sys.executable, __file__, "--one", kind, str(size)]
            answer = subprocess.run(command, check=True, capture_output=True, text=True)
            record = json.loads(answer.stdout)
            times = [record[key] for key in ("build", "first", "next")]
            cells = [
                f"{seconds * 1e3:10.2f} ms {seconds / size * 1e6:5.2f} us" for seconds in times
            ]
            sizes = [f"{record[key] / size:6.0f} B" for key in ("graph", "peak")]
            print(f"{kind:<6}{size:>8}", *cells, *sizes)


if __name__ == "__main__":
    main(sys.argv[1:])
