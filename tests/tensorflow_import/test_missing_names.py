"""Names that are not there: the errors, the list of them, and the nearest names."""

from __future__ import annotations

import linecache

import pytest

import gpugraph
from gpugraph.tensorflow_import.missing_names import nearest

PROGRAM = """\
import tensorflow as tf
print(hasattr(tf.nn, "rlu"))
try:
    from tensorflow.python.ops import no_such_ops
except ImportError as error:
    print(error)
try:
    import tensorflow.no.such.module
except ModuleNotFoundError as error:
    print(error)
tf.layers.dens(tf.zeros([2, 2]), 3)
"""


def test_each_is_listed_with_its_line_and_the_nearest(capsys) -> None:
    with gpugraph.as_tensorflow() as missing:
        with pytest.raises(AttributeError) as caught:
            exec(compile(PROGRAM, "old.py", "exec"), {})
    assert str(caught.value) == (
        "module 'tensorflow.layers' has no attribute 'dens': gpugraph has no tf.layers.dens "
        "(used by old.py:11); nearest: tf.layers.dense"
    )
    output = capsys.readouterr().out.splitlines()
    assert output[0] == "False"
    assert output[1].startswith("cannot import name 'no_such_ops' from 'tensorflow.python.ops'")
    assert output[1].endswith(
        "gpugraph has no tensorflow.python.ops.no_such_ops (used by old.py:4)"
    )
    assert output[2] == (
        "No module named 'tensorflow.no': gpugraph has no tf.no (used by old.py:8)"
    )
    lines = str(missing).splitlines()
    assert lines[0].startswith("tf.nn.rlu  old.py:2; nearest: tf.nn.relu")
    assert lines[1].startswith("tensorflow.python.ops.no_such_ops  old.py:4")
    assert lines[2].startswith("tf.no  old.py:8")
    assert lines[3] == "tf.layers.dens  old.py:11; nearest: tf.layers.dense"
    assert len(lines) == len(missing) == 4


def test_what_python_asks_for_itself_is_not_listed() -> None:
    with gpugraph.as_tensorflow() as missing:
        import tensorflow as tf  # noqa: PLC0415

        assert not hasattr(tf, "__wrapped__")
        linecache.checkcache()
        assert len(missing) == 0


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("contrib.somewhere.BasicLSTMCell", "tf.nn.rnn_cell.BasicLSTMCell"),
        ("python.ops.nn_ops.reduce_mean", "tf.reduce_mean"),
        ("train.AdamOptimiser", "tf.train.AdamOptimizer"),
        ("placehodler", "tf.placeholder"),
    ],
)
def test_the_nearest_name(path: str, first: str) -> None:
    assert nearest(path)[0] == first


@pytest.mark.parametrize(
    "path", ["contrib.slim.queues.Anyy", "contrib.slim.queues.Callabel", "lite.Optimize.DEFAULT"]
)
def test_names_of_python_are_not_near(path: str) -> None:
    names = ("Any", "Callable", "DEFAULT")
    assert not [
        near for near in nearest(path) if near.endswith(tuple(f"queues.{n}" for n in names))
    ]
    assert not [near for near in nearest(path) if near.startswith("tf.test.mock")]


def test_a_missing_name_is_not_near_itself() -> None:
    assert "tf.layers.dense" in nearest("compat.v1.layers.dens")
    assert nearest("contrib.no_such.dense")[0] == "tf.layers.dense"
    assert "tf.layers.xyz" not in nearest("layers.xyz")


def test_there_may_be_no_near_name() -> None:
    assert nearest("xyzzy.qqqqqqqq") == []
