"""The program of docs/strategies.md prints the same losses on one CPU, GPUs and processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ...page_programs import printing_blocks
from .test_worker_strategies import ROOT, free_ports


def program(tmp_path: Path) -> tuple[str, str]:
    """Return the path of the page's program for all devices, and the losses that it prints."""
    for _, code, output in printing_blocks("strategies"):
        if "TF_CONFIG" in code:
            path = tmp_path / "program.py"
            path.write_text(code)
            return str(path), output.splitlines()[-1]
    raise AssertionError("no program")


def started(path: str, **variables: Any) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), **variables}
    return subprocess.Popen(
        [sys.executable, path], env=environment, stdout=subprocess.PIPE, text=True
    )


def test_eight_gpus(tmp_path: Path) -> None:
    path, losses = program(tmp_path)
    with started(path, GPUS="8") as process:
        assert process.communicate(timeout=110)[0].splitlines() == ["replicas: 8", losses]


def test_two_processes(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    path, losses = program(tmp_path)
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(2)]}
    workers = [
        started(path, TF_CONFIG=json.dumps({"cluster": cluster, "task": task}))
        for task in ({"type": "worker", "index": number} for number in range(2))
    ]
    try:
        for worker in workers:
            assert worker.communicate(timeout=110)[0].splitlines() == ["replicas: 2", losses]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
