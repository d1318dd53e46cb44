"""Summary ops raise the same errors as TensorFlow's, and the session goes on."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.formats.summary_bytes import summary_values
from gpugraph.ops.image.files.png_format import decoded_png


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _run(tensor):
    with tf.Session(graph=tensor.graph) as session:
        return session.run(tensor)


REFUSED = {
    "tags and values not the same shape: \\[2\\] != \\[\\]": lambda: tf.raw_ops.ScalarSummary(
        ["a", "b"], 1.0
    ),
    "Nan in summary histogram for: h": lambda: tf.raw_ops.HistogramSummary(
        "h", [1.0, np.nan], name="h"
    ),
    "Infinity in summary histogram for: h": lambda: tf.summary.histogram("h", [np.inf, np.nan]),
    "tags must be scalar": lambda: tf.raw_ops.HistogramSummary(["h"], [1.0]),
    "Tensor must be 4-D with last dim 1, 3, or 4": lambda: tf.summary.image(
        "i", tf.zeros([1, 2, 2, 2])
    ),
    "expected depth <= bad_color.size": lambda: tf.raw_ops.ImageSummary(
        "i", tf.zeros([1, 2, 2, 3]), bad_color=np.zeros(1, np.uint8)
    ),
    "sample_rate must be > 0": lambda: tf.summary.audio("a", tf.zeros([1, 2]), 0.0),
    "Tensor must be 3-D or 2-D": lambda: tf.summary.audio("a", tf.zeros([2]), 1.0),
    "Could not parse one of the summary inputs": lambda: tf.summary.merge([tf.constant(b"\x08")]),
    "Duplicate tag a found in summary inputs": lambda: tf.summary.merge(
        [tf.raw_ops.ScalarSummary("a", 1.0), tf.raw_ops.ScalarSummary("a", 2.0)]
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_bad_inputs_fail_the_run_and_not_the_session(message):
    summary, other = REFUSED[message](), tf.constant(3)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(summary)
        assert session.run(other) == 3


def test_a_scalar_may_be_nan():
    (value,) = summary_values(_run(tf.summary.scalar("loss", np.nan)))
    assert (value.tag, value.has_metadata) == ("loss", False)


def test_pixels_that_are_not_finite_have_the_bad_color():
    pictures = np.zeros([1, 1, 3, 1], np.float32)
    pictures[0, 0, :, 0] = [np.nan, 2.0, 1.0]
    summary = _run(tf.summary.image("i", pictures, max_outputs=1))
    (value,) = summary_values(summary)
    pixels, _ = decoded_png(value.content[value.content.index(b"\x89PNG") :])
    assert value.tag == "i/image"
    assert pixels.reshape(-1).tolist() == [255, 255, 127]


def test_images_of_one_number_are_black():
    summary = _run(tf.summary.image("i", np.zeros([1, 1, 1, 1], np.float32)))
    (value,) = summary_values(summary)
    pixels, _ = decoded_png(value.content[value.content.index(b"\x89PNG") :])
    assert pixels.reshape(-1).tolist() == [0]


def test_tensor_summary_of_the_first_kind_has_the_nodes_name():
    summary = _run(tf.raw_ops.TensorSummary([1.0], name="node"))
    assert b":\x04node" in summary


@pytest.mark.parametrize(
    ("dtype", "image", "pixels"),
    [
        (np.float64, [-0.1, 1.1], [116, 254]),
        (np.float64, [0.1, 0.7], [36, 254]),
        (np.float64, [-0.7, 0.2], [0, 164]),
        (np.float16, [-0.86, -0.29, 0.92], [9, 88, 255]),
        (np.float16, [0.001, 0.002, 0.0005], [127, 255, 63]),  # TensorFlow's scale overflows
    ],
)
def test_images_are_scaled_in_their_dtype_by_a_float32(dtype, image, pixels):
    batch = tf.constant(np.reshape(image, (1, 1, -1, 1)), dtype)
    (value,) = tf.Summary.FromString(_run(tf.summary.image("i", batch))).value
    known, _ = decoded_png(value.image.encoded_image_string)
    assert known.ravel().tolist() == pixels


@pytest.mark.parametrize(("rate", "whole"), [(42075.69, 42076), (8000.2, 8000), (0.25, 1)])
def test_wav_files_have_the_nearest_whole_rate(rate, whole):
    (value,) = tf.Summary.FromString(_run(tf.summary.audio("a", tf.zeros([1, 2]), rate))).value
    assert value.audio.sample_rate == np.float32(rate)
    assert int.from_bytes(value.audio.encoded_audio_string[24:28], "little") == whole
