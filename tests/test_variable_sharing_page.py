"""docs/variable_sharing.md: its Python runs as it stands there, and printed what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import gpugraph as tf
from gpugraph.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "variable_sharing.md").read_text("utf-8")


def blocks() -> list[tuple[str, str]]:
    """(kind, text) of each block."""
    return re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def test_each_block_of_python_prints_what_stands_below_it() -> None:
    kinds = [kind for kind, _ in blocks()]
    assert kinds.count("python") >= 5
    names: dict[str, object] = {}
    with tf.Graph().as_default():
        for (kind, code), (below, expected) in zip(blocks(), blocks()[1:]):
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
