"""Evaluation of checkpoints: once, repeatedly, with hooks that stop it."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.library.train.repeated_evaluation import (
    MultiStepStopAfterNEvalsHook,
    StopAfterNEvalsHook,
    SummaryAtEndHook,
    evaluate_once,
    evaluate_repeatedly,
    get_or_create_eval_step,
)


@pytest.fixture
def checkpoint(tmp_path) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("v", [], initializer=tf.constant_initializer(3.0))
        tf.train.create_global_step()
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "model.ckpt"), global_step=0)
        del variable
    return str(tmp_path)


def test_a_checkpoint_is_evaluated_n_times(checkpoint, tmp_path) -> None:
    with tf.Graph().as_default():
        variable = tf.get_variable("v", [])
        tf.train.create_global_step()
        mean, update = tf.metrics.mean(variable * 2.0)
        tf.summary.scalar("doubled", mean)
        hooks = [StopAfterNEvalsHook(5), SummaryAtEndHook(str(tmp_path / "logs"))]
        step = get_or_create_eval_step()
        values = evaluate_once(
            tf.train.latest_checkpoint(checkpoint),
            eval_ops=update,
            final_ops={"mean": mean, "step": step},
            hooks=hooks,
        )
    assert (values["mean"], values["step"]) == (6.0, 5)
    (file,) = (tmp_path / "logs").iterdir()
    tags = [v.tag for event in tf.train.summary_iterator(str(file)) for v in event.summary.value]
    assert tags == ["doubled"]


def test_one_run_may_evaluate_several_batches(checkpoint) -> None:
    with tf.Graph().as_default():
        tf.get_variable("v", [])
        tf.train.create_global_step()
        step = get_or_create_eval_step()
        values = evaluate_once(
            tf.train.latest_checkpoint(checkpoint),
            eval_ops=[tf.no_op()],
            final_ops=step,
            hooks=[MultiStepStopAfterNEvalsHook(7, steps_per_run=3)],
        )
    assert values == 7


def test_new_checkpoints_are_evaluated_until_a_limit(checkpoint) -> None:
    with tf.Graph().as_default():
        variable = tf.get_variable("v", [])
        tf.train.create_global_step()
        value = evaluate_repeatedly(
            checkpoint,
            eval_ops={"value": variable},
            final_ops=variable + 1.0,
            hooks=[StopAfterNEvalsHook(2)],
            max_number_of_evaluations=1,
        )
    assert value == 4.0


def test_faults_are_refused() -> None:
    with pytest.raises(ValueError, match="exactly one of log_dir and summary_writer"):
        SummaryAtEndHook()
    with tf.Graph().as_default() as graph:
        get_or_create_eval_step()
        graph.add_to_collection(tf.GraphKeys.EVAL_STEP, tf.constant(1))
        with pytest.raises(ValueError, match="Multiple tensors added"):
            get_or_create_eval_step()
