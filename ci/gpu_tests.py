"""Runs the tests marked `gpu`, and says in a few lines how they went: a part of ci/gpu.

    python ci/gpu_tests.py --seconds S --each S --out DIR [--only FILE ...] [--tests FOLDER]

No more than --seconds in all and --each for a test. A test that takes longer, or ends its process,
has failed, and those behind it run in a new process. DIR gets tests.log (pytest's output),
tests.json (each test's outcome, seconds and error) and summary.txt (what is printed). Exit status:
0 if all passed that there was time for, and there was for all; 1 if not.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gpugraph.devices.cuda.driver.driver_interface import DriverError  # noqa: E402
from gpugraph.devices.cuda.driver.libcuda import LibCuda  # noqa: E402

MOST_FAILURES, MOST_WORDS, MOST_WORKERS = 12, 320, 8
WORKER_BYTES = 2 << 30
"""Of a GPU's memory for each process: CUDA's context, its kernels, and what tests allocate."""
STARTS = 6
"""Of pytest, at most."""

Record = dict[str, Any]


def marked(folder: Path) -> list[str]:
    """Return the files that have tests marked `gpu`: others need not be imported, by each
    process.
    """
    return [
        str(path)
        for path in sorted(folder.rglob("test_*.py"))
        if "pytest.mark.gpu" in path.read_text("utf-8")
    ]


def workers(cores: int, gpu: tuple[int, bool] | None) -> int:
    """Return the number of processes for the tests. gpu: its bytes, and whether only one process
    may use it; None if it is emulated.

    Mainly CUDA's compiler is spread over processes, and each of them starts CUDA."""
    most = min(MOST_WORKERS, max(1, cores if cores <= 4 else cores // 2))
    if gpu is None:
        return most
    num_bytes, is_exclusive = gpu
    return 1 if is_exclusive else max(1, min(most, num_bytes // WORKER_BYTES))


def first_gpu() -> tuple[int, bool] | None:
    """Return the bytes of the first GPU, and whether only one process may use it; None if GPUs are
    emulated, or the driver does not say.
    """
    if os.environ.get("GPUGRAPH_VIRTUAL_GPUS") == "emulated":
        return None
    try:
        library = LibCuda()
        library.initialize()
        return library.gpus()[0].total_bytes, library.is_exclusive(0)
    except (OSError, DriverError, IndexError):
        return None


def command(files: Sequence[str], alone: bool) -> list[str]:
    """Return pytest's command with the required plugins only: others may warn, and warnings are
    errors.
    """
    plugins = ["ci.gpu_report", "no:cacheprovider"]
    plugins += ["_hypothesis_pytestplugin"] if find_spec("_hypothesis_pytestplugin") else []
    spread: list[str] = []
    if not alone and find_spec("xdist"):
        count = workers(len(os.sched_getaffinity(0)), first_gpu())
        plugins.append("xdist.plugin")
        spread = ["-n", str(count), "--dist", "worksteal"]
    told = [word for plugin in plugins for word in ("-p", plugin)]
    how = ["-v", "--tb=short", "-o", "faulthandler_timeout=0", "-m", "gpu"]
    how.append("--continue-on-collection-errors")
    return [sys.executable, "-m", "pytest", *how, *told, *spread, *files]


def run(files: Sequence[str], report: Path, log: Path, options: argparse.Namespace) -> str:
    """Why the tests did not come to their end, or the empty string."""
    ends = time.monotonic() + options.seconds
    env = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PYTEST_XDIST")},
        "GPUGRAPH_REPORT": str(report),
        "GPUGRAPH_SECONDS": str(options.each),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONUNBUFFERED": "1",
    }
    left: set[str] = set()
    for _ in range(STARTS):
        with log.open("a", encoding="utf-8") as output:
            process = subprocess.Popen(
                command(files, bool(options.only)),
                cwd=ROOT,
                env=env,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(max(0.0, ends - time.monotonic()))
            except subprocess.TimeoutExpired:
                return f"not done in {options.seconds:.0f} s"
            except SystemExit as ended:  # finished tests are reported all the same
                return str(ended)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)  # with the processes of its workers
                    with contextlib.suppress(
                        subprocess.TimeoutExpired
                    ):  # a driver may not release the process
                        process.wait(10)
        before, left = left, unfinished(report)
        if left == before and status in (0, 1, 5):  # 5: none were left to be run
            return ""
        if left == before and status in (2, 3, 4):
            return f"pytest ended with {status}: {_last_line(log)}"
    return f"pytest was ended {STARTS} times"


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:MOST_WORDS] if lines else "without a word"


def records(path: Path) -> list[Record]:
    """Return the records of ci/gpu_report.py, without a line that was cut off with its process."""
    lines = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            lines.append(json.loads(line))
    return lines


def unfinished(report: Path) -> set[str]:
    """Return the tests that ended their process."""
    lines = records(report)
    return {record["test"] for record in lines} - {
        record["test"] for record in lines if record["outcome"] != "begun"
    }


def outcomes(report: Path) -> dict[str, Record]:
    """Return the record of each test, of several outcomes the worst."""
    by_test: dict[str, Record] = {}
    for record in records(report):
        known = by_test.get(record["test"])
        if known is None or known["outcome"] != "failed":
            by_test[record["test"]] = {"said": "", **record}
    for test, record in by_test.items():
        where = _where(report.parent, test) if record["outcome"] in ("begun", "failed") else ""
        if where or record["outcome"] == "begun":
            record["said"] = where or "its process ended, or the time was over"
    return by_test


def _where(folder: Path, test: str) -> str:
    """Return the frames of a test that was ended for its time, or the empty string."""
    for path in sorted(folder.glob("*.late")):
        _, begun, after = f"\n{path.read_text('utf-8', 'replace')}".rpartition(f"\n-- {test}\n")
        for thread in f"\n{after}".partition("\n-- ")[0].split("\n\n") if begun else ():
            inner, runs, _ = thread.partition("in pytest_pyfunc_call")
            if runs:
                lines = [" ".join(line.split()) for line in inner.splitlines()]
                frames = [line for line in lines if line.startswith("File ")]
                return f"ended for its time at {' < '.join(frames[:4])}"
    return ""


def is_bad(record: Record) -> bool:
    """Return whether a test failed, or was skipped for lack of a GPU where there has to be one."""
    without = "no CUDA GPU" in record["said"] and os.environ.get("GPUGRAPH_GPU") == "1"
    return record["outcome"] in ("failed", "begun") or without


def summary(by_test: dict[str, Record], problem: str) -> tuple[str, bool]:
    """Some lines, and whether all is well. problem: why the tests did not come to their end."""
    counts = Counter(record["outcome"] for record in by_test.values())
    bad = {test: record for test, record in by_test.items() if is_bad(record)}
    lines = [", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))]
    lines += [f"tests: {problem}"] if problem else []
    for test, record in list(bad.items())[:MOST_FAILURES]:
        reason = " ".join(record["said"].replace(f"{ROOT}/", "").split())
        lines.append(f"- {test.rpartition('/')[2]}: {reason[:MOST_WORDS]}")
    if len(bad) > MOST_FAILURES:
        lines.append(f"- and {len(bad) - MOST_FAILURES} more")
    skipped = {record["said"] for record in by_test.values() if record["outcome"] == "skipped"}
    lines += [f"- skipped: {' '.join(why.split())[:MOST_WORDS]}" for why in sorted(skipped)[:3]]
    slow = sorted(by_test.items(), key=lambda item: -item[1].get("seconds", 0))[:4]
    times = [
        f"{record.get('seconds', 0):.0f} s {test.rpartition('::')[2]}" for test, record in slow
    ]
    lines += [f"longest: {', '.join(times)}"] if times else []
    return "\n".join(lines), counts["passed"] > 0 and not bad and not problem


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, required=True, help="for all tests")
    parser.add_argument("--each", type=float, required=True, help="for a test")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", help="these files, in one process")
    parser.add_argument("--tests", type=Path, default=ROOT / "tests")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    options.out.mkdir(parents=True, exist_ok=True)
    log = options.out / "tests.log"
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report")
        problem = run(options.only or marked(options.tests), report, log, options)
        by_test = outcomes(report)
    text, is_well = summary(by_test, problem)
    (options.out / "tests.json").write_text(json.dumps(by_test, indent=1) + "\n")
    (options.out / "summary.txt").write_text(text + "\n")
    print(text)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
