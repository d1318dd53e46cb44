"""Results of commands: their destination, their format, and a reader that closes the pipe."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpugraph.base.version import VERSION
from gpugraph.cli import main

ROOT = Path(__file__).parents[2]
PROGRAM = """
import tensorflow as tf
tf.reset_default_graph()
w = tf.get_variable("w", [2, 2])
x = tf.placeholder(tf.float32, [2, 2], name="x")
y = tf.matmul(x, w, name="y")
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(y, {x: [[1, 2], [3, 4]]})
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "program.py").write_text(PROGRAM)
    return str(tmp_path / "program.py")


def record_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> object:
    assert main([*arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_records(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    explained = record_of(capsys, "explain", "--json", program)
    (plan,) = explained["plans"]
    assert plan["title"] == "y:0" and plan["number"] == 2
    assert [op["op_type"] for op in plan["operations"]].count("MatMul") == 1
    times = {row["op_type"]: row for row in explained["op_types"]}
    assert times["MatMul"]["runs"] == 3 and times["MatMul"]["seconds"] > 0
    plans = record_of(capsys, "memory", "--json", program)
    assert plans[1]["arenas"][0]["bytes"] >= plans[1]["arenas"][0]["peak"] > 0
    ((variable,),) = record_of(capsys, "scopes", "--json", program)
    assert (variable["name"], variable["shape"]) == ("w", [2, 2])
    devices = record_of(capsys, "devices", "--json", "--virtual-gpus", "2")["devices"]
    assert [device["device_type"] for device in devices] == ["CPU", "GPU", "GPU"]
    (checked,) = record_of(capsys, "check", "--json", program)
    assert "tf.matmul" in checked["names"] and checked["missing"] == []


def test_a_file(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "plans.txt"
    assert main(["explain", "--all", "-o", str(output), program]) == 0
    assert capsys.readouterr().out == ""
    text = output.read_text()
    assert text.startswith("-- time by op type, measured step by step\nop type")
    assert "-- plan 1: init" in text and "-- plan 2: y:0" in text


def test_initializers_are_left_out(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", program]) == 0
    text = capsys.readouterr().out
    assert "-- plan 1" not in text and "-- 1 plans only initialize variables: see --all" in text


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out.startswith(f"gpugraph {VERSION} (API of TensorFlow 1.15), ")


def test_a_closed_pipe_is_no_error_of_the_file(tmp_path: Path) -> None:
    """The file's text is longer than a pipe's buffer."""
    shown = "import numpy as np, sys; np.savez(sys.argv[1], **{f'{n:0500}': n for n in range(999)})"
    path = str(tmp_path / "many.npz")
    subprocess.run([sys.executable, "-c", shown, path], check=True)
    command = [sys.executable, "-m", "gpugraph", "show", "--all", path]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_a_program_on_standard_input_with_virtual_gpus() -> None:
    source = (
        "import sys, tensorflow as tf\n"
        "options = tf.GPUOptions(per_process_gpu_memory_fraction=0.5)\n"
        "with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:\n"
        "    print(len(session.list_devices()), __name__, sys.argv)\n"
    )
    command = [sys.executable, "-m", "gpugraph", "run", "--virtual-gpus", "2", "-", "a"]
    done = subprocess.run(
        command, input=source, capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout == "3 __main__ ['-', 'a']\n" and not done.stderr
