"""Callbacks that end a training or change its learning rate."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

keras = tf.keras
X = np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3)
Y = X.sum(1, keepdims=True)


def compiled(rate=0.1):
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
    model.compile(keras.optimizers.SGD(rate), "mse")
    return model


class Values(keras.callbacks.Callback):
    """Puts given values of "watched" into the logs."""

    def __init__(self, *values):
        super().__init__()
        self.values = values

    def on_epoch_end(self, epoch, logs=None):
        logs["watched"] = self.values[epoch]


def test_early_stopping_ends_and_restores():
    model = compiled()
    kept = {}
    keep = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: kept.setdefault(epoch, model.get_weights())
    )
    stop = keras.callbacks.EarlyStopping("watched", patience=2, restore_best_weights=True)
    values = Values(3.0, 1.0, 2.0, 1.5, 0.0)
    history = model.fit(X, Y, epochs=5, verbose=0, callbacks=[values, keep, stop])
    assert history.epoch == [0, 1, 2, 3]
    assert stop.stopped_epoch == 3
    np.testing.assert_array_equal(model.get_weights()[0], kept[1][0])


def test_accuracies_are_to_rise():
    stop = keras.callbacks.EarlyStopping("watched_acc")
    assert stop.watch.mode == "max"


def test_a_plateau_lowers_the_rate():
    plateau = keras.callbacks.ReduceLROnPlateau(
        "watched", factor=0.5, patience=2, cooldown=1, min_lr=0.03
    )
    values = Values(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    history = compiled().fit(X, Y, epochs=8, verbose=0, callbacks=[values, plateau])
    rates = np.array(history.history["lr"])
    np.testing.assert_allclose(rates, [0.1] * 3 + [0.05] * 2 + [0.03] * 3, 1e-6)
    with pytest.raises(ValueError, match="does not support a factor >= 1"):
        keras.callbacks.ReduceLROnPlateau(factor=1.0)


@pytest.mark.parametrize("schedule", [lambda epoch: 0.1 / (epoch + 1), lambda epoch, rate: 0.1])
def test_a_schedule_sets_the_rate(schedule):
    scheduler = keras.callbacks.LearningRateScheduler(schedule)
    history = compiled(1.0).fit(X, Y, epochs=2, verbose=0, callbacks=[scheduler])
    assert history.history["lr"][0] == pytest.approx(0.1)
    wrong = keras.callbacks.LearningRateScheduler(lambda epoch: "fast")
    with pytest.raises(ValueError, match="should be float"):
        compiled().fit(X, Y, verbose=0, callbacks=[wrong])


def test_a_loss_that_is_no_number_ends_the_training(capsys):
    end = keras.callbacks.TerminateOnNaN()
    history = compiled().fit(X, Y * np.nan, batch_size=1, epochs=3, verbose=0, callbacks=[end])
    assert history.epoch == [0]
    assert np.isnan(history.history["loss"][0])
    assert "Batch 0: Invalid loss, terminating training" in capsys.readouterr().out
