"""tf.nn.conv2d, its transpose, convolution by channel, and pooling: arguments and whole results.

Values and gradients of each op, window by window, are held in the walk over every op.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.ops.nn.windows.window_geometry import WindowAxis


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


RANDOM = np.random.default_rng(1)
IMAGES = RANDOM.standard_normal((2, 7, 6, 3))
FILTER = RANDOM.standard_normal((3, 2, 3, 4))


def value(*tensors):
    with tf.Session() as session:
        return session.run(list(tensors))


# -- geometry


@given(
    st.integers(0, 9), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3),
    st.integers(0, 3), st.integers(0, 6), st.data(),
)  # fmt: skip
def test_spans_are_what_the_windows_see(size, window, stride, dilation, before, out, data):
    axis = WindowAxis(size, window, stride, dilation, before, out)
    start = data.draw(st.integers(0, out))
    stop = data.draw(st.integers(start, out))
    leaves = False
    for element in range(window):
        seen = {place: place * stride + element * dilation - before for place in range(start, stop)}
        inside = {place: pixel for place, pixel in seen.items() if 0 <= pixel < size}
        leaves |= any(not 0 <= place * stride + element * dilation - before < size
                      for place in range(out))  # fmt: skip
        windows, positions = axis.span(element, start, stop)
        assert list(range(stop - start))[windows] == [place - start for place in inside]
        assert list(range(size))[positions] == list(inside.values())
    assert axis.reaches_out == leaves


# -- conv2d


def test_arguments_have_several_forms():
    whole = tf.nn.conv2d(IMAGES, FILTER, [1, 2, 2, 1], "SAME")
    assert whole.op.name == "Conv2D"
    others = [
        tf.nn.conv2d(IMAGES, FILTER, 2, "SAME"),
        tf.nn.conv2d(IMAGES, FILTER, [2, 2], "SAME"),
        tf.nn.conv2d(IMAGES, filters=FILTER, strides=[2], padding="SAME", name="mine"),
        tf.nn.conv2d(IMAGES, FILTER, 2, [[0, 0], [1, 1], [0, 0], [0, 0]]),
    ]
    assert others[-2].op.name == "mine"
    assert others[-1].op.attrs["padding"] in ("EXPLICIT", b"EXPLICIT")
    for other in others:
        np.testing.assert_array_equal(*value(whole, other))


def test_shapes_that_are_partly_known():
    x = tf.placeholder(tf.float32, [None, None, 6, 3])
    assert tf.nn.conv2d(x, FILTER.astype("f"), 2, "SAME").shape.as_list() == [None, None, 3, 4]
    assert tf.nn.conv2d(x, FILTER.astype("f"), 1, "VALID").shape.as_list() == [None, None, 5, 4]
    w = tf.placeholder(tf.float32, [None, None, 3, 4])
    assert tf.nn.conv2d(x, w, 2, "SAME").shape.as_list() == [None, None, 3, 4]
    assert tf.nn.conv2d(x, w, 2, "VALID").shape.as_list() == [None, None, None, 4]
    assert tf.nn.max_pool(tf.placeholder(tf.float32), 2, 2, "SAME").shape.rank == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"padding": "same"}, "'padding' of 'Conv2D' Op passed string 'same' not in: \"SAME\""),
        ({"padding": None}, "padding must be"),
        ({"padding": [[1, 1]]}, "for each of the 4 dimensions"),
        ({"padding": [[1, 1], [0, 0], [0, 0], [0, 0]]}, "pad batch or channels"),
        ({"padding": [[0, 0], [-1, 0], [0, 0], [0, 0]]}, "explicit_paddings must be nonnegative"),
        ({"strides": [1, 2, 3]}, "strides should be of length 1, 2 or 4"),
        ({"strides": 0}, "strides must be positive"),
        ({"data_format": "HWC"}, "data_format must be"),
        (
            {"data_format": "NCHW"},
            r"Depth of input \(7\) is not a multiple of input depth of filter \(3\)",
        ),
        (
            {"filter": FILTER[:, :, :2]},
            r"Depth of input \(3\) is not a multiple of input depth of filter \(2\)",
        ),
        ({"filter": FILTER[0]}, r"Shape must be rank 4 but is rank 3 for .*\(filter\)"),
        ({"filter": None}, "Must specify 'filters'"),
        ({"filters": FILTER}, "Cannot specify both"),
        ({"dilations": 4, "padding": "VALID"}, "Negative dimension size .* subtracting 9 from 7"),
    ],
)
def test_what_is_refused(arguments, message):
    all_arguments = {"filter": FILTER, "strides": 1, "padding": "SAME", **arguments}
    with pytest.raises(ValueError, match=message):
        tf.nn.conv2d(IMAGES, **all_arguments)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_both_formats_give_the_same(padding):
    turned = IMAGES.transpose(0, 3, 1, 2)
    pairs = [
        (tf.nn.conv2d(x, FILTER, 2, padding, data_format=f)) for x, f in
        ((IMAGES, "NHWC"), (turned, "NCHW"))
    ] + [
        tf.nn.max_pool(x, [3, 2], 2, padding, data_format=f) for x, f in
        ((IMAGES, "NHWC"), (turned, "NCHW"))
    ]  # fmt: skip
    last, first, most, most_first = value(*pairs)
    np.testing.assert_allclose(first.transpose(0, 2, 3, 1), last)
    np.testing.assert_array_equal(most_first.transpose(0, 2, 3, 1), most)


def test_a_large_image_in_many_tiles_is_as_its_parts():
    """Rows of windows in separate tiles, and images in separate tiles, give the same as one
    tile.
    """
    x = RANDOM.standard_normal((3, 200, 90, 8)).astype(np.float32)
    w = RANDOM.standard_normal((3, 3, 8, 4)).astype(np.float32)
    y = tf.nn.conv2d(x, w, 1, "SAME")
    dy = RANDOM.standard_normal(y.shape.as_list()).astype(np.float32)
    inputs = [tf.constant(x), tf.constant(w)]
    dx, dw = tf.gradients(tf.nn.conv2d(*inputs, 1, "SAME"), inputs, dy)
    padded = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
    wanted = sum(padded[:, i : i + 200, j : j + 90] @ w[i, j] for i in range(3) for j in range(3))
    slopes = [
        [np.einsum("nhwc,nhwo->co", padded[:, i : i + 200, j : j + 90], dy) for j in range(3)]
        for i in range(3)
    ]
    back = np.zeros_like(padded)
    for i in range(3):
        for j in range(3):
            back[:, i : i + 200, j : j + 90] += dy @ w[i, j].T
    results = value(y, dx, dw)
    np.testing.assert_allclose(results[0], wanted, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(results[1], back[:, 1:-1, 1:-1], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(results[2], slopes, rtol=1e-3, atol=2e-2)


def test_a_filter_learns_to_see_edges():
    x = RANDOM.standard_normal((4, 8, 8, 1)).astype(np.float32)
    target = x[:, :, 1:] - x[:, :, :-1]
    w = tf.Variable(tf.zeros([1, 2, 1, 1]))
    loss = tf.reduce_mean(tf.square(tf.nn.conv2d(x, w, 1, "VALID") - target))
    step = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(40):
            session.run(step)
        np.testing.assert_allclose(session.run(w).reshape(-1), [-1, 1], atol=1e-2)


# -- its like


def test_transposed_is_the_gradient_by_the_images():
    y = tf.placeholder(tf.float64, [None, 4, 3, 4])
    shape = tf.stack([tf.shape(y)[0], 7, 6, 3])
    transposed = tf.nn.conv2d_transpose(y, FILTER, shape, 2)
    assert transposed.op.name == "conv2d_transpose" and transposed.shape.as_list() == [
        None,
        7,
        6,
        3,
    ]
    x = tf.constant(IMAGES)
    dy = RANDOM.standard_normal((2, 4, 3, 4))
    (wanted,) = tf.gradients(tf.nn.conv2d(x, FILTER, 2, "SAME"), x, dy)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(transposed, {y: dy}), session.run(wanted))
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        tf.nn.conv2d_transpose(tf.zeros([3, 4, 3, 4], tf.float64), FILTER, [2, 7, 6, 3], 2)


def test_the_gradients_have_functions():
    x, w = tf.constant(IMAGES), tf.constant(FILTER)
    dy = RANDOM.standard_normal((2, 7, 6, 4))
    dx, dw = tf.gradients(tf.nn.conv2d(x, w, 1, "SAME"), [x, w], dy)
    same = tf.nn.conv2d_backprop_input([2, 7, 6, 3], w, dy, 1, "SAME")
    also = tf.nn.conv2d_backprop_filter(x, [3, 2, 3, 4], dy, 1, "SAME")
    gradients = value(dx, dw, same, also)
    np.testing.assert_array_equal(gradients[0], gradients[2])
    np.testing.assert_array_equal(gradients[1], gradients[3])


def test_by_channel_and_separable():
    w = RANDOM.standard_normal((3, 2, 3, 2))
    mix = RANDOM.standard_normal((1, 1, 6, 5))
    by_channel = tf.nn.depthwise_conv2d(IMAGES, w, [1, 1, 1, 1], "SAME")
    assert by_channel.op.name == "depthwise" and by_channel.shape.as_list() == [2, 7, 6, 6]
    both = tf.nn.separable_conv2d(IMAGES, w, mix, [1, 1, 1, 1], "SAME")
    assert both.op.name == "separable_conv2d"
    native = tf.nn.depthwise_conv2d_native(IMAGES, w, [1, 1, 1, 1], "SAME")
    channels = [
        tf.nn.conv2d(IMAGES[..., i : i + 1], w[:, :, i : i + 1], 1, "SAME") for i in range(3)
    ]
    first, second, third, *others = value(by_channel, both, native, *channels)
    np.testing.assert_allclose(first, np.concatenate(others, -1))
    np.testing.assert_array_equal(first, third)
    np.testing.assert_allclose(second, first @ mix[0, 0])
    apart = tf.nn.depthwise_conv2d(IMAGES, w, [1, 1, 1, 1], "VALID", rate=[2, 2])
    assert apart.shape.as_list() == [2, 3, 4, 6]
    with pytest.raises(ValueError, match=r"must be of size \[1, 1\]"):
        tf.nn.separable_conv2d(IMAGES, w, FILTER, [1, 1, 1, 1], "SAME")
    with pytest.raises(ValueError, match="both 'rate' and 'dilations'"):
        tf.nn.depthwise_conv2d(IMAGES, w, [1, 1, 1, 1], "SAME", rate=[2, 2], dilations=[2, 2])


STRIDES = r"does not yet support strides in the batch and depth dimensions: strides is \[2, 1,"
NEGATIVE = "All elements of explicit_paddings must be nonnegative"
SLOPES = RANDOM.standard_normal((2, 7, 6, 4))
PADDED = [[0, 0], [-1, 1], [1, 1], [0, 0]]


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (
            lambda: tf.nn.conv2d(IMAGES, FILTER, [2, 1, 1, 1], "SAME"),
            tf.errors.InvalidArgumentError,
            STRIDES,
        ),
        (
            lambda: tf.nn.conv2d_backprop_input([2, 7, 6, 3], FILTER, SLOPES, [1] * 4, PADDED),
            tf.errors.InvalidArgumentError,
            NEGATIVE,
        ),
        (
            lambda: tf.nn.conv2d_backprop_filter(
                IMAGES, list(FILTER.shape), SLOPES, [1] * 4, PADDED
            ),
            tf.errors.InvalidArgumentError,
            NEGATIVE,
        ),
        (
            lambda: tf.nn.conv2d(np.ones((1, 4, 4, 6)), np.ones((2, 2, 3, 4)), 1, "SAME"),
            tf.errors.UnimplementedError,
            "grouped convolutions .* has 6 channels and the filter 3",
        ),
        (
            lambda: tf.nn.max_pool(IMAGES, [2, 2, 2, 1], 1, "SAME"),
            tf.errors.UnimplementedError,
            r"not yet supported on the batch dimension: ksize is \[2, 2",
        ),
        (
            lambda: tf.nn.avg_pool(IMAGES, 2, [2, 1, 1, 1], "SAME"),
            tf.errors.UnimplementedError,
            "not yet supported on the batch",
        ),
        (
            lambda: tf.nn.avg_pool(IMAGES, [1, 2, 2, 3], 1, "SAME"),
            tf.errors.UnimplementedError,
            "Non-spatial pooling is not yet supported",
        ),
    ],
)
def test_what_only_a_run_refuses(function, error, message):
    with pytest.raises(error, match=message):
        value(function())


def test_groups_have_a_static_shape():
    x = tf.placeholder(tf.float32, [None, 4, 4, 6])
    assert tf.nn.conv2d(x, np.ones((2, 2, 3, 4), "f"), 2, "SAME").shape.as_list() == [None, 2, 2, 4]


# -- pooling


def test_pooling_has_its_arguments_in_several_forms():
    forms = [
        tf.nn.max_pool(IMAGES, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        tf.nn.max_pool(IMAGES, 2, 2, "VALID"),
        tf.nn.max_pool(value=None, ksize=[2, 2], strides=[2], padding="VALID", input=IMAGES),
    ]
    assert forms[0].op.name == "MaxPool"
    first, *others = value(*forms)
    for other in others:
        np.testing.assert_array_equal(other, first)
    assert tf.nn.avg_pool(IMAGES, 2, 1, "VALID", name="mine").op.name == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ksize": 9}, "subtracting 9 from 7"),
        ({"padding": "EXPLICIT"}, "passed string 'EXPLICIT' not in: "),
        ({"data_format": "X"}, "data_format must be"),
    ],
)
@pytest.mark.parametrize("pool", ["max_pool", "avg_pool"])
def test_what_pooling_refuses(pool, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(tf.nn, pool)(
            IMAGES, **{"ksize": 2, "strides": 1, "padding": "VALID", **arguments}
        )  # fmt: skip


@given(st.lists(st.integers(-2, 2), min_size=12, max_size=12))
@settings(max_examples=25)
def test_of_equal_elements_the_first_has_the_gradient(pixels):
    image = np.array(pixels, np.float32).reshape(1, 3, 4, 1)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(image)
        (dx,) = tf.gradients(tf.nn.max_pool(x, [3, 4], 1, "VALID"), x)
        gradient = session.run(dx).reshape(-1)
    wanted = np.zeros(12)
    wanted[int(np.argmax(pixels))] = 1
    assert gradient.tolist() == wanted.tolist()


# -- normalization


@pytest.mark.parametrize("offset", [None, [1.0, 2.0, 3.0]])
@pytest.mark.parametrize("scale", [None, [0.5, 2.0, -1.0]])
def test_batch_normalization(offset, scale):
    mean, variance = tf.nn.moments(tf.constant(IMAGES), [0, 1, 2])
    offset, scale = (None if vector is None else np.array(vector) for vector in (offset, scale))
    normalized = tf.nn.batch_normalization(IMAGES, mean, variance, offset, scale, 1e-3)
    assert normalized.op.name == "batchnorm/add_1"
    x = IMAGES.reshape(-1, 3)
    wanted = (IMAGES - x.mean(0)) / np.sqrt(x.var(0) + 1e-3)
    wanted = wanted * (1 if scale is None else scale) + (0 if offset is None else offset)
    np.testing.assert_allclose(value(normalized)[0], wanted, rtol=1e-6, atol=1e-9)


def test_a_dilated_window_as_wide_as_the_images_sees_beyond_them():
    """Two columns, two apart, of images of two columns: the second is outside."""
    images, kernel = IMAGES[:, :, :2], FILTER
    dilated = tf.nn.conv2d(images, kernel, [1, 1, 2, 1], "SAME", dilations=[1, 1, 2, 1])
    alone = tf.nn.conv2d(images[:, :, :1], kernel[:, :1], [1, 1, 1, 1], "SAME")
    result, expected = value(dilated, alone)
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_sizes_that_do_not_fit_a_transposed_convolution_fail_in_a_run():
    with tf.Graph().as_default(), tf.Session() as session:
        images, kernel = tf.zeros([2, 10, 10, 3]), tf.zeros([5, 5, 4, 3])
        result = tf.nn.conv2d_transpose(images, kernel, [2, 25, 25, 4], [1, 2, 2, 1])
        assert result.shape.as_list() == [2, 25, 25, 4]
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(result)
