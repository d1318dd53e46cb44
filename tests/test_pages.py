"""The pages in docs/: the files and names that they show exist, and blocks that need an extra run.

`test_page_programs.py` runs all other blocks.
"""

from __future__ import annotations

import contextlib
import io
import re

import pytest

import gpugraph as tf
from gpugraph.cli import main

from .page_programs import PAGES, ROOT, blocks, extras_of, is_installed, run_page


@pytest.mark.parametrize("page", [path.stem for path in PAGES if extras_of(path.stem)])
def test_blocks_that_need_an_extra_print_what_stands_below_them(page: str) -> None:
    if missing := [extra for extra in sorted(extras_of(page)) if not is_installed(extra)]:
        pytest.skip(f"not installed: the extra {', '.join(missing)}")
    run_page(page, with_extras=True)


def test_the_explanation_of_the_gan_is_as_it_was_printed(capsys) -> None:
    command = next(text for kind, text in blocks() if kind == "sh")
    said = [text for kind, text in blocks() if kind == "text" and text.startswith("-- graph")]
    (program,) = re.fullmatch(r"gpugraph scopes (\S+)\n", command).groups()
    assert main(["scopes", str(ROOT / program), "--steps", "0"]) == 0
    printed = capsys.readouterr().out
    assert [printed[printed.index("-- graph") :].rstrip("\n") + "\n"] == said


def test_the_picture_of_a_nested_model_is_as_it_was_drawn(tmp_path) -> None:
    names: dict[str, object] = {}
    with tf.Graph().as_default(), contextlib.redirect_stdout(io.StringIO()):
        exec(next(text for kind, text in blocks("keras") if kind == "python"), names)
    options = {"show_shapes": True, "expand_nested": True}
    tf.keras.utils.plot_model(names["siamese"], tmp_path / "siamese.svg", **options)
    shown = (ROOT / "docs" / "keras_siamese.svg").read_text("utf-8")
    assert (tmp_path / "siamese.svg").read_text("utf-8") == shown


OTHERS = {"cuda_fp16.h", "cuda_bf16.h", "gpu.md", "report.md"}  # of CUDA; ci/gpu writes them


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
    names -= set(re.findall(r"```python (\S+)", text))  # the page writes them
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
