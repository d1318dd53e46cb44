"""Random pipelines of tf.data by gpugraph and TensorFlow: the ratio of each, and the worst.

    PEERS="tensorflow=PYTHON" python benchmarks/data_sample.py [--count N] [--first SEED]
        [--rounds N] [--only SEED ...] [--worst N] [--cpu] [--users]

Both libraries read the same pipelines to their ends, a process for each, in alternating rounds. The
pipelines are those of `random_pipelines.py`, or of `user_pipelines.py` with --users. A ratio is
TensorFlow's time for the second pass or a later one divided by gpugraph's, each the minimum over
the rounds: above 1 gpugraph is faster. The second ratio of a line is that of the CPU times of all
threads, which other processes of the machine disturb less. Sums of all elements are compared; those
of pipelines whose elements differ are marked.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from peers import pythons, tensorflow
from random_pipelines import checksum

SOURCES = ("random_pipelines", "user_pipelines")
"""The modules that draw pipelines."""

PASSES, LONGEST_S = 3, 0.6


def measured(tf: Any, source: Any, seed: int, folder: Path) -> dict[str, Any]:
    """Return the text of a pipeline, the times of its fastest pass, and the sum of its elements."""
    with tf.Graph().as_default(), tf.Session() as session:
        pipeline = source.drawn(tf, seed, folder)
        iterator = pipeline.dataset.make_initializable_iterator()
        following = iterator.get_next()
        session.run(tf.tables_initializer())
        best, cpu, total = math.inf, math.inf, 0.0
        for number in range(PASSES + 1):
            session.run(iterator.initializer)
            start, start_cpu = time.perf_counter(), time.process_time()
            elements = []
            try:
                while True:
                    elements.append(session.run(following))
            except tf.errors.OutOfRangeError:
                seconds = time.perf_counter() - start
            if number:
                best, cpu = min(best, seconds), min(cpu, time.process_time() - start_cpu)
            else:
                total = sum(map(checksum, elements))
            if seconds > LONGEST_S and number:
                break
        return {"text": pipeline.text, "s": best, "cpu": cpu, "sum": total, "runs": len(elements)}


def one(library: str, module: str, folder: Path, seeds: list[int]) -> None:
    """Print a line of JSON for each pipeline."""
    tf = tensorflow() if library == "tensorflow" else importlib.import_module(library)
    source = importlib.import_module(module)
    if not (folder / "written").exists():
        source.write_files(tf, folder)
        (folder / "written").touch()
    for seed in seeds:
        try:
            record = measured(tf, source, seed, folder)
        except Exception as error:
            record = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps({"seed": seed, **record}), flush=True)


def processed(
    library: str, module: str, folder: Path, seeds: list[int]
) -> dict[int, dict[str, Any]]:
    """Return the records of a process."""
    script = Path(__file__).resolve()
    env = {**os.environ, "PYTHONPATH": str(script.parents[1]), "CUDA_VISIBLE_DEVICES": "-1"}
    command = [pythons()[library], str(script), "--one", library, module, str(folder)]
    done = subprocess.run(
        [*command, *map(str, seeds)], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {record["seed"]: record for record in records}


def merged(before: dict[int, dict[str, Any]], after: dict[int, dict[str, Any]]) -> None:
    """Keep the smaller time of each pipeline."""
    for seed, record in after.items():
        known = before.setdefault(seed, record)
        if "s" in record and "s" in known:
            for key in ("s", "cpu"):
                known[key] = min(known[key], record[key])


def show(own: dict[int, Any], other: dict[int, Any], worst: int, key: str) -> None:
    """Print the worst ratios and the mean."""
    rows = []
    for seed in own:
        mine, theirs = own[seed], other.get(seed, {})
        if "error" in mine or "error" in theirs or not theirs:
            errors = {"gpugraph": mine.get("error"), "tensorflow": theirs.get("error")}
            print(f"seed {seed}: {mine.get('text') or theirs.get('text')}: {errors}")
            continue
        near = math.isclose(mine["sum"], theirs["sum"], rel_tol=1e-5, abs_tol=1e-3)
        is_same = near and mine["runs"] == theirs["runs"]
        rows.append((theirs[key] / mine[key], seed, mine, theirs, "" if is_same else "  DIFFERS"))
    rows.sort(key=lambda row: row[0])
    for ratio, seed, mine, theirs, mark in [*rows[:worst], *(r for r in rows[worst:] if r[4])]:
        times = f"{mine[key] * 1e3:8.1f} ms {theirs[key] * 1e3:8.1f} ms"
        cpu = f"{theirs['cpu'] / mine['cpu']:6.2f}"
        print(f"{ratio:6.2f} {cpu} {times} {mine['runs']:6d}  seed {seed}: {mine['text']}{mark}")
    if rows:
        mean = math.exp(sum(math.log(row[0]) for row in rows) / len(rows))
        slower = sum(row[0] < 1 for row in rows)
        print(f"{len(rows)} pipelines, geometric mean {mean:.2f}, slower than TensorFlow: {slower}")


def main() -> None:
    """The command line."""
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], sys.argv[3], Path(sys.argv[4]), [int(seed) for seed in sys.argv[5:]])
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", type=int, nargs="*")
    parser.add_argument("--worst", type=int, default=20)
    parser.add_argument("--cpu", action="store_true", help="compare the CPU time of all threads")
    parser.add_argument("--users", action="store_true", help="pipelines as users have them")
    chosen = parser.parse_args()
    module = SOURCES[chosen.users]
    seeds = chosen.only or list(range(chosen.first, chosen.first + chosen.count))
    own: dict[int, Any] = {}
    other: dict[int, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(chosen.rounds):
            merged(own, processed("gpugraph", module, Path(folder), seeds))
            merged(other, processed("tensorflow", module, Path(folder), seeds))
    show(own, other, chosen.worst, "cpu" if chosen.cpu else "s")


if __name__ == "__main__":
    main()
