"""The tests that the libraries of TensorFlow 1 ship with their packages, run on gpugraph.

    gpugraph run ci/library_tests.py FOLDER RESULT [--limit SECONDS] [--files PATTERN...]

FOLDER is one library's unpacked package. Each test file runs by pytest in a separate child of this
process, which has imported TensorFlow already, within a limit of processor time. RESULT becomes
JSON: for each file the number of tests that passed, were skipped and failed, and the last line of
each failure. `ci/libraries.py test` calls this for each library.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import sys
import time
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_MEMORY = 8 << 30
_PATIENCE = 8
_FOUND = re.compile(r"(test_.*|.*_test|.*_tests|tests)\.py$")


def test_files(folder: Path) -> list[Path]:
    """Return a library's test files: named as tests, and with a test inside."""
    return [
        path
        for path in sorted(folder.rglob("*.py"))
        if _FOUND.match(path.name) and re.search(rb"\n *def test", path.read_bytes())
    ]


class _Outcomes:
    """A pytest plugin that counts the tests of one file and keeps the reasons of failures."""

    def __init__(self) -> None:
        self.counts = {"passed": 0, "skipped": 0, "failed": 0}
        self.reasons: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = report.nodeid.partition("::")[2]
        if report.failed and name not in self.reasons:
            self.counts["failed"] += 1
            self.reasons[name] = _last_line(report)
        elif report.skipped:
            self.counts["skipped"] += 1
        elif report.when == "call" and report.passed:
            self.counts["passed"] += 1

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.counts["failed"] += 1
            self.reasons[""] = _last_line(report)


def _last_line(report: Any) -> str:
    """Return the place and the message of a failure, in one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
        return " ".join(line[1:].strip() for line in lines[-2:]) or str(report.longrepr)[-300:]
    return f"{Path(crash.path).name}:{crash.lineno}: {crash.message}"[:400]


def _run_file(path: Path, sender: Connection, limit: int) -> None:
    """Run one file's tests in this process, a child, and send the outcome."""
    import pytest  # noqa: PLC0415  (a child imports it, for its own hooks)

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, 2 * limit))
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    os.setpgid(0, 0)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    outcomes = _Outcomes()
    for ending in (signal.SIGTERM, signal.SIGXCPU):
        signal.signal(ending, lambda *_: _send(sender, outcomes, f"over {limit} s"))
    sys.argv[1:] = []
    _mark_flags_as_parsed()
    options = [
        "-p",
        "no:cacheprovider",
        "-q",
        "--assert=plain",
        "--tb=short",
        "-W",
        "ignore",
        "-c",
        os.devnull,
    ]
    options += ["-o", "python_files=*.py", "--rootdir", str(path.parent)]
    status = pytest.main([*options, str(path)], plugins=[outcomes])
    if not any(outcomes.counts.values()):  # for example, a conftest.py could not be imported
        outcomes.counts["failed"] += 1
        outcomes.reasons[""] = f"no test ran: pytest ended with {status!r}"
    _send(sender, outcomes, "")


def _send(sender: Connection, outcomes: _Outcomes, end: str) -> None:
    if end:
        outcomes.counts["failed"] += 1
        outcomes.reasons["(time)"] = end
    sender.send({"counts": outcomes.counts, "reasons": outcomes.reasons})
    os._exit(0)


def _mark_flags_as_parsed() -> None:
    """Let tests read flags as they do below `absltest.main`."""
    try:
        from absl import flags  # noqa: PLC0415
    except ImportError:
        return
    flags.FLAGS(["test"], known_only=True)


def run_files(files: list[Path], folder: Path, limit: int, result: Path) -> dict[str, Any]:
    """Run each file in a child; write the outcomes after each one, and return them."""
    outcomes: dict[str, Any] = {}
    context = get_context("fork")
    for path in files:
        began = time.monotonic()
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_run_file, args=(path, sender, limit))
        child.start()
        sender.close()
        outcome = {"counts": {"passed": 0, "skipped": 0, "failed": 1}, "reasons": {"": "died"}}
        try:
            if not receiver.poll(_PATIENCE * limit):
                child.terminate()
            if receiver.poll(10):
                outcome = receiver.recv()
        except EOFError:
            pass
        _end(child)
        outcome["seconds"] = round(time.monotonic() - began, 1)
        name = str(path.relative_to(folder))
        outcomes[name] = outcome
        counts = outcome["counts"]
        print(f"{name:72} {counts}", file=sys.stderr, flush=True)
        result.write_text(json.dumps(outcomes, indent=1))
    return outcomes


def _end(child: Any) -> None:
    """End a child and the processes that it has left behind."""
    child.join(1)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.kill()
    child.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--limit", type=int, default=120)
    parser.add_argument("--every", type=int, default=1, help="run one file in so many")
    parser.add_argument("--files", nargs="*", default=[])
    options = parser.parse_args()
    files = test_files(options.folder)
    if options.files:
        files = [path for path in files if any(part in str(path) for part in options.files)]
    import tensorflow  # noqa: F401, PLC0415

    run_files(files[:: options.every], options.folder, options.limit, options.result)


if __name__ == "__main__":
    main()
