"""`gpugraph report`: which run of a program has a page, and the message where none has."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpugraph.cli import main
from gpugraph.session.traced_execution import RUN_LISTENERS

PROGRAM = """
import tensorflow as tf
tf.reset_default_graph()
x = tf.placeholder(tf.float32, [2, 2], name="x")
y = tf.matmul(x, x, name="y")
z = tf.add(x, 1.0, name="z")
with tf.Session() as session:
    for _ in range(5):
        session.run(y, {{x: [[1, 2], [3, 4]]}})
    session.run(z, {{x: [[1, 2], [3, 4]]}})
{end}
"""


def report(folder: Path, *options: str, end: str = "") -> tuple[int, Path]:
    program, page = folder / "program.py", folder / "step.html"
    program.write_text(PROGRAM.format(end=end))
    return main(["report", "-o", str(page), *options, str(program)]), page


@pytest.mark.parametrize("end, status", [("", 0), ("raise ValueError('no')", 1)])
def test_a_run_is_chosen_and_written(tmp_path: Path, capfd, end: str, status: int) -> None:
    got, page = report(tmp_path, end=end)
    assert got == status and "of 6, " in capfd.readouterr().err
    assert "<title>A step: " in page.read_text("ascii") and RUN_LISTENERS == []


def test_the_run_of_a_number(tmp_path: Path, capfd) -> None:
    assert report(tmp_path, "--run", "6")[0] == 0
    assert "run 6 of 6, z:0" in capfd.readouterr().err
    assert "<title>A step: z:0<" in (tmp_path / "step.html").read_text("ascii")
    (tmp_path / "step.html").unlink()
    assert report(tmp_path, "--run", "7")[0] == 2
    assert "no page: the program had no run 7, only 6 runs" in capfd.readouterr().err
    assert not (tmp_path / "step.html").exists()
    with pytest.raises(SystemExit):
        report(tmp_path, "--run", "0")
    assert "it is 1 or more, not '0'" in capfd.readouterr().err


def test_a_page_that_cannot_be_written(tmp_path: Path, capfd) -> None:
    (tmp_path / "step.html").mkdir()
    with pytest.raises(SystemExit, match="2"):
        report(tmp_path)
    assert "step.html': Is a directory" in capfd.readouterr().err


def test_a_program_that_exits_without_the_wanted_run_fails(tmp_path: Path, capfd) -> None:
    assert report(tmp_path, "--run", "7", end="import sys; sys.exit()")[0] == 2
    assert "no page: the program had no run 7, only 6 runs" in capfd.readouterr().err
