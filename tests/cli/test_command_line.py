"""The command line: its output, the order of it, and its exit status."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import gpugraph as tf
from gpugraph.building.variables.variable import VARIABLE_LISTENERS
from gpugraph.cli import main
from gpugraph.session.direct_session import PLAN_LISTENERS


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "gpugraph_test_helper.py").write_text("VALUE = 20.0\n")
    (tmp_path / "good.py").write_text(
        "import sys\n"
        "import gpugraph as tf\n"
        "import gpugraph_test_helper as helper\n"
        "print('arguments', sys.argv[1:])\n"
        "x = tf.placeholder(tf.float32, [], name='x')\n"
        "y = tf.add(x, helper.VALUE, name='y')\n"
        "with tf.Session() as session:\n"
        "    print('first', session.run(y, {x: 1}))\n"
        "    print('second', session.run([y, tf.negative(y, name='z')], {x: 1})[1])\n"
    )
    (tmp_path / "bad.py").write_text(
        "exec(open(__file__.replace('bad', 'good')).read())\n"
        "def fails():\n"
        "    return 1 / 0\n"
        "fails()\n"
    )
    return tmp_path


def test_explain_tells_each_plan_and_leaves_all_as_it_was(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    before = sys.argv, list(sys.path)
    assert main(["explain", "--ops", str(folder / "good.py"), "a", "--b"]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("arguments ['a', '--b']\nfirst 21.0\nsecond -21.0\n-- time by")
    assert "-- plan 1: y:0" in output.out and "-- plan 2: y:0, z:0" in output.out
    assert "the session has only CPU devices" in output.out and not output.err
    assert (sys.argv, sys.path) == before
    assert PLAN_LISTENERS == []
    sys.modules.pop("gpugraph_test_helper")


CODE = """
import gpugraph as tf
x = tf.placeholder(tf.float32, [4])
y = tf.cumsum(tf.tanh(x) * 2.0) + tf.reduce_sum(x)
with tf.Session() as closed:
    for _ in range(3):
        closed.run(y, {x: [1, 2, 3, 4]})
left_open = tf.Session()
left_open.run(y, {x: [1, 2, 3, 4]})
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no cc")
@pytest.mark.parametrize("native", ["0", "wait"])
def test_explain_tells_at_the_end_which_code_ran(
    native: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", native)
    (tmp_path / "code.py").write_text(CODE)
    assert main(["explain", str(tmp_path / "code.py")]) == 0
    text = capsys.readouterr().out
    compiled, _, ends = text.partition("-- native code when each plan ended\n")
    assert compiled.count("native:      none of ") == 2  # nothing has run yet
    lines = ends.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["plan 1", "plan 2"]
    if native == "wait":
        assert all(" in native calls of " in line for line in lines)
    else:
        assert all(": none of " in line and "GPUGRAPH_NATIVE is 0" in line for line in lines)


@pytest.mark.parametrize("command", ["run", "explain", "scopes"])
def test_only_the_program_is_required(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        main([command])
    assert ending.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith("the following arguments are required: program")


def test_a_program_that_raises_has_its_plans_and_its_own_traceback(folder: pathlib.Path) -> None:
    """Both streams go into one, as in a log, in the order in which they were written."""
    done = subprocess.run(
        [sys.executable, "-m", "gpugraph", "explain", str(folder / "bad.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=pathlib.Path(__file__).parents[2],
    )
    assert done.returncode == 1
    output = done.stdout
    parts = ["arguments []", "first 21.0", "second -21.0", "Traceback", "-- plan 1", "-- plan 2"]
    places = [output.index(part) for part in parts]
    assert places == sorted(places)
    trace = output[places[3] : places[4]]
    assert "in fails" in trace and "ZeroDivisionError" in trace
    assert "runpy" not in trace and "cli.py" not in trace


def test_a_program_that_exits_has_its_own_status(folder: pathlib.Path) -> None:
    (folder / "exits.py").write_text("raise SystemExit(7)\n")
    with pytest.raises(SystemExit) as caught:
        main(["explain", str(folder / "exits.py")])
    assert caught.value.code == 7


def test_a_program_that_is_no_python_is_told_so(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "odd.py").write_text("x = = 1\n")
    assert main(["explain", str(folder / "odd.py")]) == 1
    output = capsys.readouterr().err
    assert "odd.py" in output and "SyntaxError" in output and "runpy" not in output


def test_a_missing_program_is_one_line(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(folder / "none.py")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "none.py" in line and "No such file" in line


def test_scopes_tells_the_variables_of_each_graph(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "shares.py").write_text(
        "import sys\n"
        "import gpugraph as tf\n"
        "def tower():\n"
        "    with tf.variable_scope('tower', reuse=tf.AUTO_REUSE):\n"
        "        return tf.get_variable('w', [4, 4])\n"
        "with tf.Graph().as_default():\n"
        "    tower()\n"
        "    tower()\n"
        "with tf.Graph().as_default():\n"
        "    tf.Variable(1.0, name='alone')\n"
        "print('done', sys.argv[1:])\n"
    )
    assert main(["scopes", str(folder / "shares.py"), "a", "--b"]) == 0
    output = capsys.readouterr()
    assert output.out.splitlines() == [
        "done ['a', '--b']",
        "-- graph 1: 1 variable, 64B",
        "tower/  1 variable, 64B",
        "  w  (4, 4) float32  64B  trainable",
        "      made    shares.py:5 (in tower) < shares.py:7 (in <module>)",
        "      reused  shares.py:5 (in tower) < shares.py:8 (in <module>)",
        "",
        "-- graph 2: 1 variable, 4B",
        "alone  () float32  4B  trainable  a tf.Variable, not shared by name",
        "    made    shares.py:10 (in <module>)",
        "",
    ]
    assert VARIABLE_LISTENERS == []


def test_scopes_of_a_program_that_raises_and_of_one_without_variables(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "raises.py").write_text(
        "import gpugraph as tf\ntf.get_variable('left_over', [2])\n1 / 0\n"
    )
    with tf.Graph().as_default():
        assert main(["scopes", str(folder / "raises.py")]) == 1
    output = capsys.readouterr()
    assert "ZeroDivisionError" in output.err and "left_over  (2,) float32  8B" in output.out
    (folder / "none.py").write_text("print('nothing')\n")
    assert main(["scopes", str(folder / "none.py")]) == 0
    assert capsys.readouterr().out == "nothing\nthe program made no variables\n"
    assert main(["scopes", str(folder / "missing.py")]) == 2
    assert "missing.py" in capsys.readouterr().err


def test_devices_are_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUGRAPH_GPU", "0")
    assert main(["devices", "--virtual-gpus", "2"]) == 0
    output = capsys.readouterr().out
    lines = [line for line in output.splitlines() if not re.match("(no )?native code: ", line)]
    assert [line.split()[1] for line in lines] == ["CPU", "GPU", "GPU"]
    assert main(["devices"]) == 0
    assert "no GPU: GPUGRAPH_GPU is 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    "settings, reason",
    [
        ({"GPUGRAPH_CC": "/bin/false"}, "/bin/false failed (1): it printed nothing"),
        (
            {"GPUGRAPH_CC": "no-such-cc"},
            "no C compiler was found ('no-such-cc' is not on the PATH)",
        ),
        ({"GPUGRAPH_NATIVE": "0"}, "GPUGRAPH_NATIVE=0 switches native kernels off"),
    ],
)
def test_devices_say_why_there_is_no_native_code(
    settings: dict[str, str], reason: str, tmp_path: pathlib.Path
) -> None:
    """This runs in a separate process whose cache is empty."""
    cache = {"XDG_CACHE_HOME": str(tmp_path), "GPUGRAPH_NATIVE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "gpugraph", "devices"],
        env={**os.environ, **cache, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"no native code: {reason}" in done.stdout.splitlines()


def test_a_switch_that_says_nothing_is_told_of(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUGRAPH_GPU", "maybe")
    assert main(["devices"]) == 2
    output = capsys.readouterr()
    assert output.out == "" and "GPUGRAPH_GPU is 'maybe'; possible are: 0" in output.err


@pytest.mark.parametrize("count", ["-3", "two", "1.5"])
def test_a_number_of_gpus_that_is_none_is_refused(
    count: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["devices", "--virtual-gpus", count])
    assert caught.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert f"a number of GPUs is 0 or more, but it is {count!r}" in output.err.splitlines()[-1]
