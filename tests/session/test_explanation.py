"""Session.explain: where each op runs and why, what goes between devices, what passes did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf


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
    for name in ("prune", "fold", "place", "fuse", "partition", "order", "memory", "bind"):
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
