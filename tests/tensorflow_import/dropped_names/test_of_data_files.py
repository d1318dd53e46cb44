"""Defaults of h5py before version 3, as `gpugraph run` provides them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_dropped_imports import run

pytest.importorskip("h5py")

PROGRAM = """
import h5py

path = PATH
with h5py.File(path) as file:
    file["a"] = [1, 2]
with h5py.File(path) as file:
    assert file.mode == "r+" and file["a"].value.tolist() == [1, 2]
with h5py.File(path, "r") as file:
    assert file.mode == "r"
with open(path, "w+b") as stream, h5py.File(stream) as file:
    file["b"] = 2
"""


def test_files_without_a_mode_can_be_written(tmp_path: Path) -> None:
    result = run(tmp_path, PROGRAM.replace("PATH", repr(str(tmp_path / "x.h5"))))
    assert result.returncode == 0, result.stderr
