"""Items of Examples: each handler's result for features."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.formats.example_bytes import BYTES, FLOATS, INTEGERS, example_bytes, feature_bytes

slim = tf.contrib.slim
decoders = slim.tfexample_decoder


def example(**lists):
    kinds = {int: INTEGERS, float: FLOATS, bytes: BYTES}
    return example_bytes(
        {k: feature_bytes(kinds[type(values[0])], values) for k, values in lists.items()}
    )


def decode(content, features, handlers, items=None):
    with tf.Graph().as_default(), tf.Session() as session:
        decoder = decoders.TFExampleDecoder(features, handlers)
        assert isinstance(decoder, slim.data_decoder.DataDecoder)
        assert decoder.list_items() == list(handlers)
        return session.run(decoder.decode(content, items))


def png(pixels):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.image.encode_png(pixels))


INT_LIST, FLOAT_LIST = tf.VarLenFeature(tf.int64), tf.VarLenFeature(tf.float32)


def test_tensors_of_several_shapes():
    content = example(x=[1, 2, 3, 4, 5, 6], height=[2], width=[3], shape=[3, 2])
    features = {
        "x": INT_LIST,
        "height": tf.FixedLenFeature([], tf.int64),
        "width": tf.FixedLenFeature([1], tf.int64),
        "shape": INT_LIST,
        "none": FLOAT_LIST,
    }
    one_size = {**features, "width": tf.FixedLenFeature([], tf.int64)}
    handlers = {
        "flat": decoders.Tensor("x"),
        "shaped": decoders.Tensor("x", shape=[2, 3]),
        "by sizes": decoders.Tensor("x", shape_keys=["height", "width"]),
        "by shape": decoders.Tensor("x", shape_keys="shape"),
        "padded": decoders.Tensor("x", shape=[6], default_value=-1),
        "none": decoders.Tensor("none"),
        "called": decoders.ItemHandlerCallback(["x", "height"], lambda t: t["height"] * 2),
    }
    flat, shaped, by_sizes, by_shape, padded, none, called = decode(content, one_size, handlers)
    assert flat.tolist() == padded.tolist() == [1, 2, 3, 4, 5, 6]
    assert shaped.tolist() == by_sizes.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert by_shape.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert none.shape == (0,) and called == 4
    assert decode(content, features, handlers, ["called"]) == [4]
    with pytest.raises(ValueError, match="Cannot specify both shape_keys and shape parameters"):
        decoders.Tensor("x", shape_keys="shape", shape=[2])


def test_boxes():
    content = example(**{"b/ymin": [0.0, 1.0], "b/xmin": [2.0, 3.0], "b/ymax": [4.0, 5.0],
                         "b/xmax": [6.0, 7.0]})  # fmt: skip
    features = {f"b/{side}": FLOAT_LIST for side in ("ymin", "xmin", "ymax", "xmax")}
    (boxes,) = decode(content, features, {"boxes": decoders.BoundingBox(prefix="b/")})
    assert boxes.tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]]
    with pytest.raises(ValueError, match="BoundingBox expects 4 keys but got 2"):
        decoders.BoundingBox(["a", "b"])


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (decoders.SparseTensor(densify=True, shape=[5]), [0, 10, 0, 30, 0]),
        (decoders.SparseTensor(densify=True, shape_key="shape", default_value=-1),
         [-1, 10, -1, 30]),
    ],
)  # fmt: skip
def test_sparse_tensors(handler, expected):
    content = example(indices=[1, 3], values=[10, 30], shape=[4])
    features = dict.fromkeys(("indices", "values", "shape"), INT_LIST)
    assert decode(content, features, {"s": handler})[0].tolist() == expected


def test_a_sparse_item_has_the_shape_of_its_indices():
    content = example(indices=[0, 1], values=[10, 30])
    features = dict.fromkeys(("indices", "values"), INT_LIST)
    (item,) = decode(content, features, {"s": decoders.SparseTensor()})
    assert item.indices.tolist() == [[0], [1]] and item.dense_shape.tolist() == [2]


def test_the_backup_serves_where_there_are_no_elements():
    features = {"x": INT_LIST, "y": INT_LIST}
    handlers = {"z": decoders.BackupHandler(decoders.Tensor("x"), decoders.Tensor("y"))}
    assert decode(example(x=[1], y=[2]), features, handlers)[0].tolist() == [1]
    assert decode(example(y=[2]), features, handlers)[0].tolist() == [2]
    with pytest.raises(ValueError, match=r"Backup handler is of type .* instead of Item"):
        decoders.BackupHandler(decoders.Tensor("x"), "y")


IMAGE = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
IMAGE_FEATURES = {
    "image/encoded": tf.FixedLenFeature([], tf.string),
    "image/format": tf.FixedLenFeature([], tf.string, "png"),
}


@pytest.mark.parametrize("shape", [None, [2, 4, 3]])
def test_images_of_files_and_of_pixels(shape):
    handlers = {"image": decoders.Image(shape=shape)}
    content = example(**{"image/encoded": [png(IMAGE)]})
    np.testing.assert_array_equal(decode(content, IMAGE_FEATURES, handlers)[0], IMAGE)


def test_an_image_of_pixels_has_its_shape():
    content = example(**{"image/encoded": [IMAGE.tobytes()], "image/format": [b"RAW"]})
    handlers = {"image": decoders.Image(shape=[2, 4, 3])}
    np.testing.assert_array_equal(decode(content, IMAGE_FEATURES, handlers)[0], IMAGE)


def test_several_images():
    content = example(**{"image/encoded": [png(IMAGE), png(IMAGE + 1)]})
    features = {**IMAGE_FEATURES, "image/encoded": tf.FixedLenFeature([2], tf.string)}
    handlers = {"image": decoders.Image(repeated=True, channels=3)}
    images = decode(content, features, handlers)[0]
    np.testing.assert_array_equal(images, [IMAGE, IMAGE + 1])


def test_values_are_looked_up():
    class Table:
        def lookup(self, keys):
            return tf.strings.length(keys)

    content = example(words=[b"a", b"four"])
    handler = decoders.LookupTensor("words", Table())
    features = {"words": tf.VarLenFeature(tf.string)}
    assert decode(content, features, {"n": handler})[0].tolist() == [1, 4]
