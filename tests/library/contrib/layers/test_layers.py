"""contrib.layers: the layers' results, their variables, and their arguments by arg_scope."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf

slim = tf.contrib.slim
RANDOM = np.random.default_rng(3)
ROWS = RANDOM.standard_normal((6, 5)).astype(np.float32)
IMAGES = RANDOM.standard_normal((3, 6, 5, 2)).astype(np.float32)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def names(variables):
    return [variable.op.name for variable in variables]


def values(*tensors):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(tensors))


# -- dense


def test_fully_connected():
    y = slim.fully_connected(ROWS, 3, scope="fc")
    w, b = tf.global_variables()
    assert names([w, b]) == ["fc/weights", "fc/biases"] == names(tf.model_variables())
    assert [w.shape, b.shape] == [(5, 3), (3,)] and y.op.name == "fc/Relu"
    actual, weights, biases = values(y, w, b)
    np.testing.assert_allclose(actual, np.maximum(ROWS @ weights, 0), rtol=1e-5, atol=1e-6)
    assert biases.tolist() == [0, 0, 0]
    assert np.abs(weights).max() <= np.sqrt(6 / 8)


def test_along_the_last_of_many_axes():
    x = tf.placeholder(tf.float32, [None, 2, 5])
    y = slim.linear(x, 3)
    assert y.shape.as_list() == [None, 2, 3]
    inputs = ROWS.reshape(3, 2, 5)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        actual, weights = session.run([y, tf.global_variables()[0]], {x: inputs})
    np.testing.assert_allclose(actual, inputs @ weights, rtol=1e-5, atol=1e-6)


def test_no_biases_no_activation_and_not_trainable(graph):
    y = slim.fully_connected(
        ROWS, 3, activation_fn=None, biases_initializer=None, trainable=False,
        variables_collections=["mine"], outputs_collections="outs", scope="fc",
    )  # fmt: skip
    assert y.op.type == "MatMul" and y.aliases == ["fc"]
    assert tf.trainable_variables() == []
    assert names(graph.get_collection("mine")) == ["fc/weights"]
    assert graph.get_collection("outs") == [y]


def test_collections_of_each_variable(graph):
    collections = {"weights": ["w"], "biases": "b"}
    slim.fully_connected(ROWS, 3, variables_collections=collections, scope="fc")
    assert names(graph.get_collection("w")) == ["fc/weights"]
    assert names(graph.get_collection("b")) == ["fc/biases"]


def test_a_layer_is_shared_by_its_scope(graph):
    arguments = {"weights_regularizer": slim.l2_regularizer(0.1), "scope": "fc"}
    slim.fully_connected(ROWS, 3, **arguments)
    with pytest.raises(ValueError, match="fc/weights already exists"):
        slim.fully_connected(ROWS, 3, **arguments)
    slim.fully_connected(ROWS, 3, reuse=True, **arguments)
    assert names(tf.global_variables()) == ["fc/weights", "fc/biases"]
    losses = graph.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert names(losses) == ["fc/kernel/Regularizer/l2_regularizer"]


def test_a_layer_in_parts_is_regularized_in_parts(graph):
    with tf.variable_scope("", partitioner=tf.fixed_size_partitioner(2)):
        y = slim.linear(ROWS, 3, weights_regularizer=slim.l1_regularizer(1.0), scope="fc")
    parts = tf.model_variables()
    assert names(parts)[:2] == ["fc/weights/part_0", "fc/weights/part_1"]
    losses = graph.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    actual = values(y, *parts[:2], tf.add_n(losses))
    whole = np.concatenate(actual[1:3])
    np.testing.assert_allclose(actual[0], ROWS @ whole, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(actual[3], np.abs(whole).sum(), rtol=1e-6)


# -- arg_scope, which all this is for


def test_arg_scope_reaches_every_layer(graph):
    with slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        weights_regularizer=slim.l2_regularizer(0.5),
        weights_initializer=tf.ones_initializer(),
        activation_fn=None,
    ):
        with slim.arg_scope([slim.conv2d], padding="VALID") as kept:
            net = slim.conv2d(IMAGES, 4, [3, 3], scope="conv")
        net = slim.fully_connected(slim.flatten(net), 2, scope="fc")
    with slim.arg_scope(kept):
        assert slim.conv2d(IMAGES, 1, 2, scope="again").shape.as_list() == [3, 5, 4, 1]
    assert net.op.type == "BiasAdd"
    losses = values(*graph.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    assert losses == [0.5 * 3 * 3 * 2 * 4 / 2, 0.5 * 4 * 3 * 4 * 2 / 2, 0.5 * 2 * 2 * 2 / 2]


def test_arg_scope_reaches_the_variables_of_layers():
    with slim.arg_scope([slim.model_variable, slim.variable], device="/cpu:0"):
        slim.fully_connected(ROWS, 3)
        slim.variable("v", [1])
    assert {variable.device for variable in tf.global_variables()} == {"/device:CPU:0"}


# -- convolution and pooling


def reference_conv(x, w, stride=1):
    """SAME, by shifting the images."""
    kh, kw = w.shape[:2]
    ph, pw = (kh - 1) // 2, (kw - 1) // 2
    padded = np.pad(x, [(0, 0), (ph, kh - 1 - ph), (pw, kw - 1 - pw), (0, 0)])
    h, w_ = x.shape[1:3]
    total = sum(padded[:, i : i + h, j : j + w_] @ w[i, j] for i in range(kh) for j in range(kw))
    return total[:, ::stride, ::stride]


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_conv2d(data_format):
    nchw = data_format == "NCHW"
    x = IMAGES.transpose(0, 3, 1, 2) if nchw else IMAGES
    y = slim.conv2d(x, 4, [3, 2], data_format=data_format, biases_initializer=tf.ones_initializer())
    assert names(tf.model_variables()) == ["Conv/weights", "Conv/biases"]
    assert y.op.name == "Conv/Relu"
    actual, weights = values(y, tf.global_variables()[0])
    expected = np.maximum(reference_conv(IMAGES, weights) + 1, 0)
    got = actual.transpose(0, 2, 3, 1) if nchw else actual
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ({"stride": 2}, [3, 3, 3, 4]),
        ({"stride": [2, 1], "padding": "valid"}, [3, 2, 3, 4]),
        ({"rate": 2}, [3, 6, 5, 4]),
        ({"rate": 2, "padding": "VALID"}, [3, 2, 1, 4]),
    ],
)
def test_where_windows_are(arguments, shape):
    assert slim.conv2d(IMAGES, 4, 3, **arguments).shape.as_list() == shape


def test_pooling(graph):
    largest = slim.max_pool2d(IMAGES, 2, outputs_collections="outs")
    mean = slim.avg_pool2d(IMAGES, [3, 2], stride=[3, 2], scope="mean")
    assert (largest.op.name, mean.op.name) == ("MaxPool2D/MaxPool", "mean/AvgPool")
    assert graph.get_collection("outs") == [largest] and largest.aliases == ["MaxPool2D"]
    first, second = values(largest, mean)
    blocks = IMAGES[:, :, :4]
    np.testing.assert_array_equal(first, blocks.reshape(3, 3, 2, 2, 2, 2).max((2, 4)))
    np.testing.assert_allclose(second, blocks.reshape(3, 2, 3, 2, 2, 2).mean((2, 4)), rtol=1e-5)


# -- batch normalization


def normalized(x, axes, epsilon=0.001):
    return (x - x.mean(axes)) / np.sqrt(x.var(axes) + epsilon)


@pytest.mark.parametrize("x", [ROWS, IMAGES], ids=["rows", "images"])
@pytest.mark.parametrize("fused", [None, False])
def test_it_normalizes_and_keeps_averages(x, fused):
    axes = tuple(range(x.ndim - 1))
    y = slim.batch_norm(x, decay=0.9, scale=True, fused=fused, scope="bn")
    held = {variable.op.name: variable for variable in tf.global_variables()}
    assert set(held) == {"bn/beta", "bn/gamma", "bn/moving_mean", "bn/moving_variance"}
    assert set(names(tf.trainable_variables())) == {"bn/beta", "bn/gamma"}
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    count = x.size / x.shape[-1]
    of_sample = count / (count - 1) if fused is None else 1.0
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(y), normalized(x, axes), rtol=1e-4, atol=1e-5)
        assert session.run(held["bn/moving_mean"]).tolist() == [0] * x.shape[-1]
        session.run(updates)
        mean, variance = session.run([held["bn/moving_mean"], held["bn/moving_variance"]])
    np.testing.assert_allclose(mean, 0.1 * x.mean(axes), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(variance, 0.9 + 0.1 * of_sample * x.var(axes), rtol=1e-5)


def test_without_collections_the_averages_follow_each_run():
    y = slim.batch_norm(ROWS, decay=0.5, updates_collections=None, scope="bn")
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []
    mean = slim.get_unique_variable("bn/moving_mean")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for share in (0.5, 0.75):
            session.run(y)
            np.testing.assert_allclose(session.run(mean), share * ROWS.mean(0), rtol=1e-4)


@pytest.mark.parametrize("collections", [None, tf.GraphKeys.UPDATE_OPS])
def test_a_run_chooses_whether_it_trains(collections):
    trains = tf.placeholder(tf.bool, [])
    y = slim.batch_norm(
        ROWS, decay=0.5, is_training=trains, updates_collections=collections, scope="bn"
    )
    step = tf.group(y, *tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    mean = slim.get_unique_variable("bn/moving_mean")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        actual = session.run(y, {trains: False})
        np.testing.assert_allclose(actual, ROWS / np.sqrt(1.001), rtol=1e-5)
        session.run(step, {trains: False})
        assert session.run(mean).tolist() == [0] * 5
        session.run(step, {trains: True})
        np.testing.assert_allclose(session.run(mean), ROWS.mean(0) / 2, rtol=1e-4)
        initial = session.run(mean)
        session.run(step, {trains: False})
        assert session.run(mean).tolist() == initial.tolist()


def test_where_it_does_not_train_the_averages_are_used():
    initial = {
        "moving_mean": tf.constant_initializer(2.0),
        "moving_variance": tf.constant_initializer(4.0),
        "beta": tf.constant_initializer(5.0),
    }
    y = slim.batch_norm(
        ROWS, is_training=False, epsilon=0.0, param_initializers=initial, activation_fn=tf.nn.relu
    )
    (actual,) = values(y)
    np.testing.assert_allclose(actual, np.maximum((ROWS - 2) / 2 + 5, 0), rtol=1e-5)
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []


def test_channels_may_be_second():
    x = IMAGES.transpose(0, 3, 1, 2)
    y = slim.batch_norm(x, data_format="NCHW", scale=True)
    np.testing.assert_allclose(
        values(y)[0].transpose(0, 2, 3, 1), normalized(IMAGES, (0, 1, 2)), rtol=1e-4, atol=1e-5
    )


def test_a_batch_of_unknown_size_is_a_sample_of_its_size():
    x = tf.placeholder(tf.float32, [None, 5])
    slim.batch_norm(x, decay=0.0, scope="bn")
    step = tf.group(*tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    variance = slim.get_unique_variable("bn/moving_variance")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for count in (6, 3, 1):
            session.run(step, {x: ROWS[:count]})
            expected = ROWS[:count].var(0, ddof=1) if count > 1 else np.zeros(5)
            np.testing.assert_allclose(session.run(variance), expected, rtol=1e-5, atol=1e-7)


def test_a_layer_takes_it_in_place_of_biases(graph):
    y = slim.fully_connected(
        ROWS, 3, normalizer_fn=slim.batch_norm, normalizer_params={"decay": 0.9}, scope="fc",
        variables_collections={"weights": ["w"]},
    )  # fmt: skip
    assert names(tf.model_variables()) == [
        "fc/weights", "fc/BatchNorm/beta", "fc/BatchNorm/moving_mean",
        "fc/BatchNorm/moving_variance",
    ]  # fmt: skip
    assert y.op.name == "fc/Relu"
    assert names(graph.get_collection("w")) == ["fc/weights"]


# -- without variables


def test_dropout_keeps_the_share_and_the_sum():
    x = np.ones((200, 50), np.float32)
    tf.set_random_seed(3)
    y, off = slim.dropout(x, 0.8), slim.dropout(x, 0.8, is_training=False)
    actual, left = values(y, off)
    assert left.tolist() == x.tolist()
    assert set(np.unique(actual)) == {0, np.float32(1.25)}
    assert abs((actual > 0).mean() - 0.8) < 0.02


def test_a_run_chooses_whether_to_drop():
    trains = tf.placeholder(tf.bool, [])
    y = slim.dropout(np.ones((100, 10), np.float32), is_training=trains)
    with tf.Session() as session:
        assert (session.run(y, {trains: True}) == 0).any()
        assert (session.run(y, {trains: False}) == 1).all()


@given(st.lists(st.integers(0, 3), min_size=2, max_size=4), st.data())
@settings(max_examples=30)
def test_flatten_keeps_the_first_dimension(sizes, data):
    hidden = data.draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes)))
    rest = int(np.prod(sizes[1:]))
    x = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)
    if any(hidden) and x.size == 0:
        hidden = [False] * len(sizes)  # -1 has no meaning for an empty tensor
    known = [None if value else size for value, size in zip(hidden, sizes)]
    with tf.Graph().as_default(), tf.Session() as session:
        source = tf.placeholder(tf.float32, known)
        y = slim.flatten(source)
        assert y.shape.rank == 2
        assert session.run(y, {source: x}).tolist() == x.reshape(sizes[0], rest).tolist()


def test_layers_one_after_the_other():
    once = slim.repeat(ROWS, 2, slim.fully_connected, 3)
    slim.repeat(ROWS, 1, slim.fully_connected, 3, scope="core")
    slim.stack(ROWS, slim.fully_connected, [4, (3, None)], scope="fc")
    slim.stack(IMAGES, slim.conv2d, [(4, 3), (2, [1, 1])])
    slim.repeat(ROWS, 1, slim.linear, 2)
    assert once.op.name == "Repeat/fully_connected_2/Relu"
    assert [name for name in names(tf.global_variables()) if name.endswith("weights")] == [
        "Repeat/fully_connected_1/weights", "Repeat/fully_connected_2/weights",
        "core/core_1/weights", "fc/fc_1/weights", "fc/fc_2/weights",
        "Stack/convolution2d_1/weights", "Stack/convolution2d_2/weights",
        "Repeat_1/fully_connected_1/weights",
    ]  # fmt: skip


@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 2, 3)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_is_one_op_where_it_may_be(shape, training):
    x = tf.constant(np.random.default_rng(0).normal(1, 2, shape).astype("f"))
    result = {}
    for fused in (True, False):
        with tf.variable_scope(f"fused_{fused}"):
            result[fused] = tf.contrib.layers.batch_norm(
                x, scale=True, fused=fused, is_training=training, epsilon=0.01
            )
    kinds = [op.name.partition("/")[0] for op in x.graph.get_operations() if "Fused" in op.type]
    assert kinds == ["fused_True"]
    slopes = [tf.gradients(value * value * value, x)[0] for value in result.values()]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(*session.run(list(result.values())), 1e-4, 1e-5)
        np.testing.assert_allclose(*session.run(slopes), 1e-3, 1e-4)


def test_a_model_of_layers_trains():
    tf.set_random_seed(2)
    x = IMAGES
    labels = np.array([0, 1, 2])
    with slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        normalizer_fn=slim.batch_norm,
        weights_regularizer=slim.l2_regularizer(1e-4),
    ):
        net = slim.max_pool2d(slim.conv2d(x, 6, 3), 2)
        logits = slim.fully_connected(slim.flatten(net), 3, activation_fn=None)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses) + tf.add_n(tf.get_collection("regularization_losses"))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.train.AdamOptimizer(0.05).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(30):
            session.run(step)
        assert session.run(loss) < 0.4 * first


# -- a model's variables


def test_model_variables_and_how_they_are_found():
    slim.model_variable("w", [2], collections=["mine"])
    with tf.variable_scope("a") as scope:
        slim.variable("w", [2])
        slim.variable("hidden", [2], collections=["mine"])
        tf.get_local_variable("local", [2])
    assert names(slim.get_model_variables()) == ["w"]
    assert names(slim.get_variables()) == ["w", "a/w"]
    assert names(slim.get_variables(scope)) == names(slim.get_variables("a")) == ["a/w"]
    assert names(slim.get_variables_by_suffix("w")) == ["w", "a/w"]
    assert names(slim.get_variables_by_name("w")) == ["w", "a/w"]
    assert names(slim.get_variables_by_name("w", "a")) == ["a/w"]
    assert names(slim.get_trainable_variables("a")) == ["a/w", "a/hidden"]
    assert names(slim.get_local_variables()) == ["a/local"]
    assert names(tf.get_collection("mine")) == ["w", "a/hidden"]
    assert slim.get_unique_variable("w").op.name == "w"
    slim.add_model_variable(slim.get_unique_variable("a/w"))
    slim.add_model_variable(slim.get_unique_variable("a/w"))
    assert names(slim.get_model_variables()) == ["w", "a/w"]
    with pytest.raises(ValueError, match="Couldn't find variable nope"):
        slim.get_unique_variable("nope")
    with pytest.raises(ValueError, match=r"does not uniquely identify.*a/w"):
        slim.get_unique_variable("a")


@pytest.mark.parametrize(
    ("mode", "uniform", "deviation"),
    [("FAN_IN", False, 2 / 60), ("FAN_OUT", True, 2 / 80), ("FAN_AVG", True, 2 / 70)],
)
def test_initializers_scale_by_what_is_connected(mode, uniform, deviation):
    make = slim.variance_scaling_initializer(mode=mode, uniform=uniform, seed=1)
    (actual,) = values(tf.get_variable("w", [2, 5, 6, 8], initializer=make))
    assert abs(actual.var() - deviation) < 0.4 * deviation
    if uniform:
        assert np.abs(actual).max() <= np.sqrt(3 * deviation)


# -- errors


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: slim.fully_connected(ROWS, 3.0),
            ValueError, r"num_outputs type should be one of .*float",
        ),
        (lambda: slim.fully_connected(ROWS[0], 3), ValueError, "expected min_ndim=2, found ndim=1"),
        (
            lambda: slim.fully_connected(tf.placeholder(tf.float32, [2, None]), 3),
            ValueError, "last dimension of the inputs to `Dense` should be defined",
        ),
        (lambda: slim.conv2d(ROWS, 3, 3), ValueError, "input with rank 4, got 2"),
        (
            lambda: slim.conv2d(IMAGES, 3, [1, 2, 3]),
            ValueError, "`kernel_size` argument must be a tuple of 2",
        ),
        (lambda: slim.conv2d(IMAGES, 3, 3, data_format="NCW"), ValueError, "either NCHW or NHWC"),
        (lambda: slim.conv2d(IMAGES, 3, 3, 2, rate=2), ValueError, "does not go with a stride 2"),
        (lambda: slim.conv2d(IMAGES, 3, 9, padding="VALID"), ValueError, "subtracting 9 from 6"),
        (
            lambda: slim.conv2d(tf.placeholder(tf.float32, [2, 3, 3, None]), 3, 3),
            ValueError, "channel dimension of the inputs should be defined",
        ),
        (lambda: slim.max_pool2d(IMAGES, 2, data_format="X"), ValueError, "either NCHW or NHWC"),
        (lambda: slim.batch_norm(ROWS, data_format="X"), ValueError, "either NCHW or NHWC"),
        (lambda: slim.batch_norm(tf.placeholder(tf.float32)), ValueError, "undefined rank"),
        (
            lambda: slim.batch_norm(tf.placeholder(tf.float32, [2, None])),
            ValueError, "undefined channels dimension",
        ),
        (
            lambda: slim.batch_norm(ROWS, renorm=True, updates_collections=None),
            ValueError, "renorm is not supported with batch_weights, updates_collections",
        ),
        (lambda: slim.stack(ROWS, slim.linear, 3), ValueError, "need to be a list or tuple"),
        (lambda: slim.xavier_initializer(dtype=tf.int32), TypeError, "non-floating point type"),
        (lambda: slim.variance_scaling_initializer(mode="X"), TypeError, "Unknown mode X"),
    ],
)  # fmt: skip
def test_what_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
    assert tf.get_variable_scope().name == ""
