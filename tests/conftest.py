"""Shared parts of all tests: Hypothesis profiles, the markers, and the last lines of ci/test.

Every session that a test makes verifies its plans between any two compile passes.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from gpugraph.devices.cuda.detection.gpu_detection import detect
from gpugraph.devices.cuda.emulation.cxx_compiler import host_compiler
from gpugraph.session import open_shapes

os.environ.setdefault("GPUGRAPH_VERIFY", "1")
os.environ.setdefault("GPUGRAPH_NATIVE", "0")  # ci/test also runs the computing tests with "wait"

WITH_GPU = os.environ.setdefault("GPUGRAPH_GPU", "0")
"""Tests marked `gpu` have the GPUs of the machine, the others none unless this is set."""

EMULATED = os.environ.get("GPUGRAPH_VIRTUAL_GPUS") == "emulated"
"""Tests marked `gpu(or_emulated=True)` run on emulated GPUs, whatever is there."""

ABSENT = [name for name in ("hypothesis", "ml_dtypes") if find_spec(name) is None]
"""Packages of the extra `test` that a plain install does not bring."""

if "hypothesis" not in ABSENT:
    import hypothesis

    # No deadlines: how long an example takes is the machine's business, not the test's.
    hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, max_examples=20)
    hypothesis.settings.register_profile("dev", deadline=None)
    hypothesis.settings.register_profile("exhaustive", deadline=None, max_examples=1000)
    hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Ignore files that import packages that are not installed."""
    if collection_path.suffix != ".py" or not ABSENT:
        return None
    source = collection_path.read_text()
    needs = [name for name in ABSENT if f"import {name}" in source or f"from {name}" in source]
    return bool(needs) or None


@pytest.fixture
def without_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile no units with open sizes: many sets of shapes get a plan with dynamic memory."""
    monkeypatch.setattr(open_shapes, "MAX_UNITS", 0)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C is Python's affair, though a shell may have set it to be ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _why_skipped(item: pytest.Item) -> str:
    """Why a test that needs a GPU can't be run, or nothing."""
    marker = item.get_closest_marker("gpu")
    if marker is None:
        return ""
    if EMULATED and marker.kwargs.get("or_emulated"):
        return host_compiler().reason
    os.environ["GPUGRAPH_GPU"] = "1"
    reason = detect().reason
    os.environ["GPUGRAPH_GPU"] = WITH_GPU
    return reason and f"no CUDA GPU: {reason}"


THINNED = ("tests/kernels/", "tests/devices/cuda/driver/test_cudnn.py")
"""Tests on emulated GPUs, of which a usual run takes every second variant."""


def _thin_out(items: list[pytest.Item]) -> None:
    """Mark every second variant of a thinned test as exhaustive, unless all are to be checked."""
    if "GPUGRAPH_CUDA_CHECKS" in os.environ:
        return
    counts: dict[str, int] = {}
    for item in items:
        test = item.nodeid.partition("[")[0]
        if test.startswith(THINNED) and "test_host_" not in test:
            counts[test] = counts.get(test, 0) + 1
            if counts[test] % 2 == 0:
                item.add_marker(pytest.mark.exhaustive)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _thin_out(items)
    if "exhaustive" not in config.option.markexpr:
        long = [item for item in items if item.get_closest_marker("exhaustive")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]
    for item in items:
        reason = _why_skipped(item)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable garbage collection, as no collected item becomes garbage: the search is a fifth of
    the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Exempt the many objects of the collection from the garbage collector, as all of them stay.

    In the last part of ci/test the collector also runs more rarely than by Python's default, which
    costs a part in twenty of the time; in its other parts, and in other runs, it runs as in a
    program.
    """
    gc.collect()
    gc.freeze()
    if "GPUGRAPH_CI_STARTED" in os.environ:
        gc.set_threshold(10_000, *gc.get_threshold()[1:])


def pytest_runtest_setup(item: pytest.Item) -> None:
    os.environ["GPUGRAPH_GPU"] = "1" if item.get_closest_marker("gpu") else WITH_GPU


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report how ci/test's earlier checks went, where nobody needs to scroll for it."""
    started = os.environ.get("GPUGRAPH_CI_STARTED")
    if started is None:
        return
    failed = os.environ.get("GPUGRAPH_CI_FAILED")
    terminalreporter.section("ci/test")
    terminalreporter.line(f"before pytest: {f'FAILED: {failed}' if failed else 'all passed'}")
    terminalreporter.line(f"total time, set-up included: {time.time() - int(started):.0f} s")
