"""The steps of Keras's optimizers beside their rules in NumPy; settings, weights, errors."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

optimizers, K = tf.keras.optimizers, tf.keras.backend
FIRST = np.array([[1.0, -2.0], [0.5, 3.0], [2.0, 0.1]], np.float32)


class Rules:
    """Each rule: the value after a step, computed from the value, the gradient and the slots."""

    @staticmethod
    def sgd(x, g, s, t):
        return x - 0.1 * g

    @staticmethod
    def momentum(x, g, s, t):
        s["m"] = 0.9 * s.get("m", 0) - 0.1 / (1 + 0.5 * (t - 1)) * g
        return x + s["m"]

    @staticmethod
    def nesterov(x, g, s, t):
        s["m"] = 0.9 * s.get("m", 0) - 0.1 * g
        return x + 0.9 * s["m"] - 0.1 * g

    @staticmethod
    def rmsprop(x, g, s, t):
        s["v"] = 0.9 * s.get("v", 0) + 0.1 * g**2
        return x - 0.1 * g / (np.sqrt(s["v"]) + 1e-7)

    @staticmethod
    def centered(x, g, s, t):
        s["v"] = 0.9 * s.get("v", 0) + 0.1 * g**2
        s["g"] = 0.9 * s.get("g", 0) + 0.1 * g
        return x - 0.1 * g / (np.sqrt(s["v"] - s["g"] ** 2) + 1e-7)

    @staticmethod
    def adagrad(x, g, s, t):
        s["a"] = s.get("a", 0.1) + g**2
        return x - 0.1 * g / (np.sqrt(s["a"]) + 1e-7)

    @staticmethod
    def adam(x, g, s, t):
        s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
        s["v"] = 0.999 * s.get("v", 0) + 0.001 * g**2
        rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        return x - rate * s["m"] / (np.sqrt(s["v"]) + 1e-7)

    @staticmethod
    def amsgrad(x, g, s, t):
        s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
        s["v"] = 0.999 * s.get("v", 0) + 0.001 * g**2
        s["w"] = np.maximum(s.get("w", 0), s["v"])
        rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        return x - rate * s["m"] / (np.sqrt(s["w"]) + 1e-7)

    @staticmethod
    def adamax(x, g, s, t):
        s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
        s["v"] = np.maximum(0.999 * s.get("v", 0), abs(g))
        return x - 0.1 / (1 - 0.9**t) * s["m"] / (s["v"] + 1e-7)

    @staticmethod
    def nadam(x, g, s, t):
        now, following = (0.9 * (1 - 0.5 * 0.96 ** (0.004 * step)) for step in (t, t + 1))
        s["p"] = s.get("p", 1) * now
        s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
        s["v"] = 0.999 * s.get("v", 0) + 0.001 * g**2
        mean = (1 - now) * g / (1 - s["p"]) + following * s["m"] / (1 - s["p"] * following)
        return x - 0.1 * mean / (np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-7)


OPTIMIZERS = {
    "sgd": lambda: optimizers.SGD(0.1),
    "momentum": lambda: optimizers.SGD(0.1, momentum=0.9, decay=0.5),
    "nesterov": lambda: optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "rmsprop": lambda: optimizers.RMSprop(0.1),
    "centered": lambda: optimizers.RMSprop(0.1, centered=True),
    "adagrad": lambda: optimizers.Adagrad(0.1),
    "adam": lambda: optimizers.Adam(0.1),
    "amsgrad": lambda: optimizers.Adam(0.1, amsgrad=True),
    "adamax": lambda: optimizers.Adamax(lr=0.1),
    "nadam": lambda: optimizers.Nadam(0.1),
}


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_follow_the_rule(name, rows):
    variable = tf.Variable(FIRST, use_resource=True)
    used = tf.gather(variable, [0, 1, 2, 1]) if rows else variable
    step = OPTIMIZERS[name]().get_updates(tf.reduce_sum(tf.square(used)), [variable])
    x, kept = FIRST.astype(np.float64), {}
    session = K.get_session()
    session.run(variable.initializer)
    for t in range(1, 4):
        gradient = 2 * x * (np.array([[1.0], [2.0], [1.0]]) if rows else 1.0)
        x = getattr(Rules, name)(x, gradient, kept, t)
        session.run(step)
    np.testing.assert_allclose(session.run(variable), x, 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("keras", "train"),
    [
        (lambda: optimizers.Adadelta(1.0), lambda: tf.train.AdadeltaOptimizer(1.0, epsilon=1e-7)),
        (lambda: optimizers.Ftrl(0.1), lambda: tf.train.FtrlOptimizer(0.1)),
        (lambda: tf.train.AdamOptimizer(0.1), lambda: tf.train.AdamOptimizer(0.1)),
    ],
)
def test_steps_are_those_of_tf_train(keras, train):
    one, other = (tf.Variable(FIRST, use_resource=True) for _ in range(2))
    step = optimizers.get(keras()).get_updates(tf.reduce_sum(tf.square(one)), [one])
    beside = train().minimize(tf.reduce_sum(tf.square(other)), var_list=[other])
    session = K.get_session()
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run([step, beside])
    np.testing.assert_allclose(*session.run([one, other]), 1e-6)


def test_gradients_are_clipped():
    variable = tf.Variable([3.0, 4.0], use_resource=True)
    loss = tf.reduce_sum(tf.square(variable))
    session = K.get_session()
    session.run(variable.initializer)
    by_norm = optimizers.SGD(clipnorm=1.0).get_gradients(loss, [variable])
    by_value = optimizers.SGD(clipvalue=0.5).get_gradients(loss, [variable])
    np.testing.assert_allclose(session.run(by_norm[0]), [0.6, 0.8], 1e-6)
    np.testing.assert_allclose(session.run(by_value[0]), [0.5, 0.5])


def test_settings_are_changed_between_steps():
    variable = tf.Variable(1.0, use_resource=True)
    optimizer = optimizers.SGD(0.5)
    step = optimizer.get_updates(variable * 1.0, [variable])
    session = K.get_session()
    session.run(variable.initializer)
    session.run(step)
    optimizer.lr = 0.25
    session.run(step)
    K.set_value(optimizer.learning_rate, 1.0)
    session.run(step)
    assert session.run(variable) == pytest.approx(1 - 0.5 - 0.25 - 1.0)
    assert session.run(optimizer.iterations) == 3
    assert optimizer.get_config()["learning_rate"] == 1.0


def test_schedules_follow_the_steps():
    schedule = optimizers.schedules.ExponentialDecay(1.0, 1, 0.5)
    variable = tf.Variable(0.0, use_resource=True)
    optimizer = optimizers.SGD(schedule)
    step = optimizer.get_updates(-variable, [variable])
    session = K.get_session()
    session.run(variable.initializer)
    for _ in range(3):
        session.run(step)
    assert session.run(variable) == pytest.approx(1 + 0.5 + 0.25)
    again = optimizers.deserialize(optimizers.serialize(optimizer))
    assert again.learning_rate.get_config() == schedule.get_config()


def test_weights_are_read_and_set():
    variable = tf.Variable(FIRST, use_resource=True)
    optimizer = optimizers.Adam()
    optimizer.get_updates(tf.reduce_sum(variable), [variable])
    assert [weight.name.rsplit("/")[-1] for weight in optimizer.weights] == ["iter:0", "m:0", "v:0"]
    values = optimizer.get_weights()
    optimizer.set_weights([values[0] + 4, values[1] + 1, values[2]])
    assert K.get_value(optimizer.iterations) == 4
    with pytest.raises(ValueError, match="weight list of length 1, but the optimizer was exp"):
        optimizer.set_weights(values[:1])
    with pytest.raises(ValueError, match="not compatible with provided weight shape"):
        optimizer.set_weights([values[0], values[1][0], values[2]])


@pytest.mark.parametrize(
    ("name", "count", "first"),
    [("RMSprop", 1, 0), ("Adagrad", 1, 0), ("Adadelta", 2, 0), ("Adam", 4, 7), ("Nadam", 3, 7)],
)
def test_arrays_by_keras_2(name, count, first):
    """It wrote no steps for some, no schedule for Nadam, and for Adam a slot that is not used."""
    variable = tf.Variable([1.0, 2.0], use_resource=True)
    optimizer = getattr(optimizers, name)()
    optimizer.get_updates(tf.reduce_sum(variable), [variable])
    slots = [np.full([2], number + 1.0) for number in range(count)]
    if name in ("Adam", "Nadam"):
        slots[0] = np.array(7)
    if name == "Adam":
        slots[3] = np.zeros([1])
    optimizer.set_weights(slots)
    values = optimizer.get_weights()
    assert values[0] == first and values[-1].tolist() == slots[2 if name == "Adam" else -1].tolist()
    if name == "Nadam":
        assert values[1] == 1


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="Unexpected keyword argument passed to optimizer: rate"):
        optimizers.SGD(rate=1)
    with pytest.raises(ValueError, match="Expected clipnorm >= 0, received: -1"):
        optimizers.SGD(clipnorm=-1)
    with pytest.raises(ValueError, match="`momentum` must be between"):
        optimizers.SGD(momentum=2)
    with pytest.raises(ValueError, match="Could not interpret optimizer identifier"):
        optimizers.get(3)
    variable = tf.Variable(1.0, use_resource=True)
    with pytest.raises(ValueError, match="has `None` for gradient"):
        optimizers.SGD().get_updates(tf.constant(1.0), [variable])
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizers.SGD().apply_gradients([(None, variable)])


@pytest.mark.parametrize(
    "optimizer",
    [
        *(optimizers.Adam(0.05), optimizers.Adam(0.05, amsgrad=True), optimizers.Nadam(0.05)),
        *(optimizers.RMSprop(0.05), optimizers.RMSprop(0.05, momentum=0.9, centered=True)),
    ],
    ids=["adam", "amsgrad", "nadam", "rmsprop", "centered"],
)
def test_sparse_gradients_that_reach_all_rows_step_as_dense_ones(optimizer):
    """Decayed values decay once: the rows of a batch are read before."""
    rows = np.array([[0, 1, 2], [2, 1, 0], [1, 1, 2]])
    hot = np.eye(3, dtype=np.float32)[rows]
    wanted = np.array([1.0, -1.0, 0.5], np.float32)
    weights = []
    for is_sparse in (True, False):
        inputs = tf.keras.Input((3,) if is_sparse else (3, 3))
        table = tf.keras.layers.Embedding(3, 2) if is_sparse else None
        looked_up = table or tf.keras.layers.Dense(2, use_bias=False)
        total = tf.keras.layers.Lambda(lambda x: K.sum(x, axis=(1, 2)))(looked_up(inputs))
        model = tf.keras.Model(inputs, total)
        looked_up.set_weights([FIRST])
        model.compile(type(optimizer).from_config(optimizer.get_config()), "mse")
        for _ in range(5):
            model.train_on_batch(rows if is_sparse else hot, wanted)
        weights.append(looked_up.get_weights()[0])
    np.testing.assert_allclose(*weights, rtol=2e-5)


@pytest.mark.parametrize(
    "name", ["SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam"]
)
def test_deserialize_makes_the_name_lower_case_in_the_configuration(name):
    """As in TensorFlow: the result of `serialize` then differs from it in this alone."""
    optimizers = tf.keras.optimizers
    config = optimizers.serialize(getattr(optimizers, name)())
    assert config["class_name"] == name
    again = optimizers.serialize(optimizers.deserialize(config))
    assert config["class_name"] == name.lower() and again["class_name"] == name
    assert again["config"] == config["config"]


def test_slots_have_the_names_of_version_1_15():
    with tf.Graph().as_default(), tf.name_scope("a"):
        w = tf.Variable([1.0], name="w", use_resource=True)
        with tf.variable_scope("b"):
            u = tf.get_variable("u", [2], use_resource=True)
        optimizer = tf.keras.optimizers.Adam(0.1)
        optimizer.apply_gradients([(tf.ones([1]), w), (tf.ones([2]), u)])
        slots = ["a/w/m:0", "b/u/m:0", "a/w/v:0", "b/u/v:0"]
        names = [weight.name for weight in optimizer.weights]
        assert names == ["a/Adam/iter:0", *(f"a/Adam/{name}" for name in slots)]
