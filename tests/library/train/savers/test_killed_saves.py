"""A process that saves is killed at any moment: the checkpoint that it leaves is complete."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpugraph as tf

ROOT = Path(__file__).resolve().parents[3]
COUNT, SIZE = 4, 200_000
LARGE = 3_125_000
"""Elements of one of the variables of a model of 50 MB."""

CHILD = """
import sys
from tests.library.train.savers.test_killed_saves import save_for_ever
save_for_ever(sys.argv[1], sys.argv[2] == "numbered", int(sys.argv[3]))
"""


def variables(size: int):
    """Variables whose every element is the number of a step."""
    return [tf.get_variable(f"v{i}", [size], tf.float32) for i in range(COUNT)]


def save_for_ever(folder: str, numbered: bool, size: int) -> None:
    """Go on from the latest checkpoint, and print a line after the first save."""
    parts = variables(size)
    value = tf.placeholder(tf.float32, [])
    update = tf.group(*(part.assign(tf.fill([size], value)) for part in parts))
    saver = tf.train.Saver(max_to_keep=2)
    step = 0
    with tf.Session() as sess:
        state = tf.train.get_checkpoint_state(folder)
        if state is not None:
            saver.restore(sess, state.model_checkpoint_path)
            saver.recover_last_checkpoints(list(state.all_model_checkpoint_paths))
            step = int(sess.run(parts[0])[0])
        while True:
            step += 1
            sess.run(update, {value: step})
            saver.save(sess, f"{folder}/model", global_step=step if numbered else None)
            print(step, flush=True)


def kill_one(folder: Path, kind: str, wait: float, size: int) -> int:
    """Kill a child so long after its first save. Returns the last step that it said."""
    command = [sys.executable, "-c", CHILD, str(folder), kind, str(size)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        first = child.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(wait)
    finally:
        child.kill()
    rest, _ = child.communicate()
    return int((first + rest).split(b"\n")[-2])


def check(folder: Path, said: int, size: int) -> int:
    """Return the step of the latest checkpoint, which restores and has one step in all
    variables.
    """
    path = tf.train.latest_checkpoint(str(folder))
    with tf.Graph().as_default(), tf.Session() as sess:
        parts = variables(size)
        tf.train.Saver().restore(sess, path)
        steps = np.unique(sess.run(parts))
    assert len(steps) == 1
    step = int(steps[0])
    assert said <= step <= said + 1
    if "-" in Path(path).name:
        assert path.endswith(f"model-{step}")
    return step


def kill_and_check(folder: Path, kind: str, kills: int, size: int) -> None:
    choice = random.Random(kills)
    for _ in range(kills):
        check(folder, kill_one(folder, kind, choice.uniform(0, 0.2), size), size)
    assert len(list(folder.glob("*.tempstate*"))) <= 4


@pytest.mark.parametrize("kind", ["numbered", "replaced"])
def test_a_killed_save_leaves_a_whole_checkpoint(tmp_path, kind):
    kill_and_check(tmp_path, kind, 2, SIZE)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["numbered", "replaced"])
def test_many_killed_saves_leave_whole_checkpoints(tmp_path, kind):
    kill_and_check(tmp_path, kind, 100, LARGE)


def test_a_later_save_removes_what_killed_ones_left(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("v", [3], initializer=tf.zeros_initializer())
        sess.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        left = [
            tmp_path / name
            for name in (
                *("model.data-00000-of-00001.tempstate1", "model.index.tempstate2"),
                *("model.data-00000-of-00001.tempstate", "checkpoint.tempstate3"),
            )
        ]
        other = tmp_path / "model-1.index.tempstate4"
        for path in (*left, other):
            path.touch()
            os.utime(path, (1, 1))
        saver.save(sess, str(tmp_path / "model"))
    assert not any(path.exists() for path in left)
    assert other.exists()
