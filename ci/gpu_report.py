"""A plugin of pytest that records ci/gpu's tests one by one, even if their process ends.

    GPUGRAPH_REPORT    a file: a line of JSON for each test that begins, and for each outcome
    GPUGRAPH_SECONDS   seconds that a test may take; then its process ends, with the stacks of its
                       threads in a file beside, *.late: a kernel that never ends can't be stopped
                       otherwise

Tests that are in the file already are left out, so that pytest may be started again after its
process has ended.
"""

from __future__ import annotations

import faulthandler
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ci.gpu_tests import records

REPORT = Path(os.environ["GPUGRAPH_REPORT"])
SECONDS = float(os.environ["GPUGRAPH_SECONDS"])
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
LATE = REPORT.with_name(f"{WORKER}{os.getpid()}.late")
MOST_CHARACTERS = 1500


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    begun = {record["test"] for record in records(REPORT)} if not WORKER else set()
    done = [item for item in items if item.nodeid in begun]
    if done:
        config.hook.pytest_deselected(items=done)
        items[:] = [item for item in items if item.nodeid not in begun]


def _record(**record: Any) -> None:
    if not WORKER:  # the main process gets the reports of all workers
        with REPORT.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Record a file that can't be imported."""
    if report.failed:
        _record(test=report.nodeid, outcome="failed", said=report.longreprtext[-300:])


def pytest_runtest_logstart(nodeid: str) -> None:
    _record(test=nodeid, outcome="begun")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed or report.when == "call" or report.skipped:
        reason = _reason(report) if report.outcome != "passed" else ""
        seconds = round(report.duration, 3)
        _record(test=report.nodeid, outcome=report.outcome, seconds=seconds, said=reason)


def _reason(report: pytest.TestReport) -> str:
    """Return the error's message, or the end of the report."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[-1])
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return f"{crash.path}:{crash.lineno}: {crash.message}"[:MOST_CHARACTERS]
    return report.longreprtext[-MOST_CHARACTERS:]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    with LATE.open("a", encoding="utf-8") as file:
        file.write(f"-- {item.nodeid}\n")
        file.flush()
        faulthandler.dump_traceback_later(SECONDS, exit=True, file=file)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()
