"""The programs of examples/old_programs, which say `import tensorflow`, run as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpugraph
from gpugraph.cli import main

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "old_programs"


@pytest.fixture(autouse=True)
def graph():
    with gpugraph.Graph().as_default():
        yield


def test_the_lstm_learns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(FOLDER / "lstm_sequence.py")]) == 0
    assert capsys.readouterr().out == "loss below 1: True\n"


@pytest.mark.parametrize(
    ("program", "error", "name"),
    [
        ("before_one", "AttributeError: module 'tensorflow' has no attribute 'unpack'", "unpack"),
        (
            "eager_and_tpu",
            "NotImplementedError: gpugraph has no eager execution: build a graph and run it",
            "",
        ),
    ],
)
def test_the_others_say_what_to_use(
    program: str, error: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(FOLDER / f"{program}.py")]) == 1
    errors = capsys.readouterr().err
    assert error in errors
    if name:
        listed = errors.splitlines()[-1]
        assert f"{name}  {FOLDER}" in listed and "tf.unstack" in listed
