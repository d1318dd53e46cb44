"""Layers' results, names and state are TensorFlow's: variables, scopes, collections, errors."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

TENTH = tf.constant_initializer(0.1)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as default:
        yield default


@pytest.fixture
def session(graph):
    with tf.Session(graph=graph) as opened:
        yield opened


def run(session, fetches, feeds=None):
    session.run(tf.global_variables_initializer())
    return session.run(fetches, feeds)


def names(variables):
    return [variable.name for variable in variables]


def images(*shape, seed=0):
    return np.random.default_rng(seed).normal(1, 2, shape).astype(np.float32)


# -- dense


def test_dense(session):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.layers.dense(x, 2, tf.nn.relu, kernel_initializer=TENTH)
    assert y.name == "dense/Relu:0"
    assert y.shape.as_list() == [None, 2]
    assert names(tf.trainable_variables()) == ["dense/kernel:0", "dense/bias:0"]
    np.testing.assert_allclose(run(session, y, {x: [[1, 2, 3]]}), [[0.6, 0.6]], 1e-6)
    np.testing.assert_array_equal(session.run(y, {x: [[-1, -2, -3]]}), [[0, 0]])


def test_dense_along_the_last_of_several_axes(session):
    x = images(2, 4, 3)
    layer = tf.layers.Dense(5, use_bias=False)
    y = layer(tf.constant(x))
    actual, kernel = run(session, [y, layer.kernel])
    np.testing.assert_allclose(actual, x @ kernel, 1e-5, 1e-5)
    assert layer.bias is None
    assert layer.count_params() == 15


def test_names_and_reuse():
    x = tf.zeros([2, 3])
    first, second = tf.layers.dense(x, 3), tf.layers.dense(x, 3)
    named = tf.layers.dense(x, 3, name="fc")
    again = tf.layers.dense(x, 3, name="fc", reuse=True)
    with tf.variable_scope("s"):
        inner = tf.layers.dense(x, 3)
    actual = [tensor.op.name for tensor in (first, second, named, again, inner)]
    scopes = ["dense", "dense_1", "fc", "fc_1", "s/dense"]
    assert actual == [f"{scope}/BiasAdd" for scope in scopes]
    kernels = [variable for variable in names(tf.global_variables()) if "kernel" in variable]
    assert kernels == [f"{name}/kernel:0" for name in ("dense", "dense_1", "fc", "s/dense")]
    with pytest.raises(ValueError, match="fc/kernel already exists"):
        tf.layers.dense(x, 3, name="fc")
    with pytest.raises(ValueError, match="other/kernel does not exist"):
        tf.layers.dense(x, 3, name="other", reuse=True)


def test_a_layer_has_one_set_of_variables():
    layer = tf.layers.Dense(3, name="mine")
    layer(tf.zeros([2, 4])), layer.apply(tf.ones([5, 4]))
    assert names(layer.variables) == ["mine/kernel:0", "mine/bias:0"]
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 4"):
        layer(tf.zeros([2, 3]))
    frozen = tf.layers.Dense(3, trainable=False)
    frozen(tf.zeros([2, 4]))
    assert frozen.trainable_variables == []
    assert len(tf.trainable_variables()) == 2


def test_penalties_are_collected_once(session):
    def squares(tensor):
        return tf.reduce_sum(tensor * tensor)

    x = tf.ones([2, 3])
    settings = {"kernel_initializer": TENTH, "kernel_regularizer": squares, "name": "fc"}
    y = tf.layers.dense(x, 2, activity_regularizer=squares, **settings)
    tf.layers.dense(x, 2, reuse=True, **settings)
    losses = tf.losses.get_regularization_losses()
    assert [loss.op.name for loss in losses] == [
        "fc/kernel/Regularizer/Sum",
        "fc/ActivityRegularizer/truediv",
    ]
    actual = run(session, losses)
    np.testing.assert_allclose(actual, [6 * 0.01, 4 * 0.09 / 2], 1e-5)
    assert y.shape.as_list() == [2, 2]


def test_inputs_without_a_last_size_are_refused():
    with pytest.raises(ValueError, match="last dimension of the inputs to `Dense`"):
        tf.layers.dense(tf.placeholder(tf.float32, [2, None]), 3)
    with pytest.raises(ValueError, match="min_ndim=2, found ndim=1"):
        tf.layers.dense(tf.zeros([3]), 3)
    with pytest.raises(TypeError, match=r"`Dense` layer with non-floating point dtype tf\.int32"):
        tf.layers.dense(tf.ones([2, 2], tf.int32), 3)
    with pytest.raises(ValueError, match="isn't built"):
        tf.layers.Dense(3).count_params()


# -- convolution


@pytest.mark.parametrize(
    ("function", "shape", "kernel"),
    [
        (tf.layers.conv1d, (2, 6, 3), [2, 3, 4]),
        (tf.layers.conv2d, (2, 6, 5, 3), [2, 2, 3, 4]),
        (tf.layers.conv3d, (2, 3, 4, 5, 3), [2, 2, 2, 3, 4]),
    ],
)
def test_convolution_of_plain_windows(session, function, shape, kernel):
    """Filters of one number add up windows."""
    x = images(*shape)
    y = function(x, 4, 2, kernel_initializer=TENTH, bias_initializer=tf.ones_initializer())
    actual = run(session, y)
    wanted = x.sum(-1)
    for axis in range(1, x.ndim - 1):
        size = wanted.shape[axis]
        low, high = (np.take(wanted, range(index, size - 1 + index), axis) for index in (0, 1))
        wanted = low + high
    np.testing.assert_allclose(actual, np.repeat(0.1 * wanted[..., None], 4, -1) + 1, 1e-4, 1e-4)
    assert tf.global_variables()[0].shape.as_list() == kernel


def test_conv2d_is_nn_conv2d(session):
    x = images(2, 6, 5, 3)
    layer = tf.layers.Conv2D(4, (3, 2), strides=2, padding="same", activation=tf.nn.relu)
    y = layer(tf.constant(x))
    plain = tf.nn.relu(tf.nn.conv2d(x, layer.kernel, 2, "SAME"))
    assert y.op.name == "conv2d/Relu"
    actual, wanted = run(session, [y, plain])
    np.testing.assert_allclose(actual, wanted, 1e-6)


def test_channels_first_is_the_same_turned(session):
    x = images(2, 6, 5, 3)
    for function in (tf.layers.conv2d, tf.layers.conv2d_transpose):
        last = function(x, 4, 3, name="c" + function.__name__)
        turned = x.transpose(0, 3, 1, 2)
        first = function(
            turned, 4, 3, name="c" + function.__name__, data_format="channels_first", reuse=True
        )
        one, other = run(session, [last, first])
        np.testing.assert_allclose(one.transpose(0, 3, 1, 2), other, 1e-4, 1e-5)


@pytest.mark.parametrize(("padding", "size"), [("valid", [2, 9, 7, 4]), ("same", [2, 8, 6, 4])])
def test_conv2d_transpose_is_conv2d_backwards(session, padding, size):
    x = tf.placeholder(tf.float32, [None, 4, 3, 2])
    layer = tf.layers.Conv2DTranspose(4, 3, strides=2, padding=padding, use_bias=False)
    y = layer(x)
    assert y.shape.as_list() == [None, *size[1:]]
    target = tf.placeholder(tf.float32, size)
    forward = tf.nn.conv2d(target, layer.kernel, 2, padding.upper())
    (wanted,) = tf.gradients(forward, target, x)
    feeds = {x: images(2, 4, 3, 2), target: np.zeros(size)}
    actual, wanted = run(session, [y, wanted], feeds)
    np.testing.assert_allclose(actual, wanted, 1e-5, 1e-6)


def test_separable_conv2d(session):
    x = images(1, 5, 4, 2)
    layer = tf.layers.SeparableConv2D(3, 2, depth_multiplier=2)
    y = layer(tf.constant(x))
    assert names(layer.variables) == [
        f"separable_conv2d/{name}:0" for name in ("depthwise_kernel", "pointwise_kernel", "bias")
    ]
    plain = tf.nn.separable_conv2d(
        x, layer.depthwise_kernel, layer.pointwise_kernel, [1] * 4, "VALID"
    )
    actual, wanted = run(session, [y, plain])
    np.testing.assert_allclose(actual, wanted, 1e-5)
    assert actual.shape == (1, 4, 3, 3)


def test_wrong_convolutions_are_refused():
    x = tf.zeros([2, 5, 5, 3])
    with pytest.raises(ValueError, match="expected ndim=4, found ndim=3"):
        tf.layers.conv2d(tf.zeros([2, 5, 3]), 4, 3)
    with pytest.raises(ValueError, match="channel dimension"):
        tf.layers.conv2d(tf.placeholder(tf.float32, [2, 5, 5, None]), 4, 3)
    with pytest.raises(ValueError, match="`kernel_size` argument must be a tuple of 2"):
        tf.layers.conv2d(x, 4, (3, 3, 3))
    with pytest.raises(ValueError, match="`padding`"):
        tf.layers.conv2d(x, 4, 3, padding="most")
    with pytest.raises(ValueError, match="`data_format`"):
        tf.layers.conv2d(x, 4, 3, data_format="NHWC")


# -- pooling, flattening, dropout


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_pooling(session, dimensions):
    x = images(2, *[4] * dimensions, 3)
    blocks = x.reshape(2, *[2] * (2 * dimensions), 3)
    axes = tuple(range(2, 2 * dimensions + 1, 2))
    largest = getattr(tf.layers, f"max_pooling{dimensions}d")(x, 2, 2)
    mean = getattr(tf.layers, f"average_pooling{dimensions}d")(x, 2, 2)
    actual = run(session, [largest, mean])
    np.testing.assert_allclose(actual[0], blocks.max(axes), 1e-6)
    np.testing.assert_allclose(actual[1], blocks.mean(axes), 1e-5, 1e-6)
    turned = getattr(tf.layers, f"max_pooling{dimensions}d")(
        np.moveaxis(x, -1, 1), 2, 2, data_format="channels_first"
    )
    np.testing.assert_allclose(np.moveaxis(session.run(turned), 1, -1), actual[0], 1e-6)


def test_names_of_layers_without_variables():
    x = tf.zeros([2, 4, 4, 3])
    result = [
        tf.layers.max_pooling2d(x, 2, 2),
        tf.layers.average_pooling2d(x, 2, 2, name="p"),
        tf.layers.flatten(x),
        tf.layers.dropout(x),
    ]
    assert [tensor.op.name for tensor in result] == [
        "max_pooling2d/MaxPool",
        "p/AvgPool",
        "flatten/Reshape",
        "dropout/Identity",
    ]


@pytest.mark.parametrize(
    ("shape", "fed", "wanted"),
    [
        ([None, 3, 2], (4, 3, 2), [None, 6]),
        ([4, None, 2], (4, 5, 2), [4, None]),
        ([3], (3,), [3, 1]),
        ([None, None, 2], (4, 5, 2), [None, None]),
    ],
)
def test_flatten(session, shape, fed, wanted):
    x = tf.placeholder(tf.float32, shape)
    y = tf.layers.flatten(x)
    assert y.shape.as_list() == wanted
    data = images(*fed)
    np.testing.assert_array_equal(session.run(y, {x: data}), data.reshape(fed[0], -1))


def test_flatten_of_channels_first_puts_them_last(session):
    data = images(2, 3, 2, 2)
    y = tf.layers.flatten(tf.constant(data), data_format="channels_first")
    np.testing.assert_array_equal(session.run(y), data.transpose(0, 2, 3, 1).reshape(2, -1))


def test_dropout_trains_or_does_not(session):
    x, training = tf.ones([50, 40]), tf.placeholder(tf.bool, [])
    y = tf.layers.dropout(x, 0.25, training=training, seed=1)
    assert (session.run(y, {training: False}) == 1).all()
    actual = session.run(y, {training: True})
    assert set(np.unique(actual)) == {0, np.float32(1 / 0.75)}
    assert 0.7 < (actual > 0).mean() < 0.8


# -- batch normalization

BATCHES = {
    "images": ((4, 3, 2, 5), {}),
    "images, unfused": ((4, 3, 2, 5), {"fused": False}),
    "channels first": ((4, 5, 3, 2), {"axis": 1}),
    "channels first, unfused": ((4, 5, 3, 2), {"axis": 1, "fused": False}),
    "vectors": ((6, 5), {}),
    "without beta and gamma": ((4, 3, 2, 5), {"center": False, "scale": False}),
}


@pytest.mark.parametrize("name", BATCHES)
def test_batch_normalization(session, name):
    shape, settings = BATCHES[name]
    x, training = tf.placeholder(tf.float32, [None, *shape[1:]]), tf.placeholder(tf.bool, [])
    layer = tf.layers.BatchNormalization(momentum=0.5, epsilon=0.01, **settings)
    y = layer(x, training=training)
    data = images(*shape)
    index = settings.get("axis", -1) % len(shape)
    axes = tuple(axis for axis in range(len(shape)) if axis != index)
    spread = [-1 if axis == index else 1 for axis in range(len(shape))]
    mean, variance = data.mean(axes), data.var(axes)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == 2
    actual, _ = run(session, [y, updates], {x: data, training: True})
    wanted = (data - mean.reshape(spread)) / np.sqrt(variance.reshape(spread) + 0.01)
    np.testing.assert_allclose(actual, wanted, 1e-4, 1e-4)
    count = data.size // 5
    sample = count / (count - 1) if layer.fused else 1
    kept = session.run([layer.moving_mean, layer.moving_variance])
    np.testing.assert_allclose(kept[0], 0.5 * mean, 1e-4)
    np.testing.assert_allclose(kept[1], 0.5 + 0.5 * sample * variance, 1e-4)
    actual = session.run(y, {x: data, training: False})
    wanted = (data - kept[0].reshape(spread)) / np.sqrt(kept[1].reshape(spread) + 0.01)
    np.testing.assert_allclose(actual, wanted, 1e-4, 1e-4)
    session.run(updates, {x: data, training: False})
    np.testing.assert_array_equal(session.run(layer.moving_mean), kept[0])


def test_variables_of_batch_normalization():
    tf.layers.batch_normalization(tf.zeros([2, 3, 3, 4]))
    every = [
        f"batch_normalization/{n}:0" for n in ("gamma", "beta", "moving_mean", "moving_variance")
    ]
    assert names(tf.global_variables()) == every
    assert names(tf.trainable_variables()) == every[:2]
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []


def test_float16_is_normalized_by_float32(session):
    x = tf.constant(images(4, 3, 2, 5).astype(np.float16))
    y = tf.layers.batch_normalization(x, training=True)
    assert y.dtype == tf.float16
    assert {variable.dtype.base_dtype for variable in tf.global_variables()} == {tf.float32}
    assert abs(run(session, y).astype(np.float32).mean((0, 1, 2))).max() < 0.01


def test_averages_are_not_made_in_parts(session):
    data = images(4, 3, 2, 6)
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        y = tf.layers.batch_normalization(tf.constant(data), training=True)
    plain = tf.layers.batch_normalization(tf.constant(data), training=True)
    actual = names(tf.global_variables())[:6]
    assert [name.removeprefix("s/batch_normalization/") for name in actual] == [
        "gamma/part_0:0", "gamma/part_1:0", "beta/part_0:0", "beta/part_1:0",
        "moving_mean:0", "moving_variance:0",
    ]  # fmt: skip
    one, other = run(session, [y, plain])
    np.testing.assert_array_equal(one, other)


def test_resource_variables_train_too(session):
    data = images(4, 3, 2, 5)
    with tf.variable_scope("s", use_resource=True):
        layer = tf.layers.BatchNormalization(momentum=0.5)
        layer(tf.constant(data), training=True)
    run(session, tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    kept = session.run(layer.moving_mean)
    np.testing.assert_allclose(kept, data.mean((0, 1, 2)) / 2, 1e-4)


def test_what_batch_normalization_refuses():
    x = tf.zeros([2, 3, 3, 4])
    with pytest.raises(ValueError, match="Invalid axis"):
        tf.layers.batch_normalization(x, axis=4)
    with pytest.raises(ValueError, match="undefined rank"):
        tf.layers.batch_normalization(tf.placeholder(tf.float32, None))


def test_own_layers_collect_losses_and_updates():
    class Scaled(tf.layers.Layer):
        def build(self, inputs_shape):
            self.scale = self.add_weight("scale", [], initializer=tf.ones_initializer())

        def call(self, inputs):
            outputs = inputs * self.scale
            self.add_loss(tf.reduce_sum(outputs, name="sum"))
            self.add_update(tf.assign(self.scale, 2.0, name="double"))
            return outputs

    layer = Scaled()
    layer(tf.ones([3]))
    assert [loss.op.name for loss in layer.losses] == ["scaled/sum"]
    assert [update.name for update in layer.updates] == ["scaled/double"]
    assert tf.losses.get_regularization_losses() == layer.losses
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == layer.updates


@pytest.mark.parametrize("layer", ["layers", "contrib"])
def test_a_renaming_getter_adds_no_second_penalty(layer):
    def renamed(getter, name, *args, **kwargs):
        return getter(name.replace("kernel", "w").replace("weights", "w"), *args, **kwargs)

    def penalty(weights):
        return tf.reduce_sum(weights * weights)

    images = tf.ones([1, 8, 8, 3])
    for _ in range(2):
        with tf.variable_scope("shared", custom_getter=renamed, reuse=tf.AUTO_REUSE):
            if layer == "layers":
                tf.layers.conv2d(images, 4, 3, kernel_regularizer=penalty, name="c")
            else:
                tf.contrib.layers.conv2d(images, 4, 3, weights_regularizer=penalty, scope="c")
    assert "shared/c/w:0" in [variable.name for variable in tf.global_variables()]
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1


def test_batch_normalization_with_an_adjustment():
    values = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]], np.float32)
    training = tf.placeholder_with_default(True, [])

    def adjustment(shape):
        return tf.fill([shape[0], 1], 2.0), tf.fill([shape[0], 1], 0.5)

    layer = tf.layers.BatchNormalization(
        beta_initializer=tf.ones_initializer(), gamma_initializer=tf.constant_initializer(3.0),
        adjustment=adjustment, epsilon=0.0,
    )  # fmt: skip
    outputs = layer.apply(tf.constant(values), training=training)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        trained, inferred = session.run(outputs), session.run(outputs, {training: False})
    normalized = (values - values.mean(0)) / values.std(0)
    np.testing.assert_allclose(trained, (normalized * 2.0 + 0.5) * 3.0 + 1.0, rtol=1e-5)
    np.testing.assert_allclose(inferred, values * 3.0 + 1.0, rtol=1e-5)
    assert not layer.fused
