"""Hooks act when it is time, and refuse arguments that contradict each other."""

from __future__ import annotations

import io

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.platform import logging


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


@pytest.fixture
def _lines(monkeypatch):
    lines = []
    monkeypatch.setattr(logging, "info", lambda text, *args: lines.append(text % args))
    return lines


def _train():
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


def _run(hooks, train, most=20):
    runs = 0
    with tf.train.MonitoredSession(hooks=hooks) as session:
        while not session.should_stop() and runs < most:
            session.run(train)
            runs += 1
    return runs


def test_stop_at_step():
    train = _train()
    assert _run([tf.train.StopAtStepHook(num_steps=4)], train) == 4
    assert _run([tf.train.StopAtStepHook(last_step=3)], train) == 3
    for arguments in ({}, {"num_steps": 1, "last_step": 1}):
        with pytest.raises(ValueError, match="num_steps or last_step"):
            tf.train.StopAtStepHook(**arguments)


@pytest.mark.parametrize(
    "hook",
    [
        tf.train.StopAtStepHook(1),
        tf.train.StepCounterHook(),
        tf.train.GlobalStepWaiterHook(1),
        tf.train.SummarySaverHook(1, summary_op=1),
        tf.train.ProgressHook(),
    ],
)
def test_hooks_need_a_global_step(hook):
    name = type(hook).__name__
    with pytest.raises(RuntimeError, match=f"Global step should be created to use {name}"):
        tf.train.MonitoredSession(hooks=[hook])


def test_timers():
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    assert timer.should_trigger_for_step(1)
    assert timer.update_last_triggered_step(1) == (None, None)
    assert [timer.should_trigger_for_step(step) for step in (1, 3, 4)] == [False, False, True]
    assert timer.update_last_triggered_step(5)[1] == 4
    assert timer.last_triggered_step() == 5
    timer.reset()
    assert timer.should_trigger_for_step(5)
    assert not tf.train.SecondOrStepTimer(every_secs=1e6).last_triggered_step()
    for arguments in ({}, {"every_secs": 1, "every_steps": 1}):
        with pytest.raises(ValueError, match="every_secs"):
            tf.train.SecondOrStepTimer(**arguments)


def test_logged_tensors(_lines):
    train, x = _train(), tf.constant([0.5, 1e-9], name="x")
    hooks = [
        tf.train.LoggingTensorHook({"b": "x", "a": x}, every_n_iter=2, at_end=True),
        tf.train.LoggingTensorHook(
            ["x:0"], every_n_iter=10, formatter=lambda values: str(len(values))
        ),
        tf.train.StopAtStepHook(3),
    ]
    _run(hooks, train)
    logged = [line.split(" (")[0] for line in _lines if line.startswith(("a =", "1"))]
    text = "a = [0.5 0. ], b = [0.5 0. ]"
    assert logged == [text, "1", text, text]


def test_logging_refuses():
    with pytest.raises(ValueError, match="exactly one of every_n_iter and every_n_secs"):
        tf.train.LoggingTensorHook(["a"])
    with pytest.raises(ValueError, match="invalid every_n_iter=0"):
        tf.train.LoggingTensorHook(["a"], every_n_iter=0)
    two = tf.split(tf.constant([1, 2]), 2, name="two")
    with pytest.raises(ValueError, match="Name two is ambiguous"):
        tf.train.LoggingTensorHook(["two"], every_n_iter=1).begin()
    with tf.Graph().as_default(), pytest.raises(ValueError, match="current graph"):
        tf.train.LoggingTensorHook([two[0]], every_n_iter=1).begin()


def test_nan_ends_the_training():
    loss = tf.constant(np.nan)
    with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss during training"):
        _run([tf.train.NanTensorHook(loss)], loss)
    assert _run([tf.train.NanTensorHook(loss, fail_on_nan_loss=False)], loss) == 1


def test_final_ops():
    train, x = _train(), tf.placeholder(tf.float32, [])
    hook = tf.train.FinalOpsHook({"x": x + 1.0}, {x: 2.0})
    assert hook.final_ops_values is None
    _run([hook, tf.train.StopAtStepHook(1)], train)
    assert hook.final_ops_values == {"x": 3.0}


def test_waiting_for_a_step():
    step = tf.train.get_or_create_global_step()
    train = tf.assign_add(step, 1)

    class Starts(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            step.load(5, session)

    assert _run([Starts(), tf.train.GlobalStepWaiterHook(5)], train, most=1) == 1
    assert _run([tf.train.GlobalStepWaiterHook(0)], train, most=1) == 1


def test_a_global_step_that_stands_still_is_warned_of(monkeypatch):
    tf.train.get_or_create_global_step()
    lines = []
    monkeypatch.setattr(logging, "log_first_n", lambda *args: lines.append(args[1]))
    _run([tf.train.StepCounterHook()], tf.constant(1), most=2)
    assert len(lines) == 1
    assert "has not been increased" in lines[0]


def test_arguments_that_contradict_each_other():
    with pytest.raises(ValueError, match="exactly one of every_n_steps and every_n_secs"):
        tf.train.StepCounterHook(every_n_steps=1, every_n_secs=1)
    with pytest.raises(ValueError, match="Exactly one of scaffold or summary_op"):
        tf.train.SummarySaverHook(1)
    with pytest.raises(ValueError, match="both saver and scaffold"):
        tf.train.CheckpointSaverHook("x", 1, saver=1, scaffold=2)
    with pytest.raises(ValueError, match="every_secs or every_steps"):
        tf.train.CheckpointSaverHook("x")


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_in_a_log_and_in_a_terminal():
    train, loss = _train(), tf.constant(0.25)
    log, terminal = io.StringIO(), _Terminal()
    hooks = [
        tf.train.ProgressHook(4, loss, every_secs=0, file=log),
        tf.train.ProgressHook(4, {"l": loss}, every_secs=0, file=terminal, use_tqdm=False),
        tf.train.StopAtStepHook(4),
    ]
    _run(hooks, train)
    lines = log.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == [f"step {step}/4" for step in range(1, 5)]
    assert all("loss 0.25" in line and line.endswith("left") for line in lines)
    shown = terminal.getvalue()
    assert shown.count("\r") == 4
    assert shown.count("\n") == 1
    assert "[========================] step 4/4" in shown
