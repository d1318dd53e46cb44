"""`gpugraph trace`: a program's last runs as a trace that viewers open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpugraph.cli import main
from gpugraph.inspection.chrome_trace import trace_faults
from gpugraph.session.traced_execution import RUN_LISTENERS

PROGRAM = """
import tensorflow as tf
x = tf.placeholder(tf.float32, [2, 2], name="x")
y = tf.matmul(x, x, name="y")
with tf.Session() as session:
    for _ in range(5):
        session.run(y, {{x: [[1, 2], [3, 4]]}})
{end}
"""


@pytest.mark.parametrize("end, status", [("", 0), ("raise ValueError('no')", 1)])
def test_the_last_runs_are_written(tmp_path: Path, capfd, end: str, status: int) -> None:
    program, output = tmp_path / "program.py", tmp_path / "trace.json"
    program.write_text(PROGRAM.format(end=end))
    assert main(["trace", "-o", str(output), "--runs", "3", str(program)]) == status
    assert "the last 3 runs" in capfd.readouterr().err
    trace = json.loads(output.read_text())
    assert list(trace_faults(trace)) == []
    steps = [event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [name.partition("_")[0] for name in steps] == ["y"] * 3
    assert RUN_LISTENERS == []


def test_an_explanation_of_one_pass_and_of_all_placements(tmp_path: Path, capfd) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(end=""))
    assert main(["explain", "--pass", "placer", "--placement", str(program)]) == 0
    said = capfd.readouterr().out
    assert "placer " in said and "fusion_groups" not in said
    assert "-- placement of 3 operations in 1 plans" in said and "MatMul" in said
    with pytest.raises(SystemExit, match="2"):
        main(["explain", "--pass", "bake", str(program)])
    said = capfd.readouterr()
    assert not said.out and "invalid choice: 'bake' (choose from " in said.err


GROWING = """
import gpugraph as tf
x = tf.placeholder(tf.float32, [2])
with tf.Session() as session:
    for number in range({count}):
        session.run(x + number, {{x: [1, 2]}})
"""


@pytest.mark.parametrize("count, is_told", [(21, True), (3, False)])
def test_an_explanation_of_many_plans_begins_with_their_number(
    tmp_path: Path, capfd, count: int, is_told: bool
) -> None:
    program = tmp_path / "program.py"
    program.write_text(GROWING.format(count=count))
    assert main(["explain", str(program)]) == 0
    said = capfd.readouterr().out
    assert said.startswith(f"-- {count} plans, of which {count} are shown.") == is_told
    assert ("finalize()" in said) == is_told


def test_a_trace_that_cannot_be_written_is_refused_before_the_program_runs(
    tmp_path: Path, capfd
) -> None:
    program = tmp_path / "program.py"
    program.write_text("print('ran')")
    for options in (["-o", str(tmp_path / "none" / "trace.json")], *(["--runs", n] for n in "0x")):
        with pytest.raises(SystemExit, match="2"):
            main(["trace", *options, str(program)])
    said = capfd.readouterr()
    assert not said.out and "none/trace.json': No such file or directory" in said.err


@pytest.mark.parametrize("end, status", [("", 2), ("raise SystemExit(3)", 3)])
def test_a_trace_of_no_run_is_an_error(tmp_path: Path, capfd, end: str, status: int) -> None:
    program, output = tmp_path / "program.py", tmp_path / "trace.json"
    program.write_text(end)
    if status == 3:
        with pytest.raises(SystemExit, match="3"):
            main(["trace", "-o", str(output), str(program)])
    else:
        assert main(["trace", "-o", str(output), str(program)]) == status
    assert "no trace: the program had no run" in capfd.readouterr().err and not output.exists()
