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
    told = session.explain("z:0", {"x:0": np.ones((2, 3))})
    assert told.device_of("y").endswith("GPU:1")
    assert told.device_of("z").endswith("CPU:0")
    assert "gpu:1" in told.reason_of("y").lower()
    for ask in (told.device_of, told.reason_of):
        with pytest.raises(KeyError, match="never"):
            ask("never")


def test_it_counts_each_tensor_s_way(session: Any) -> None:
    told = session.explain("z:0", {"x:0": np.ones((2, 3))})
    (way,) = [each for each in told.transfers if each.tensor.startswith("y")]
    assert way.source.endswith("GPU:1") and way.target.endswith("CPU:0")
    assert way.num_bytes == 24


def test_it_is_a_text_that_names_all(session: Any) -> None:
    told = session.explain("z:0", {"x:0": np.ones((2, 3))})
    text = str(told)
    for name in ("prune", "fold", "place", "fuse", "partition", "order", "memory", "bind"):
        assert name in told.summary()
    for name in ("y ", "z ", "GPU:1", "CPU:0", "24B"):
        assert name in text
    assert told.table() in text and told.summary() in text


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
