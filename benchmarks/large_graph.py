"""How building, the first run and the next runs grow with the number of operations.

    python benchmarks/large_graph.py [SIZE ...]

Each size is measured in a process of its own, on a chain and on a wide graph of additions of
scalars. The last column is that time per operation: level columns mean linear growth.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

import gpugraph as tf

SIZES = (1_000, 10_000, 100_000)


def build(kind: str, size: int) -> tuple[tf.Tensor, tf.Tensor]:
    """A placeholder, and a tensor computed from it by `size` additions."""
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


def measure(kind: str, size: int) -> dict[str, float]:
    """Seconds of building, of the first run, and of the median next run."""
    with tf.Graph().as_default(), tf.Session() as session:
        start = time.perf_counter()
        x, total = build(kind, size)
        built = time.perf_counter()
        session.run(total, {x: 1.0})
        first = time.perf_counter()
        later = []
        for _ in range(9):
            begin = time.perf_counter()
            session.run(total, {x: 1.0})
            later.append(time.perf_counter() - begin)
    return {"build": built - start, "first": first - built, "next": statistics.median(later)}


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--one"]:
        print(json.dumps(measure(arguments[1], int(arguments[2]))))
        return
    print(f"{'graph':<8}{'ops':>9}{'':4}{'build':>22}{'first run':>22}{'next run':>22}")
    for kind in ("chain", "wide"):
        for size in [int(argument) for argument in arguments] or SIZES:
            command = [sys.executable, __file__, "--one", kind, str(size)]
            answer = subprocess.run(command, check=True, capture_output=True, text=True)
            record = json.loads(answer.stdout)
            cells = "".join(
                f"{record[key] * 1e3:11.2f} ms {record[key] / size * 1e6:5.2f} us"
                for key in ("build", "first", "next")
            )
            print(f"{kind:<8}{size:>9}{'':4}{cells}")


if __name__ == "__main__":
    main(sys.argv[1:])
