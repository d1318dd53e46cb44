"""The pages in docs/ that show programs: each runs as it stands there, and prints what it says."""

from __future__ import annotations

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path

import pytest

import gpugraph as tf
from gpugraph.cli import main

ROOT = Path(__file__).resolve().parents[1]


def blocks(page: str = "variable_sharing") -> list[tuple[str, str]]:
    """(kind, text) of each block of a page."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    return re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize(
    ("page", "count"),
    [
        ("memory", 3),
        *(("variable_sharing", 5), ("control_flow", 3), ("programs", 1), ("seeing_a_step", 3)),
        *(("saved_models", 3), ("summaries", 3), ("monitored_sessions", 4)),
        *(("queues", 4), ("checkpoints", 4), ("input_files", 5), ("keras", 8)),
    ],
)
def test_each_block_of_python_prints_what_stands_below_it(page: str, count: int) -> None:
    if page in ("saved_models", "summaries", "checkpoints", "input_files"):
        pytest.importorskip("google.protobuf", reason="the extra `messages` is not installed")
    if page == "keras":
        pytest.importorskip("h5py", reason="the extra `hdf5` is not installed")
    found = blocks(page)
    assert [kind for kind, _ in found].count("python") >= count
    names: dict[str, object] = {}
    with tf.Graph().as_default():
        for (kind, code), (below, expected) in pairwise(found):
            if kind != "python":
                continue
            assert below == "text"
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
PAGES = sorted(path.name for path in (ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize(
    "page", [*(f"docs/{name}" for name in PAGES), "README.md", "CONTRIBUTING.md"]
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
