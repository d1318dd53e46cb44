"""Images: sizes, turns, cuts, colours and measures, their gradients, names and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches, feeds=None):
    with tf.Session() as session:
        return session.run(fetches, feeds)


def random(*shape, low=-1.0):
    return np.random.default_rng(len(shape)).uniform(low, 1, shape).astype(np.float32)


IMAGES = random(2, 4, 5, 3)
IMAGE = IMAGES[0]
METHODS = ["bilinear", "nearest_neighbor", "bicubic", "area"]


class TestResize:
    @pytest.mark.parametrize("method", METHODS)
    def test_names_shapes_and_flat_images(self, method):
        tensor = getattr(tf.image, f"resize_{method}")(np.full((1, 3, 4, 2), 7.0), [5, 2])
        assert tensor.shape.as_list() == [1, 5, 2, 2]
        assert (
            tensor.op.name
            == {
                "bilinear": "ResizeBilinear",
                "nearest_neighbor": "ResizeNearestNeighbor",
                "bicubic": "ResizeBicubic",
                "area": "ResizeArea",
            }[method]
        )
        np.testing.assert_allclose(run(tensor), 7, rtol=1e-6)

    def test_by_hand(self):
        row = np.arange(4, dtype=np.float32).reshape(1, 1, 4, 1)
        result = run(
            [
                tf.image.resize_bilinear(row, [1, 8]),
                tf.image.resize_bilinear(row, [1, 7], align_corners=True),
                tf.image.resize_bilinear(row, [1, 2], half_pixel_centers=True),
                tf.image.resize_nearest_neighbor(row, [1, 2]),
                tf.image.resize_area(row, [1, 2]),
            ]
        )
        wanted = [
            [0, 0.5, 1, 1.5, 2, 2.5, 3, 3],
            [0, 0.5, 1, 1.5, 2, 2.5, 3],
            [0.5, 2.5],
            [0, 2],
            [0.5, 2.5],
        ]
        for image, right in zip(result, wanted, strict=True):
            np.testing.assert_allclose(image.reshape(-1), right, atol=1e-6)

    @pytest.mark.parametrize("method", METHODS[:3])
    @pytest.mark.parametrize("mode", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
    @pytest.mark.parametrize("known", [True, False])
    def test_gradient_is_the_transpose(self, method, mode, known):
        x = tf.placeholder(tf.float32, IMAGES.shape if known else None)
        y = getattr(tf.image, f"resize_{method}")(x, [7, 3], **mode)
        weights = tf.constant(random(2, 7, 3, 3))
        grad = tf.gradients(y, x, weights)[0]
        # of a linear function f: sum(weights * f(x)) = sum(x * gradient)
        left, right = run([tf.reduce_sum(weights * y), tf.reduce_sum(grad * x)], {x: IMAGES})
        assert left == pytest.approx(right, rel=1e-4)

    @pytest.mark.parametrize("method", METHODS[:3])
    def test_gradient_of_the_gradient(self, method):
        x = tf.constant(IMAGES)
        start = tf.constant(random(2, 7, 3, 3))
        y = getattr(tf.image, f"resize_{method}")(x, [7, 3])
        again = tf.gradients(tf.gradients(y, x, start)[0], start, x)[0]
        np.testing.assert_allclose(*run([again, y]), rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize("method", range(4))
    def test_resize_images(self, method):
        tensor = tf.image.resize_images(IMAGE, [6, 3], method)
        assert tensor.op.name == "resize/Squeeze"
        batch = tf.image.resize_images(IMAGE[None], [6, 3], method)
        np.testing.assert_array_equal(*run([tensor, batch[0]]))
        kept = tf.image.resize_images(IMAGES, [8, 8], method, preserve_aspect_ratio=True)
        assert kept.shape.as_list() == [2, 6, 8, 3]

    def test_the_same_size_is_the_same_image(self):
        x = tf.zeros([4, 5, 3], tf.uint8)
        assert tf.image.resize_images(x, [4, 5]) is x
        assert tf.image.resize_images(x, [4, 6]).dtype is tf.float32
        assert tf.image.resize_images(x, [4, 6], 1).dtype is tf.uint8

    def test_sizes_that_are_fed(self):
        x, size = tf.placeholder(tf.float32, [None] * 4), tf.placeholder(tf.int32, [2])
        tensor = tf.image.resize_images(x, size)
        assert run(tensor, {x: IMAGES, size: [2, 9]}).shape == (2, 2, 9, 3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="non-zero"):
            run(tensor, {x: np.zeros((1, 0, 2, 1)), size: [2, 2]})

    def test_the_aspect_ratio_of_sizes_that_are_fed(self):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None] * 3)
            for size in ([20, 30], [5, 6], [100, 3]):
                kept = tf.image.resize_images(x, size, preserve_aspect_ratio=True)
                expected = run(tf.image.resize_images(IMAGE, size, preserve_aspect_ratio=True))
                np.testing.assert_array_equal(run(kept, {x: IMAGE}), expected)

    def test_refused(self):
        for size in ([4], [0, 2], [-1, 2]):
            with pytest.raises(ValueError):
                tf.image.resize_images(IMAGES, size)
        with pytest.raises(ValueError, match="3 or 4"):
            tf.image.resize_images(IMAGES[0, 0], [2, 2])
        with pytest.raises(ValueError, match="not implemented"):
            tf.image.resize_images(IMAGES, [2, 2], 9)

    def test_with_pad(self):
        result = run(tf.image.resize_image_with_pad(np.ones((4, 8, 1), np.float32), 4, 4))
        np.testing.assert_array_equal(result[:, 0, 0], [0, 1, 1, 0])

    def test_with_pad_of_sizes_known_in_a_run(self):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None, None, 3])
            tensor = tf.image.resize_image_with_pad(x, 7, 11)
            assert tensor.shape.as_list() == [7, 11, 3]
            expected = run(tf.image.resize_image_with_pad(IMAGE, 7, 11))
            np.testing.assert_array_equal(run(tensor, {x: IMAGE}), expected)

    def test_static_shapes_keep_known_sizes(self):
        with tf.Graph().as_default():
            x, n = tf.placeholder(tf.float32, [None, None, 3]), tf.placeholder(tf.int32, [])
            assert tf.image.crop_to_bounding_box(x, n, n, 4, n).shape.as_list() == [4, None, 3]
            assert tf.image.pad_to_bounding_box(x, n, 0, n, 9).shape.as_list() == [None, 9, 3]
            assert tf.image.resize_images(x, [n, 30]).shape.as_list() == [None, 30, 3]


class TestTurns:
    @pytest.mark.parametrize("x", [IMAGES, IMAGE], ids=["batch", "single"])
    def test_values(self, x):
        height, width = x.ndim - 3, x.ndim - 2
        result = run(
            [
                tf.image.flip_left_right(x),
                tf.image.flip_up_down(x),
                tf.image.transpose_image(x),
                *[tf.image.rot90(x, k) for k in range(5)],
            ]
        )
        wanted = [np.flip(x, width), np.flip(x, height), np.swapaxes(x, height, width)]
        wanted += [np.rot90(x, k, (height, width)) for k in range(5)]
        for image, right in zip(result, wanted, strict=True):
            np.testing.assert_array_equal(image, right)

    @pytest.mark.parametrize("x", [IMAGES, IMAGE], ids=["batch", "single"])
    def test_quarter_turns_known_in_a_run(self, x):
        with tf.Graph().as_default(), tf.Session() as session:
            k = tf.placeholder(tf.int32, [])
            turned = tf.image.rot90(x, k)
            assert turned.shape[-1] == x.shape[-1]
            for turns in range(-1, 5):
                expected = np.rot90(x, turns, (x.ndim - 3, x.ndim - 2))
                np.testing.assert_array_equal(session.run(turned, {k: turns}), expected)

    @pytest.mark.parametrize("flip", ["left_right", "up_down"])
    def test_by_chance(self, flip):
        axis = {"left_right": 2, "up_down": 1}[flip]
        many = np.broadcast_to(IMAGE, (200, *IMAGE.shape))
        result = run(getattr(tf.image, f"random_flip_{flip}")(many, seed=1))
        turned = (result == np.flip(many, axis)).all((1, 2, 3))
        assert (turned | (result == many).all((1, 2, 3))).all()
        assert 60 < turned.sum() < 140
        single = run(getattr(tf.image, f"random_flip_{flip}")(IMAGE, seed=1))
        assert any(np.array_equal(single, x) for x in (IMAGE, np.flip(IMAGE, axis - 1)))

    def test_refused(self):
        with pytest.raises(ValueError, match="3 or 4"):
            tf.image.flip_up_down(tf.placeholder(tf.float32, [None, None]))


class TestCuts:
    @pytest.mark.parametrize("known", [True, False])
    @pytest.mark.parametrize("size", [(6, 3), (3, 6), (4, 5), (9, 9), (1, 2)])
    def test_crop_or_pad(self, size, known):
        x = tf.placeholder(tf.float32, IMAGES.shape if known else [None] * 4)
        image = tf.image.resize_image_with_crop_or_pad(x, *size)
        result = run(image, {x: IMAGES})
        assert result.shape == (2, *size, 3)
        wanted = IMAGES
        for axis, target in enumerate(size, 1):
            extra = target - wanted.shape[axis]
            if extra < 0:
                start = -extra // 2
                wanted = np.take(wanted, range(start, start + target), axis)
            else:
                pads = [(0, 0)] * 4
                pads[axis] = (extra // 2, extra - extra // 2)
                wanted = np.pad(wanted, pads)
        np.testing.assert_array_equal(result, wanted)

    def test_boxes(self):
        tensor = tf.image.crop_to_bounding_box(IMAGE, 1, 2, 2, 3)
        np.testing.assert_array_equal(run(tensor), IMAGE[1:3, 2:5])
        back = run(tf.image.pad_to_bounding_box(tensor, 1, 2, 4, 5))
        np.testing.assert_array_equal(back[1:3, 2:5], IMAGE[1:3, 2:5])
        assert back[0].sum() == 0

    @pytest.mark.parametrize("known", [True, False])
    def test_the_middle(self, known):
        x = tf.placeholder(tf.float32, IMAGES.shape if known else [None] * 4)
        result = run(tf.image.central_crop(x, 0.5), {x: IMAGES})
        np.testing.assert_array_equal(result, IMAGES[:, 1:3, 1:4])

    def test_refused(self):
        for box in ((1, 3, 2, 3), (-1, 1, 2, 3), (0, 0, 0, 1)):
            with pytest.raises(ValueError):
                tf.image.crop_to_bounding_box(IMAGE, *box)
        with pytest.raises(ValueError):
            tf.image.pad_to_bounding_box(IMAGE, 1, 2, 4, 9)
        for fraction in (0.0, 1.5):
            with pytest.raises(ValueError, match="central_fraction"):
                tf.image.central_crop(IMAGE, fraction)
        x = tf.placeholder(tf.float32, [None, None, 3])
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(tf.image.crop_to_bounding_box(x, 0, 0, 9, 9), {x: IMAGE})


class TestColors:
    def test_dtypes(self):
        ints = np.array([[[0], [128], [255]]], np.uint8)
        floats = tf.image.convert_image_dtype(ints, tf.float32)
        np.testing.assert_allclose(run(floats), ints / 255, rtol=1e-6)
        np.testing.assert_array_equal(run(tf.image.convert_image_dtype(floats, tf.uint8)), ints)
        wide = tf.image.convert_image_dtype(ints, tf.int16)
        np.testing.assert_array_equal(run(wide), ints.astype(int) * 128)
        np.testing.assert_array_equal(run(tf.image.convert_image_dtype(wide, tf.uint8)), ints)
        over = tf.image.convert_image_dtype(np.float32([-1, 2]), tf.uint8, saturate=True)
        assert run(over).tolist() == [0, 255]
        assert tf.image.convert_image_dtype(floats, tf.float64).dtype is tf.float64

    def test_changes(self):
        x = random(4, 5, 3, low=0.0)
        images = [
            tf.image.adjust_brightness(x, 0.25),
            tf.image.adjust_contrast(x, 2.0),
            tf.image.adjust_gamma(x, 2.0, 0.5),
            tf.image.adjust_saturation(x, 0.0),
            tf.image.adjust_hue(tf.image.adjust_hue(x, 0.3), -0.3),
            tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(x)),
        ]
        assert images[0].op.name == "adjust_brightness/Identity"
        mean = x.mean((0, 1))
        grey = np.broadcast_to(x.max(-1, keepdims=True), x.shape)
        wanted = [x + 0.25, (x - mean) * 2 + mean, x**2 / 2, grey, x, x]
        for image, right in zip(run(images), wanted, strict=True):
            np.testing.assert_allclose(image, right, atol=1e-5)
        whole = np.full((1, 1, 3), 250, np.uint8)
        assert run(tf.image.adjust_brightness(whole, 0.5)).max() == 255

    def test_grey(self):
        grey = tf.image.rgb_to_grayscale(np.ones((2, 2, 3), np.float32))
        np.testing.assert_allclose(run(grey), np.full((2, 2, 1), 0.9999), rtol=1e-5)
        assert run(tf.image.grayscale_to_rgb(grey)).shape == (2, 2, 3)

    def test_by_chance(self):
        x = tf.fill([2, 2, 3], 0.5)
        bright = run([tf.image.random_brightness(x, 0.25, seed=seed) for seed in range(20)])
        shifts = np.array([image[0, 0, 0] - 0.5 for image in bright])
        assert np.abs(shifts).max() <= 0.25
        assert len(set(shifts.tolist())) > 10
        for function in (tf.image.random_contrast, tf.image.random_saturation):
            np.testing.assert_allclose(run(function(x, 0.5, 1.5)), np.full((2, 2, 3), 0.5))
            with pytest.raises(ValueError, match="upper"):
                function(x, 1.0, 1.0)
            with pytest.raises(ValueError, match="lower"):
                function(x, -1.0, 1.0)
        np.testing.assert_allclose(run(tf.image.random_hue(x, 0.5)), np.full((2, 2, 3), 0.5))

    def test_refused(self):
        with pytest.raises(ValueError, match="3 colours"):
            tf.image.rgb_to_hsv(random(2, 2))
        with pytest.raises(ValueError, match="Gamma"):
            tf.image.adjust_gamma(IMAGE, -1)
        with pytest.raises(ValueError, match="max_delta"):
            tf.image.random_hue(IMAGE, 0.6)
        with pytest.raises(ValueError, match="max_delta"):
            tf.image.random_brightness(IMAGE, -0.1)


class TestMeasures:
    @pytest.mark.parametrize("x", [IMAGES, IMAGE], ids=["batch", "single"])
    def test_standardization(self, x):
        result = run(tf.image.per_image_standardization(x))
        axes = tuple(range(x.ndim - 3, x.ndim))
        np.testing.assert_allclose(result.mean(axes), 0, atol=1e-6)
        np.testing.assert_allclose(result.std(axes), 1, rtol=1e-5)
        flat = run(tf.image.per_image_standardization(np.ones((2, 2, 1), np.float32)))
        np.testing.assert_array_equal(flat, np.zeros((2, 2, 1)))

    @pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16, np.float64])
    def test_standardization_keeps_the_dtype(self, dtype):
        """Integers are standardized in [0, 1], and the result is converted back and clipped."""
        is_integer = np.issubdtype(dtype, np.integer)
        x = np.array([0, 1, 2, 90], np.float64).reshape(2, 2, 1).astype(dtype)
        result = run(tf.image.per_image_standardization(x))
        wanted = (x - x.mean(dtype=np.float64)) / x.std(dtype=np.float64)
        if is_integer:
            limits = np.iinfo(dtype)
            divisor = max(x.std(dtype=np.float64) / limits.max, 0.5)
            wanted = (x - x.mean(dtype=np.float64)) / limits.max / divisor * (limits.max + 0.5)
            wanted = np.clip(np.trunc(wanted), limits.min, limits.max)
        assert result.dtype == dtype
        np.testing.assert_allclose(result, wanted, atol=1 if is_integer else 2e-3)

    def test_variation(self):
        wanted = np.abs(np.diff(IMAGES, axis=1)).sum((1, 2, 3))
        wanted += np.abs(np.diff(IMAGES, axis=2)).sum((1, 2, 3))
        np.testing.assert_allclose(run(tf.image.total_variation(IMAGES)), wanted, rtol=1e-5)
        np.testing.assert_allclose(run(tf.image.total_variation(IMAGE)), wanted[0], rtol=1e-5)

    def test_gradients(self):
        down, right = run(list(tf.image.image_gradients(IMAGES)))
        np.testing.assert_allclose(down[:, :-1], np.diff(IMAGES, axis=1))
        np.testing.assert_allclose(right[:, :, :-1], np.diff(IMAGES, axis=2))
        assert not down[:, -1].any()
        assert not right[:, :, -1].any()
        with pytest.raises(ValueError, match="4D"):
            tf.image.image_gradients(IMAGE)

    def test_psnr(self):
        other = IMAGES + 0.1
        np.testing.assert_allclose(run(tf.image.psnr(IMAGES, other, 1.0)), [20, 20], rtol=1e-4)


class TestBlocks:
    def test_there_and_back(self):
        x = random(2, 4, 6, 3)
        np.testing.assert_array_equal(run(tf.depth_to_space(tf.space_to_depth(x, 2), 2)), x)
        edges = [[1, 1], [0, 2]]
        tensor = tf.space_to_batch_nd(x, [3, 2], edges)
        assert tensor.shape.as_list() == [12, 2, 4, 3]
        np.testing.assert_array_equal(run(tf.batch_to_space_nd(tensor, [3, 2], edges)), x)
        square = tf.space_to_batch(x, [[0, 0], [0, 0]], 2)
        np.testing.assert_array_equal(run(tf.batch_to_space(square, [[0, 0], [0, 0]], 2)), x)

    def test_refused(self):
        for make in (
            lambda: tf.space_to_depth(random(2, 3, 6, 3), 2),
            lambda: tf.depth_to_space(random(2, 3, 6, 3), 2),
            lambda: tf.space_to_depth(random(2, 4, 6, 3), 1),
            lambda: tf.space_to_batch_nd(random(1, 3), [2], [[0, 0]]),
            lambda: tf.batch_to_space_nd(random(3, 3), [2], [[0, 0]]),
            lambda: tf.extract_image_patches(
                IMAGES, [1, 9, 9, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"
            ),
            lambda: tf.extract_image_patches(
                IMAGES, [2, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"
            ),
        ):
            with pytest.raises(ValueError):
                make()


class TestBoxes:
    BOXES = np.float32([[0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75], [-1, -1, 0, 0]])

    def test_crops(self):
        tensor = tf.image.crop_and_resize(
            IMAGES, self.BOXES, [0, 1, 1], [4, 5], extrapolation_value=9.0
        )
        assert tensor.op.name == "CropAndResize"
        assert tensor.shape.as_list() == [3, 4, 5, 3]
        result = run(tensor)
        np.testing.assert_allclose(result[0], IMAGES[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(result[2, -1, -1], IMAGES[1, 0, 0], rtol=1e-6)
        assert (result[2, 0] == 9).all()

    def test_gradients(self):
        x, boxes = tf.constant(IMAGES), tf.placeholder(tf.float32, [2, 4])
        y = tf.image.crop_and_resize(x, boxes, [1, 0], [3, 2])
        weights = tf.constant(random(2, 3, 2, 3))
        total = tf.reduce_sum(weights * y)
        dx, dboxes = tf.gradients(total, [x, boxes])
        start = np.float32([[0.11, 0.23, 0.82, 0.87], [0.93, 0.71, 0.14, 0.06]])
        value, dvalue, slopes = run([total, tf.reduce_sum(dx * x), dboxes], {boxes: start})
        assert value == pytest.approx(dvalue, rel=1e-4)  # it is linear in the images
        with tf.Session() as session:
            for index in np.ndindex(2, 4):
                sums = []
                for step in (1e-3, -1e-3):
                    moved = start.copy()
                    moved[index] += step
                    sums.append(session.run(total, {boxes: moved}))
                assert slopes[index] == pytest.approx((sums[0] - sums[1]) / 2e-3, abs=2e-2)

    def test_the_best_boxes(self):
        boxes = np.float32([[0, 0, 1, 1], [1, 1.1, 0, 0.1], [0, 2, 1, 3]])
        tensor = tf.image.non_max_suppression(boxes, [0.5, 0.75, 0.25], 3)
        assert tensor.op.name == "non_max_suppression/NonMaxSuppressionV3"
        assert run(tensor).tolist() == [1, 2]
        everything = tf.image.non_max_suppression(boxes, [0.5, 0.75, 0.25], 3, 0.9)
        assert run(everything).tolist() == [1, 0, 2]
        few = tf.image.non_max_suppression(boxes, [0.5, 0.75, 0.25], 3, score_threshold=0.6)
        assert run(few).tolist() == [1]

    def test_refused(self):
        with pytest.raises(tf.errors.OutOfRangeError, match="box_ind"):
            run(tf.image.crop_and_resize(IMAGES, self.BOXES, [0, 1, 2], [2, 2]))
        with pytest.raises(ValueError, match="Attr 'method'"):
            run(tf.image.crop_and_resize(IMAGES, self.BOXES, [0, 1, 1], [2, 2], "cubic"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="iou_threshold"):
            run(tf.image.non_max_suppression(self.BOXES, [0.0, 1.0, 2.0], 2, 2.0))
        with pytest.raises(ValueError):
            tf.image.crop_and_resize(IMAGES, self.BOXES, [0, 1], [2, 2])


def test_patches_of_volumes_have_planes_rows_and_columns():
    volume = tf.constant(np.arange(24.0).reshape(1, 2, 3, 4, 1))
    patches = tf.extract_volume_patches(volume, [1, 2, 1, 2, 1], [1, 1, 2, 2, 1], "VALID")
    slope = tf.gradients(patches, volume)[0]
    with tf.Session() as session:
        result, back = session.run([patches, slope])
    assert result.shape == (1, 1, 2, 2, 4)
    assert result[0, 0, 1, 1].tolist() == [10, 11, 22, 23]
    assert back[0, :, :, 0, 0].tolist() == [[1, 0, 1], [1, 0, 1]]
    with pytest.raises(ValueError, match="less than minimum 5"):
        tf.extract_volume_patches(volume, [1, 2, 2, 1], [1, 1, 1, 1, 1], "VALID")
    for sizes in ([2, 2, 2, 2, 1], [1, 0, 2, 2, 1]):
        with pytest.raises(ValueError, match=r"\[1, planes, rows, columns, 1\], positive"):
            tf.extract_volume_patches(volume, sizes, [1, 1, 1, 1, 1], "VALID")
    with pytest.raises(ValueError, match="rank"):
        tf.extract_volume_patches(volume[0], [1, 2, 2, 2, 1], [1, 1, 1, 1, 1], "VALID")


def test_a_tensor_of_unknown_rank_is_one_image():
    values = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.placeholder(tf.float32)
        flipped, cut = tf.image.flip_left_right(image), tf.image.central_crop(image, 0.5)
        even = tf.image.per_image_standardization(image)
        found = session.run([flipped, cut, even], {image: values})
        np.testing.assert_array_equal(found[0], values[:, ::-1])
        assert found[1].shape == (2, 2, 3)
        np.testing.assert_allclose(found[2].mean(), 0.0, atol=1e-6)
        with pytest.raises(ValueError, match="must have either 3 or 4 dimensions"):
            tf.image.flip_left_right(tf.zeros([4, 3]))
