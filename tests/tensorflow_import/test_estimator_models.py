"""The parts of Keras and tf.contrib.predictor that estimators of the library use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.tensorflow_import.estimator_parts import estimator_models, predictors

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(16, 3).astype(np.float32)
Y = X.sum(1, keepdims=True)


def compiled() -> Any:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
    return model


def test_a_copy_trains_on_tensors_and_counts_steps_in_a_given_variable() -> None:
    model = compiled()
    with tf.Graph().as_default():
        step = tf.train.create_global_step()
        clone = estimator_models.clone_and_build_model(
            model,
            [tf.constant(X)],
            [tf.constant(Y)],
            optimizer_iterations=step,
            optimizer_config=model.optimizer.get_config(),
        )
        assert clone._is_graph_network
        clone._make_train_function()
        (metric,) = clone._compile_metric_functions
        update, value = metric.updates[0], metric.result()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run([variable.initializer for variable in metric.variables])
            first = session.run(clone.total_loss)
            for _ in range(20):
                session.run(clone.train_function.updates_op)
            assert session.run(step) == 20
            assert session.run(clone.total_loss) < first / 4
            session.run([variable.initializer for variable in metric.variables])
            session.run(update)
            expected = np.abs(session.run(clone.outputs[0]) - Y).mean()
            np.testing.assert_allclose(session.run(value), expected, rtol=1e-5)


def test_weights_of_examples_change_the_loss_of_a_copy() -> None:
    with tf.Graph().as_default():
        model = compiled()
        clone = estimator_models.clone_and_build_model(model, [tf.constant(X)], [tf.constant(Y)])
        weights = np.arange(16, dtype=np.float32)
        clone._compile_weights_loss_and_weighted_metrics([tf.constant(weights)])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            output, loss = session.run([clone.outputs[0], clone.total_loss])
    expected = (weights * ((output - Y) ** 2)[:, 0]).mean()
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_models_that_cannot_be_copied_are_refused() -> None:
    class Own(tf.keras.Model):  # type: ignore[misc, unused-ignore]
        def call(self, inputs: Any) -> Any:
            return inputs

    with pytest.raises(ValueError, match="has not been compiled"):
        estimator_models.clone_and_build_model(tf.keras.Sequential())
    own = Own()
    own.compile("sgd", "mse")
    with pytest.raises(ValueError, match="This model is a subclassed model"):
        estimator_models.clone_and_build_model(own)


def exported(folder: Path) -> str:
    path = str(folder / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.identity(x * tf.get_variable("w", initializer=3.0), name="y")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, path, {"a": x}, {"b": y})
    return path


def test_a_predictor_of_a_saved_model(tmp_path: Path) -> None:
    path = exported(tmp_path)
    predict = predictors.from_saved_model(path)
    np.testing.assert_array_equal(predict({"a": [1.0, 2.0]})["b"], [3.0, 6.0])
    assert set(predict.feed_tensors) == {"a"} and predict.fetch_tensors["b"].graph is predict.graph
    with pytest.raises(ValueError, match=r"Got unexpected keys in input_dict: \{'c'\}"):
        predict({"c": [1.0]})
    named = predictors.from_saved_model(
        path, input_names={"in": "x:0"}, output_names={"out": "y:0"}, tags="serve"
    )
    np.testing.assert_array_equal(named({"in": [2.0]})["out"], [6.0])
    with pytest.raises(ValueError, match='Got signature_def_key "other"'):
        predictors.from_saved_model(path, "other")
    with pytest.raises(ValueError, match="at most one of signature_def_key"):
        predictors.from_saved_model(path, "other", input_names={}, output_names={})


def test_a_predictor_of_an_estimator_restores_its_checkpoint(tmp_path: Path) -> None:
    class Estimator:
        config = None

        def latest_checkpoint(self) -> str | None:
            return tf.train.latest_checkpoint(str(tmp_path))

        def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> Any:
            assert labels is None and mode == "infer"

            class Output:
                def as_signature_def(self, receivers: Any) -> Any:
                    y = features["x"] * tf.get_variable("w", initializer=3.0)
                    return tf.saved_model.predict_signature_def({"x": features["x"]}, {"y": y})

            class Spec:
                scaffold, export_outputs = None, {"serving_default": Output()}

            tf.train.get_or_create_global_step()
            return Spec()

    class Receiver:
        def __init__(self) -> None:
            self.features = self.receiver_tensors = {"x": tf.placeholder(tf.float32, [None])}

    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=5.0)
        tf.train.create_global_step()
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "model"))
    predict = predictors.from_estimator(Estimator(), Receiver)
    np.testing.assert_array_equal(predict({"x": [1.0, 2.0]})["y"], [5.0, 10.0])
    with pytest.raises(ValueError, match="Got output_key other"):
        predictors.from_estimator(Estimator(), Receiver, "other")
