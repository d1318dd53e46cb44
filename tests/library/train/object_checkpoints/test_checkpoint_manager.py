"""Checkpoints of a folder: their numbers, which are kept, and the state that a later manager
inherits.
"""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

import gpugraph as tf
from gpugraph.library.train.object_checkpoints import checkpoint_manager


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


@pytest.fixture
def checkpoint(session):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    session.run(checkpoint.v.initializer)
    return checkpoint


@pytest.fixture
def hours(monkeypatch):
    """Set the time, in hours."""
    clock = [1000.0]
    stub = SimpleNamespace(time=lambda: clock[0] * 3600)
    monkeypatch.setattr(checkpoint_manager, "time", stub)

    def set_hours(value):
        clock[0] = value

    return set_hours


def names(paths):
    return [os.path.basename(path) for path in paths]


def whole(folder):
    return sorted(path.name[:-6] for path in folder.iterdir() if path.name.endswith(".index"))


def test_old_checkpoints_go(checkpoint, tmp_path):
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=2)
    assert manager.latest_checkpoint is None
    for _ in range(3):
        path = manager.save()
    assert path == manager.latest_checkpoint == tf.train.latest_checkpoint(tmp_path)
    assert names(manager.checkpoints) == whole(tmp_path) == ["ckpt-2", "ckpt-3"]
    again = tf.train.CheckpointManager(checkpoint, str(tmp_path), 1, checkpoint_name="other")
    assert names(again.checkpoints) == ["ckpt-2", "ckpt-3"]
    again.save()
    assert names(again.checkpoints) == whole(tmp_path) == ["other-4"]


def test_checkpoints_have_numbers(checkpoint, tmp_path, session):
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, None)
    step = tf.Variable(70, trainable=False)
    session.run(step.initializer)
    paths = [manager.save(7), manager.save(step), manager.save(), manager.save(7)]
    assert names(paths) == ["ckpt-7", "ckpt-70", "ckpt-3", "ckpt-7"]
    assert names(manager.checkpoints) == ["ckpt-70", "ckpt-3", "ckpt-7"]
    assert session.run(checkpoint.save_counter) == 4


def test_one_in_so_many_hours_is_kept(checkpoint, tmp_path, hours):
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, 1, keep_checkpoint_every_n_hours=2)
    for time in (1001, 1002.5, 1003, 1005, 1005.5):
        hours(time)
        manager.save()
    assert whole(tmp_path) == ["ckpt-2", "ckpt-4", "ckpt-5"]
    assert names(manager.checkpoints) == ["ckpt-5"]
    hours(1007)
    again = tf.train.CheckpointManager(checkpoint, tmp_path, 1, keep_checkpoint_every_n_hours=2)
    again.save()
    assert whole(tmp_path) == ["ckpt-2", "ckpt-4", "ckpt-6"]


def test_a_clock_that_goes_back_is_warned_of(checkpoint, tmp_path, hours):
    tf.train.CheckpointManager(checkpoint, tmp_path, 1).save()
    hours(900)
    assert tf.train.CheckpointManager(checkpoint, tmp_path, 1).checkpoints == []


def test_errors(checkpoint, tmp_path):
    with pytest.raises(ValueError, match="Expected a positive integer or `None`"):
        tf.train.CheckpointManager(checkpoint, tmp_path, 0)
