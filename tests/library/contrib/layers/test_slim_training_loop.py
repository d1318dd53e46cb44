"""`tf.contrib.slim.learning.train`: steps, checkpoints, summaries, traces and the input's end."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gpugraph as tf

slim = tf.contrib.slim


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def training(rate: float = 0.1) -> Any:
    w = tf.get_variable("w", initializer=4.0)
    loss = w * w
    tf.summary.scalar("loss", loss)
    return slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(rate))


def test_training_ends_at_its_number_of_steps_and_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    folder = str(tmp_path)
    first = slim.learning.train(
        training(), folder, number_of_steps=5, trace_every_n_steps=2, log_every_n_steps=2
    )
    assert tf.train.latest_checkpoint(folder).endswith("model.ckpt-5")
    assert len(glob.glob(folder + "/tf_trace-*.json")) == 3
    assert (tmp_path / "graph.pbtxt").exists()
    with tf.Graph().as_default():
        again = slim.learning.train(training(), folder, number_of_steps=10)
        assert again < first
    assert tf.train.latest_checkpoint(folder).endswith("model.ckpt-10")


def test_a_step_function_of_the_program_stops_the_training() -> None:
    seen = []

    def step(session: Any, op: Any, global_step: Any, arguments: dict[str, Any]) -> Any:
        loss, _ = slim.learning.train_step(session, op, global_step, {})
        seen.append((float(loss), session.run(global_step), sorted(arguments)))
        return loss, len(seen) == 3

    def initialize(session: Any) -> None:
        session.run(assigned)

    op = training()
    assigned = tf.trainable_variables()[0].assign(1.0)
    loss = slim.learning.train(
        op, None, step, log_every_n_steps=0, init_fn=initialize, summary_writer=None
    )
    assert [number for _, number, _ in seen] == [1, 2, 3] and loss == pytest.approx(0.8**4)
    assert seen[0] == (1.0, 1, ["should_stop"])


def test_training_ends_with_its_input(tmp_path: Path) -> None:
    with tf.device("/cpu:0"):
        x = tf.train.limit_epochs(tf.constant(2.0), num_epochs=3)
    w = tf.get_variable("w", initializer=1.0)
    op = slim.learning.create_train_op(w * x, tf.train.GradientDescentOptimizer(0.1))
    slim.learning.train(op, str(tmp_path))
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-3")


def test_wrong_arguments_of_training_are_refused() -> None:
    with pytest.raises(ValueError, match=r"train_op cannot be None\."):
        slim.learning.train(None, None)
    op = training()
    with pytest.raises(ValueError, match="Cannot provide summary_op because logdir=None"):
        slim.learning.train(op, None, summary_op=None)
    with pytest.raises(ValueError, match="Cannot provide trace_every_n_steps because logdir"):
        slim.learning.train(op, None, trace_every_n_steps=1)
    with pytest.raises(ValueError, match="must be either None or a positive number"):
        slim.learning.train(op, None, number_of_steps=0)
    with pytest.raises(ValueError, match=r"must be a tf\.train\.SyncReplicasOptimizer"):
        slim.learning.train(op, None, sync_optimizer=3)
    with tf.Session() as session, pytest.raises(ValueError, match="logdir must be present"):
        slim.learning.train_step(session, op, None, {"should_trace": None})
