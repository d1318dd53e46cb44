"""Two products of 2,048 x 2,048 float32 matrices in one run, beside one: the ratio of their times.

    python benchmarks/side_by_side.py [--size N] [--rounds N]

NumPy's BLAS and native code are limited to one thread, in a separate process. The products are
on two CPU devices of one session, on one device, and on one device by
`inter_op_parallelism_threads=1`. Runs of all alternate; of each the fastest counts, as other work
on the machine only makes runs slower. With a processor for each, the ratio is little above 1; plain
threads around `numpy.matmul` are measured too, as the limit of the machine.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

NAMES = ("GPUGRAPH_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
LIMITS = dict.fromkeys(NAMES, "1")


def programs(size: int) -> dict[str, Callable[[], Any]]:
    """Return the measured functions, by name; the first is one product."""
    tf, np = importlib.import_module("gpugraph"), importlib.import_module("numpy")
    matrix = np.random.RandomState(0).rand(size, size).astype(np.float32)

    def products(second: str, threads: int = 0) -> Callable[[], Any]:
        config = tf.ConfigProto(device_count={"CPU": 2}, inter_op_parallelism_threads=threads)
        with tf.Graph().as_default():
            fetches = []
            for device in ("/cpu:0", second) if second else ("/cpu:0",):
                with tf.device(device):
                    value = tf.Variable(matrix)
                    fetches.append(tf.matmul(value, value).op)
            session = tf.Session(config=config)
            session.run(tf.global_variables_initializer())
            return session.make_callable(fetches)  # type: ignore[no-any-return]

    outs = [np.empty_like(matrix) for _ in range(2)]

    def by_threads() -> None:
        other = threading.Thread(target=np.matmul, args=(matrix, matrix, outs[1]))
        other.start()
        np.matmul(matrix, matrix, outs[0])
        other.join()

    return {
        "one product": products(""),
        "two, on two devices": products("/cpu:1"),
        "two, on one device": products("/cpu:0"),
        "two, inter_op_parallelism_threads=1": products("/cpu:1", 1),
        "numpy, one product": lambda: np.matmul(matrix, matrix, outs[0]),
        "numpy, two threads": by_threads,
    }


def measure(size: int, rounds: int) -> None:
    """Print the fastest time of each, and its ratio to one product."""
    runs = programs(size)
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - began)
    one = best["one product"]
    for name, seconds in best.items():
        print(f"{name:40} {seconds * 1e3:9.1f} ms {seconds / one:6.2f}")


def main() -> None:
    """Measure in a process whose BLAS has one thread."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in LIMITS):
        sys.exit(
            subprocess.run([sys.executable, *sys.argv], env={**os.environ, **LIMITS}).returncode
        )
    measure(arguments.size, arguments.rounds)


if __name__ == "__main__":
    main()
