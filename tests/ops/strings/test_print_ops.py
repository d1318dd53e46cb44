"""tf.Print and tf.print: the text, the stream, and how often."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


# -- Print


def test_print_passes_its_input_on_and_writes(capsys: Any) -> None:
    x, n = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [2, 2])
    y = tf.Print(x, [x, n, "words", tf.shape(x)], "seen: ")
    with tf.Session() as session:
        result = session.run(y, {x: [1.5, 2, 3, 4], n: [[1, 2], [3, 4]]})
    assert result.tolist() == [1.5, 2, 3, 4]
    assert capsys.readouterr() == ("", "seen: [1.5 2 3...][[1 2][3...]...][words][4]\n")


def test_summarize_says_how_much(capsys: Any) -> None:
    x = tf.constant([1, 2, 3, 4])
    with tf.Session() as session:
        session.run([tf.Print(x, [x], summarize=most) for most in (1, -1)])
    assert capsys.readouterr().err == "[1...]\n[1 2 3 4]\n"


def test_first_n_counts_in_each_session(capsys: Any) -> None:
    x = tf.placeholder(tf.float32)
    y = tf.Print(x, [x], first_n=2)
    for _ in range(2):
        with tf.Session() as session:
            for value in range(4):
                session.run(y, {x: value})
            session.run(y, {x: [5, 6]})  # another plan of the same session
    assert capsys.readouterr().err == "[0]\n[1]\n" * 2


def test_nobody_prints_what_is_not_needed(capsys: Any) -> None:
    x = tf.constant(1.0)
    tf.Print(x, [x])
    with tf.control_dependencies([tf.Print(x, [x], "waited for ")]):
        y = x + 1.0
    with tf.Session() as session:
        session.run(x)
        assert capsys.readouterr().err == ""
        session.run(y)
    assert capsys.readouterr().err == "waited for [1]\n"


def test_gradient_goes_through() -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.placeholder(tf.float32, [])
    gradients = tf.gradients(tf.Print(x * 3.0, [y]), [x, y])
    assert gradients[1] is None
    with tf.Session() as session:
        assert session.run(gradients[0], {x: 1.0}) == 3.0


def test_print_in_a_loop(capsys: Any) -> None:
    def body(i: Any) -> Any:
        return tf.Print(i + 1, [i])

    with tf.Session() as session:
        assert session.run(tf.while_loop(lambda i: i < 3, body, [0])) == 3
    assert capsys.readouterr().err == "[0]\n[1]\n[2]\n"


def test_print_on_a_gpu(capsys: Any) -> None:
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/gpu:0"):
        y = tf.Print(x * 2.0, [x, x + 1.0], "gpu ")
    options = tf.GPUOptions(virtual_gpus=1)
    with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
        assert session.run(y, {x: [1, 2]}).tolist() == [2, 4]
    assert capsys.readouterr().err == "gpu [1 2][2 3]\n"


def test_print_takes_a_list() -> None:
    with pytest.raises(TypeError, match="Expected list for 'data' argument to 'Print' Op"):
        tf.Print(tf.constant(1), tf.constant(1))


# -- print


def said(capsys: Any, *inputs: Any, **how: Any) -> Any:
    """Return the output of a run of `tf.print`: on standard output, on standard error."""
    operation = tf.print(*inputs, **how)
    assert isinstance(operation, tf.Operation)
    with tf.Session() as session:
        assert session.run(operation) is None
    return capsys.readouterr()


A = np.float32([1.5, 2])


# TensorFlow's output for the same values.
SHOWN: dict[str, tuple[Any, dict[str, Any], str]] = {
    "tensor": (lambda: [tf.constant(A)], {}, "[1.5 2]\n"),
    "structure": (
        lambda: ["x:", tf.constant(A), 3, {"k": tf.constant(1), "l": [tf.constant("hi"), 2]}],
        {},
        "x: [1.5 2] 3 {'k': 1, 'l': [\"hi\", 2]}\n",
    ),
    "string scalar": (lambda: [tf.constant("hi\n")], {}, "hi\n\n"),
    "strings": (lambda: [tf.constant(["u", "'"])], {}, '["u" "\\\'"]\n'),
    "end": (lambda: ["lit"], {"end": "!"}, "lit!"),
    "separator": (lambda: [(1, tf.constant(2)), None], {"sep": "|"}, "(1, 2)|None\n"),
    "braces": (lambda: ["a{}", tf.constant(1)], {}, "a{} 1\n"),
    "nothing": (lambda: [], {}, "\n"),
    "long": (lambda: [tf.range(10)], {}, "[0 1 2 ... 7 8 9]\n"),
    "all": (lambda: [tf.range(10)], {"summarize": -1}, "[0 1 2 3 4 5 6 7 8 9]\n"),
    "rows": (
        lambda: [tf.reshape(tf.range(12), [3, 4])],
        {"summarize": 1},
        "[[0 ... 3]\n ...\n [8 ... 11]]\n",
    ),
    "blocks": (
        lambda: [tf.reshape(tf.range(8), [2, 2, 2])],
        {},
        "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]\n",
    ),
    "empty": (lambda: [tf.zeros([0, 3])], {}, "[]\n"),
    "bools": (lambda: [tf.constant([True, False])], {}, "[1 0]\n"),
    "floats": (
        lambda: [tf.constant(np.float64([1 / 3, 1e20]))],
        {},
        "[0.33333333333333331 1e+20]\n",
    ),
}


@pytest.mark.parametrize(("make", "how", "text"), SHOWN.values(), ids=SHOWN)
def test_what_is_written(make: Any, how: Any, text: str, capsys: Any) -> None:
    assert said(capsys, *make(), **how) == ("", text)


def test_it_is_written_where_asked(capsys: Any, tmp_path: Path) -> None:
    assert said(capsys, "out", output_stream=sys.stdout) == ("out\n", "")
    file = tmp_path / "log"
    for _ in range(2):
        assert said(capsys, "line", output_stream=f"file://{file}") == ("", "")
    assert file.read_text() == "line\nline\n"
    assert said(capsys, "w", output_stream=tf.logging.warning).err == "WARNING:tensorflow:w\n\n"
    assert said(capsys, "i", output_stream=tf.logging.info).err == ""  # below the verbosity
    with pytest.raises(ValueError, match="Unsupported output stream"):
        tf.print("x", output_stream="nowhere")


def test_variables_are_shown_by_their_values(capsys: Any) -> None:
    v = tf.Variable(3.0)
    shown = tf.print("v =", v)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(shown)
    assert capsys.readouterr().err == "v = 3\n"


def test_it_can_be_waited_for(capsys: Any) -> None:
    x = tf.placeholder(tf.int32, [])
    with tf.control_dependencies([tf.print("x is", x)]):
        y = x + 1
    with tf.Session() as session:
        assert session.run(y, {x: 4}) == 5
    assert capsys.readouterr().err == "x is 4\n"


def test_names_are_tensorflows(graph: Any) -> None:
    tf.print(tf.constant(1, name="c"))
    tf.print(tf.constant(1), name="p")
    assert [op.name for op in graph.get_operations()] == [
        "c", "StringFormat", "PrintV2", "Const", "p_format", "p"
    ]  # fmt: skip


# -- format


def test_format_fills_a_template() -> None:
    x = tf.placeholder(tf.int32)
    with tf.Session() as session:
        tensor = tf.strings.format("{} and {}", [x, "b"])
        assert session.run(tensor, {x: [1, 2]}) == b'[1 2] and "b"'
        assert session.run(tf.strings.format("%s {}", x, placeholder="%s"), {x: 3}) == b"3 {}"
    with pytest.raises(ValueError, match="The template expects 2 tensors, but the inputs only has"):
        tf.strings.format("{} {}", x)


def test_sparse_tensors_are_written_by_their_arrays(capfd):
    small = tf.SparseTensor([[0, 0], [1, 2]], tf.constant([1.0, 2.0]), [2, 3])
    diagonal = tf.SparseTensor([[i, i] for i in range(10)], tf.range(10), [10, 10])
    with tf.Session() as session:
        for inputs in ([small, {"a": small}], [diagonal]):
            session.run(tf.print(*inputs, output_stream=sys.stdout))
    text = "'SparseTensor(indices=[[0 0]\n [1 2]], values=[1 2], shape=[2 3])'"
    lines = f"{text} {{'a': {text}}}\n"
    rows = "[[0 0]\n [1 1]\n [2 2]\n ...\n [7 7]\n [8 8]\n [9 9]]"
    lines += f"'SparseTensor(indices={rows}, values=[0 1 2 ... 7 8 9], shape=[10 10])'\n"
    assert capfd.readouterr().out == lines
