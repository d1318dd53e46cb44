"""Every op and its gradient beside TensorFlow's, at a size that takes TensorFlow about 1 ms.

    python benchmarks/every_op.py --tensorflow PYTHON [--only WORD ...] [--exact OP ...]
        [--dtype float32] [--draws N --seed 0] [--worst 20] [--json FILE] [--compare FILE]

Each package is one process that keeps its inputs in variables (`every_op_side.py`), and both
measure alternately; a row has the minimum of wall time and the mean of processor time of a run.
Cases are the samples of tests/ops, repeated, or chosen ones (`every_op_cases.py`). A sample grows
until a run takes TensorFlow about a millisecond, or has a million elements. Prints the distribution
of the ratios (TensorFlow : gpugraph, above 1 gpugraph is faster), their geometric mean, the rows
below 1 / 1.1 and the worst. --draws measures N random samples instead, of any op, dtype and attrs,
with 64 to 262,144 elements. --json keeps the rows, --compare prints the rows beside those of such a
file. Native code is waited for.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import exp, log
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LEAST_S, WANTED_S, MOST_S = 0.5e-3, 1e-3, 3e-3
"""The seconds of a run of TensorFlow: a size is accepted between the first and the last."""

SIZES = [4**power for power in range(6, 11)]
"""The numbers of elements that are tried, of the largest input."""

BOUND = 1.1
LEAST_WORK_S = 30e-6
"""Rows that take TensorFlow less, such as views, are printed but not counted: they are calls."""

BINS = (0.1, 0.25, 0.5, 1 / 1.1, 1.0, 1.5, 2.0, 4.0)


class Row(NamedTuple):
    """One op or gradient: seconds of a run by wall and processor time, of both packages."""

    op: str
    what: str
    label: str
    wall: float
    cpu: float
    wall_tf: float
    cpu_tf: float

    @property
    def ratio(self) -> float:
        """TensorFlow's time relative to gpugraph's."""
        return self.wall_tf / self.wall

    @property
    def cpu_ratio(self) -> float:
        """TensorFlow's processor time relative to gpugraph's."""
        return self.cpu_tf / self.cpu


class Process:
    """A package in a process; started again if an op ends it."""

    def __init__(self, python: str, side: str) -> None:
        self.command = [python, str(ROOT / "benchmarks" / "every_op_side.py"), side]
        self.start()

    def start(self) -> None:
        """Start the process."""
        env = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            self.command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=env
        )

    def ask(self, *request: Any) -> Any:
        """Return the answer to a request; a text is an error."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            pickle.dump(request, self.process.stdin)
            self.process.stdin.flush()
            return pickle.load(self.process.stdout)
        except (EOFError, BrokenPipeError):
            self.process.wait()
            self.start()
            return "the process ended"

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class Bench:
    """Both processes, and the reasons why ops have no row."""

    def __init__(self, python: str, dtype: str, rounds: int, seconds: float) -> None:
        self.ours, self.theirs = Process(sys.executable, "gpugraph"), Process(python, "tensorflow")
        self.dtype, self.rounds, self.seconds = dtype, rounds, seconds
        self.left_out: dict[str, str] = {}
        self.place = 0  # of the last size in SIZES

    def sized(self, op_type: str, what: str, seed: int | None) -> Any:
        """Build a case in TensorFlow's process that takes about a millisecond; None if none runs.

        Sizes are tried from the middle, or from the op's size for its gradient, until one fits; a
        seed draws one."""
        place = self.place if what == "gradient" else len(SIZES) // 2
        best, seen, reason, stands = None, set(), "no sample grows", False
        while 0 <= place < len(SIZES) and place not in seen:
            seen.add(place)
            self.place = place
            request: tuple[Any, ...] = ("cases_of", op_type, SIZES[place], self.dtype)
            answer = self.ours.ask(*(request if seed is None else ("drawn", op_type, seed)))
            if isinstance(answer, str):
                self.left_out[f"{op_type} {what}"] = answer
                return None
            chosen, cases = answer
            taken = None
            for case in cases:
                if what == "gradient" and not case["by"]:
                    reason = "no gradient"
                    continue
                built = self.theirs.ask("build", case, what)
                stands = not isinstance(built, str)
                if isinstance(built, str):
                    reason = f"TensorFlow: {built}"
                    continue
                if chosen:
                    return case
                taken, best = built, case
                break
            if taken is None and best is None and place and seed is None:
                place -= 1
                continue
            if taken is None or LEAST_S <= taken <= MOST_S:
                break
            steps = round(abs(log(taken / WANTED_S, 4))) or 1
            place += min(steps, len(SIZES) - 1 - place) if taken < LEAST_S else -min(steps, place)
        if best is None:
            self.left_out[f"{op_type} {what}"] = reason
        elif not stands and isinstance(self.theirs.ask("build", best, what), str):
            return None
        return best

    def row(self, op_type: str, what: str, seed: int | None) -> Row | None:
        """Measure an op or its gradient."""
        case = self.sized(op_type, what, seed)
        if case is None:
            return None
        built = self.ours.ask("build", case, what)
        if isinstance(built, str):
            self.left_out[f"{op_type} {what}"] = f"gpugraph: {built}"
            return None
        rounds = []
        for _ in range(self.rounds):
            times = [*self.ours.ask("measure", self.seconds)]
            times += self.theirs.ask("measure", self.seconds)
            if not all(isinstance(item, float) for item in times):
                self.left_out[f"{op_type} {what}"] = "it fails when it is repeated"
                return None
            rounds.append(times)
        wall, cpu, wall_tf, cpu_tf = zip(*rounds, strict=True)
        means = [sum(times) / self.rounds for times in (cpu, cpu_tf)]
        return Row(op_type, what, case["label"][:100], min(wall), means[0], min(wall_tf), means[1])

    def rows(self, op_types: Sequence[str], seeds: Sequence[int | None]) -> Iterator[Row]:
        """Yield the rows of ops and their gradients."""
        for op_type, seed in zip(op_types, seeds, strict=True):
            for what in ("op", "gradient"):
                row = self.row(op_type, what, seed)
                if row is not None:
                    yield row
                elif what == "op":
                    break


def mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean."""
    return exp(sum(map(log, ratios)) / max(len(ratios), 1))


def text(row: Row) -> str:
    """Return a row as a line."""
    return (
        f"{row.ratio:7.2f} {row.cpu_ratio:7.2f} {row.wall * 1e3:9.3f} {row.wall_tf * 1e3:9.3f}  "
        f"{row.op} {row.what if row.what != 'op' else ''} {row.label[:70]}"
    )


HEAD = "  ratio     cpu   ours ms     TF ms"


def report(rows: Sequence[Row], worst: int) -> None:
    """Print the distribution and the slow rows."""
    rows = [row for row in rows if row.wall_tf >= LEAST_WORK_S]
    for name, kind in (("ops", "op"), ("gradients", "gradient"), ("all", "")):
        ratios = [row.ratio for row in rows if kind in ("", row.what)]
        if not ratios:
            continue
        processor = mean([row.cpu_ratio for row in rows if kind in ("", row.what)])
        slow = sum(ratio < 1 / BOUND for ratio in ratios)
        print(f"\n{name}: {len(ratios)}, geometric mean {mean(ratios):.2f} (CPU {processor:.2f}),")
        print(f"{slow} slower by more than {BOUND} ({100 * slow / len(ratios):.1f} %)", end=", ")
        print(f"{sum(ratio < 0.5 for ratio in ratios)} by more than 2")
        edges = [0.0, *BINS, float("inf")]
        for low, high in pairwise(edges):
            count = sum(low <= ratio < high for ratio in ratios)
            print(f"  {low:5.2f} to {high:5.2f}: {count:4}")
    print(f"\nthe worst {worst}:\n{HEAD}")
    for row in sorted(rows, key=lambda row: row.ratio)[:worst]:
        print(text(row))


def versions(python: str) -> dict[str, Any]:
    """Return the commit, the versions and the machine's cores."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    code = "import importlib.metadata as m; print(m.version('tensorflow'), m.version('numpy'))"
    theirs = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return {
        "commit": commit,
        "python": platform.python_version(),
        "tensorflow and its numpy": theirs.stdout.split(),
        "cores": os.cpu_count(),
    }


def compare(rows: Sequence[Row], path: Path) -> None:
    """Print the rows beside those of a file."""
    older = {(item["op"], item["what"]): item for item in json.loads(path.read_text())["rows"]}
    for row in rows:
        item = older.get((row.op, row.what))
        if item is not None:
            print(f"{item['wall_tf'] / item['wall']:7.2f} -> {text(row)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tensorflow", default=os.environ.get("TENSORFLOW_PYTHON", sys.executable))
    parser.add_argument("--only", nargs="*", default=[], help="op types that contain a word")
    parser.add_argument("--exact", nargs="*", default=[], help="op types")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--draws", type=int, default=0, help="measure random samples")
    parser.add_argument("--seed", type=int, default=0, help="of the draws")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.015, help="of one measurement")
    parser.add_argument("--worst", type=int, default=20)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--compare", type=Path)
    options = parser.parse_args()
    bench = Bench(options.tensorflow, options.dtype, options.rounds, options.seconds)
    op_types = options.exact or bench.ours.ask("op_types")
    op_types = [op for op in op_types if not options.only or any(w in op for w in options.only)]
    seeds: list[int | None] = [None] * len(op_types)
    if options.draws:
        op_types = Random(options.seed).choices(op_types, k=options.draws)
        seeds = list(range(options.seed, options.seed + options.draws))
    rows = []
    print(HEAD)
    for row in bench.rows(op_types, seeds):
        rows.append(row)
        print(text(row), flush=True)
    report(rows, options.worst)
    print(f"\nleft out: {len(bench.left_out)}")
    for name, reason in bench.left_out.items():
        if "no gradient" not in reason:
            print(f"  {name}: {reason[:110]}")
    if options.compare:
        compare(rows, options.compare)
    if options.json:
        kept = versions(options.tensorflow) | {"rows": [row._asdict() for row in rows]}
        options.json.write_text(json.dumps(kept, indent=1) + "\n")
    bench.ours.close()
    bench.theirs.close()


if __name__ == "__main__":
    main()
