"""Models that are compiled in a strategy's scope train on all replicas, as on one device."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import gpugraph as tf

K = tf.keras
X = np.random.RandomState(0).rand(24, 4).astype(np.float32)
Y = (X.sum(1, keepdims=True) > 2).astype(np.float32)


@pytest.fixture(autouse=True)
def graph():
    """Each part of a test begins a graph of its own, by `begin`."""
    yield
    K.backend.clear_session()


def strategy_of(count, kind="cpu"):
    return tf.distribute.MirroredStrategy([f"/{kind}:{number}" for number in range(count)])


def begin(**settings):
    K.backend.clear_session()
    settings = settings or {"device_count": {"CPU": 4}}
    K.backend.set_session(tf.Session(config=tf.ConfigProto(allow_soft_placement=True, **settings)))


def dense(size, seed, activation=None, **settings):
    initial = K.initializers.RandomNormal(seed=seed)
    return K.layers.Dense(size, activation, kernel_initializer=initial, **settings)


def simple(optimizer="adam", **settings):
    inputs = K.Input((4,))
    hidden = dense(8, 1, "relu", kernel_regularizer=K.regularizers.l2(0.01))(inputs)
    model = K.Model(inputs, dense(1, 2, "sigmoid")(hidden))
    model.compile(
        optimizer() if callable(optimizer) else optimizer,
        "binary_crossentropy",
        ["acc"],
        **settings,
    )
    return model


def scoped(build, count):
    """Build a model for one device, or in the scope of a strategy."""
    begin()
    if count == 1:
        return build()
    with strategy_of(count).scope():
        return build()


def alike(build, work, counts=(2, 3), tolerance=1e-5):
    """Compare the results of some work on replicas with those on one device."""
    expected = work(scoped(build, 1))
    for count in counts:
        model = scoped(build, count)
        for one, other in zip(expected, work(model)):
            np.testing.assert_allclose(one, other, tolerance, tolerance)
    return model


def fitted(model, x=X, y=Y, **settings):
    settings = {"batch_size": 8, "epochs": 2, "shuffle": False, "verbose": 0, **settings}
    history = model.fit(x, y, **settings)
    return [*history.history.values(), *model.get_weights()]


def work(model):
    return [
        *fitted(model, validation_data=(X[:10], Y[:10])),
        model.evaluate(X, Y, batch_size=5, verbose=0),
        model.predict(X, batch_size=7),
        model.train_on_batch(X[:9], Y[:9], sample_weight=np.arange(9.0)),
        model.test_on_batch(X[:1], Y[:1]),
        model.predict_on_batch(X[:1]),
    ]


@pytest.mark.parametrize(
    "optimizer",
    ["sgd", "adam", "rmsprop", "adagrad", "adadelta", "adamax", "nadam"]
    + [lambda: tf.train.MomentumOptimizer(0.1, 0.9), lambda: K.optimizers.SGD(0.1, 0.9, True)],
)
def test_equals_one_device(optimizer):
    model = alike(lambda: simple(optimizer), work)
    for variable in model.trainable_weights:
        first, *others = K.backend.get_session().run(list(variable.values))
        assert len(others) == 2 and all(np.array_equal(first, other) for other in others)


def test_computes_on_all_devices():
    begin(gpu_options=tf.GPUOptions(virtual_gpus=2))
    with strategy_of(2, "gpu").scope():
        model = simple()
    fitted(model)
    products = [op for op in model.outputs[0].graph.get_operations() if op.type == "MatMul"]
    gradients = [op.device for op in products if "gradients" in op.name]
    assert {name[-1] for name in gradients} == {"0", "1"}


def test_weights_of_classes_and_uneven_batches():
    alike(simple, lambda m: fitted(m, batch_size=7, class_weight={0: 1.0, 1: 3.0}), (2, 3))


def test_datasets():
    def train(model):
        data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8).repeat()
        history = model.fit(data, epochs=2, steps_per_epoch=3, verbose=0)
        return [*history.history.values(), *model.get_weights()]

    alike(simple, train)


def test_several_outputs():
    def build():
        inputs = {name: K.Input((4,), name=name) for name in ("a", "b")}
        both = K.layers.concatenate([inputs["a"], inputs["b"]])
        outputs = [dense(1, 3, name="one")(both), dense(2, 4, name="two")(both)]
        model = K.Model(list(inputs.values()), outputs)
        losses = ["mse", K.losses.MeanAbsoluteError(reduction=K.losses.Reduction.SUM)]
        model.compile("sgd", losses, ["mae"], loss_weights=[1.0, 0.1])
        return model

    data = {"a": X, "b": X * 2}, {"one": Y, "two": np.hstack([Y, 1 - Y])}
    alike(build, lambda model: fitted(model, *data, batch_size=6))


def test_subclasses_and_deferred_sequential_models():
    class Net(K.Model):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = dense(5, 1, "relu"), dense(1, 2)

        def call(self, inputs, training=None):
            return self.out(self.hidden(inputs))

    def subclass():
        model = Net()
        model.compile("adam", "mse")
        return model

    def deferred():
        model = K.Sequential([dense(5, 1, "relu"), dense(1, 2)])
        model.compile("adam", "mse", ["mae"])
        return model

    alike(subclass, fitted)
    alike(deferred, fitted)


def test_losses_and_metrics_added_to_a_model():
    def build():
        inputs = K.Input((4,))
        code = dense(2, 1, activity_regularizer=K.regularizers.l2(0.1))(inputs)
        out = dense(4, 2)(code)
        model = K.Model(inputs, out)
        model.add_loss(K.backend.mean(K.backend.square(out - inputs)))
        model.add_metric(K.backend.mean(code), name="code", aggregation="mean")
        model.compile("sgd", None)
        return model

    alike(build, lambda model: fitted(model, y=None), (2, 4))


def test_losses_of_calls():
    class Penalized(K.layers.Layer):
        def call(self, inputs):
            self.add_loss(K.backend.mean(K.backend.square(inputs)))
            self.add_loss(K.backend.mean(K.backend.abs(inputs)), inputs=inputs)
            return inputs

    def build():
        model = K.Sequential([dense(3, 1, input_shape=(4,)), Penalized(), dense(1, 2)])
        model.compile("sgd", "mse")
        return model

    alike(build, fitted)


def test_sparse_gradients():
    def build():
        initial = K.initializers.RandomNormal(seed=1)
        layers = [K.layers.Embedding(9, 3, input_length=2, embeddings_initializer=initial)]
        model = K.Sequential([*layers, K.layers.Flatten(), dense(1, 2)])
        model.compile("adam", "mse")
        return model

    numbers = np.random.RandomState(1).randint(0, 9, (24, 2))
    alike(build, lambda model: fitted(model, numbers, Y))


def normalized():
    model = K.Sequential([K.layers.BatchNormalization(momentum=0.5, input_shape=(4,)), dense(1, 2)])
    model.compile("sgd", "mse")
    return model


def test_batch_normalization_averages_over_replicas():
    model = scoped(normalized, 2)
    model.fit(X[:8], Y[:8], batch_size=8, verbose=0, shuffle=False)
    _, _, mean, variance = model.layers[0].get_weights()
    np.testing.assert_allclose(mean, X[:8].mean(0) * 0.5, 1e-5)
    inside = [X[:4].var(0), X[4:8].var(0)]
    np.testing.assert_allclose(variance, 0.5 + 0.5 * np.mean(inside, 0), 1e-5)


@pytest.mark.parametrize("build", [simple, normalized])
def test_saves_as_one_device(build, tmp_path):
    model = scoped(build, 2)
    fitted(model)
    predicted, path = model.predict(X), str(tmp_path / "model.h5")
    pytest.importorskip("h5py")
    model.save(path)
    model.save_weights(str(tmp_path / "weights"), save_format="tf")
    weights = model.get_weights()
    following = fitted(model)
    for count in (1, 3):
        begin()
        if count == 1:
            loaded = K.models.load_model(path)
        else:
            with strategy_of(count).scope():
                loaded = K.models.load_model(path)
        if build is simple:  # replicas normalize by averages of their own, until they are saved
            np.testing.assert_allclose(loaded.predict(X), predicted, 1e-5, 1e-6)
            for one, other in zip(following, fitted(loaded)):
                np.testing.assert_allclose(one, other, 1e-5, 1e-6)
        other = scoped(build, count)
        other.load_weights(str(tmp_path / "weights"))
        for one, two in zip(weights, other.get_weights()):
            np.testing.assert_allclose(one, two, 1e-6)


def test_learning_rate_callbacks():
    def train(model):
        schedule = K.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1))
        return [*fitted(model, callbacks=[schedule]), K.backend.get_value(model.optimizer.lr)]

    alike(lambda: simple("sgd"), train)


def test_central_storage():
    expected = work(scoped(simple, 1))
    begin()
    devices = ["/cpu:0", "/cpu:1"]
    with tf.distribute.experimental.CentralStorageStrategy(devices, "/cpu:0").scope():
        model = simple()
    for one, other in zip(expected, work(model)):
        np.testing.assert_allclose(one, other, 1e-5, 1e-6)


def test_small_batches_are_refused_in_training_only():
    model = scoped(simple, 3)
    with pytest.raises(ValueError, match=r"2 examples for 3 replicas.*batch_size"):
        model.fit(X[:10], Y[:10], batch_size=8, verbose=0)
    assert np.isfinite(model.evaluate(X[:2], Y[:2], verbose=0)).all()
    assert model.predict(X[:2]).shape == (2, 1)


def test_refused():
    begin()
    inputs = K.Input((4,))
    model = K.Model(inputs, dense(1, 1)(inputs))
    with strategy_of(2).scope():
        with pytest.raises(ValueError, match="was not created in the distribution strategy scope"):
            model.compile("sgd", "mse")
        state = K.layers.LSTM(2, stateful=True, batch_input_shape=(4, 3, 2))
        with pytest.raises(ValueError, match="stateful layers"):
            K.Sequential([state]).compile("sgd", "mse")
    optimizer = K.optimizers.SGD()
    with strategy_of(2).scope():
        weight = tf.Variable(1.0)
        with pytest.raises(RuntimeError, match="cannot be called in cross-replica context"):
            optimizer.apply_gradients([(tf.constant(1.0), weight)])


@pytest.mark.parametrize("is_in_scope", [False, True])
def test_a_model_with_metrics_trains_on_a_single_mirrored_device(is_in_scope):
    begin()
    alone = simple()
    expected = [alone.fit(X, Y, batch_size=8, shuffle=False, verbose=0).history]
    expected += [alone.evaluate(X, Y, verbose=0), alone.predict(X).tolist()]
    begin()
    strategy = strategy_of(1)
    with strategy.scope():
        model = simple()
    with strategy.scope() if is_in_scope else nullcontext():
        actual = [model.fit(X, Y, batch_size=8, shuffle=False, verbose=0).history]
        actual += [model.evaluate(X, Y, verbose=0), model.predict(X).tolist()]
    assert actual[0] == {key: pytest.approx(value, 1e-5) for key, value in expected[0].items()}
    for one, other in zip(actual[1:], expected[1:]):
        np.testing.assert_allclose(one, other, 1e-5)
