"""Checkpoints beside TensorFlow: saving and restoring 200 MB, and importing 20,000 nodes.

    PEERS="tensorflow=/path/to/python" python benchmarks/checkpoints.py [--rounds 9] [--folder DIR]

Each library has one process, which builds a model of 20 and one of 2,000 float32 variables. The two
take turns: each saves, then restores, and is idle while the other does. gpugraph's times hold the
fsync of all files; TensorFlow does not sync. Importing (parse a GraphDef, import it into a graph)
takes turns in the same way. First calls are shown on their own, for they compile; of all others the
median and the best. A ratio below 1 means that gpugraph is faster.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from graph_files import write_graph

ROOT = Path(__file__).resolve().parents[1]
COUNTS = (20, 2000)
ELEMENTS = 50_000_000  # 200 MB of float32


class Model:
    """A number of variables, their session and their saver."""

    def __init__(self, tf: Any, count: int, prefix: str) -> None:
        self.prefix, self.step, self.path = prefix, 0, ""
        with tf.Graph().as_default():
            shape = [ELEMENTS // count]
            values = [
                tf.get_variable(f"v{index}", shape, initializer=tf.ones_initializer())
                for index in range(count)
            ]
            self.saver = tf.train.Saver(max_to_keep=1)
            self.session = tf.Session()
            self.session.run(tf.global_variables_initializer())
            self.session.run([value.op for value in values])

    def save(self) -> None:
        """Save, and remove the checkpoint before."""
        self.step += 1
        self.path = self.saver.save(
            self.session, self.prefix, global_step=self.step, write_meta_graph=False
        )

    def restore(self) -> None:
        """Restore the last checkpoint."""
        self.saver.restore(self.session, self.path)


class Importer:
    """The bytes of a GraphDef."""

    def __init__(self, tf: Any, path: str) -> None:
        self.tf, self.content = tf, Path(path).read_bytes()
        tf.GraphDef()  # imports of the first message

    def load(self) -> None:
        """Parses the bytes and imports them into a new graph."""
        with self.tf.Graph().as_default():
            self.tf.import_graph_def(self.tf.GraphDef.FromString(self.content), name="")


def serve(side: str, folder: str) -> None:
    """Does the work that each line of the input names; answers with its seconds."""
    if side == "tensorflow":
        tf: Any = importlib.import_module("tensorflow.compat.v1")
        tf.disable_v2_behavior()
        tf.logging.set_verbosity(tf.logging.ERROR)
    else:
        tf = importlib.import_module("gpugraph")
        tf.logging.set_verbosity(tf.logging.ERROR)
    work: dict[str, Any] = {}
    for line in sys.stdin:
        kind, item = line.split()
        if kind == "drop":
            work.pop(item).session.close()
            seconds = 0.0
        elif kind == "make":
            count = item.isdigit() and int(item)
            work[item] = Model(tf, count, f"{folder}/{item}") if count else Importer(tf, item)
            seconds = 0.0
        else:
            start = time.perf_counter()
            getattr(work[item], kind)()
            seconds = time.perf_counter() - start
        print(json.dumps(seconds), flush=True)


class Side:
    """The process of one library."""

    def __init__(self, name: str, python: str, folder: str) -> None:
        self.folder = f"{folder}/{name}"
        os.mkdir(self.folder)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
        self.process = subprocess.Popen(
            [python, __file__, "--serve", name, "--folder", self.folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def do(self, kind: str, item: str) -> float:
        """The seconds of one piece of work."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{kind} {item}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def show(label: str, times: dict[str, list[float]]) -> None:
    """A line per library: first call, median, best; and the ratio of the medians."""
    for side, seconds in times.items():
        first, *rest = [1e3 * value for value in seconds]
        print(
            f"{label:<24}{side:<12} first {first:8.1f} ms   median {statistics.median(rest):8.1f}"
            f"   best {min(rest):8.1f}   all {' '.join(f'{value:.0f}' for value in rest)}"
        )
    if len(times) == 2:
        ours, theirs = (seconds[1:] for seconds in times.values())
        ratio = statistics.median(ours) / statistics.median(theirs)
        print(f"{label:<24}ratio of medians {ratio:.2f}, of best {min(ours) / min(theirs):.2f}")


def measure(sides: dict[str, Side], item: str, kinds: list[str], rounds: int) -> None:
    """Run some work of the libraries alternately, and print the times."""
    times: dict[str, dict[str, list[float]]] = {
        kind: {name: [] for name in sides} for kind in kinds
    }
    for side in sides.values():
        side.do("make", item)
    for number in range(rounds):
        for name in list(sides) if number % 2 == 0 else list(sides)[::-1]:
            for kind in kinds:
                times[kind][name].append(sides[name].do(kind, item))
    for kind in kinds:
        label = f"{kind}, {item} variables" if item.isdigit() else "import, 20,000 nodes"
        show(label, times[kind])
    if item.isdigit():
        for side in sides.values():
            side.do("drop", item)


def main() -> None:
    """Start both libraries and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--folder", help="where checkpoints are written, on the disk in question")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.folder)
        return
    pythons = {"gpugraph": sys.executable}
    pythons.update(item.split("=", 1) for item in os.environ.get("PEERS", "").split())
    folder = tempfile.mkdtemp(dir=options.folder)
    try:
        sides = {name: Side(name, python, folder) for name, python in pythons.items()}
        for count in COUNTS:
            measure(sides, str(count), ["save", "restore"], options.rounds)
        graph = f"{folder}/graph.pb"
        write_graph(graph, 20_000)
        measure(sides, graph, ["load"], options.rounds)
        for side in sides.values():
            side.end()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
