"""Further names of convolution and pooling: backwards, by rank, with places, and of rates apart.

Values and gradients of each op, window by window, are held in the walk over every op.
"""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

RANDOM = np.random.default_rng(1)
SEQUENCES, IMAGES, VOLUMES = (
    RANDOM.standard_normal(shape) for shape in [(2, 6, 3), (2, 6, 5, 3), (1, 4, 5, 4, 3)]
)


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        yield session


def same(session, one, other):
    np.testing.assert_allclose(*session.run([one, other]), 1e-9, 1e-9)


# -- backwards


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_a_transpose_is_the_gradient_of_its_convolution(session, padding, stride):
    for forward, backward, shape in (
        (tf.nn.conv1d, tf.nn.conv1d_transpose, [2, 7, 3]),
        (tf.nn.conv2d, tf.nn.conv2d_transpose, [2, 7, 6, 3]),
        (tf.nn.conv3d, tf.nn.conv3d_transpose, [2, 5, 4, 3, 3]),
    ):
        rank = len(shape) - 2
        weights = RANDOM.standard_normal([2] * rank + [3, 4])
        source = tf.constant(RANDOM.standard_normal(shape))
        convolved = forward(source, weights, [stride] * rank, padding)
        slope = tf.constant(RANDOM.standard_normal(convolved.shape.as_list()))
        (wanted,) = tf.gradients(convolved, source, slope)
        transposed = backward(slope, weights, shape, [stride] * rank, padding)
        same(session, transposed, wanted)
        by_rank = tf.nn.conv_transpose(slope, weights, tf.constant(shape), [stride] * rank, padding)
        same(session, by_rank, wanted)


def test_channels_may_come_second(session):
    weights = RANDOM.standard_normal((3, 2, 3))
    last = tf.nn.conv1d_transpose(SEQUENCES, weights, [2, 8, 2], 1, "VALID")
    second = tf.nn.conv1d_transpose(
        SEQUENCES.transpose(0, 2, 1), weights, [2, 2, 8], 1, "VALID", "NCW"
    )
    same(session, tf.transpose(second, [0, 2, 1]), last)


def test_names_are_tensorflows():
    one = tf.nn.conv1d_transpose(SEQUENCES, np.ones((3, 2, 3)), [2, 12, 2], 2)
    three = tf.nn.conv3d_transpose(VOLUMES, np.ones((2, 2, 2, 2, 3)), [1, 8, 10, 8, 2], 2)
    assert (one.name, three.name) == ("conv1d_transpose/Squeeze:0", "conv3d_transpose:0")
    names = [
        function(IMAGES, 2, 2, "SAME").name
        for function in (tf.nn.max_pool2d, tf.nn.avg_pool2d, tf.nn.max_pool_v2, tf.nn.avg_pool_v2)
    ]
    assert names == ["MaxPool2d:0", "AvgPool:0", "MaxPool:0", "AvgPool_1:0"]
    assert tf.nn.avg_pool1d(SEQUENCES, 2, 2, "SAME").name == "AvgPool1D/Squeeze:0"


def test_atrous_transpose_is_the_gradient_of_the_atrous_convolution(session):
    weights, source = RANDOM.standard_normal((3, 2, 3, 2)), tf.constant(IMAGES)
    for padding, rate in (("SAME", 2), ("VALID", 2), ("SAME", 1)):
        convolved = tf.nn.atrous_conv2d(source, weights, rate, padding)
        slope = tf.constant(RANDOM.standard_normal(convolved.shape.as_list()))
        (wanted,) = tf.gradients(convolved, source, slope)
        transposed = tf.nn.atrous_conv2d_transpose(slope, weights, IMAGES.shape, rate, padding)
        same(session, transposed, wanted)
    with pytest.raises(ValueError, match="cannot be less than one"):
        tf.nn.atrous_conv2d_transpose(IMAGES, weights, [2, 6, 5, 3], 0, "SAME")


def test_gradients_have_names_of_their_own(session):
    source, weights = tf.constant(IMAGES), tf.constant(RANDOM.standard_normal((3, 2, 3, 2)))
    convolved = tf.nn.depthwise_conv2d_native(source, weights, [1, 1, 1, 1], "SAME")
    slope = tf.constant(RANDOM.standard_normal(convolved.shape.as_list()))
    dx, dw = tf.gradients(convolved, [source, weights], slope)
    options = slope, [1, 1, 1, 1], "SAME"
    same(session, tf.nn.depthwise_conv2d_backprop_input(IMAGES.shape, weights, *options), dx)
    same(session, tf.nn.depthwise_conv2d_native_backprop_filter(source, [3, 2, 3, 2], *options), dw)
    volumes, cube = tf.constant(VOLUMES), tf.constant(RANDOM.standard_normal((2, 2, 2, 3, 2)))
    convolved = tf.nn.conv3d(volumes, cube, 1, "SAME")
    slope = tf.constant(RANDOM.standard_normal(convolved.shape.as_list()))
    gradient = tf.nn.conv3d_backprop_filter_v2(volumes, [2, 2, 2, 3, 2], slope, [1] * 5, "SAME")
    same(session, gradient, tf.gradients(convolved, cube, slope)[0])


def test_other_lengths_of_shapes_are_refused():
    with pytest.raises(ValueError, match="length 3, 4 or 5 but was 6"):
        tf.nn.conv_transpose(VOLUMES, np.ones((2, 2, 2, 2, 3)), [1, 8, 10, 8, 2, 3], 2)
    with pytest.raises(ValueError, match="output_shape must be a tensor or sized collection"):
        tf.nn.conv_transpose(VOLUMES, np.ones((2, 2, 2, 2, 3)), None, 2)


# -- pooling


@pytest.mark.parametrize("by_rank", [tf.nn.max_pool_v2, tf.nn.avg_pool_v2])
def test_pooling_by_rank(session, by_rank):
    kind = by_rank.__name__.removesuffix("_v2")
    flat = getattr(tf.nn, kind)(IMAGES, [1, 2, 3, 1], [1, 2, 1, 1], "SAME")
    same(session, by_rank(IMAGES, [2, 3], [2, 1], "SAME"), flat)
    same(
        session,
        by_rank(VOLUMES, 2, 1, "VALID"),
        getattr(tf.nn, kind + "3d")(VOLUMES, 2, 1, "VALID"),
    )
    line = getattr(tf.nn, kind + "1d")(SEQUENCES, 3, 2, "SAME")
    same(session, by_rank(SEQUENCES, 3, 2, "SAME"), line)
    images = getattr(tf.nn, kind)(SEQUENCES[:, None], [1, 1, 3, 1], [1, 1, 2, 1], "SAME")
    same(session, line, images[:, 0])
    turned = by_rank(SEQUENCES.transpose(0, 2, 1), 3, 2, "SAME", "NCW")
    same(session, tf.transpose(turned, [0, 2, 1]), line)
    with pytest.raises(ValueError, match="rank 3, 4 or 5 but was 2"):
        by_rank(SEQUENCES[0], 2, 2, "SAME")


def test_places_of_the_largest_are_tensorflows(session):
    """Of equals the first; NaN only where it is the first of a window."""
    nan, inf = np.nan, np.inf
    x = np.array([[1, nan, 3], [2, 5, 5], [5, nan, 0]], "f").reshape(1, 3, 3, 1)
    x = np.concatenate([x, np.full_like(x, -inf)])
    for whole, second in ((False, range(9)), (True, range(9, 18))):
        largest, where = session.run(
            tf.nn.max_pool_with_argmax(
                x, [1, 2, 2, 1], [1, 1, 1, 1], "SAME", include_batch_in_index=whole
            )
        )
        assert where.ravel().tolist() == [4, 1, 5, 4, 4, 5, 6, 7, 8, *second]
        np.testing.assert_array_equal(largest[0].ravel(), [5, nan, 5, 5, 5, 5, 5, nan, 0])
    _, narrow = tf.nn.max_pool_with_argmax(
        x, [1, 2, 2, 1], [1, 1, 1, 1], "SAME", output_dtype=tf.int32
    )
    assert narrow.dtype == tf.int32
    with pytest.raises(ValueError, match="NHWC"):
        tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 1, 1, 1], "SAME", data_format="NCHW")
    for name, sizes in (("ksize", (2, [1, 2, 2, 1])), ("strides", ([1, 2, 2, 1], 2))):
        with pytest.raises(TypeError, match=f"Expected list for '{name}' .*max_pool_with_argmax"):
            tf.nn.max_pool_with_argmax(x, *sizes, "SAME")


def test_places_outside_are_refused(session):
    x, where = np.ones((1, 2, 2, 1)), np.full((1, 1, 1, 1), 4)
    back = tf.raw_ops.MaxPoolGradWithArgmax(
        x, where * 1.0, where, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="outside the images"):
        session.run(back)


@pytest.mark.parametrize("kind", ["MAX", "AVG"])
def test_pooling_of_elements_apart(session, kind):
    reduce = {"MAX": np.max, "AVG": np.mean}[kind]
    pooled = tf.nn.pool(IMAGES, [2, 2], kind, "VALID", dilation_rate=[3, 2])
    corners = [IMAGES[:, y : y + 3, x : x + 3] for y in (0, 3) for x in (0, 2)]
    np.testing.assert_allclose(session.run(pooled), reduce(corners, axis=0), 1e-12)
    line = tf.nn.pool(SEQUENCES, [2], kind, "VALID", dilations=[4])
    ends = [SEQUENCES[:, :2], SEQUENCES[:, 4:]]
    np.testing.assert_allclose(session.run(line), reduce(ends, axis=0), 1e-12)
    for options in ({"strides": [2, 1]}, {"padding": "SAME"}):
        with pytest.raises(ValueError, match="dilation_rate > 1"):
            tf.nn.pool(
                IMAGES, [2, 2], kind, **{"padding": "VALID", "dilation_rate": [2, 1], **options}
            )


# -- rates by batches


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("known", [True, False])
def test_space_to_batch_makes_a_convolution_atrous(session, padding, known):
    weights = RANDOM.standard_normal((3, 2, 3, 2))

    def convolve(batches, count, inner):
        assert (count, inner) == (2, "VALID")
        return tf.nn.conv2d(batches, weights, 1, inner)

    rate = np.array([2, 1], np.int32)
    rates = rate if known else tf.placeholder_with_default(rate, [2])
    convolved = tf.nn.with_space_to_batch(IMAGES, rates, padding, convolve, weights.shape)
    same(session, convolved, tf.nn.convolution(IMAGES, weights, padding, dilation_rate=[2, 1]))


@pytest.mark.parametrize("known", [True, False])
def test_rates_of_some_dimensions(session, known):
    rate = np.array([2], np.int32)
    rates = rate if known else tf.placeholder_with_default(rate, [1])
    weights = RANDOM.standard_normal((1, 2, 3, 2))
    convolved = tf.nn.with_space_to_batch(
        IMAGES, rates, "SAME", lambda x, n, padding: tf.nn.conv2d(x, weights, 1, padding), [2],
        spatial_dims=[2],
    )  # fmt: skip
    same(session, convolved, tf.nn.convolution(IMAGES, weights, "SAME", dilation_rate=[1, 2]))


def test_wrong_rates_are_refused():
    for what, rate, padding, options in (
        ("filter_shape must be specified", [2, 3], "SAME", {}),
        ("must be positive", [0, 3], "VALID", {}),
        ("Invalid padding", [2, 2], "FULL", {}),
        ("monotonically increasing", [2, 2], "VALID", {"spatial_dims": [2, 1]}),
        ("1 rates", [2], "VALID", {"spatial_dims": [1, 2]}),
    ):
        with pytest.raises(ValueError, match=what):
            tf.nn.with_space_to_batch(IMAGES, rate, padding, lambda x, n, p: x, **options)


def test_required_paddings(session):
    block = np.array([5, 2], np.int32)
    for block_shape in (block, tf.placeholder_with_default(block, [2])):
        tensors = tf.required_space_to_batch_paddings([11, 10], block_shape, [[1, 0], [0, 3]])
        paddings, crops = session.run(tensors)
        assert paddings.tolist() == [[1, 3], [0, 4]]
        assert crops.tolist() == [[0, 3], [0, 1]]


# -- morphology


def test_erosion_is_dilation_upside_down(session):
    kernel = RANDOM.standard_normal((3, 2, 3))
    eroded = tf.nn.erosion2d(IMAGES, kernel, [1, 2, 1, 1], [1, 1, 2, 1], "VALID")
    result = session.run(eroded)
    assert eroded.name == "erosion2d/Neg_1:0"
    for r, c in np.ndindex(result.shape[1:3]):
        window = IMAGES[:, 2 * r : 2 * r + 3, c : c + 3 : 2]
        wanted = (window - kernel[::-1, ::-1]).min(axis=(1, 2))
        np.testing.assert_allclose(result[:, r, c], wanted, 1e-12)


def test_nan_is_never_the_largest_sum(session):
    x = np.array([np.nan, 1.0, 2.0]).reshape(1, 1, 3, 1)
    dilated = tf.nn.dilation2d(x, np.zeros((1, 2, 1)), [1] * 4, [1] * 4, "VALID")
    assert session.run(dilated).ravel().tolist() == [1, 2]


# -- small ones


def test_log_poisson_loss(session):
    targets, rates = np.array([0.5, 2.0, 3.0]), np.array([0.1, -1.0, 2.0])
    plain = np.exp(rates) - rates * targets
    np.testing.assert_allclose(session.run(tf.nn.log_poisson_loss(targets, rates)), plain, 1e-12)
    stirling = targets * np.log(targets) - targets + 0.5 * np.log(2 * np.pi * targets)
    losses = session.run(tf.nn.log_poisson_loss(targets, rates, True))
    np.testing.assert_allclose(losses, plain + stirling * [0, 1, 1], 1e-12)
    with pytest.raises(ValueError, match="same shape"):
        tf.nn.log_poisson_loss(targets, rates[:2])


def test_relu_layer(session):
    outputs = tf.nn.relu_layer([[1.0, 2.0]], [[1.0, -1.0], [1.0, -1.0]], [0.5, 0.5])
    assert outputs.name == "relu_layer:0"
    assert session.run(outputs).tolist() == [[3.5, 0.0]]
