"""`tf.contrib.predictor.from_saved_model`, and the loop `tf.contrib.training.train`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture
def folder(tmp_path: Path) -> str:
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        w = tf.Variable(3.0)
        y = tf.multiply(w, x, name="y")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, path, {"x": x}, {"y": y})
    return path


def test_a_saved_model(folder: str) -> None:
    predictor = tf.contrib.predictor.from_saved_model(folder)
    assert predictor({"x": [1.0, 2.0]})["y"].tolist() == [3.0, 6.0]
    assert list(predictor.feed_tensors) == ["x"]
    assert predictor.graph is predictor.session.graph
    with pytest.raises(ValueError, match="Got unexpected keys in input_dict"):
        predictor({"z": [1.0]})


def test_tensors_by_name_and_wrong_arguments(folder: str) -> None:
    load = tf.contrib.predictor.from_saved_model
    predictor = load(folder, input_names={"in": "x:0"}, output_names={"out": "y:0"})
    assert predictor({"in": np.ones(2)})["out"].tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="at most one"):
        load(folder, signature_def_key="a", signature_def=object())
    with pytest.raises(ValueError, match="both be specified"):
        load(folder, input_names={"in": "x:0"})
    with pytest.raises(ValueError, match="Available signatures are"):
        load(folder, signature_def_key="no")


class Estimator:
    """The parts of an estimator that a predictor uses."""

    config = None

    def __init__(self, model_dir: str) -> None:
        self.model_dir = model_dir

    def latest_checkpoint(self) -> Any:
        return tf.train.latest_checkpoint(self.model_dir)

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> Any:
        assert (labels, mode, config) == (None, "infer", None)
        y = features["x"] * tf.get_variable("w", [], initializer=tf.initializers.ones())
        scaffold = tf.train.Scaffold()
        export = type("Export", (), {"outputs": {"double": y * 2}})()
        fields = {"predictions": y, "scaffold": scaffold, "export_outputs": {"twice": export}}
        return type("Spec", (), fields)()


def test_an_estimator(tmp_path: Path) -> None:
    def receiver() -> Any:
        x = tf.placeholder(tf.float32, [None])
        return type("Receiver", (), {"features": {"x": x}, "receiver_tensors": {"x": x}})()

    estimator = Estimator(str(tmp_path))
    make = tf.contrib.predictor.from_estimator
    with pytest.raises(ValueError, match="no checkpoint"):
        make(estimator, receiver)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.get_or_create_global_step()
        tf.get_variable("w", initializer=5.0)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "model"))
    assert make(estimator, receiver)({"x": [2.0]})["output"].tolist() == [10.0]
    assert make(estimator, receiver, "twice")({"x": [2.0]})["double"].tolist() == [20.0]
    with pytest.raises(ValueError, match="Unknown output_key"):
        make(estimator, receiver, "thrice")


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
