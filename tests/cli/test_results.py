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
    (plan,) = record_of(capsys, "memory", "--json", program)
    assert plan["number"] == 2
    assert plan["arenas"][0]["bytes"] >= plan["arenas"][0]["peak"] > 0
    assert len(record_of(capsys, "memory", "--json", "--all", program)) == 2
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
    assert "-- plan 1" not in text and "-- 1 plan only initializes, checks, saves" in text


def test_an_option_after_the_program_is_the_programs(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", program, "--json", "-h", "-o=x"]) == 0
    assert capsys.readouterr().err == (
        f"gpugraph: --json, -o after {program} are arguments of the program; options of gpugraph "
        "stand before the program's name\n"
    )


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


def test_the_program_does_not_print_between_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "prints.py").write_text(f"print('hello')\n{PROGRAM}")
    assert main(["explain", "--json", str(tmp_path / "prints.py")]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["plans"] and output.err.startswith("hello\n")


SAVING = """
import tensorflow as tf
tf.reset_default_graph()
tf.train.create_global_step()
w = tf.get_variable("w", [64, 64])
y = tf.matmul(w, w, name="y")
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(tf.report_uninitialized_variables())
    for step in range(2):
        session.run(y)
        tf.train.Saver().save(session, {folder!r})
    tf.train.Saver().restore(session, {folder!r})
"""


def test_saving_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "saves.py"
    program.write_text(SAVING.format(folder=str(tmp_path / "model")))
    assert main(["explain", str(program)]) == 0
    text = capsys.readouterr().out
    assert text.count("-- plan ") == 1 and ": y:0" in text
    assert "-- 5 plans only initialize, check, save or restore" in text
    assert "passes changed nothing: " in text and "\nhost_swapping " not in text
    assert main(["explain", "--all", str(program)]) == 0
    text = capsys.readouterr().out
    assert text.count("-- plan ") == 6 and "\nhost_swapping " in text
    assert main(["report", "-o", str(tmp_path / "page.html"), str(program)]) == 0
    assert capsys.readouterr().err.endswith(", y:0\n")
