"""Sessions as notebooks show them."""

from __future__ import annotations

import re

import gpugraph as tf


def test_devices_and_plans() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.multiply(x, 2, name="y")
        session = tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1)))
    with session:
        for size in (2, 3, 3):
            session.run(y, {x: [1.0] * size})
        text = re.sub(r"<[^>]*>", " ", session._repr_html_())
    assert "3 operations, 2 compiled plans" in text
    assert re.search(r"GPU:0 +GPU +256.00MiB", text)
    assert re.search(r"y:0 +\(2,\) +1 ", text) and re.search(r"y:0 +\(3,\) +2 ", text)
    assert "closed" in session._repr_html_()


def test_a_session_without_plans() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        text = session._repr_html_()
        assert "0 operations, 0 compiled plans" in text and "plan of" not in text
