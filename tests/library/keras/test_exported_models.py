"""Models as SavedModels: served by a session, and read again as models."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

experimental, layers = tf.keras.experimental, tf.keras.layers
ROWS = np.random.RandomState(0).rand(8, 4).astype(np.float32)


def trained():
    inputs = tf.keras.Input((4,), name="rows")
    x = layers.BatchNormalization()(layers.Dense(5, activation="tanh")(inputs))
    model = tf.keras.Model(inputs, layers.Dense(2, name="out")(layers.Dropout(0.5)(x)))
    model.compile("adam", "mse")
    model.fit(ROWS, ROWS[:, :2], verbose=0)
    return model


def test_a_model_is_served_and_read_again(tmp_path):
    with tf.Graph().as_default():
        model = trained()
    experimental.export_saved_model(model, tmp_path / "model")
    predicted = model.predict(ROWS)
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.load(session, ["serve"], str(tmp_path / "model"))
        signature = loaded.signature_def["serving_default"]
        feeds = {signature.inputs["rows"].name: ROWS}
        value = session.run(signature.outputs["out"].name, feeds)
    np.testing.assert_allclose(value, predicted, rtol=1e-5, atol=1e-6)
    with tf.Graph().as_default():
        again = experimental.load_from_saved_model(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(ROWS), predicted)
        again.compile("adam", "mse")
        again.train_on_batch(ROWS, ROWS[:, :2])  # with the optimizer's variables
        assert tf.keras.backend.get_value(again.optimizer.iterations) == 2


def test_what_is_refused(tmp_path):
    class Own(tf.keras.Model):
        pass

    with pytest.raises(NotImplementedError, match=r"not subclasses: `tf\.saved_model\.simple_save"):
        experimental.export_saved_model(Own(), tmp_path / "own")
    with tf.Graph().as_default():
        model = trained()
    experimental.export_saved_model(model, tmp_path / "served", serving_only=True)
    with pytest.raises(tf.errors.NotFoundError, match=r"saved_model\.json"):
        experimental.load_from_saved_model(tmp_path / "served")
    with pytest.raises(AssertionError, match="already exists, and isn't empty"):
        experimental.export_saved_model(model, tmp_path / "served")
