"""Graph files beside TensorFlow: importing and exporting a GraphDef of many nodes.

    python benchmarks/graph_files.py [--tensorflow PYTHON] [--nodes 20000] [--rounds 7]

The graph is layers of a net: constants, matrix products, additions, Relus, with a chain through all
of them. Each library, in a separate process, imports the same bytes, and writes the graph as a
GraphDef again. The two alternate; of each the best round counts, beside the median.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def write_graph(path: str, nodes: int) -> None:
    """Write a GraphDef of about `nodes` nodes."""
    tf = importlib.import_module("gpugraph")
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        for layer in range(nodes // 5):
            with tf.name_scope(f"layer_{layer}"):
                weights = tf.constant([[0.5] * 4] * 4)
                x = tf.nn.relu(tf.matmul(x, weights) + tf.constant([1.0] * 4))
        Path(path).write_bytes(graph.as_graph_def().SerializeToString())


def measure(path: str) -> dict[str, float]:
    """Return seconds of parsing with importing, and of exporting, by the library of this
    process.
    """
    if os.environ["GRAPH_FILES_SIDE"] == "tensorflow":
        tf: Any = importlib.import_module("tensorflow.compat.v1")
        tf.disable_v2_behavior()
    else:
        tf = importlib.import_module("gpugraph")
    content = Path(path).read_bytes()
    tf.GraphDef()  # imports of the first message
    with tf.Graph().as_default() as graph:
        start = time.perf_counter()
        graph_def = tf.GraphDef.FromString(content)
        tf.import_graph_def(graph_def, name="")
        imported = time.perf_counter()
        count = len(graph.as_graph_def().node)
        exported = time.perf_counter()
    return {"import": imported - start, "export": exported - imported, "nodes": count}


def run_side(python: str, side: str, path: str) -> dict[str, float]:
    """Return one round of one library in a new process."""
    environment = {
        **os.environ, "GRAPH_FILES_SIDE": side, "PYTHONPATH": str(ROOT),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }  # fmt: skip
    command = [python, __file__, "--one", path]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tensorflow", metavar="PYTHON", help="a Python that has TensorFlow")
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    sides = {"gpugraph": sys.executable}
    if options.tensorflow:
        sides["tensorflow"] = options.tensorflow
    rounds: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "graph.pb")
        write_graph(path, options.nodes)
        for _ in range(options.rounds):
            for side, python in sides.items():
                rounds[side].append(run_side(python, side, path))
    for side, records in rounds.items():
        for key in ("import", "export"):
            times = [record[key] * 1e3 for record in records]
            print(
                f"{side:<12}{key:<8}{records[0]['nodes']:>7.0f} nodes  best {min(times):8.1f} ms  "
                f"median {statistics.median(times):8.1f} ms"
            )


if __name__ == "__main__":
    main()
