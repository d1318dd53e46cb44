"""Convolutions, normalizations, rearrangements and embeddings of contrib.layers, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

layers = tf.contrib.layers
RANDOM = np.random.default_rng(7)
IMAGES = RANDOM.standard_normal((4, 6, 5, 6)).astype(np.float32)
FIRST = IMAGES.transpose(0, 3, 1, 2)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def values(*tensors):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        results = session.run(list(tensors))
        return results[0] if len(results) == 1 else results


def variables():
    return {variable.op.name: variable.shape.as_list() for variable in tf.global_variables()}


# -- convolutions


@pytest.mark.parametrize(
    ("name", "args", "sizes", "outputs", "wanted"),
    [
        ("conv1d", (5, 3), (2, 7, 4), [2, 7, 5], {"weights": [3, 4, 5]}),
        ("conv3d", (5, 3), (2, 4, 4, 4, 2), [2, 4, 4, 4, 5], {"weights": [3, 3, 3, 2, 5]}),
        ("convolution", (5, 3), (2, 7, 4), [2, 7, 5], {"weights": [3, 4, 5]}),
        ("conv2d_transpose", (5, 3, 2), (2, 4, 4, 3), [2, 8, 8, 5], {"weights": [3, 3, 5, 3]}),
        (
            "conv3d_transpose", (5, 3, 2), (2, 3, 3, 3, 3), [2, 6, 6, 6, 5],
            {"weights": [3, 3, 3, 5, 3]},
        ),
        (
            "separable_conv2d", (5, 3), (2, 4, 4, 3), [2, 4, 4, 5],
            {"depthwise_weights": [3, 3, 3, 1], "pointwise_weights": [1, 1, 3, 5]},
        ),
        (
            "separable_conv2d", (None, 3, 2), (2, 4, 4, 3), [2, 4, 4, 6],
            {"depthwise_weights": [3, 3, 3, 2]},
        ),
        ("conv2d_in_plane", (3,), (2, 4, 4, 3), [2, 4, 4, 3], {"weights": [3, 3, 1, 1]}),
    ],
)  # fmt: skip
def test_convolutions_and_their_variables(name, args, sizes, outputs, wanted):
    with tf.name_scope("outer"):
        tensor = getattr(layers, name)(tf.zeros(sizes), *args, outputs_collections="outs")
    scopes = {
        "conv2d_transpose": "Conv2d_transpose", "conv3d_transpose": "Conv3d_transpose",
        "separable_conv2d": "SeparableConv2d", "conv2d_in_plane": "ConvInPlane",
    }  # fmt: skip
    scope = scopes.get(name, "Conv")
    assert tensor.shape.as_list() == outputs and tensor.op.name == f"outer/{scope}/Relu"
    wanted = {**wanted, "biases": [outputs[-1]]}
    assert variables() == {f"{scope}/{key}": sizes for key, sizes in wanted.items()}
    assert tf.model_variables() == tf.trainable_variables() == tf.global_variables()
    assert tf.get_collection("outs") == [tensor] and tensor.aliases == [scope]


def test_depthwise_alone_is_the_depthwise_convolution():
    tensor = layers.separable_conv2d(IMAGES, None, 3, 2, stride=2, activation_fn=None)
    weights = tf.global_variables()[0]
    same = tf.nn.depthwise_conv2d(IMAGES, weights, [1, 2, 2, 1], "SAME")
    turned = layers.separable_conv2d(
        FIRST, None, 3, 2, stride=2, activation_fn=None, data_format="NCHW",
        weights_initializer=lambda *args, **kwargs: weights.initialized_value(),
    )  # fmt: skip
    actual, wanted, first = values(tensor, same, turned)
    np.testing.assert_allclose(actual, wanted, 1e-5, 1e-5)
    np.testing.assert_allclose(first.transpose(0, 2, 3, 1), wanted, 1e-5, 1e-5)


def test_in_plane_all_channels_have_the_same_weights():
    image = np.zeros((1, 3, 3, 2), np.float32)
    image[0, 1, 1] = [1, 2]
    tensor = layers.conv2d_in_plane(image, 3, weights_initializer=tf.ones_initializer())
    assert values(tensor).tolist() == np.broadcast_to([1.0, 2.0], (1, 3, 3, 2)).tolist()


def test_a_pointwise_initializer_and_regularizers():
    layers.separable_conv2d(
        tf.zeros([1, 4, 4, 2]), 3, 2, weights_initializer=tf.ones_initializer(),
        pointwise_initializer=tf.constant_initializer(2.0), weights_regularizer=tf.reduce_sum,
        biases_initializer=None,
    )  # fmt: skip
    penalties = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert values(*penalties) == [8.0, 12.0]


def test_what_convolutions_refuse():
    for make, error, message in [
        (lambda: layers.conv1d(IMAGES, 3, 2), ValueError, "expects input with rank 3, got 4"),
        (lambda: layers.convolution(tf.zeros([2, 2]), 3, 2), ValueError, "not supported for input"),
        (lambda: layers.conv3d_transpose(IMAGES, 3, 2, data_format="X"), ValueError, "NCDHW or ND"),
        (
            lambda: layers.separable_conv2d(tf.zeros([1, 4, 4, 2], tf.int32), 3, 2),
            TypeError, "non-floating point type",
        ),
    ]:  # fmt: skip
        with pytest.raises(error, match=message):
            make()


def test_pooling_of_volumes_and_of_any_rank():
    volumes = RANDOM.standard_normal((2, 4, 4, 4, 3)).astype(np.float32)
    largest, mean = layers.max_pool3d(volumes, 2), layers.avg_pool3d(volumes, [2, 2, 2])
    assert (largest.op.name, mean.op.name) == ("MaxPool3D/MaxPool3D", "AvgPool3D/AvgPool3D")
    blocks = volumes.reshape(2, 2, 2, 2, 2, 2, 2, 3)
    actual = values(largest, mean)
    np.testing.assert_array_equal(actual[0], blocks.max((2, 4, 6)))
    np.testing.assert_allclose(actual[1], blocks.mean((2, 4, 6)), 1e-4, 1e-5)
    pooled = layers.pool(IMAGES, 2, "MAX")
    assert pooled.shape.as_list() == [4, 5, 4, 6] and pooled.op.name.startswith("max_pool")


# -- normalization


def standard(x, axes, epsilon=1e-6):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


@pytest.mark.parametrize(
    ("norm_axis", "params_axis", "axes", "sizes"),
    [(1, -1, (1, 2, 3), [6]), (2, 1, (2, 3), [6, 5, 6]), (-1, -1, (3,), [6])],
)
def test_layer_norm(norm_axis, params_axis, axes, sizes):
    tensor = layers.layer_norm(IMAGES, begin_norm_axis=norm_axis, begin_params_axis=params_axis)
    assert variables() == {"LayerNorm/beta": sizes, "LayerNorm/gamma": sizes}
    np.testing.assert_allclose(values(tensor), standard(IMAGES, axes), 1e-3, 1e-4)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_instance_norm(data_format):
    data = IMAGES if data_format == "NHWC" else FIRST
    axes = (1, 2) if data_format == "NHWC" else (2, 3)
    tensor = layers.instance_norm(data, data_format=data_format)
    assert variables() == {"InstanceNorm/beta": [6], "InstanceNorm/gamma": [6]}
    np.testing.assert_allclose(values(tensor), standard(data, axes), 1e-3, 1e-4)


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize(("axis", "axes"), [(-1, (-3, -2)), (1, (2, 3))])
def test_group_norm(axis, axes, zero):
    data = IMAGES if axis == -1 else FIRST
    source = tf.placeholder(tf.float32, [None, *data.shape[1:]])
    tensor = layers.group_norm(source, 2, axis, axes, mean_close_to_zero=zero)
    assert tensor.shape.as_list() == [None, *data.shape[1:]]
    parts = IMAGES.reshape(4, 6, 5, 2, 3)
    wanted = standard(parts, (1, 2, 4)).reshape(IMAGES.shape)
    wanted = wanted if axis == -1 else wanted.transpose(0, 3, 1, 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(tensor, {source: data}), wanted, 1e-3, 1e-4)


def test_unit_norm_and_biases():
    tensor = layers.unit_norm(tf.constant(IMAGES), 1)
    biased = layers.bias_add(FIRST, initializer=tf.ones_initializer(), data_format="NCHW")
    assert variables() == {"BiasAdd/biases": [6]}
    actual = values(tensor, biased)
    np.testing.assert_allclose((actual[0] ** 2).sum(1), 1, 1e-4)
    np.testing.assert_allclose(actual[1], FIRST + 1, 1e-6)


def test_what_normalizations_refuse():
    unknown, open_channels = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [2, 3, None])
    for make, message in [
        (lambda: layers.layer_norm(unknown), "undefined rank"),
        (lambda: layers.layer_norm(IMAGES, begin_norm_axis=4), r"must be < rank\(inputs\) \(4\)"),
        (lambda: layers.layer_norm(open_channels), "is not fully defined"),
        (lambda: layers.instance_norm(open_channels), "undefined channels dimension"),
        (lambda: layers.instance_norm(IMAGES, data_format="X"), "either NCHW or NHWC"),
        (lambda: layers.group_norm(IMAGES, 4), "Invalid groups 4 for 6 channels"),
        (lambda: layers.group_norm(IMAGES, 2, 2, (1, 3)), "one side of it"),
        (lambda: layers.group_norm(IMAGES, 2, 7), "Axis is out of bounds"),
        (lambda: layers.unit_norm(unknown, 1), "rank must be known"),
        (lambda: layers.unit_norm(IMAGES, -1), "dim must be positive but smaller than"),
        (lambda: layers.bias_add(unknown), "Dims of shape must be known but is None"),
        (lambda: layers.bias_add(open_channels), "`C` dimension must be known but is None"),
        (lambda: layers.bias_add(open_channels, data_format="NCHW"), "NCHW only supports 4D"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()


# -- batch normalization


def test_channels_second_unfused_have_vectors():
    tensor = layers.batch_norm(FIRST, scale=True, fused=False, data_format="NCHW")
    assert set(map(tuple, variables().values())) == {(6,)}
    np.testing.assert_allclose(values(tensor), standard(FIRST, (0, 2, 3), 1e-3), 1e-3, 1e-4)


@pytest.mark.parametrize("collections", [None, tf.GraphKeys.UPDATE_OPS])
@pytest.mark.parametrize("fused", [True, False])
def test_a_variable_tells_whether_it_trains(fused, collections):
    training = tf.Variable(True, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    tensor = layers.batch_norm(
        IMAGES, is_training=training, fused=fused, updates_collections=collections
    )
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        wanted = standard(IMAGES, (0, 1, 2), 1e-3)
        np.testing.assert_allclose(session.run(tensor), wanted, 1e-3, 1e-4)
        before = session.run(tf.global_variables())
        session.run(training.assign(False))
        mean, variance = (
            value for value, held in zip(before, tf.global_variables()) if "moving" in held.op.name
        )
        wanted = (IMAGES - mean) / np.sqrt(variance + 1e-3)
        np.testing.assert_allclose(session.run(tensor), wanted, 1e-3, 1e-4)


@pytest.mark.parametrize("collections", [None, tf.GraphKeys.UPDATE_OPS])
@pytest.mark.parametrize("fused", [True, False])
def test_the_moving_mean_is_debiased(fused, collections):
    training = tf.placeholder(tf.bool, [])
    tensor = layers.batch_norm(
        IMAGES, decay=0.9, zero_debias_moving_mean=True, is_training=training, fused=fused,
        updates_collections=collections,
    )  # fmt: skip
    names = set(variables())
    moving = "BatchNorm/BatchNorm/moving_mean"
    assert {f"{moving}/biased", f"{moving}/local_step"} <= names
    mean = next(v for v in tf.global_variables() if v.op.name == "BatchNorm/moving_mean")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for trains in (True, False, True):
            updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
            session.run([tensor, updates], {training: trains})
            np.testing.assert_allclose(session.run(mean), IMAGES.mean((0, 1, 2)), 1e-3, 1e-5)
        steps = next(v for v in tf.global_variables() if v.op.name == f"{moving}/local_step")
        assert session.run(steps) == 2


def test_examples_have_weights():
    weights = np.array([1, 0, 2, 1], np.float32)
    tensor = layers.batch_norm(IMAGES, batch_weights=weights)
    repeated = np.concatenate([IMAGES[[0]], IMAGES[[2, 2]], IMAGES[[3]]])
    mean, variance = repeated.mean((0, 1, 2)), repeated.var((0, 1, 2))
    np.testing.assert_allclose(
        values(tensor), (IMAGES - mean) / np.sqrt(variance + 1e-3), 1e-3, 1e-4
    )


def test_an_adjustment_and_renormalization():
    adjusted = layers.batch_norm(IMAGES, adjustment=lambda shape: (2.0, 1.0), scope="a")
    renormalized = layers.batch_norm(IMAGES, renorm=True, scope="r", data_format="NHWC")
    assert "r/renorm_mean" in variables()
    actual = values(adjusted, renormalized)
    wanted = standard(IMAGES, (0, 1, 2), 1e-3) * 2 + 1
    np.testing.assert_allclose(actual[0], wanted, 1e-3, 1e-4)
    np.testing.assert_allclose(actual[1], IMAGES, 1e-3, 1e-3)


def test_float16_images_go_through_one_op(graph):
    tensor = layers.batch_norm(tf.constant(IMAGES, tf.float16))
    kinds = [op.type for op in graph.get_operations() if op.type.startswith("FusedBatchNorm")]
    assert len(kinds) == 1 and tensor.dtype == tf.float16
    assert {variable.dtype.base_dtype for variable in tf.global_variables()} == {tf.float32}


def test_aliases_are_names_of_variable_scopes():
    with tf.name_scope("fe"):
        tensors = [
            layers.batch_norm(IMAGES, outputs_collections="outs"),
            layers.fully_connected(IMAGES[0, 0], 2, outputs_collections="outs"),
            layers.dropout(IMAGES, outputs_collections="outs"),
        ]
    aliases = [tensor.aliases for tensor in tensors]
    assert aliases == [["BatchNorm"], ["fully_connected"], ["Dropout"]]


# -- rearrangements


def test_shapes_turned():
    sequence = layers.images_to_sequence(IMAGES)
    turned = layers.images_to_sequence(tf.placeholder_with_default(FIRST, [None] * 4), "NCHW")
    back = layers.sequence_to_images(sequence, 6)
    first = layers.sequence_to_images(sequence, 6, "channels_first")
    assert sequence.shape.as_list() == [5, 24, 6] and back.shape.as_list() == [4, 6, 5, 6]
    actual = values(sequence, turned, back, first)
    np.testing.assert_array_equal(actual[0], IMAGES.transpose(2, 0, 1, 3).reshape(5, 24, 6))
    np.testing.assert_array_equal(actual[1], actual[0])
    np.testing.assert_array_equal(actual[2], IMAGES)
    np.testing.assert_array_equal(actual[3], FIRST)
    vector = layers.flatten(tf.constant([1.0, 2.0]))
    assert values(vector).tolist() == [[1], [2]]


def test_spatial_softmax_finds_where_the_light_is():
    image = np.zeros((2, 5, 5, 2), np.float32)
    image[0, 0, 4, 0] = image[0, 4, 2, 1] = image[1, 2, 2, 0] = image[1, 4, 0, 1] = 50
    tensor = layers.spatial_softmax(image)
    assert variables() == {"spatial_softmax/temperature": []} and tensor.shape.as_list() == [2, 4]
    wanted = [[-1, 1, 1, 0], [0, 0, 1, -1]]
    np.testing.assert_allclose(values(tensor), wanted, atol=1e-5)
    warm = layers.spatial_softmax(image.transpose(0, 3, 1, 2), 1e9, data_format="NCHW")
    np.testing.assert_allclose(values(warm), np.zeros((2, 4)), atol=1e-4)


def test_small_ones():
    labels = layers.one_hot_encoding(tf.constant([1, 0]), 3, 5.0, 1.0)
    largest = layers.maxout(IMAGES, 2)
    probabilities = layers.softmax(IMAGES)
    sparse = layers.dense_to_sparse([[0, 3], [4, 0]])
    short = layers.poincare_normalize(tf.constant([[3.0, 4.0], [0.3, 0.4]]), epsilon=0.1)
    actual = values(labels, largest, probabilities, sparse, short)
    assert actual[0].tolist() == [[1, 5, 1], [5, 1, 1]]
    np.testing.assert_array_equal(actual[1], IMAGES.reshape(4, 6, 5, 2, 3).max(-1))
    np.testing.assert_allclose(actual[2].sum(-1), 1, 1e-5)
    assert actual[3].indices.tolist() == [[0, 1], [1, 0]] and actual[3].values.tolist() == [3, 4]
    np.testing.assert_allclose(actual[4], [[0.54, 0.72], [0.3, 0.4]], 1e-5)
    with pytest.raises(ValueError, match=r"features\(6\) is not a multiple of num_units\(4\)"):
        layers.maxout(IMAGES, 4)


def test_a_gradient_is_scaled():
    x = tf.constant([2.0, 3.0])
    y = layers.scale_gradient(x, 4.0)
    actual = values(y, tf.gradients(y * y, x)[0])
    assert [array.tolist() for array in actual] == [[2, 3], [16, 24]]


@pytest.mark.parametrize("first", [False, True])
def test_divisive_normalization_and_its_inverse(first):
    data = FIRST if first else IMAGES
    layout = "channels_first" if first else "channels_last"
    tensor = layers.gdn(data, gamma_init=0.5, data_format=layout, name="g")
    inverse = layers.gdn(data, gamma_init=0.5, inverse=True, data_format=layout)
    assert variables() == {
        "g/reparam_beta": [6], "g/reparam_gamma": [6, 6], "gdn/reparam_beta": [6],
        "gdn/reparam_gamma": [6, 6],
    }  # fmt: skip
    norm = np.sqrt(1 + 0.5 * data**2)
    actual = values(tensor, inverse)
    np.testing.assert_allclose(actual[0], data / norm, 1e-4, 1e-5)
    np.testing.assert_allclose(actual[1], data * norm, 1e-4, 1e-5)
    slope = tf.gradients(tensor, tf.trainable_variables()[:2])
    assert all(np.isfinite(value).all() for value in values(*slope))


# -- legacy and embeddings


def test_the_legacy_layer():
    rows = RANDOM.standard_normal((2, 3, 4)).astype(np.float32)
    tensor = layers.legacy_relu(rows, 5, weight_regularizer=tf.reduce_sum, name="old")
    assert variables() == {"old/weights": [4, 5], "old/bias": [5]}
    assert tf.get_collection(tf.GraphKeys.ACTIVATIONS) == [tensor]
    assert tf.get_collection(tf.GraphKeys.WEIGHTS) == [tf.global_variables()[0]]
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1
    actual, weights = values(tensor, tf.global_variables()[0])
    np.testing.assert_allclose(actual, np.maximum(rows @ weights, 0), 1e-4, 1e-5)
    for source, message in [
        (tf.placeholder(tf.float32), "dims of x must be known but is None"),
        (tf.zeros([2]), "rank of x must be at least 2 not: 1"),
        (tf.placeholder(tf.float32, [2, None]), "last dimension of x must be known"),
    ]:
        with pytest.raises(ValueError, match=message):
            layers.legacy_linear(source, 2)


@pytest.mark.parametrize("unique", [False, True])
def test_sequences_are_embedded(unique):
    ids = tf.constant([[1, 2, 1], [0, 1, 1]])
    tensor = layers.embed_sequence(ids, 4, 3, unique, scope="e")
    same = layers.embed_sequence(ids, 4, 3, scope="e", reuse=True)
    assert tensor.shape.as_list() == [2, 3, 3] and variables() == {"e/embeddings": [4, 3]}
    np.testing.assert_array_equal(*values(tensor, same))
    with pytest.raises(ValueError, match="Must specify vocab size and embedding dimension"):
        layers.embed_sequence(ids)


def test_bags_of_words():
    ids = np.array([[1, 2, 0], [3, 3, 3]])
    bag = layers.bow_encoder(ids, 4, 3, scope="b")
    dense = layers.bow_encoder(ids, 4, 3, sparse_lookup=False, scope="b", reuse=True)
    actual, of_all, rows = values(bag, dense, tf.global_variables()[0])
    np.testing.assert_allclose(actual, [rows[1:3].mean(0), rows[3]], 1e-5)
    np.testing.assert_allclose(of_all, rows[ids].mean(1), 1e-5)
    with pytest.raises(TypeError, match="ids are expected to be dense Tensor"):
        layers.bow_encoder(layers.dense_to_sparse(ids), 4, 3, sparse_lookup=False)
    found = layers.safe_embedding_lookup_sparse([tf.constant(rows)], layers.dense_to_sparse(ids))
    np.testing.assert_allclose(values(found), actual, 1e-5)
