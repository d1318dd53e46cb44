"""`gpugraph memory`: the memory that each plan needs."""

from pathlib import Path

import pytest

from gpugraph.cli import main

PROGRAM = """
import numpy as np
import gpugraph as tf
tf.reset_default_graph()
x = tf.placeholder(tf.float32, [None, 100], name="x")
y = tf.matmul(x, x, transpose_b=True, name="pairs")
with tf.Session() as session:
    print("ran", session.run(tf.reduce_sum(y), {x: np.ones((50, 100))}))
"""


def test_each_plan(tmp_path: Path, capsys) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert main(["memory", str(path)]) == 0
    said = capsys.readouterr()
    ran, head, arena, *tensors = said.out.rstrip().splitlines()
    assert ran == "ran 250000.0" and not said.err
    assert head == "-- plan 1: Sum:0"
    assert arena.startswith("arena on /job:localhost/replica:0/task:0/device:CPU:0: 29.4KiB, most")
    assert "at 'pairs'; these 2 tensors hold 100 % of that" in arena
    assert tensors[0].startswith("     19.5KiB  'x' float32[50,100] (defined at ")
    assert tensors[1].startswith("      9.8KiB  'pairs' float32[50,50] (defined at ")


def test_policies_for_the_tensors_of_each_arena(tmp_path: Path, capsys) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert main(["memory", "--compare", str(path)]) == 0
    *_, head, bound, arena, bfc, classes = capsys.readouterr().out.rstrip().splitlines()
    assert head.startswith("its ") and head.endswith("/device:CPU:0, by policy:")
    assert bound.split() == ["bound", "29.3KiB", "1.000"]
    assert arena.split() == ["arena", "29.4KiB", "1.003"]
    sizes = [float(line.split()[-2].removesuffix("KiB")) for line in (bfc, classes)]
    assert bfc.startswith("BFC ") and classes.startswith("size classes ") and min(sizes) >= 29.3


def test_a_program_that_fails(tmp_path: Path, capsys) -> None:
    path = tmp_path / "program.py"
    path.write_text("raise SystemExit(3)")
    with pytest.raises(SystemExit, match="3"):
        main(["memory", str(path)])
    assert capsys.readouterr().out == "-- no plan: the program had no run\n"
