"""The loop `tf.contrib.training.train`, and `tf.contrib.training.parse_values`."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpugraph as tf


def test_the_training_loop(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        with tf.control_dependencies([tf.assign_add(step, 1)]):
            loss = tf.identity(tf.cast(step, tf.float32) * 0 + 7.0)
        hooks = [tf.train.StopAtStepHook(last_step=3)]
        assert tf.contrib.training.train(loss, str(tmp_path), hooks=hooks) == 7.0
        assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-3")
        with pytest.raises(ValueError, match="save_summaries_steps"):
            tf.contrib.training.train(loss, None)


def test_values_of_hyperparameters() -> None:
    parse = tf.contrib.training.parse_values
    types = {"a": int, "b": float, "c": bool}
    assert parse("a=[1,2],b=0.5,c=true", types) == {"a": [1, 2], "b": 0.5, "c": True}
    assert parse("a[1]=3,a[0]=4,z=2", types, ignore_unknown=True) == {"a": {1: 3, 0: 4}}
    for text in ("a=1,a=2", "z=1", "a=x", "a=[1],a[0]=2"):
        with pytest.raises(ValueError):
            parse(text, types)
