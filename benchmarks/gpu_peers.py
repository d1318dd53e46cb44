"""Measures the rows of gpu.py: one process per column, alternately on each row.

A column's process lives from row to row, so that it imports and starts CUDA once. All columns
prepare a row at the same time (compilation is not measured); then each measures it for a while
alone, one after the other, round after round. The median over the rounds is reported. A column that
fails or takes too long is left out of the row, with the reason. Its process is started again for
the next row (a process can't use a GPU after a CUDA error), with half the time if it took too long.
When the time is up, the remaining rows are left out, and the report lists them. The record is
written after each row.

    PEERS="torch=/path/to/python jax=/path/to/python" python benchmarks/gpu.py --emulated

Columns run in this Python where their package can be imported, or in those that PEERS names.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gpu_machine import machine
from gpu_table import tables
from gpu_work import Work, measure
from peers import Column, difference

__all__ = ["COLUMNS", "OWN_CONVOLUTIONS", "Row", "compare", "main", "serve"]

OWN, OWN_CONVOLUTIONS = "gpugraph", "gpugraph, own convolutions"


class Row(NamedTuple):
    """columns: the function that prepares the work in each. amount: operations or bytes of a step,
    in
    `unit`. tolerance: the largest difference from gpugraph's results, relative to the largest of
    them."""

    columns: Mapping[str, Callable[[], Work]]
    amount: int = 0
    unit: str = ""
    tolerance: float = 5e-4


COLUMNS = {
    OWN: Column("gpugraph"),
    "gpugraph, not captured": Column("gpugraph", {"GPUGRAPH_CAPTURE": "0"}),
    OWN_CONVOLUTIONS: Column("nvidia.cudnn", {"GPUGRAPH_CUDNN": "0"}),
    "torch": Column("torch"),
    "torch.compile": Column("torch"),
    "jax": Column("jax", {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}),
    "cupy": Column("cupy"),
    "numpy": Column("numpy"),
}
MODULES = {
    "gpugraph": "gpu_graph",
    "nvidia.cudnn": "gpu_graph",
    "torch": "gpu_torch",
    "jax": "gpu_jax",
}
EMULATED = {
    "GPUGRAPH_VIRTUAL_GPUS": "emulated",
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "GPUGRAPH_NATIVE": "0",
}
START_SECONDS, PREPARE_SECONDS, MEASURE_SECONDS = 90.0, 120.0, 30.0
"""Time limits of a process for each of these."""

STEPS = 3
"""Steps whose results are compared."""

Record = dict[str, Any]


class LeftOutError(Exception):
    """Why a column is not in a row; its process has ended."""


class LateError(LeftOutError):
    """The column took too long."""


# -- in the process of a column


def serve(rows: Mapping[str, Row], column: str, seconds: float, emulated: bool) -> None:
    """Answers requests, each of them a line of JSON, until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of packages is not an answer
    held: list[Work] = []
    answer_to: dict[str, Callable[[str], Record]] = {
        "start": lambda _: started(column, emulated),
        "prepare": lambda name: prepared(rows[name].columns[column], column, held),
        "measure": lambda _: measure(held[0], seconds),
    }
    for line in sys.stdin:
        asked, name = json.loads(line)
        try:
            answer = answer_to[asked](name)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        print(json.dumps(answer), file=answers, flush=True)


def started(column: str, emulated: bool) -> Record:
    if not (emulated or asked_of(column, "sees_gpu")):
        raise RuntimeError("it sees no GPU")
    return {"versions": asked_of(column, "versions")}


def asked_of(column: str, function: str) -> Any:
    """Return the result of a function of a column's module for its package."""
    package = COLUMNS[column].package
    if package in MODULES:
        return getattr(importlib.import_module(MODULES[package]), function)()
    return getattr(importlib.import_module("gpu_array"), function)(package)


def prepared(prepare: Callable[[], Work], column: str, held: list[Work]) -> Record:
    """Keep the work in `held`, and return the results of its first steps."""
    held.clear()
    asked_of(column, "forget")
    start = time.perf_counter()
    held.append(prepare())
    results = [np.asarray(held[0].results(), np.float64).ravel().tolist() for _ in range(STEPS)]
    for _ in range(STEPS):
        held[0].step()
    held[0].finish()
    took = time.perf_counter() - start
    remarks = asked_of(column, "remarks") if COLUMNS[column].package == OWN else []
    return {"results": results, "prepare_s": took, "remarks": remarks}


# -- in the process that compares


class Peer:
    """A column's process."""

    def __init__(self, column: str, python: str, script: str, settings: Sequence[str]) -> None:
        self.column = column
        wanted = COLUMNS[column].settings
        path = [str(Path(script).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
        python_path = os.pathsep.join(filter(None, path))
        env = {**os.environ, "PYTHONPATH": python_path, "NVIDIA_TF32_OVERRIDE": "0", **wanted}
        if "--emulated" in settings:
            env |= EMULATED
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - open while the process lives
        self.process = subprocess.Popen(
            [python, script, "--serve", column, *settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=env,
        )
        self.answers: queue.Queue[str] = queue.Queue()
        self.asked = 0.0
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put("")

    def ask(self, what: str, row: str = "") -> None:
        assert self.process.stdin is not None
        self.asked = time.monotonic()
        with suppress(OSError):  # the answer will be that it is gone
            self.process.stdin.write(json.dumps([what, row]) + "\n")
            self.process.stdin.flush()

    def answer(self, seconds: float) -> Record:
        """Return the answer; raise LeftOutError, with the reason, if there is none within
        `seconds`.
        """
        left = self.asked + seconds - time.monotonic()
        try:
            line = self.answers.get(timeout=max(left, 0.01))
        except queue.Empty:
            self.close()
            raise LateError(f"over {seconds:.0f} s") from None
        if not line:
            reason = f"its process ended: {self._last_line()}"
            self.close()
            raise LeftOutError(reason)
        record: Record = json.loads(line)
        if "error" in record:
            self.close()
            raise LeftOutError(record["error"])
        return record

    def _last_line(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read().strip().splitlines()
        return lines[-1][:300] if lines else "without a word"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.listener.join()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            with suppress(OSError):  # the unsent rest
                file.close()


class Comparison:
    """All rows by all columns, until `ends`."""

    def __init__(
        self, rows: Mapping[str, Row], script: str, settings: Sequence[str], ends: float
    ) -> None:
        self.rows, self.script, self.settings, self.ends = rows, script, settings, ends
        self.left_out: list[str] = []
        self.patience = dict.fromkeys(COLUMNS, 1.0)
        self.versions: dict[str, str] = {}
        self.peers: dict[str, Peer] = {}
        known = pythons("--emulated" in settings)
        self.pythons = {
            column: known[wanted.package]
            for column, wanted in COLUMNS.items()
            if wanted.package in known
        }

    def left(self, most: float) -> float:
        """Return seconds until the time limit, `most` at most."""
        return min(most, self.ends - time.monotonic())

    def start(self, columns: Sequence[str]) -> None:
        """Start the processes of columns without one; one that can't start is not tried again."""
        fresh = [name for name in columns if name not in self.peers and name in self.pythons]
        for column in fresh:
            python = self.pythons[column]
            self.peers[column] = Peer(column, python, self.script, self.settings)
            self.peers[column].ask("start")
        for column in fresh:
            try:
                record = self.peers[column].answer(self.left(START_SECONDS))
                self.versions[column] = record["versions"]
            except LeftOutError as reason:
                self.left_out.append(f"{column}: {reason}")
                self.peers.pop(column).close()
                del self.pythons[column]

    def row(self, name: str, rounds: int) -> dict[str, Record]:
        """Return the records of a row by column."""
        self.start([peer for peer in self.rows[name].columns if peer in COLUMNS])
        asked = [column for column in self.rows[name].columns if column in self.peers]
        for column in asked:
            self.peers[column].ask("prepare", name)
        times = {column: self.take(column, name, PREPARE_SECONDS) for column in asked}
        records = {
            column: {**first, "us": [], "host_us": []} for column, first in times.items() if first
        }
        for _ in range(rounds):
            for column in list(records):
                if self.left(1) <= 0:
                    break
                self.peers[column].ask("measure")
                record = self.take(column, name, MEASURE_SECONDS)
                if record is None:
                    del records[column]
                    continue
                for key in ("us", "host_us"):
                    records[column][key].append(record[key])
        return {column: middle(record) for column, record in records.items() if record["us"]}

    def take(self, column: str, name: str, seconds: float) -> Record | None:
        try:
            return self.peers[column].answer(self.left(seconds * self.patience[column]))
        except LateError as reason:
            self.patience[column] /= 2
            self.left_out.append(f"{name}, {column}: {reason}")
        except LeftOutError as reason:
            self.left_out.append(f"{name}, {column}: {reason}")
        del self.peers[column]
        return None

    def close(self) -> None:
        for peer in self.peers.values():
            peer.close()


def is_installed(package: str) -> bool:
    """Return whether a package can be imported; nvidia.cudnn is the wheel of cuDNN."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def pythons(emulated: bool) -> dict[str, str]:
    """Return the Python of each installed package; NumPy is a peer in trials only."""
    paths = {
        column.package: sys.executable
        for column in COLUMNS.values()
        if is_installed(column.package)
    }
    paths["gpugraph"] = sys.executable
    for entry in os.environ.get("PEERS", "").split():
        package, _, path = entry.partition("=")
        paths[package] = path
    if not emulated:
        paths.pop("numpy", None)
    return paths


def middle(record: Record) -> Record:
    """Return the medians of repeated measurements."""
    return {
        key: statistics.median(value) if key in ("us", "host_us") and value else value
        for key, value in record.items()
    }


def compare(
    rows: Mapping[str, Row],
    script: str,
    settings: Sequence[str],
    rounds: int,
    seconds: float,
    tell: Callable[[Record], object] = lambda record: None,
) -> Record:
    """Return the record of the rows, as data. tell: called with the record after each row."""
    done = Comparison(rows, script, settings, time.monotonic() + seconds)
    results: dict[str, Record] = {}
    record: Record = {"rows": results, "left_out": done.left_out, "versions": done.versions}
    try:
        for name, row in rows.items():
            if done.left(1) <= 0:
                done.left_out.append(f"{name}: the {seconds:.0f} s were over")
                continue
            records = done.row(name, rounds)
            results[name] = {"unit": row.unit, "columns": judged(row, records)}
            print(f"{name}: {', '.join(records) or 'nothing'}", file=sys.stderr, flush=True)
            tell(record)
    finally:
        done.close()
    return record


def judged(row: Row, records: Mapping[str, Record]) -> dict[str, Record]:
    """Return records without results, with their distance from gpugraph's and whether it is too
    large.
    """
    expected = records.get(OWN, {}).get("results")
    judged = {}
    for column, record in records.items():
        verdict = {key: value for key, value in record.items() if key != "results"}
        if row.unit:
            verdict["rate"] = row.amount / verdict["us"] / (1e3 if row.unit == "GB/s" else 1e6)
        if expected is not None and column != OWN:
            far = difference(
                [np.array(array) for array in record["results"]],
                [np.array(array) for array in expected],
            )
            verdict |= {"difference": far, "differs": not far <= row.tolerance}
        judged[column] = verdict
    return judged


def main(rows: Mapping[str, Row], tiny: Mapping[str, Row], script: str) -> None:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", metavar="COLUMN", help=argparse.SUPPRESS)
    parser.add_argument("--rows", nargs="*", help="those whose names contain one of these words")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=300, help="what does not fit is left out")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--table", type=Path, help="where to write the tables, as Markdown")
    parser.add_argument("--emulated", action="store_true", help="try the programs without a GPU")
    chosen = parser.parse_args()
    known = tiny if chosen.emulated else rows
    settings = ["--emulated"] if chosen.emulated else []
    if chosen.serve:
        serve(known, chosen.serve, 0.01 if chosen.emulated else 0.3, chosen.emulated)
        return
    words = chosen.rows or [""]
    chosen_rows = {name: row for name, row in known.items() if any(word in name for word in words)}
    if not chosen_rows:
        parser.error(f"no row has one of {words} in its name; rows: {', '.join(known)}")
    rounds = 1 if chosen.emulated else chosen.rounds
    about = {"emulated": chosen.emulated, "machine": machine(chosen.emulated)}

    def tell(known: Record) -> None:
        if chosen.table:
            chosen.table.write_text(tables({**about, **known}) + "\n")
        if chosen.json:
            chosen.json.write_text(json.dumps({**about, **known}, indent=1) + "\n")

    record = compare(chosen_rows, script, settings, rounds, chosen.seconds, tell)
    tell(record)
    print(tables({**about, **record}))
    columns = [column for row in record["rows"].values() for column in row["columns"].values()]
    if any(column.get("differs") for column in columns):
        raise SystemExit("results differ")
    if not any(OWN in row["columns"] for row in record["rows"].values()):
        raise SystemExit("nothing of gpugraph's was measured")
