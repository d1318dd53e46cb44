"""`fit`, `evaluate` and `predict` against loops in NumPy; data of all kinds; errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gpugraph as tf

keras, K = tf.keras, tf.keras.backend
RANDOM = np.random.RandomState(0)
X = RANDOM.rand(10, 3).astype(np.float32)
Y = RANDOM.rand(10, 1).astype(np.float32)
START = [np.full((3, 1), 0.5, np.float32), np.zeros(1, np.float32)]


def linear(**arguments):
    """Return a model of one layer, of known variables, compiled with SGD."""
    inputs = keras.Input((3,), name="x")
    layer = keras.layers.Dense(1, name="y")
    model = keras.Model(inputs, layer(inputs))
    model.compile(**{"optimizer": keras.optimizers.SGD(0.1), "loss": "mse", **arguments})
    model.set_weights(START)
    return model


def steps(weights, x, y, size, factors=None):
    """Return (variables, losses) after a step of gradient descent on each batch."""
    (w, b), losses = [part.astype(np.float64) for part in weights], []
    factors = np.ones(len(x)) if factors is None else factors
    for start in range(0, len(x), size):
        rows = slice(start, start + size)
        error = x[rows] @ w + b - y[rows]
        weighed = factors[rows, None] * error
        losses.append((weighed * error).mean())
        slope = 2 * weighed / len(error)
        w, b = w - 0.1 * x[rows].T @ slope, b - 0.1 * slope.sum(0)
    return [w, b], losses


def test_epochs_take_the_steps_of_gradient_descent():
    model = linear(metrics=["mae"])
    history = model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    weights = START
    for epoch in range(2):
        weights, losses = steps(weights, X, Y, 4)
        expected = np.dot(losses, [4, 4, 2]) / 10
        assert history.history["loss"][epoch] == pytest.approx(expected, rel=1e-4)
    for value, expected in zip(model.get_weights(), weights):
        np.testing.assert_allclose(value, expected, 1e-4)
    assert history.epoch == [0, 1]
    assert sorted(history.history) == ["loss", "mean_absolute_error"]


@pytest.mark.parametrize("kind", ["class", "example"])
def test_weights_of_classes_and_examples(kind):
    classes = (Y > 0.5).astype(np.float32)
    factors = np.where(classes[:, 0] == 1, 3.0, 0.5)
    model = linear()
    arguments = {"class": {"class_weight": {0: 0.5, 1: 3.0}}, "example": {"sample_weight": factors}}
    model.fit(X, classes, batch_size=10, shuffle=False, verbose=0, **arguments[kind])
    expected, _ = steps(START, X, classes, 10, factors)
    np.testing.assert_allclose(model.get_weights()[0], expected[0], 1e-4)


def test_metrics_are_of_the_whole_epoch_and_validated():
    model = linear(
        loss="binary_crossentropy",
        metrics=["accuracy", keras.metrics.BinaryAccuracy("above", threshold=0.4)],
    )
    model.set_weights([np.zeros((3, 1)), np.array([0.3])])
    classes = (Y > 0.5).astype(np.float32)
    history = model.fit(X, classes, batch_size=3, verbose=0, validation_split=0.3, shuffle=False)
    names = ["loss", "acc", "above"]
    assert model.metrics_names == names
    assert sorted(history.history) == sorted(names + [f"val_{name}" for name in names])
    values = model.evaluate(X[7:], classes[7:], verbose=0)
    assert history.history["val_acc"][0] == pytest.approx(values[1])


def test_validation_comes_with_its_frequency():
    calls = []
    record = keras.callbacks.LambdaCallback(on_test_begin=lambda logs: calls.append(1))
    linear().fit(
        X, Y, epochs=4, verbose=0, validation_data=(X, Y), validation_freq=2, callbacks=[record]
    )
    assert len(calls) == 2


def two_outputs(**arguments):
    inputs = keras.Input((3,))
    one, other = (keras.layers.Dense(size, name=f"out{size}")(inputs) for size in (1, 2))
    model = keras.Model(inputs, [one, other])
    model.compile("sgd", **arguments)
    return model


def test_losses_and_metrics_of_several_outputs():
    model = two_outputs(
        loss={"out1": "mse", "out2": "mae"},
        loss_weights=[2.0, 0.5],
        metrics={"out1": ["mae", "mse"]},
    )
    targets = [Y, np.tile(Y, 2)]
    values = dict(zip(model.metrics_names, model.evaluate(X, targets, verbose=0)))
    assert list(values) == [
        "loss", "out1_loss", "out2_loss", "out1_mean_absolute_error", "out1_mean_squared_error",
    ]  # fmt: skip
    assert values["loss"] == pytest.approx(2 * values["out1_loss"] + 0.5 * values["out2_loss"])
    by_name = model.evaluate(X, dict(zip(["out1", "out2"], targets)), verbose=0)
    assert by_name[0] == pytest.approx(values["loss"])
    assert [part.shape for part in model.predict(X, batch_size=4)] == [(10, 1), (10, 2)]


def test_an_output_without_a_loss_is_not_trained():
    inputs = keras.Input((3,))
    hidden = keras.layers.Dense(1, name="out1")(inputs)
    model = keras.Model(inputs, [hidden, keras.layers.Lambda(lambda t: -t, name="out2")(hidden)])
    model.compile("sgd", {"out1": "mse"})
    assert [output.name for output in model.setup.trained] == ["out1"]
    model.fit(X, Y, verbose=0)
    one, other = model.predict(X)
    np.testing.assert_array_equal(one, -other)
    with pytest.raises(ValueError, match="has `None` for gradient"):
        two_outputs(loss={"out1": "mse"}).fit(X, Y, verbose=0)


def test_added_losses_and_metrics():
    inputs = keras.Input((3,))
    outputs = keras.layers.Dense(2)(inputs)
    model = keras.Model(inputs, outputs)
    model.add_loss(tf.reduce_mean(tf.square(outputs)))
    model.add_metric(tf.reduce_sum(outputs), name="total", aggregation="mean")
    model.compile("sgd")
    history = model.fit(X, epochs=5, batch_size=10, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert model.metrics_names == ["loss", "total"]


def test_masked_time_steps_do_not_count():
    x = RANDOM.rand(4, 5, 2).astype(np.float32)
    x[:, 3:] = 0.0
    y = RANDOM.rand(4, 5, 1).astype(np.float32)
    inputs = keras.Input((5, 2))
    layer = keras.layers.Lambda(lambda t: tf.reduce_sum(t, -1, keepdims=True), mask=lambda i, m: m)
    model = keras.Model(inputs, layer(keras.layers.Masking()(inputs)))
    model.compile("sgd", "mse", metrics=["mse"])
    loss, mean = model.evaluate(x, y, verbose=0)
    squares = (x.sum(-1, keepdims=True) - y)[:, :3] ** 2
    assert loss == pytest.approx(squares.sum() / 20, rel=1e-4)
    assert mean == pytest.approx(squares.mean(), rel=1e-4)


def test_weights_of_time_steps():
    x = RANDOM.rand(4, 5, 1).astype(np.float32)
    weights = RANDOM.rand(4, 5)
    inputs = keras.Input((5, 1))
    model = keras.Model(inputs, keras.layers.Lambda(lambda t: 2.0 * t)(inputs))
    model.compile("sgd", "mse", sample_weight_mode="temporal", weighted_metrics=["mse"])
    loss, mean = model.evaluate(x, 0 * x, sample_weight=weights, verbose=0)
    squares = 4 * x[..., 0] ** 2 * weights
    assert loss == pytest.approx(squares.mean(), rel=1e-4)
    assert mean == pytest.approx(squares.sum() / weights.sum(), rel=1e-4)
    with pytest.raises(ValueError, match="you should pass a 2D sample_weight array"):
        model.evaluate(x, 0 * x, sample_weight=weights[:, 0], verbose=0)


class Batches(keras.utils.Sequence):
    def __init__(self):
        self.ends = 0

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return X[4 * index : 4 * index + 4], Y[4 * index : 4 * index + 4]

    def on_epoch_end(self):
        self.ends += 1


def no_worker():
    return not any("keras_input" in thread.name for thread in threading.enumerate())


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_sequences_are_taken_in_order(workers):
    model, batches = linear(), Batches()
    model.fit(batches, epochs=2, shuffle=False, verbose=0, workers=workers)
    weights = START
    for _ in range(2):
        weights, _ = steps(weights, X, Y, 4)
    np.testing.assert_allclose(model.get_weights()[0], weights[0], 1e-4)
    assert model.predict(batches, workers=workers).shape == (10, 1)
    assert no_worker()


def test_generators_say_their_steps():
    model = linear()
    with pytest.raises(ValueError, match="`steps_per_epoch=None` is only valid for a generator"):
        model.fit_generator(iter([]))
    with pytest.raises(ValueError, match="`y` argument is not supported"):
        model.fit(Batches(), Y)
    assert no_worker()


def test_tensors_and_target_tensors_need_no_arrays():
    inputs = keras.Input(tensor=tf.constant(X))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    model.compile("sgd", "mse", target_tensors=[tf.constant(Y)])
    losses = model.fit(epochs=3, steps_per_epoch=2, verbose=0).history["loss"]
    assert losses[2] < losses[0]
    other = linear()
    other.fit(tf.constant(X), tf.constant(Y), steps_per_epoch=1, verbose=0)
    expected, _ = steps(START, X, Y, 10)
    np.testing.assert_allclose(other.get_weights()[0], expected[0], 1e-4)
    with pytest.raises(ValueError, match="you should specify the `steps_per_epoch`"):
        other.fit(tf.constant(X), tf.constant(Y))


def test_single_batches():
    model = linear(metrics=["mae"])
    expected, losses = steps(START, X, Y, 10)
    assert model.test_on_batch(X, Y)[0] == pytest.approx(losses[0], rel=1e-4)
    assert model.train_on_batch(X, Y)[0] == pytest.approx(losses[0], rel=1e-4)
    np.testing.assert_allclose(model.get_weights()[0], expected[0], 1e-4)
    np.testing.assert_allclose(model.predict_on_batch(X), X @ expected[0] + expected[1], 1e-4)


def test_the_learning_phase_is_of_the_step():
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dropout(0.5)(keras.layers.Dense(4)(inputs)))
    model.compile("sgd", "mse")
    np.testing.assert_array_equal(model.predict(X), model.predict(X))
    zeros = np.zeros((10, 4))
    assert model.train_on_batch(X, zeros) != pytest.approx(model.test_on_batch(X, zeros))


def test_models_without_known_inputs_are_built_by_data():
    class Twice(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, inputs, training=None):
            return 2.0 * self.dense(inputs)

    for model in (Twice(), keras.Sequential([keras.layers.Dense(1)])):
        model.compile("adam", "mse", metrics=["mae"])
        losses = model.fit(X, Y, epochs=3, verbose=0).history["loss"]
        assert losses[-1] < losses[0]
        assert model.predict(X).shape == (10, 1)


def test_optimizers_of_tf_train_are_taken():
    model = linear(optimizer=tf.train.GradientDescentOptimizer(0.1))
    model.fit(X, Y, batch_size=10, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], steps(START, X, Y, 10)[0][0], 1e-4)


def test_stateful_batches_are_whole():
    class Counter(keras.layers.Layer):
        stateful = True

        def call(self, inputs):
            return inputs

    inputs = keras.Input(batch_shape=(4, 3))
    model = keras.Model(inputs, keras.layers.Dense(1)(Counter()(inputs)))
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="can be divided by the batch size"):
        model.fit(X, Y, verbose=0)
    with pytest.raises(ValueError, match="incompatible with the specified batch size"):
        model.fit(X, Y, batch_size=5, verbose=0)
    model.fit(X[:8], Y[:8], verbose=0)


def test_data_may_be_variables():
    x, y = K.zeros((4, 3)), K.ones((4, 1))
    model = linear()
    model.fit(x, y, steps_per_epoch=2, verbose=0, validation_data=(x, y), validation_steps=1)
    bias = model.get_weights()[1]
    assert bias == pytest.approx([0.36])
    assert model.evaluate(x, y, steps=1, verbose=0) == pytest.approx(0.64**2)
    np.testing.assert_allclose(model.predict(x, steps=1), [bias] * 4, rtol=1e-6)
    with pytest.raises(ValueError, match="When using data tensors as input to a model"):
        model.fit(x, y, verbose=0)


def test_sparse_matrices_go_into_dense_inputs():
    matrices = pytest.importorskip("scipy.sparse")
    dense, sparse = linear(), linear()
    wanted = dense.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"]
    for kind in (matrices.csr_matrix, matrices.csc_matrix, matrices.coo_matrix):
        sparse.set_weights(START)
        run = sparse.fit(kind(X), Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
        np.testing.assert_allclose(run.history["loss"], wanted, rtol=1e-5)
        np.testing.assert_allclose(sparse.predict(kind(X)), dense.predict(X), rtol=1e-5)
        sparse.fit(kind(X), Y, verbose=0, validation_split=0.5)  # in a new order
        assert sparse.train_on_batch(kind(X), Y) > 0 and sparse.predict_on_batch(kind(X)).size == 10


def test_dicts_of_targets_need_outputs_by_name():
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.last = keras.layers.Dense(1)

        def call(self, inputs):
            return self.last(inputs["a"]) + self.last(inputs["b"])

    model = Own()
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="You cannot pass a dictionary as model target"):
        model.fit({"a": X, "b": X}, {"output_1": Y}, verbose=0)
    model.fit({"a": X, "b": X}, Y, verbose=0)
    assert model.predict({"b": X, "a": X}).shape == (10, 1)


@pytest.mark.parametrize("value", [True, False])
def test_compile_takes_the_switch_between_tensorflows_loops(value):
    model = linear(experimental_run_tf_function=value)
    assert model.train_on_batch(X, Y) > 0
