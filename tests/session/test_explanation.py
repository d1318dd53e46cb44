"""Session.explain: where each op runs and why, transfers between devices, and reports of passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.session.explanations.explanation import CodeRecord


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        with tf.device("/gpu:1"):
            y = tf.multiply(x, x, name="y")
        with tf.device("/cpu:0"):
            tf.add(y, 1.0, name="z")
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=2))
    with tf.Session(graph=graph, config=config) as session:
        yield session


def test_it_tells_where_ops_are_and_why(session: Any) -> None:
    explanation = session.explain("z:0", {"x:0": np.ones((2, 3))})
    assert explanation.device_of("y").endswith("GPU:1")
    assert explanation.device_of("z").endswith("CPU:0")
    assert "gpu:1" in explanation.reason_of("y").lower()
    for ask in (explanation.device_of, explanation.reason_of):
        with pytest.raises(KeyError, match="never"):
            ask("never")


def test_it_counts_each_transfer(session: Any) -> None:
    explanation = session.explain("z:0", {"x:0": np.ones((2, 3))})
    (transfer,) = [copy for copy in explanation.transfers if copy.tensor.startswith("y")]
    assert transfer.source.endswith("GPU:1") and transfer.target.endswith("CPU:0")
    assert transfer.num_bytes == 24


def test_it_is_a_text_that_names_all(session: Any) -> None:
    explanation = session.explain("z:0", {"x:0": np.ones((2, 3))})
    text = str(explanation)
    for name in (
        "prune",
        "constant_folding",
        "placer",
        "fusion_groups",
        "graph_partition",
        "execution_order",
        "memory_planning",
        "binder",
    ):
        assert name in explanation.passes()
    for name in ("y ", "z ", "GPU:1", "CPU:0", "24B"):
        assert name in text
    for part in (explanation.table(), explanation.summary(), explanation.passes()):
        assert part in text


def test_each_pass_has_its_lines_below_it(session: Any) -> None:
    explanation = session.explain("z:0", {"x:0": np.ones((2, 3))})
    reports = [report for report in explanation.reports if report.lines]
    assert len(reports) > 1
    text = explanation.passes()
    for report in reports:
        lines = "".join(f"\n    {line}" for line in report.lines)
        assert f"{report.summary}{lines}" in text


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    with tf.Graph().as_default() as graph:
        short = tf.add(tf.placeholder(tf.float32, [], name="x"), 1.0, name="y")
        tf.negative(short, name="n" * 60)
    with tf.Session(graph=graph) as session:
        rows = session.explain("n" * 60 + ":0", {"x:0": 0.0}).table().splitlines()
    assert len({row.index("CPU:0") for row in rows}) == 1


def test_devices_stand_side_by_side(session: Any) -> None:
    columns = session.explain("z:0", {"x:0": np.ones((2, 3))}).devices().splitlines()
    assert columns[0].split() == ["CPU:0", "GPU:1"]
    assert [line.split()[0] for line in columns[1:6]] == [
        *("operations", "steps", "arena", "sends", "receives")
    ]
    assert "GPU:1 -> CPU:0: 1, 24B" in columns


def test_the_summary_is_the_placement_in_five_lines(session: Any) -> None:
    explanation = session.explain("z:0", {"x:0": np.ones((2, 3))})
    lines = dict(line.split(":", 1) for line in explanation.summary().splitlines())
    assert list(lines) == ["operations", "steps", "fused", "native", "on the host"]
    counts = [int(part.split()[0]) for part in lines["operations"].split(",")]
    assert sum(counts) == len(explanation.placed)
    assert "1 kernels (1: requested '/device:CPU:0')" in lines["on the host"]


def test_it_compiles_and_runs_nothing(session: Any) -> None:
    with session.graph.as_default():
        variable = tf.Variable(1.0)
        grown = tf.assign_add(variable, 1.0)
    session.run(variable.initializer)
    for _ in range(2):
        session.explain(grown)
    assert session.run(variable) == 1
    assert session.run(grown) == 2


def test_it_refuses_what_run_refuses(session: Any) -> None:
    with pytest.raises(ValueError, match="shape"):
        session.explain("z:0", {"x:0": [1.0]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="must feed"):
        session.explain("z:0")


def loop_gradient(shape: Any) -> tuple[Any, Any, Any]:
    """Return a fed number of iterations, the input of a loop, and the gradient at that input."""
    count, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, shape, name="x")

    def body(i: Any, y: Any, rows: Any) -> tuple[Any, Any, Any]:
        return i + 1, tf.tanh(y, name="squashed") * y, rows.write(i, tf.reduce_sum(y, 1))

    rows = tf.TensorArray(tf.float32, count, name="rows")
    _, y, rows = tf.while_loop(lambda i, *_: i < count, body, [0, x, rows], name="while")
    return count, x, tf.gradients(tf.reduce_sum(y) + tf.reduce_sum(rows.stack()), x)[0]


def test_it_tells_what_each_iteration_of_a_loop_keeps() -> None:
    peaks = []
    with tf.Graph().as_default() as graph:
        count, x, gradient = loop_gradient([64, 256])
    for number in (32, 96):
        with tf.Session(graph=graph) as session:
            feeds = {count: number, x: np.ones((64, 256))}
            explanation = session.explain(gradient, feeds)
            for _ in range(2):
                session.run(gradient, feeds)
            (use,) = session.memory_stats().values()
            peaks.append(use.peak_bytes_in_use)
    (loop,) = explanation.loops
    assert 0 <= loop.num_bytes - (2 * 64 * 256 * 4 + 64 * 4) <= 16  # scalars: the index of a write
    assert loop.tensors[0].num_bytes == 64 * 256 * 4
    assert 0.95 < (peaks[1] - peaks[0]) / 64 / loop.num_bytes < 1.4
    text = explanation.memory()
    assert f"each iteration of {loop.loop} keeps 128.3KiB on CPU:0, beside the arena" in text
    assert "'while/squashed' float32[64,256] (defined at " in text


def test_it_tells_what_loops_keep_of_open_size(without_units: None) -> None:
    with tf.Graph().as_default() as graph:
        count, x, gradient = loop_gradient([None, 256])
    with tf.Session(graph=graph) as session:
        for rows in range(1, 11):
            explanation = session.explain(gradient, {count: 2, x: np.ones((rows, 256))})
    assert "tensors of open size on CPU:0, beside the arena" in explanation.memory()
    assert any(tensor.shape == (None, 256) for tensor in explanation.loops[0].tensors)


def test_it_tells_nothing_of_loops_that_keep_nothing() -> None:
    with tf.Graph().as_default() as graph:
        y = tf.while_loop(lambda i: i < 5, lambda i: i + 1, [0])
    with tf.Session(graph=graph) as session:
        assert not session.explain(y).loops
        assert "each iteration" not in str(session.explain(y))


def test_steps_are_grouped_by_their_code_and_its_reason(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "0")
    explanation = session.explain("z:0", {"x:0": np.ones((2, 3))})
    states = {step.name: (step.state, step.reason) for step in explanation.codes}
    assert states["y"] == ("plain", "it is on GPU:1")
    assert states["z"] == ("plain", "GPUGRAPH_NATIVE is 0")
    lines = explanation.code_lines().splitlines()
    assert "not native (it is on GPU:1), 1 steps: y (Mul)" in lines
    assert all(line in explanation.passes() for line in lines)
    assert explanation.native().startswith(f"none of {len(explanation.codes)} steps; ")


def test_of_a_long_reason_the_first_words_are_shown(session: Any) -> None:
    explanation = session.explain("z:0", {"x:0": np.ones((2, 3))})
    message = "cc failed (1): " + "a" * 200 + "\nand more lines"
    explanation.codes = [CodeRecord("a", "Add", "/device:CPU:0", "plain", message)]
    for text in (explanation.native(), explanation.code_lines()):
        assert "cc failed (1): aaa" in text and text.count("a") < 140 and "\n" not in text
