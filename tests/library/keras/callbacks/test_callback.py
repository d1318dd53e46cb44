"""Callbacks: which are called, when, and with which arguments."""

from __future__ import annotations

import numpy as np

import gpugraph as tf

keras = tf.keras
X = np.ones((5, 3), np.float32)


class Recorder(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.calls = []

    def on_epoch_begin(self, epoch, logs=None):
        self.calls.append(f"epoch {epoch}")

    def on_batch_end(self, batch, logs=None):
        self.calls.append(f"batch {logs['batch']} of {logs['size']}")
        assert "loss" in logs

    def on_test_batch_begin(self, batch, logs=None):
        self.calls.append(f"test {batch}")

    def on_predict_batch_end(self, batch, logs=None):
        self.calls.append(f"predict {batch}")

    def on_train_end(self, logs=None):
        self.calls.append("end")


def compiled():
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    return model


def test_callbacks_are_called_in_order():
    model, recorder = compiled(), Recorder()
    arguments = {"batch_size": 3, "verbose": 0, "callbacks": [recorder]}
    model.fit(X, X[:, 0], epochs=3, initial_epoch=2, validation_data=(X, X[:, 0]), **arguments)
    assert recorder.calls == [
        "epoch 2", "batch 0 of 3", "batch 1 of 2", "test 0", "test 1", "end",
    ]  # fmt: skip
    assert recorder.params["metrics"] == ["loss", "val_loss"]
    assert recorder.params["samples"] == 5
    assert recorder.model is model
    recorder.calls.clear()
    model.predict(X, callbacks=[recorder])
    assert recorder.calls == ["predict 0"]


def test_a_callback_ends_the_training_within_an_epoch():
    model, batches = compiled(), []

    def end(batch, logs):
        batches.append(batch)
        model.stop_training = batch == 1

    stop = keras.callbacks.LambdaCallback(on_batch_end=end)
    history = model.fit(X, X[:, 0], batch_size=1, epochs=3, verbose=0, callbacks=[stop])
    assert batches == [0, 1]
    assert history.epoch == [0]


def test_the_mean_of_batches():
    logger = keras.callbacks.BaseLogger(["acc"])
    logger.set_params({"metrics": ["loss", "acc"]})
    logger.on_epoch_begin(0)
    logger.on_batch_end(0, {"size": 3, "loss": 1.0, "acc": 0.1})
    logger.on_batch_end(1, {"size": 1, "loss": 5.0, "acc": 0.7})
    logs = {}
    logger.on_epoch_end(0, logs)
    assert logs == {"loss": 2.0, "acc": 0.7}
