"""Variables in checkpoints of objects: also the optimizer's, and variables created later."""

from __future__ import annotations

import os

import numpy as np
import pytest

import gpugraph as tf

from .conftest import Model, layers

ROWS = np.random.RandomState(0).rand(16, 4).astype(np.float32)
LABELS = np.random.RandomState(1).randint(0, 3, 16)


class Own(Model):
    def __init__(self):
        super().__init__()
        self.first = layers.Dense(5, activation="tanh")
        self.rest = [layers.BatchNormalization(), layers.Dense(3)]

    def call(self, inputs):
        values = self.first(inputs)
        for layer in self.rest:
            values = layer(values)
        return values


def functional():
    inputs = tf.keras.Input((4,))
    return Model(inputs, layers.Dense(3)(layers.Dense(5, activation="tanh")(inputs)))


def deferred():
    return tf.keras.Sequential([layers.Dense(5, activation="tanh"), layers.Dense(3)])


def compiled(make, optimizer="adam"):
    model = make()
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer() if callable(optimizer) else optimizer, loss)
    return model


def losses(model):
    return model.fit(ROWS, LABELS, epochs=2, batch_size=4, shuffle=False, verbose=0).history["loss"]


@pytest.mark.parametrize("make", [functional, deferred, Own])
@pytest.mark.parametrize("optimizer", ["adam", lambda: tf.train.MomentumOptimizer(0.1, 0.9)])
def test_training_goes_on(tmp_path, make, optimizer):
    path = tmp_path / "weights"
    model = compiled(make, optimizer)
    losses(model)
    model.save_weights(path)
    predicted, further = model.predict(ROWS), losses(model)
    with tf.Graph().as_default():
        again = compiled(make, optimizer)
        status = again.load_weights(path)
        np.testing.assert_array_equal(again.predict(ROWS), predicted)
        assert losses(again) == further
        assert status.assert_consumed() is status


def test_it_is_the_latest_checkpoint_of_its_folder(tmp_path):
    model = functional()
    for name in ("a", "b"):
        model.save_weights(str(tmp_path / name), save_format="tf")
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "b")
    assert sorted(os.listdir(tmp_path)) == sorted(
        ["checkpoint", *(f"{name}.{end}" for name in "ab" for end in ("index", ENDING))]
    )


ENDING = "data-00000-of-00001"


def test_variables_that_come_later_are_restored_in_the_session_of_load_weights(tmp_path):
    model = Own()
    model.build((None, 4))
    model.save_weights(tmp_path / "weights")
    predicted = model.predict(ROWS)
    with tf.Graph().as_default(), tf.Session() as session:
        later = Own()
        status = later.load_weights(tmp_path / "weights")
        with pytest.raises(
            AssertionError, match=r"Unresolved object in checkpoint \(root\)\.first"
        ):
            status.assert_consumed()
        outputs = later(tf.constant(ROWS))
        np.testing.assert_array_equal(session.run(outputs), predicted)
        status.assert_consumed().run_restore_ops()


def test_a_session_that_is_closed_restores_nothing_more(tmp_path):
    model = Own()
    model.build((None, 4))
    model.save_weights(tmp_path / "weights")
    later = Own()
    with tf.Session():
        later.load_weights(tmp_path / "weights").expect_partial()
    outputs = later(tf.constant(ROWS))
    assert np.abs(tf.keras.backend.get_value(outputs) - model.predict(ROWS)).max() > 0


def test_what_was_trained_since_is_not_restored_again(tmp_path):
    model = functional()
    model.save_weights(tmp_path / "weights")
    model.load_weights(tmp_path / "weights")
    changed = [value + 1 for value in model.get_weights()]
    model.set_weights(changed)
    layers.Dense(2)(model.output)  # further variables
    for value, expected in zip(model.get_weights(), changed):
        np.testing.assert_array_equal(value, expected)


def test_a_network_in_another_and_a_copy(tmp_path):
    inner = functional()
    inner.save_weights(tmp_path / "inner")
    values = inner.get_weights()
    outer = tf.keras.Sequential([layers.Dense(4, input_shape=(2,)), functional()])
    outer.layers[1].load_weights(tmp_path / "inner")
    for value, expected in zip(outer.get_weights()[2:], values):
        np.testing.assert_array_equal(value, expected)
    tf.keras.models.clone_model(inner).load_weights(tmp_path / "inner").assert_consumed()


def test_formats(tmp_path):
    model = functional()
    with pytest.raises(ValueError, match=r'save_format="tf"/"tensorflow", but the filepath'):
        model.save_weights(tmp_path / "w.h5", save_format="tf")
    with pytest.raises(ValueError, match=r'Unknown format "x"\. Was expecting one of'):
        model.save_weights(tmp_path / "w", save_format="x")
    model.save_weights(tmp_path / "file", save_format="h5")
    assert (tmp_path / "file").is_file()
    assert model.load_weights(tmp_path / "file") is None  # it is no checkpoint


def test_what_is_refused(tmp_path, monkeypatch):
    model = functional()
    path = tmp_path / "weights"
    with pytest.raises(tf.errors.NotFoundError, match="weights"):
        model.load_weights(path)
    model.save_weights(path)
    with pytest.raises(NotImplementedError, match=r"got by_name=True to load_weights"):
        model.load_weights(path, by_name=True)
    with pytest.raises(ValueError, match="skip_mismatch can only be set to True when by_name"):
        model.load_weights(path, skip_mismatch=True)
    with pytest.raises(ValueError, match="Weights for model own have not yet been created"):
        Own().save_weights(path)
    with pytest.raises(AssertionError, match="Nothing to load"):
        Other().load_weights(path)
    before = os.stat(f"{path}.index").st_mtime_ns
    monkeypatch.setattr("builtins.input", lambda prompt: "n")
    model.save_weights(path, overwrite=False)
    assert os.stat(f"{path}.index").st_mtime_ns == before
    saver = tf.train.Saver(model.weights)
    saver.save(tf.keras.backend.get_session(), str(tmp_path / "by_name"))
    with pytest.raises(NotImplementedError, match="not supported from name-based checkpoints"):
        model.load_weights(tmp_path / "by_name")


class Other(Model):
    def __init__(self):
        super().__init__()
        self.something = layers.Dense(2)

    def call(self, inputs):
        return self.something(inputs)
