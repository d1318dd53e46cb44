"""Batch renormalization, virtual batches and channels along several axes, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

RANDOM = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_renormalization_follows_the_paper(session):
    x, training = tf.placeholder(tf.float32, [4, 3]), tf.placeholder(tf.bool, [])
    gamma, beta, epsilon, rmin, rmax, dmax = 2.0, 3.0, 1e-3, 0.9, 1.1, 0.1
    layer = tf.layers.BatchNormalization(
        renorm=True, renorm_momentum=0.8, beta_initializer=tf.constant_initializer(beta),
        gamma_initializer=tf.constant_initializer(gamma),
        renorm_clipping={"rmin": rmin, "rmax": rmax, "dmax": dmax},
    )  # fmt: skip
    outputs = layer(x, training=training)
    assert [variable.op.name.split("/")[1] for variable in layer.variables] == [
        "gamma", "beta", "moving_mean", "moving_variance", "moving_stddev", "renorm_mean",
        "renorm_stddev",
    ]  # fmt: skip
    session.run(tf.global_variables_initializer())
    mean, deviation, renorm_mean, renorm_deviation = 0.0, 1.0, 0.0, 1.0
    for _ in range(4):
        data = RANDOM.random((4, 3)).astype(np.float32)
        trained, _ = session.run([outputs, layer.updates], {x: data, training: True})
        m, d = data.mean(0), np.sqrt(data.var(0) + epsilon)
        scale = np.clip(d / renorm_deviation, rmin, rmax)
        bias = np.clip((m - renorm_mean) / renorm_deviation, -dmax, dmax)
        wanted = ((data - m) / d * scale + bias) * gamma + beta
        np.testing.assert_allclose(trained, wanted, 1e-4, 1e-4)
        renorm_mean = renorm_mean + (m - renorm_mean) * 0.2
        renorm_deviation = renorm_deviation + (d - renorm_deviation) * 0.2
        mean, deviation = mean + (m - mean) * 0.01, deviation + (d - deviation) * 0.01
        inferred = session.run(outputs, {x: data, training: False})
        np.testing.assert_allclose(inferred, (data - mean) / deviation * gamma + beta, 1e-4, 1e-4)
    np.testing.assert_allclose(session.run(layer.renorm_stddev), renorm_deviation, 1e-4)


def test_no_gradient_goes_through_the_correction(session):
    x = tf.constant(RANDOM.random((4, 3)), tf.float32)
    outputs = tf.layers.batch_normalization(x, training=True, renorm=True)
    plain = tf.layers.batch_normalization(x, training=True)
    weights = tf.constant(RANDOM.random((4, 3)), tf.float32)
    (slope,), (plain_slope,) = (tf.gradients(y * weights, x) for y in (outputs, plain))
    session.run(tf.global_variables_initializer())
    deviation = np.sqrt(session.run(x).var(0) + 1e-3)  # the correction of the first batch
    values = session.run([slope, plain_slope])
    np.testing.assert_allclose(values[0], values[1] * deviation, 1e-3, 1e-5)


@pytest.mark.parametrize("batch", [6, None])
@pytest.mark.parametrize("axis", [-1, [1, 3]])
def test_virtual_batches(session, axis, batch):
    data = RANDOM.random((6, 2, 3, 4)).astype(np.float32)
    x = tf.placeholder(tf.float32, [batch, 2, 3, 4])
    layer = tf.layers.BatchNormalization(axis, momentum=0.5, virtual_batch_size=2, fused=True)
    outputs = layer(x, training=True)
    assert outputs.shape.as_list() == [batch, 2, 3, 4] and not layer.fused
    session.run(tf.global_variables_initializer())
    actual, *_ = session.run([outputs, layer.updates], {x: data})
    parts = data.reshape(2, 3, 2, 3, 4)
    axes = (0, 2, 3) if axis == -1 else (0, 3)
    mean, variance = parts.mean(axes, keepdims=True), parts.var(axes, keepdims=True)
    wanted = ((parts - mean) / np.sqrt(variance + 1e-3)).reshape(data.shape)
    np.testing.assert_allclose(actual, wanted, 1e-4, 1e-4)
    kept = session.run(layer.moving_mean)
    np.testing.assert_allclose(kept, mean.mean(1, keepdims=True) / 2, 1e-4)
    plain = layer(x, training=False)
    session.run(plain, {x: data})


def test_a_virtual_batch_with_open_sizes(session):
    x = tf.placeholder(tf.float32, [None, None, 3])
    outputs = tf.layers.batch_normalization(x, training=True, virtual_batch_size=2)
    session.run(tf.global_variables_initializer())
    data = RANDOM.random((4, 5, 3)).astype(np.float32)
    parts = data.reshape(2, 2, 5, 3)
    centred = parts - parts.mean((0, 2), keepdims=True)
    wanted = centred / np.sqrt(parts.var((0, 2), keepdims=True) + 1e-3)
    np.testing.assert_allclose(
        session.run(outputs, {x: data}), wanted.reshape(data.shape), 1e-4, 1e-4
    )


@pytest.mark.parametrize("axis", [[1, 2], (2, 1), [-1, 1]])
def test_channels_along_several_axes(session, axis):
    data = RANDOM.random((5, 2, 3, 4)).astype(np.float32)
    layer = tf.layers.BatchNormalization(axis, momentum=0.5)
    outputs = layer(tf.constant(data), training=True)
    session.run(tf.global_variables_initializer())
    axes = tuple(i for i in range(4) if i not in [k % 4 for k in axis])
    mean, variance = data.mean(axes, keepdims=True), data.var(axes, keepdims=True)
    actual, _ = session.run([outputs, layer.updates])
    np.testing.assert_allclose(actual, (data - mean) / np.sqrt(variance + 1e-3), 1e-4, 1e-4)
    np.testing.assert_allclose(session.run(layer.moving_mean), mean / 2, 1e-4)


@pytest.mark.parametrize("fused", [True, False])
def test_a_variable_tells_whether_it_trains(session, fused):
    data = RANDOM.random((2, 3, 3, 4)).astype(np.float32)
    training = tf.Variable(True, trainable=False)
    outputs = tf.layers.batch_normalization(tf.constant(data), training=training, fused=fused)
    session.run(tf.global_variables_initializer())
    mean, variance = data.mean((0, 1, 2)), data.var((0, 1, 2))
    wanted = (data - mean) / np.sqrt(variance + 1e-3)
    np.testing.assert_allclose(session.run(outputs), wanted, 1e-3, 1e-3)
    session.run(training.assign(False))
    np.testing.assert_allclose(session.run(outputs), data / np.sqrt(1.001), 1e-4)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"axis": [1, 1]}, ValueError, "Duplicate axis"),
        ({"axis": [0, 7]}, ValueError, "Invalid axis: 7"),
        ({"axis": "last"}, TypeError, "axis must be int or list, type given"),
        ({"virtual_batch_size": 0}, ValueError, "virtual_batch_size must be a positive integer"),
        ({"virtual_batch_size": 2, "axis": 0}, ValueError, "batch dimension must be 0 and thus"),
        (
            {"virtual_batch_size": 2, "adjustment": lambda shape: (1.0, 0.0)},
            ValueError,
            "adjustment cannot be specified",
        ),
        ({"renorm": True, "renorm_clipping": {"a": 1}}, ValueError, "contains keys not in"),
    ],
)
def test_what_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        tf.layers.batch_normalization(tf.zeros([2, 3, 3, 4]), **arguments)


def test_a_fused_layer_follows_by_a_momentum_that_the_run_chooses():
    """TensorFlow's operations: a branch for the momentum alone, and updates outside of it."""
    with tf.Graph().as_default() as graph:
        training = tf.placeholder(tf.bool, [])
        tf.layers.batch_normalization(tf.zeros([2, 3, 3, 4]), training=training)
        names = [op.name for op in graph.get_operations()]
    prefix = "batch_normalization/"
    updates = [name.removeprefix(prefix) for name in names if "cond_1" in name or "Assign" in name]
    branch = ["Switch", "switch_t", "switch_f", "pred_id", "Const", "Const_1", "Merge"]
    assert [name for name in updates if name.startswith("cond_1/")] == [
        f"cond_1/{name}" for name in branch
    ]
    for scope in ("AssignMovingAvg", "AssignMovingAvg_1"):
        parts = ["/sub/x", "/sub", "/sub_1", "/mul", ""]
        assert [f"{scope}{part}" for part in parts] == [
            name for name in updates if name.split("/")[0] == scope and "/Switch" not in name
        ]
