"""The pages in docs/ that show programs: each runs as it stands there, and prints what it says.

A block that needs an extra says so in the text before it, and is left out without the extra.
"""

from __future__ import annotations

import contextlib
import io
import re
from importlib.metadata import distributions
from pathlib import Path

import pytest

import gpugraph as tf
from gpugraph.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def blocks(page: str = "variable_sharing") -> list[tuple[str, str]]:
    """(kind, text) of each block of a page."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    return re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)


def printing_blocks(page: str) -> list[tuple[str, str, str]]:
    """(extra, code, output) of each block of Python that has its output below it.

    The extra is the one that the text since the block before names: `gpugraph[hdf5]`.
    """
    found, extra, code = [], "", ""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    for prose, kind, block in re.findall(r"(.*?)```(\w+)\n(.*?)```", text, re.DOTALL):
        if kind == "python":
            extra, code = "".join(re.findall(r"gpugraph\[(\w+)\]", prose)), block
        elif kind == "text" and code:
            found.append((extra, code, block))
            code = ""
    return found


def is_installed(extra: str) -> bool:
    """Whether the packages of an extra are here, by the names in pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    (row,) = re.findall(rf"^{extra} = \[(.*?)\]", text, re.MULTILINE)
    names = re.findall(r'"([\w-]+)', row)
    here = {distribution.name.lower().replace("_", "-") for distribution in distributions()}
    return {name.lower() for name in names} <= here


RUN = [name for name in (path.stem for path in PAGES) if printing_blocks(name)]
"""The pages with whole programs: the blocks of cluster.md are parts of some."""


def test_most_pages_have_programs() -> None:
    assert len(RUN) >= 12 and sum(len(printing_blocks(page)) for page in RUN) >= 49


@pytest.mark.parametrize("page", RUN)
def test_each_block_of_python_prints_what_stands_below_it(page: str) -> None:
    assert len(printing_blocks(page)) == [kind for kind, _ in blocks(page)].count("python")
    names: dict[str, object] = {}
    with tf.Graph().as_default():
        for extra, code, expected in printing_blocks(page):
            if extra and not is_installed(extra):
                continue
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(code, names)
            assert said.getvalue() == expected


def test_the_explanation_of_the_gan_is_as_it_was_printed(capsys) -> None:
    command = next(text for kind, text in blocks() if kind == "sh")
    said = [text for kind, text in blocks() if kind == "text" and text.startswith("-- graph")]
    (program,) = re.fullmatch(r"gpugraph scopes (\S+)\n", command).groups()
    assert main(["scopes", str(ROOT / program), "--steps", "0"]) == 0
    assert [capsys.readouterr().err.rstrip("\n") + "\n"] == said


def test_the_picture_of_a_nested_model_is_as_it_was_drawn(tmp_path) -> None:
    names: dict[str, object] = {}
    with tf.Graph().as_default(), contextlib.redirect_stdout(io.StringIO()):
        exec(next(text for kind, text in blocks("keras") if kind == "python"), names)
    options = {"show_shapes": True, "expand_nested": True}
    tf.keras.utils.plot_model(names["siamese"], tmp_path / "siamese.svg", **options)
    shown = (ROOT / "docs" / "keras_siamese.svg").read_text("utf-8")
    assert (tmp_path / "siamese.svg").read_text("utf-8") == shown


OTHERS = {"cuda_fp16.h", "cuda_bf16.h", "gpu.md"}  # of CUDA, and a file that ci/gpu writes


@pytest.mark.parametrize(
    "page", [*(f"docs/{path.name}" for path in PAGES), "README.md", "CONTRIBUTING.md"]
)
def test_the_files_that_a_page_names_are_there(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    homes = [
        ROOT,
        ROOT / "examples",
        ROOT / "gpugraph",
        *(path for path in (ROOT / "gpugraph").rglob("*") if path.is_dir()),
    ]
    names = set(re.findall(r"`([\w/]+\.(?:py|md|cuh?|h|c))`", text)) - OTHERS
    kernels = {path.name for path in (ROOT / "kernels").rglob("*.*")}
    missing = [
        name
        for name in sorted(names)
        if name.rpartition("/")[2] not in kernels
        and not any((home / name).exists() for home in homes)
    ]
    assert missing == []
    links = re.findall(r"\]\((?!http)([^)#]+)", text)
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


def test_the_tests_that_hold_tensorflows_behaviour_are_there():
    page = (ROOT / "docs" / "tensorflow_behaviour.md").read_text("utf-8")
    named = re.findall(r"([\w/]*test_\w+\.py)(?:::(\w+))?", page)
    assert len(named) > 100
    folders = [ROOT / folder for folder in ("tests", "gpugraph", "ci")]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    for file, function in named:
        texts = [path.read_text("utf-8") for path in files if f"/{path}".endswith(f"/{file}")]
        assert any(f"def {function}" in text for text in texts), (file, function)
