"""Processes that save into one folder at the same time, and writers whose files are left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import gpugraph as tf
from gpugraph.base.whole_files import create_beside, kept, remove_stale

ROOT = Path(__file__).resolve().parents[3]
PROCESSES, SAVES = 3, 60

CHILD = """
import sys
from tests.library.train.savers.test_savers_of_one_folder import save_often
save_often(sys.argv[1], sys.argv[2])
"""


def save_often(folder: str, name: str) -> None:
    """Save each step under a separate name, keep two, and read the state file in between."""
    v = tf.get_variable("v", [1000], initializer=tf.zeros_initializer())
    update = v.assign_add(tf.ones([1000]))
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(1, SAVES + 1):
            session.run(update)
            saver.save(session, f"{folder}/{name}", global_step=step)
            state = tf.train.get_checkpoint_state(folder)
            assert state is not None
            assert len(state.all_model_checkpoint_paths) <= 2


def test_processes_save_into_one_folder(tmp_path: Path) -> None:
    names = [f"model{'.x' * number}" for number in range(PROCESSES)]
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path), name], cwd=ROOT, stderr=subprocess.PIPE
        )
        for name in names
    ]
    errors = [child.communicate(timeout=300)[1].decode() for child in children]
    assert [child.returncode for child in children] == [0] * PROCESSES, "".join(errors)
    for name in names:
        for step in (SAVES - 1, SAVES):
            reader = tf.train.NewCheckpointReader(str(tmp_path / f"{name}-{step}"))
            np.testing.assert_array_equal(reader.get_tensor("v"), np.full(1000, step))
    latest = tf.train.latest_checkpoint(str(tmp_path))
    assert latest in [str(tmp_path / f"{name}-{SAVES}") for name in names]
    assert list(tmp_path.glob("*.tempstate*")) == []


def test_a_file_that_is_held_is_not_stale(tmp_path: Path) -> None:
    path = str(tmp_path / "checkpoint")
    file, name = create_beside(path)
    os.utime(name, (1, 1))
    with kept([name]):
        with file:
            remove_stale(path)
            assert os.path.exists(name)
        remove_stale(path)
        assert os.path.exists(name)
    remove_stale(path)
    assert not os.path.exists(name)


def test_names_of_others_are_left_alone(tmp_path: Path) -> None:
    others = [tmp_path / f"{name}.tempstate1" for name in ("model.h5", "model.x.index", "model-1")]
    for path in others:
        path.touch()
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.get_variable("v", [3], initializer=tf.ones_initializer()).initializer)
        tf.train.Saver().save(session, str(tmp_path / "model"))
    assert all(path.exists() for path in others)
