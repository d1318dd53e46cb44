"""CONTRIBUTING.md adds an op: in a copy of the package, what it says is enough, and is all."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = (
    "gpugraph/ops/elementwise/unary_functions.py",
    "gpugraph/api/math.py",
    "tests/test_public_names.py",
    "tests/ops/samples.py",
)


def blocks() -> list[str]:
    """The blocks of the page: declaration, public name, signature, sample."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return re.findall(r"```(?:python|text)\n(.*?)```", page, re.DOTALL)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and its tests, in which the op is added."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("ci", "gpugraph", "kernels", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    declaration, face, signature, sample = blocks()
    for name, block in zip(FILES, (declaration, face, signature, sample), strict=True):
        source = (folder / name).read_text("utf-8")
        if block is signature:
            source = source.replace('SIGNATURES = """\n', f'SIGNATURES = """\n{block}')
        else:
            source += f"\n\n{block}"
        (folder / name).write_text(source, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    subprocess.run([sys.executable, "ci/op_index.py"], cwd=folder, env=environment, check=True)
    return folder


def run(folder: Path, *arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-2000:]
    return result.stdout


def test_the_page_names_the_files() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for name in FILES:
        assert name in page or name.removeprefix("gpugraph/api/") in page


def test_the_op_passes_the_walk_over_all_ops(checkout: Path) -> None:
    output = run(checkout, "tests/ops/test_every_op.py", "-k", "Cube")
    passed = re.search(r"(\d+) passed", output)
    assert passed is not None and int(passed[1]) > 5


def test_the_function_is_public(checkout: Path) -> None:
    run(checkout, "tests/test_public_names.py", "-k", "line or cube or documented or docstrings")
