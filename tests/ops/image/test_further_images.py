"""Images: how alike they are, edges, colours of television, boxes and glimpses."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

RANDOM = np.random.default_rng(3)
IMAGES = RANDOM.random((2, 14, 15, 3), np.float32)
OTHERS = RANDOM.random((2, 14, 15, 3), np.float32)
BOXES = np.float32([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 2.6, 1, 3.6]])
SCORES = np.float32([0.5, 0.75, 0.25, 0.875])


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetch, feeds=None):
    with tf.Session() as session:
        return session.run(fetch, feeds)


def windows(image, size):
    """Return [rows, columns, size * size] of [h, w]: the contents of the window at each place."""
    views = np.lib.stride_tricks.sliding_window_view(image.astype(float), (size, size))
    return views.reshape(*views.shape[:2], -1)


def similarity(one, other, most, size=11, sigma=1.5, k1=0.01, k2=0.03):
    """SSIM of two images [h, w] by weighted means, variances and the covariance of windows."""
    bell = np.exp(-((np.arange(size) - (size - 1) / 2) ** 2) / (2 * sigma**2))
    weights = np.outer(bell, bell).reshape(-1) / bell.sum() ** 2
    x, y = windows(one, size), windows(other, size)
    mx, my = x @ weights, y @ weights
    vx, vy = (x - mx[..., None]) ** 2 @ weights, (y - my[..., None]) ** 2 @ weights
    both = ((x - mx[..., None]) * (y - my[..., None])) @ weights
    c1, c2 = (k1 * most) ** 2, (k2 * most) ** 2
    structure = (2 * both + c2) / (vx + vy + c2)
    whole = structure * (2 * mx * my + c1) / (mx**2 + my**2 + c1)
    return whole.mean(), structure.mean()


def of_channels(one, other, *args, **kwargs):
    pairs = [similarity(one[..., c], other[..., c], *args, **kwargs) for c in range(one.shape[2])]
    return np.array(pairs)


def test_ssim_is_what_windows_have_in_common():
    result = run(tf.image.ssim(IMAGES, OTHERS, 1.0))
    wanted = [of_channels(*pair, 1.0)[:, 0].mean() for pair in zip(IMAGES, OTHERS)]
    np.testing.assert_allclose(result, wanted, atol=1e-5)
    np.testing.assert_allclose(run(tf.image.ssim(IMAGES, IMAGES, 1.0)), [1, 1], atol=1e-6)


def test_ssim_of_bytes_and_of_open_shapes():
    whole = [np.uint8(255 * array) for array in (IMAGES, OTHERS)]
    fed = [tf.placeholder(tf.uint8) for _ in range(2)]
    how = {"filter_size": 5, "filter_sigma": 1.0, "k1": 0.02, "k2": 0.05}
    result = run(tf.image.ssim(*fed, 255, **how), dict(zip(fed, whole)))
    args = {"size": 5, "sigma": 1.0, "k1": 0.02, "k2": 0.05}
    wanted = [of_channels(*pair, 255.0, **args)[:, 0].mean() for pair in zip(*whole)]
    np.testing.assert_allclose(result, wanted, atol=1e-4)
    with pytest.raises(ValueError, match="3 dimensions"):
        tf.image.ssim(IMAGES[0, 0], IMAGES[0, 0], 1)
    with pytest.raises(ValueError):
        tf.image.ssim(IMAGES, OTHERS[:, :13], 1)


def halved(image):
    """Means of two by two pixels, an odd last row or column counted twice."""
    padded = np.pad(image, [(0, n % 2) for n in image.shape[:2]] + [(0, 0)], mode="symmetric")
    parts = padded[::2, ::2], padded[1::2, ::2], padded[::2, 1::2], padded[1::2, 1::2]
    return sum(parts) / 4


@pytest.mark.parametrize("shape", [None, (1, 14, 15, 3)])
def test_ssim_of_several_sizes_multiplies_powers(shape):
    one, other = IMAGES[0], 0.8 * IMAGES[0] + 0.2 * OTHERS[0]
    powers = 0.3, 0.3, 0.4
    wanted = np.ones(3)
    small = one, other
    for turn, power in enumerate(powers):
        small = tuple(map(halved, small)) if turn else small
        column = 0 if turn == 2 else 1
        wanted *= of_channels(*small, 1.0, size=3)[:, column] ** power
    fed = [tf.placeholder(tf.float32, shape) for _ in range(2)]
    result = tf.image.ssim_multiscale(*fed, 1.0, powers, filter_size=3)
    assert run(result, dict(zip(fed, (one[None], other[None])))) == pytest.approx(
        wanted.mean(), 1e-4
    )


def test_ssim_has_gradients():
    images = tf.constant(IMAGES[:1, :5, :6])
    for measure in (tf.image.ssim, tf.image.ssim_multiscale):
        options = {} if measure is tf.image.ssim else {"power_factors": (0.5, 0.5)}
        with tf.Session():
            value = measure(
                images, OTHERS[:1, :5, :6] * 0.1 + images, 1.0, filter_size=2, **options
            )
            error = tf.test.compute_gradient_error(
                images, [1, 5, 6, 3], value, [1], IMAGES[:1, :5, :6]
            )
        assert error < 5e-3


def test_sobel_edges_are_those_of_mirrored_images():
    image = np.pad(IMAGES, [(0, 0), (1, 1), (1, 1), (0, 0)], mode="reflect").astype(float)
    rows = image[:, :, :-2] + 2 * image[:, :, 1:-1] + image[:, :, 2:]
    columns = image[:, :-2] + 2 * image[:, 1:-1] + image[:, 2:]
    wanted = rows[:, 2:] - rows[:, :-2], columns[:, :, 2:] - columns[:, :, :-2]
    result = tf.image.sobel_edges(IMAGES)
    np.testing.assert_allclose(run(result), np.stack(wanted, -1), atol=1e-5)
    assert result.shape.as_list() == [2, 14, 15, 3, 2]
    with pytest.raises(ValueError, match="b, h, w, c"):
        tf.image.sobel_edges(IMAGES[0])


@pytest.mark.parametrize(
    ("there", "back", "luma"),
    [("rgb_to_yiq", "yiq_to_rgb", 0.211), ("rgb_to_yuv", "yuv_to_rgb", 0.615)],
)
def test_television_colours_go_there_and_back(there, back, luma):
    changed = getattr(tf.image, there)(IMAGES)
    np.testing.assert_allclose(run(getattr(tf.image, back)(changed)), IMAGES, atol=1e-4)
    red = run(getattr(tf.image, there)(np.float64([[1, 0, 0]])))
    assert red.dtype == np.float64
    np.testing.assert_allclose(red[0, [0, 2]], [0.299, luma], atol=1e-3)
    np.testing.assert_allclose(run(changed)[..., 0], IMAGES @ [0.299, 0.587, 0.114], atol=1e-5)


# -- boxes


def test_chosen_boxes_come_with_scores_or_padded():
    values, count = tf.image.non_max_suppression_padded(
        BOXES, SCORES, 3, pad_to_max_output_size=True
    )
    assert [array.tolist() for array in run([values, count])] == [[3, 1, 2], 3]
    assert values.shape.as_list() == [3]
    assert values.op.name == "non_max_suppression_padded/NonMaxSuppressionV4"
    hard = tf.image.non_max_suppression_with_scores(BOXES, SCORES, 4, score_threshold=0.3)
    assert [array.tolist() for array in run(hard)] == [[3, 1], [0.875, 0.75]]
    soft = tf.image.non_max_suppression_with_scores(BOXES, SCORES, 4, soft_nms_sigma=0.5)
    indices, scores = run(soft)
    assert indices.tolist() == [3, 1, 0, 2]
    share = 0.9 / 1.1
    assert scores[2] == pytest.approx(0.5 * np.exp(-share * share), rel=1e-5)
    overlaps = np.float32([[1, 0.6, 0], [0.6, 1, 0.6], [0, 0.6, 1]])
    chosen = tf.image.non_max_suppression_overlaps(overlaps, SCORES[:3], 3, 0.5)
    assert run(chosen).tolist() == [1]


def test_the_best_of_all_classes_are_padded_with_zeros():
    result = tf.image.combined_non_max_suppression(
        BOXES[None, :, None], np.stack([SCORES, SCORES[::-1]], -1)[None], 1, 3, clip_boxes=False
    )
    boxes, scores, classes, count = run(list(result))
    assert boxes.tolist() == [[BOXES[3].tolist(), BOXES[0].tolist(), [0] * 4]]
    assert [array.tolist() for array in (scores, classes, count)] == [
        [[0.875, 0.875, 0]],
        [[0, 1, 0]],
        [2],
    ]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: tf.image.non_max_suppression_with_scores(BOXES, SCORES, 4, 1.5), "iou_threshold"),
        (lambda: tf.image.non_max_suppression_padded(BOXES, SCORES, -1), "negative"),
        (
            lambda: tf.image.non_max_suppression_with_scores(BOXES, SCORES, 4, soft_nms_sigma=-1.0),
            "soft_nms_sigma",
        ),
        (
            lambda: tf.image.combined_non_max_suppression(
                BOXES[None, :, None], SCORES[None, :, None], 0, 3
            ),
            "must be positive",
        ),
        (
            lambda: tf.image.sample_distorted_bounding_box([9, 9, 3], np.float32([[[0, 0, 1, 2]]])),
            r"must be in \[0, 1\]",
        ),
        (
            lambda: tf.image.sample_distorted_bounding_box([9, 9, 3], np.zeros((1, 0, 4))),
            "use_image_if_no_bounding_boxes",
        ),
        (
            lambda: tf.image.sample_distorted_bounding_box(
                [9, 9, 3], np.float32([[[0, 0, 1, 1]]]), area_range=[0.5, 2]
            ),
            "area_range",
        ),
    ],
)
def test_limits_that_make_no_sense_are_refused_in_a_run(make, says):
    with pytest.raises(tf.errors.InvalidArgumentError, match=says):
        result = make()
        run(list(result) if isinstance(result, tuple) else result)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.image.non_max_suppression_padded(BOXES[:, :3], SCORES, 1),
        lambda: tf.image.non_max_suppression_padded(BOXES, SCORES[:2], 1),
        lambda: tf.image.non_max_suppression_overlaps(np.zeros((2, 3), np.float32), SCORES, 1),
        lambda: tf.image.combined_non_max_suppression(
            np.zeros((1, 4, 3, 4)), np.zeros((1, 4, 2)), 1, 1
        ),
        lambda: tf.image.draw_bounding_boxes(IMAGES, BOXES[None]),
        lambda: tf.image.draw_bounding_boxes(IMAGES[..., :2], np.zeros((2, 1, 4))),
        lambda: tf.image.draw_bounding_boxes(IMAGES, np.zeros((2, 1, 4)), colors=[[1.0]]),
        lambda: tf.image.extract_glimpse(IMAGES, [2, 2], np.zeros((3, 2))),
        lambda: tf.image.sample_distorted_bounding_box([9, 9], np.zeros((1, 1, 4))),
    ],
)
def test_shapes_that_do_not_fit_are_refused(make):
    with pytest.raises(ValueError):
        make()


def test_parts_by_chance_are_tensorflows():
    """The numbers of TensorFlow's own op for these seeds."""
    boxes = np.float32([[[0.1, 0.2, 0.6, 0.9]]])
    result = tf.image.sample_distorted_bounding_box(
        [40, 60, 3], boxes, 3, 4, 0.5, [0.75, 1.33], [0.1, 0.9], 5, name="part"
    )
    begin, size, box = run(list(result))
    assert (begin.tolist(), size.tolist()) == ([3, 7, 0], [36, 46, -1])
    np.testing.assert_allclose(box, [[[3 / 40, 7 / 60, 39 / 40, 53 / 60]]], atol=1e-6)
    assert result[0].op.name == "part/part"
    one = tf.image.sample_distorted_bounding_box([40, 60, 3], boxes, seed=3)
    assert [array.tolist() for array in run(list(one)[:2])] == [[0, 23, 0], [37, 30, -1]]


def test_glimpses_are_noise_outside_of_the_image():
    image = np.full((1, 4, 4, 2), 5, np.float32)
    image[0, ..., 1] = np.arange(16).reshape(4, 4)
    away = np.float32([[5, 5]])
    uniform = run(tf.image.extract_glimpse(image, [3, 3], away))
    assert uniform.min() >= 0 and uniform.max() <= 15 and uniform.std() > 0
    normal = run(tf.image.extract_glimpse(image, [60, 60], away, uniform_noise=False))[0]
    np.testing.assert_allclose(normal[..., 0], 5)
    assert normal[..., 1].mean() == pytest.approx(7.5, abs=0.5)
    assert normal[..., 1].std() == pytest.approx(np.arange(16).std(), rel=0.1)
    inside = run(tf.image.extract_glimpse(image, [2, 2], [[0, 0]]))
    assert np.array_equal(inside, image[:, 1:3, 1:3])


def test_a_random_crop_is_part_of_the_image():
    assert tf.image.random_crop is tf.random_crop
    assert run(tf.image.random_crop(IMAGES, [1, 2, 3, 3], seed=1)).shape == (1, 2, 3, 3)
    how = [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"
    result = run([tf.image.extract_patches(IMAGES, *how), tf.extract_image_patches(IMAGES, *how)])
    assert np.array_equal(*result)
