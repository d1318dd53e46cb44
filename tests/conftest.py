"""What all tests share: Hypothesis profiles, the `gpu` marker, and the last word of ci/test.

Every session that a test makes verifies its plans between any two compile passes.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import hypothesis
import pytest

os.environ.setdefault("GPUGRAPH_VERIFY", "1")
os.environ.setdefault("GPUGRAPH_NATIVE", "0")  # ci/test runs what computes with "wait" too

# No deadlines: how long an example takes is the machine's business, not the test's.
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.register_profile("dev", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# The GPU device will answer this itself when it comes.
NO_GPU: str | None = "no CUDA GPU device in this build: gpugraph.devices knows only the CPU so far"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C is Python's affair, though a shell may have set it to be ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if NO_GPU and item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason=NO_GPU))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how ci/test's earlier checks went, where nobody needs to scroll for it."""
    started = os.environ.get("GPUGRAPH_CI_STARTED")
    if started is None:
        return
    failed = os.environ.get("GPUGRAPH_CI_FAILED")
    terminalreporter.section("ci/test")
    terminalreporter.line(f"before pytest: {f'FAILED: {failed}' if failed else 'all passed'}")
    terminalreporter.line(f"total time, set-up included: {time.time() - int(started):.0f} s")
