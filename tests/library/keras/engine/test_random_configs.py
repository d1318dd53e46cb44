"""Random networks, with operations between layers, come back from their configurations."""

import random

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.library.keras.models import clone_model, load_model, model_from_json

K, layers = tf.keras.backend, tf.keras.layers

WIDTH = 3


class Combined(layers.Layer):
    """A layer that adds the tensors nested in its arguments to its inputs, and keeps their mask."""

    supports_masking = True

    def call(self, inputs, scale=1.0, others=None, mask=None):
        total = tf.add_n(inputs) if isinstance(inputs, (list, tuple)) else inputs
        if isinstance(inputs, dict):
            total = inputs["left"] - 2.0 * inputs["right"]
        for tensor in tf.nest.flatten(others or ()):
            total += tensor
        return total * scale

    def compute_mask(self, inputs, mask=None):
        return mask[0] if isinstance(mask, list) else None if isinstance(mask, dict) else mask


OPERATIONS = (
    lambda choose, x, y: x * 2.0,
    lambda choose, x, y: 1.0 - x,
    lambda choose, x, y: x * y,
    lambda choose, x, y: tf.nn.relu(x) + tf.reduce_mean(y, axis=-1, keepdims=True),
    lambda choose, x, y: K.concatenate([x[..., 1:], y[..., :1]]),
    lambda choose, x, y: tf.where(x > y, x, tf.zeros_like(y)),
    lambda choose, x, y: tf.concat(tf.split(x, WIDTH, axis=-1)[::-1], -1),
    lambda choose, x, y: tf.stack(tf.unstack(x, axis=-1), -1) / (1.0 + tf.abs(y)),
    lambda choose, x, y: tf.cond(tf.reduce_sum(x) > 0.0, lambda: x, lambda: x + 1.0),
    lambda choose, x, y: tf.tensordot(x, choose.constant, 1),
    lambda choose, x, y: K.clip(x, -1.0, choose.random()),
    lambda choose, x, y: tf.cast(tf.cast(x * 4.0, tf.int32) // 3, tf.float32),
)


class Program:
    """A network that grows by random calls; `random` decides."""

    def __init__(self, seed):
        self.choose = random.Random(seed)
        numbers = np.random.RandomState(seed)
        self.choose.constant = numbers.randn(WIDTH, WIDTH).astype(np.float32)
        self.inputs = [tf.keras.Input((WIDTH,)) for _ in range(self.choose.randint(1, 3))]
        self.words = tf.keras.Input((5,), dtype="int32")
        self.rows = list(self.inputs)
        embedded = layers.Embedding(7, WIDTH, mask_zero=True)(self.words)
        self.series = [embedded, layers.Masking(0.5)(embedded * 1.5)]
        self.dense = [layers.Dense(WIDTH, activation="tanh") for _ in range(2)]
        self.combined = [Combined() for _ in range(2)]
        self.recurrent = [layers.GRU(WIDTH), layers.RNN(layers.SimpleRNNCell(WIDTH))]
        part = tf.keras.Input((WIDTH,))
        self.nested = tf.keras.Model(part, layers.Dense(WIDTH)(tf.nn.relu(part) - 0.5))
        self.losses = 0

    def any(self):
        return self.choose.choice(self.rows)

    def step(self):
        kinds = (self._dense, self._nested, self._combined, self._operation, self._recurrent)
        self.rows.append(self.choose.choice(kinds)())

    def _dense(self):
        return self.choose.choice(self.dense)(self.any())

    def _nested(self):
        return self.nested(self.any())

    def _operation(self):
        result = self.choose.choice(OPERATIONS)(self.choose, self.any(), self.any())
        return tf.reshape(result, (-1, WIDTH))

    def _combined(self):
        form = self.choose.choice((self._list, self._dict, self.any))
        arguments = {"others": {"a": [self.any(), self.any() * 0.5], "b": self.any()}}
        if self.choose.random() < 0.5:
            arguments = {"scale": self.choose.choice((0.5, self.any()))}
        return self.choose.choice(self.combined)(form(), **arguments)

    def _list(self):
        return [self.any(), self.any()]

    def _dict(self):
        return {"left": self.any(), "right": self.any()}

    def _recurrent(self):
        series = self.choose.choice(self.series)
        masks = (
            {},
            {"mask": tf.not_equal(self.words, 3)},
            {"mask": tf.logical_or(series._keras_mask, tf.equal(self.words, 0))},
        )
        arguments = dict(self.choose.choice(masks))
        if self.choose.random() < 0.3:
            arguments["initial_state"] = self.any()
        return self.choose.choice(self.recurrent)(series, **arguments)

    def model(self):
        for _ in range(self.choose.randint(4, 10)):
            self.step()
        outputs = self.choose.sample(self.rows[len(self.inputs) :], self.choose.randint(1, 3))
        model = tf.keras.Model([*self.inputs, self.words], outputs)
        for number in range(self.choose.randint(0, 2)):
            tensor = self.choose.choice((outputs[0], self.inputs[0]))
            model.add_loss(tf.reduce_mean(tf.square(tensor)) * (number + 1.0))
            model.add_metric(tf.reduce_sum(tensor, -1), "mean", f"sum_{number}")
        return model


def by_file(model, path):
    model.save(path)
    return load_model(path, {"Combined": Combined})


WAYS = {
    "config": lambda model, path: tf.keras.Model.from_config(
        model.get_config(), {"Combined": Combined}
    ),
    "json": lambda model, path: model_from_json(model.to_json(), {"Combined": Combined}),
    "clone": lambda model, path: clone_model(model),
    "hdf5": by_file,
}


def arrays_for(model, seed):
    numbers = np.random.RandomState(seed)
    return [*(numbers.randn(4, WIDTH) for _ in model.inputs[1:]), numbers.randint(0, 7, (4, 5))]


def evaluated(model, arrays):
    """Return the loss, including added losses, and the values of the metrics."""
    model.compile("sgd", ["mse"] * len(model.outputs))
    targets = [np.zeros((4, WIDTH))] * len(model.outputs)
    return np.ravel(model.evaluate(arrays, targets, verbose=0))


@pytest.mark.parametrize("seed", range(10))
def test_random_networks_survive(seed, tmp_path):
    model = Program(seed).model()
    arrays = arrays_for(model, seed)
    wanted, results = model.predict(arrays), evaluated(model, arrays)
    for way, copied in WAYS.items():
        copy = copied(model, str(tmp_path / "model.h5"))
        copy.set_weights(model.get_weights())
        for own, other in zip(tf.nest.flatten(wanted), tf.nest.flatten(copy.predict(arrays))):
            np.testing.assert_allclose(other, own, rtol=1e-5, atol=1e-6, err_msg=way)
        kinds = [[type(layer) for layer in each.layers] for each in (model, copy)]
        assert kinds[0] == kinds[1], way
        np.testing.assert_allclose(evaluated(copy, arrays), results, rtol=1e-4, err_msg=way)
