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
    said = capfd.readouterr().err
    assert "placer " in said and "fusion_groups" not in said
    assert "-- placement of 3 operations in 1 plans" in said and "MatMul" in said
    assert main(["explain", "--pass", "bake", str(program)]) == 0
    assert "There is no pass 'bake' in this plan; there are: prune, " in capfd.readouterr().err


def test_a_trace_that_cannot_be_written_is_a_failure(tmp_path: Path, capfd) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(end="raise SystemExit(0)"))
    output = str(tmp_path / "none" / "trace.json")
    assert main(["trace", "-o", output, str(program)]) == 2
    assert f"can't write {output!r}: No such file" in capfd.readouterr().err
    program.write_text(PROGRAM.format(end="raise SystemExit(3)"))
    with pytest.raises(SystemExit) as ended:
        main(["trace", "-o", output, str(program)])
    assert ended.value.code == 3
    for number in ("0", "-1", "x"):
        with pytest.raises(SystemExit):
            main(["trace", "--runs", number, str(program)])
