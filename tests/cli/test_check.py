"""`gpugraph check`: its reading of programs, its report, and the report that the page shows."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from gpugraph.cli import main
from gpugraph.tensorflow_import.checking.program_check import check_source

ROOT = Path(__file__).resolve().parents[2]


def names_of(source: str) -> dict[str, list[int]]:
    program = check_source(source.encode(), "program.py")
    assert program.fault == ""
    return {use.path: use.lines for use in program.uses}


def missing_in(source: str) -> list[str]:
    return [use.path for use in check_source(source.encode(), "program.py").missing]


def test_names_are_followed_through_imports_and_aliases() -> None:
    source = """\
import tensorflow as tf, numpy as np
import tensorflow.contrib.slim as slim
from tensorflow.python.ops import array_ops as arrays, no_such_ops
from tensorflow import nn
cells = tf.nn.rnn_cell
np.nothing, tf.float32
cells.BasicLSTMCell(3).no_matter
slim.conv2d, slim.nothing
arrays.reshape, nn.relu, nn.rleu
no_such_ops.thing()
tf.GraphKeys.LOSSES, tf.GraphKeys.NO_SUCH
tf.flags.FLAGS.rate.x
"""
    assert names_of(source) == {
        "contrib.slim": [2],
        "python.ops.array_ops": [3],
        "nn": [4],
        "nn.rnn_cell": [5],
        "float32": [6],
        "nn.rnn_cell.BasicLSTMCell": [7],
        "contrib.slim.conv2d": [8],
        "contrib.slim.nothing": [8],
        "nn.relu": [9],
        "nn.rleu": [9],
        "python.ops.array_ops.reshape": [9],
        "python.ops.no_such_ops.thing": [10],
        "GraphKeys.LOSSES": [11],
        "GraphKeys.NO_SUCH": [11],
        "flags.FLAGS": [12],
    }
    assert missing_in(source) == [
        "contrib.slim.nothing",
        "nn.rleu",
        "python.ops.no_such_ops.thing",
        "GraphKeys.NO_SUCH",
    ]


def test_scopes_are_pythons() -> None:
    source = """\
def early():
    return tf.early
def shadowed(tf, nn=1):
    return tf.shadowed + nn.x + (lambda tf: tf.inner)(1)
def local():
    import tensorflow.nn as nn
    nn.in_local
class Model:
    import tensorflow.losses as nn
    nn.in_class
    def method(self):
        return nn.of_no_meaning, tf.in_method
try:
    import tensorflow.compat.v1 as tf
except ImportError:
    import tensorflow as tf
def rebound():
    tf = object()
    return tf.rebound
[tf.in_list for x in tf.in_iterable]
"""
    names = ["early", "nn.in_local", "losses.in_class", "in_method", "in_iterable", "in_list"]
    assert missing_in(source) == names


def test_all_names_of_a_star_are_known() -> None:
    assert names_of("from tensorflow.nn import *\nrelu(1)\n") == {"nn": [1], "nn.relu": [2]}


def test_a_program_of_python_2_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "two.py").write_text("import tensorflow as tf\nprint tf.zeros\n")
    (tmp_path / "bytes.py").write_bytes(b"\x00\xff")
    assert main(["check", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{tmp_path.as_posix()}/bytes.py: not valid Python 3: ")
    assert lines[1].startswith(
        f"{tmp_path.as_posix()}/two.py: not valid Python 3: line 2: Missing paren"
    )


def test_status_and_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = tmp_path / "good.py"
    good.write_text("import tensorflow as tf\ntf.zeros([2])\n")
    assert main(["check", str(good)]) == 0
    assert capsys.readouterr().out == f"{good.as_posix()}: 1 name, all there\n"
    assert main(["check", str(good), str(tmp_path / "none.py")]) == 2
    output = capsys.readouterr()
    assert output.out.splitlines()[0] == f"{good.as_posix()}: 1 name, all there"
    assert "none.py" in output.err and "No such file" in output.err


def test_the_rest_is_read_where_a_file_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    poor = tmp_path / "poor.py"
    poor.write_text("import tensorflow as tf\ntf.no_such_name\n")
    assert main(["check", "none.py", str(poor), "nor_this.py"]) == 2
    output = capsys.readouterr()
    assert f"{poor.as_posix()}: 1 name, 1 missing" in output.out
    assert "1 program, 0 with all names" in output.out
    assert [line.split("'")[-2] for line in output.err.splitlines()] == ["none.py", "nor_this.py"]


def test_nothing_is_run(tmp_path: Path) -> None:
    (tmp_path / "runs.py").write_text("import tensorflow as tf\nraise AssertionError\n")
    assert main(["check", str(tmp_path)]) == 0


def test_the_page_shows_the_report(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "programs.md").read_text("utf-8")
    shown = re.search(r"```sh\ngpugraph (check .*)\n```\n```text\n(.*?)```", page, re.DOTALL)
    command, report = shown.groups()
    monkeypatch.chdir(ROOT)
    assert main(command.split()) == 1
    assert capsys.readouterr().out == report


def test_programs_for_python_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "old.py"
    program.write_text("import tensorflow as tf\nprint tf.nothing\n")
    assert main(["check", str(program)]) == 1
    assert "a program for Python 2 is read with --python2" in capsys.readouterr().out
    assert main(["run", str(program)]) == 1
    assert "is translated by the option --python2" in capsys.readouterr().err
    is_there = find_spec("fissix") is not None
    assert main(["check", "--python2", str(program)]) == (1 if is_there else 2)
    output = capsys.readouterr()
    if is_there:
        assert "tf.nothing  line 2" in output.out
    else:
        assert "pip install 'gpugraph[python2]'" in output.err


OLD_CALLS = """\
import tensorflow as tf
x = tf.concat(1, [a, b])
x = tf.concat(axis, [a, b])
y, z = tf.split(0, 2, x)
tf.split(x, 2, 0), tf.concat([a, b], 1), tf.concat(values, 1), tf.reverse(x, [1]), tf.concat(*x)
tf.nn.softmax_cross_entropy_with_logits(logits, y)
tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits)
tf.reverse(x, [False, True])
tf.nn.nce_loss(w, b, embed, train_labels, 5, 100)
tf.nn.nce_loss(w, b, train_labels, embed, 5, 100)
tf.summary.image("a", x, max_images=3)
"""


def test_calls_of_before_one_are_listed_with_the_new_form(tmp_path, capsys) -> None:
    (tmp_path / "old.py").write_text(OLD_CALLS)
    assert main(["check", str(tmp_path / "old.py")]) == 1
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith(", all there, 6 functions with old arguments")
    assert [line.split(";")[0].strip() for line in lines] == [
        "tf.concat  lines 2, 3",
        "tf.split  line 4",
        "tf.nn.softmax_cross_entropy_with_logits  line 6",
        "tf.reverse  line 8",
        "tf.nn.nce_loss  line 9",
        "tf.summary.image  line 11",
    ]
    assert "before TensorFlow 1.0 the axis came first, as in tf.concat(axis, values)" in lines[0]


@pytest.mark.skipif(find_spec("keras") is not None, reason="Keras is installed")
def test_names_of_keras_are_checked(tmp_path, capsys) -> None:
    (tmp_path / "old.py").write_text(
        "import keras\nfrom keras.layers import Dense, Dens\nfrom keras.utils import np_utils\n"
        "import keras.backend as K\nK.image_dim_ordering(), K.foo, keras.layers.Dropout\n"
    )
    assert main(["check", str(tmp_path / "old.py")]) == 1
    _, *lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "  keras.layers.Dens  line 2; nearest: tf.keras.layers.Dense"
    assert [line.split(";")[0] for line in lines[1:]] == ["  keras.backend.foo  line 5"]
