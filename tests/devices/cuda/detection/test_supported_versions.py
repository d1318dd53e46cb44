"""The versions in pyproject.toml are those of docs/gpu.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


def requirement(extra: str, package: str) -> str:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    (row,) = re.findall(rf"^{extra} = \[(.*)\]$", text, re.MULTILINE)
    return re.search(rf'"{package}[^"=<>]*([^"]*)"', row)[1]  # type: ignore[index]


def test_toolkits_are_those_of_the_page() -> None:
    page = " ".join((ROOT / "docs" / "gpu.md").read_text("utf-8").split())
    assert requirement("cuda12", "cuda-toolkit") == "==12.*,>=12.8"
    assert requirement("cuda13", "cuda-toolkit") == "==13.0.*"
    assert "`[cuda12]` installs CUDA 12.8 or 12.9, `[cuda13]` installs CUDA 13.0" in page
    assert {requirement(f"cuda{n}", f"cupy-cuda{n}x") for n in (12, 13)} == {">=14.1,<15"}
    assert "both install CuPy 14" in page


def test_the_page_has_a_row_for_each_range_of_drivers() -> None:
    page = (ROOT / "docs" / "gpu.md").read_text("utf-8")
    rows = re.findall(r"^\| (before 530\.30|530\.30 to 579|580 or later) \|(.*)\|$", page, re.M)
    refused = {drivers: cells.count("refused") for drivers, cells in rows}
    assert refused == {"before 530.30": 2, "530.30 to 579": 1, "580 or later": 0}
