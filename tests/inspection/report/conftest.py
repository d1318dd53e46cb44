"""A report of a training step on two devices, and a browser to look at pages."""

from __future__ import annotations

import runpy
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import gpugraph as tf
from gpugraph.inspection.report.step_report import StepReport
from gpugraph.session.traced_execution import RUN_LISTENERS
from gpugraph.tensorflow_import.import_switch import as_tensorflow

ROOT = Path(__file__).resolve().parents[3]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--enable-logging=stderr", "--virtual-time-budget=4000"),
)


@pytest.fixture(scope="session")
def two_devices() -> StepReport:
    """Return the last training step of examples/two_devices.py."""
    kept = []

    def keep(runner, execution):
        kept[:] = [(execution.plan, execution.times, runner.graph_record(execution.plan))]

    RUN_LISTENERS.append(keep)
    try:
        with pytest.MonkeyPatch.context() as patch, as_tensorflow(), tf.Graph().as_default():
            patch.setenv("GPUGRAPH_NATIVE", "1")  # with fused steps
            program = runpy.run_path(str(ROOT / "examples" / "two_devices.py"))
            program["main"]()
    finally:
        RUN_LISTENERS.remove(keep)
    return StepReport(*kept[0])


Browse = Callable[..., "tuple[str, list[str]]"]


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    """Open a file in Chromium, and return its output and the lines of its console."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"there is none of {', '.join(BROWSERS)} to open a page with")

    def open_file(path: Path, *options: str) -> tuple[str, list[str]]:
        command = [browser, *OPTIONS, f"--user-data-dir={tmp_path / 'profile'}", *options]
        done = subprocess.run(
            [*command, path.as_uri()], capture_output=True, text=True, timeout=120, check=True
        )
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    return open_file
