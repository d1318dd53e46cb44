"""CONTRIBUTING.md and docs/recipes.md: in a copy of the package, the steps suffice."""

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
    "tests/ops/samples.py",
)
GENERATORS = ("ci/op_index.py", "ci/public_signatures.py")


def blocks() -> list[str]:
    """Return the blocks of the page: declaration, public name, sample."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return re.findall(r"```(?:python|text)\n(.*?)```", page, re.DOTALL)


def copy_of_the_package(folder: Path) -> Path:
    for name in ("ci", "docs", "gpugraph", "kernels", "tests"):
        shutil.copytree(ROOT / name, folder / name)  # with the bytecode, which saves seconds
    for name in ("pyproject.toml", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package and its tests, in which the op is added."""
    folder = copy_of_the_package(tmp_path_factory.mktemp("checkout"))
    for name, block in zip(FILES, blocks(), strict=True):
        source = (folder / name).read_text("utf-8")
        (folder / name).write_text(f"{source}\n\n{block}", "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    for program in GENERATORS:
        subprocess.run([sys.executable, program], cwd=folder, env=environment, check=True)
    return folder


def insert(path: Path, before: str, text: str) -> None:
    source = path.read_text("utf-8")
    assert source.count(before) == 1
    path.write_text(source.replace(before, text + before), "utf-8")


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy in which the recipes are followed."""
    folder = copy_of_the_package(tmp_path_factory.mktemp("changed"))
    page = (ROOT / "docs" / "recipes.md").read_text("utf-8")
    for name, block in re.findall(r"```(?:python|text) (\S+)\n(.*?)```", page, re.DOTALL):
        path = folder / name
        if not path.exists():
            path.write_text(block, "utf-8")
        else:
            is_page = path.suffix == ".md"
            variable = "CUDA_VISIBLE_DEVICES"
            insert(path, f"| `{variable}` |" if is_page else f'    "{variable}": ', block)
    passes = folder / "gpugraph/compile/__init__.py"
    insert(passes, "    common,\n", "    idempotence,\n")
    module = "gpugraph.compile.rewriting"
    insert(
        passes,
        f"from {module}.no_op_elimination ",
        f"from {module}.idempotence import idempotence\n",
    )
    conversion = folder / "gpugraph/formats/variable_files/conversion.py"
    insert(conversion, '".npz": NpzReader', '".npy": NpyReader, ')
    insert(conversion, '".npz": write_npz', '".npy": write_npy, ')
    module = "gpugraph.formats.variable_files"
    insert(
        conversion,
        f"from {module}.npz_files ",
        f"from {module}.npy_files import NpyReader, write_npy\n",
    )
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
    assert all(program in page for program in GENERATORS)


def test_the_op_passes_the_walk_over_all_ops(checkout: Path) -> None:
    output = run(checkout, "tests/ops/test_every_op.py", "-k", "Cube")
    passed = re.search(r"(\d+) passed", output)
    assert passed is not None and int(passed[1]) > 5


def test_the_function_is_public(checkout: Path) -> None:
    run(checkout, "tests/test_public_names.py", "-k", "snapshot or docstrings")
    snapshot = (checkout / "tests/public_signatures.txt").read_text("utf-8")
    assert "\nmath.cube: x name=None\n" in snapshot


def test_the_recipes_suffice(changed: Path) -> None:
    output = run(
        changed,
        "tests/compile/rewriting/test_idempotence.py",
        "tests/config/test_environment.py",
        "tests/formats/variable_files",
        "-k",
        "not mutated",
    )
    assert "COLOR" not in output


@pytest.mark.exhaustive
def test_the_recipes_keep_the_layers_and_sizes(changed: Path) -> None:
    run(changed, "tests/test_floors.py", "tests/test_sizes.py")


def test_the_files_of_the_recipes_are_formatted(changed: Path) -> None:
    page = (ROOT / "docs" / "recipes.md").read_text("utf-8")
    names = re.findall(r"```python (\S+)\n", page)
    for command in (["check"], ["format", "--check"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, *names], cwd=changed, check=True)
