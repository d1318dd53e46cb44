"""Losses as classes: weights, reductions, names and configurations."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

losses = tf.keras.losses
TRUE = np.array([[1.0, 2.0], [3.0, 5.0]], np.float32)
PRED = np.array([[0.5, 2.0], [1.0, 4.0]], np.float32)
EACH = np.array([0.125, 2.5], np.float32)


@pytest.mark.parametrize(
    ("reduction", "weights", "expected"),
    [
        ("auto", None, EACH.mean()),
        ("sum_over_batch_size", None, EACH.mean()),
        ("sum", None, EACH.sum()),
        ("none", None, EACH),
        ("auto", [2.0, 0.0], 2 * EACH[0] / 2),
        ("sum", [[2.0], [1.0]], 2 * EACH[0] + EACH[1]),
        ("auto", 3.0, 3 * EACH.mean()),
    ],
)
def test_losses_are_weighted_and_reduced(reduction, weights, expected):
    loss = losses.MeanSquaredError(reduction=reduction)(TRUE, PRED, sample_weight=weights)
    np.testing.assert_allclose(tf.Session().run(loss), expected, 1e-6)


def test_huber_is_linear_beyond_delta():
    loss = losses.Huber(delta=1.0)(TRUE, PRED)
    assert tf.Session().run(loss) == pytest.approx((0.125 + 0 + 1.5 + 0.5) / 4)


def test_unknown_reductions_and_names_are_refused():
    with pytest.raises(ValueError, match="Invalid Reduction Key mean"):
        losses.Poisson(reduction="mean")
    with pytest.raises(ValueError, match="Unknown loss function: nothing"):
        losses.get("nothing")
    with pytest.raises(ValueError, match="Could not interpret loss function identifier"):
        losses.get(3)
    with pytest.raises(NotImplementedError, match="Must be implemented"):
        losses.Loss()(TRUE, PRED)


@pytest.mark.parametrize("name", ["Huber", "CategoricalCrossentropy", "CosineSimilarity", "Hinge"])
def test_configurations_give_the_loss_again(name):
    loss = losses.get(name)
    again = losses.deserialize(losses.serialize(loss))
    assert type(again) is type(loss)
    assert again.get_config() == loss.get_config()


def test_names_of_functions():
    assert losses.get("mse") is losses.mean_squared_error is losses.MSE
    assert losses.serialize(losses.kld) == "kullback_leibler_divergence"
    assert losses.get(None) is None


def test_a_program_defines_a_loss():
    class Distance(losses.Loss):
        def call(self, y_true, y_pred):
            return tf.abs(y_true - y_pred)

    assert tf.Session().run(Distance()(TRUE, PRED)) == pytest.approx(3.5 / 4)
