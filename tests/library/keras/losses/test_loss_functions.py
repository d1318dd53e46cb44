"""Losses as functions, beside their formulas in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

losses = tf.keras.losses
RANDOM = np.random.RandomState(0)
TRUE = RANDOM.rand(5, 4).astype(np.float32)
PRED = RANDOM.rand(5, 4).astype(np.float32)
ONE_HOT = np.eye(4, dtype=np.float32)[[0, 3, 1, 1, 2]]
SOFT = (PRED / PRED.sum(1, keepdims=True)).astype(np.float32)


def length(x):
    return x / np.sqrt((x**2).sum(-1, keepdims=True))


FORMULAS = {
    "mean_squared_error": lambda t, p: ((t - p) ** 2).mean(-1),
    "mean_absolute_error": lambda t, p: abs(t - p).mean(-1),
    "mean_absolute_percentage_error": lambda t, p: 100 * (abs(t - p) / abs(t)).mean(-1),
    "mean_squared_logarithmic_error": lambda t, p: ((np.log1p(p) - np.log1p(t)) ** 2).mean(-1),
    "logcosh": lambda t, p: np.log(np.cosh(p - t)).mean(-1),
    "hinge": lambda t, p: np.maximum(0, 1 - t * p).mean(-1),
    "squared_hinge": lambda t, p: (np.maximum(0, 1 - t * p) ** 2).mean(-1),
    "poisson": lambda t, p: (p - t * np.log(p)).mean(-1),
    "kullback_leibler_divergence": lambda t, p: (t * np.log(t / p)).sum(-1),
    "cosine_similarity": lambda t, p: -(length(t) * length(p)).sum(-1),
    "binary_crossentropy": lambda t, p: -(t * np.log(p) + (1 - t) * np.log(1 - p)).mean(-1),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_the_function_is_its_formula(name, session):
    value = session.run(getattr(losses, name)(TRUE, PRED))
    np.testing.assert_allclose(value, FORMULAS[name](TRUE, PRED), 1e-4, 1e-5)


def test_targets_of_zero_and_one_are_signs_for_hinges(session):
    value = session.run(losses.hinge(ONE_HOT, PRED))
    np.testing.assert_allclose(value, FORMULAS["hinge"](2 * ONE_HOT - 1, PRED), 1e-5)
    wrong = ((1 - ONE_HOT) * PRED).max(-1)
    expected = np.maximum(0, 1 + wrong - (ONE_HOT * PRED).sum(-1))
    np.testing.assert_allclose(session.run(losses.categorical_hinge(ONE_HOT, PRED)), expected, 1e-5)


def test_cross_entropies_of_classes_and_distributions_agree(session):
    expected = -np.log((SOFT * ONE_HOT).sum(-1))
    classes = ONE_HOT.argmax(-1)
    sparse = losses.sparse_categorical_crossentropy(classes[:, None], SOFT)
    dense = losses.categorical_crossentropy(ONE_HOT, SOFT)
    logits = losses.categorical_crossentropy(ONE_HOT, np.log(SOFT), from_logits=True)
    for value in session.run([sparse, dense, logits]):
        np.testing.assert_allclose(value, expected, 1e-5)
    smooth = losses.categorical_crossentropy(ONE_HOT, SOFT, label_smoothing=0.2)
    target = 0.8 * ONE_HOT + 0.05
    np.testing.assert_allclose(session.run(smooth), -(target * np.log(SOFT)).sum(-1), 1e-5)


@pytest.fixture
def session():
    return tf.Session()
