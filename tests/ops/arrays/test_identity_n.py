"""IdentityN: several tensors, of whatever dtypes, by one op."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

VALUES = [np.float32([[1.5, 2.0]]), np.array(7), np.array(["a", "b"], object), np.zeros((0, 3))]


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_each_tensor_comes_out_as_it_is(device: str) -> None:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1), allow_soft_placement=True)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        source = [
            tf.placeholder(array.dtype if array.dtype.kind != "O" else tf.string)
            for array in VALUES
        ]
        with tf.device(device):
            passed = tf.identity_n(source if device == "/cpu:0" else source[:2])
        assert len({tensor.op for tensor in passed}) == 1
        result = session.run(passed, dict(zip(source, VALUES)))
        for value, wanted in zip(result, VALUES):
            assert np.asarray(value).dtype == wanted.dtype
            if wanted.dtype.kind == "O":
                wanted = np.array([b"a", b"b"], object)
            np.testing.assert_array_equal(value, wanted)


def test_gradients_go_through_it() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.constant(2.0), tf.constant(5.0)
        a, b = tf.identity_n([x, y])
        assert [tensor.shape.as_list() for tensor in (a, b)] == [[], []]
        assert session.run(tf.gradients(a * b, [x, y])) == [5.0, 2.0]


def test_what_it_refuses() -> None:
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="Expected list"):
            tf.identity_n(tf.constant(1.0))
        with pytest.raises(ValueError, match="at least one tensor"):
            tf.identity_n([])
