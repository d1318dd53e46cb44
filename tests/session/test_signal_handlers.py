"""Exceptions of the program's signal handlers arrive unchanged, and tear no update and no file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCENES = Path(__file__).with_name("handler_scenes.py")

CASES = [
    "steps SIGTERM own", "steps SIGALRM TimeoutError", "steps SIGINT SystemExit",
    "steps SIGPROF own", "steps SIGUSR1 KeyboardInterrupt", "steps SIGTERM quiet",
    "steps SIGTERM runs", "loop SIGINT runs-own", "fit SIGTERM own", "monitored SIGALRM own",
    "save SIGALRM SystemExit", "function SIGTERM own", "loop SIGALRM own", "queue SIGINT own",
]  # fmt: skip
NATIVE = ["steps SIGALRM own", "fit SIGTERM SystemExit", "loop SIGTERM own", "loop SIGTERM quiet"]
KINDS = {"SIGTERM": "own", "SIGALRM": "TimeoutError", "SIGINT": "SystemExit"}
EXHAUSTIVE = [
    f"{scene} {number} {kind}"
    for scene in ("steps", "fit", "monitored", "save", "function", "loop", "queue")
    for number, kind in KINDS.items()
]


def check(case: str, native: str, count: int, *when: str) -> None:
    """Run a scene, and check that all exceptions arrive unchanged and leave a consistent state."""
    ended = subprocess.run(
        [sys.executable, str(SCENES), *case.split(), str(count), *when],
        env={**os.environ, "GPUGRAPH_NATIVE": native},
        capture_output=True,
        text=True,
        timeout=1500,
    )
    expected = f"delivered {count} changed 0 torn 0\n"
    assert ended.stdout == expected, f"{ended.stdout}{ended.stderr[-2000:]}"


@pytest.mark.parametrize("case", CASES)
def test_handlers(case: str) -> None:
    check(case, "0", 25)


@pytest.mark.parametrize("case", NATIVE)
def test_handlers_in_native_code(case: str) -> None:
    check(case, "wait", 25)


def test_handlers_that_were_set_before_the_import() -> None:
    check("steps SIGTERM own", "0", 25, "before")


@pytest.mark.exhaustive
@pytest.mark.parametrize("native", ["0", "wait"])
@pytest.mark.parametrize("case", EXHAUSTIVE)
def test_many_exceptions(case: str, native: str) -> None:
    check(case, native, 500)
