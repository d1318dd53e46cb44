"""Keras models with the methods of scikit-learn's estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.tensorflow_import.estimator_parts.scikit_learn_wrappers import (
    KerasClassifier,
    KerasRegressor,
)

X = np.random.RandomState(0).randn(40, 3).astype(np.float32)


def classifier(units: int = 4, loss: str = "sparse_categorical_crossentropy") -> Any:
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(units, "relu", input_shape=(3,)), tf.keras.layers.Dense(2)]
    )
    model.add(tf.keras.layers.Softmax())
    model.compile(tf.keras.optimizers.Adam(0.1), loss, metrics=["accuracy"])
    return model


@pytest.mark.parametrize("loss", ["sparse_categorical_crossentropy", "categorical_crossentropy"])
def test_a_classifier_has_classes_of_any_dtype(loss: str) -> None:
    labels = np.where(X[:, 0] > 0, "yes", "no")
    model = KerasClassifier(classifier, units=8, loss=loss, epochs=15, verbose=0)
    model.fit(X, labels, batch_size=10)
    assert model.classes_.tolist() == ["no", "yes"] and model.n_classes_ == 2
    found = model.predict(X)
    assert set(found) <= {"no", "yes"} and (found == labels).mean() > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(model.score(X, labels), (found == labels).mean(), rtol=1e-6)


def test_parameters_are_those_of_the_functions() -> None:
    model = KerasClassifier(classifier, units=3)
    assert model.get_params() == {"units": 3, "build_fn": classifier}
    assert model.set_params(epochs=2).sk_params == {"units": 3, "epochs": 2}
    with pytest.raises(ValueError, match="depth is not a legal parameter"):
        model.set_params(depth=3)
    with pytest.raises(ValueError, match="Invalid shape for y"):
        model.fit(X, np.zeros((40, 1, 1)))


def test_a_regressor_scores_by_the_negative_loss() -> None:
    def build() -> Any:
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
        model.compile("sgd", "mse")
        return model

    model = KerasRegressor(build, epochs=2, verbose=0)
    model.fit(X, X.sum(1))
    errors = (model.predict(X) - X.sum(1)) ** 2
    np.testing.assert_allclose(model.score(X, X.sum(1)), -errors.mean(), rtol=1e-4)
