"""Errors of ops that pick elements, in TensorFlow's words."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from ..refusals import at_build, in_run

ROW = np.zeros(3, np.float32)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.boolean_mask(ROW, tf.placeholder(tf.bool)), "mask dimensions must be specifie"),
        (lambda: tf.constant(ROW)[1, 2], "Index out of range using input dim 1; .* only 1 dims"),
        (lambda: tf.slice(ROW, [4], [1]), r"Expected begin\[0\] in \[0, 3\], but got 4"),
        (lambda: tf.slice(ROW, [2], [2]), r"Expected size\[0\] in \[0, 1\], but got 2"),
        (lambda: tf.gather(ROW, [0], axis=1), "Shape must be at least rank 2 but is rank 1"),
        (lambda: tf.gather(ROW, [0], axis=-3), "Shape must be at least rank 3 but is rank 1"),
        (lambda: tf.nn.top_k(ROW, 4), "must have last dimension >= k = 4 but is 3"),
        (lambda: tf.gather_nd(ROW, [[0]], batch_dims=2), "must be less than rank"),
        (lambda: tf.gather_nd(ROW, [[0]], batch_dims=tf.placeholder(tf.int32)), "constant tensor"),
    ],
)
def test_what_building_refuses(make, message):
    at_build(make, message)


@pytest.mark.parametrize(
    ("make", "message", "fed"),
    [
        (lambda x: x[1, 2], "Index out of range using input dim 1; input has only 1 dims", [ROW]),
        (lambda x: x[7], "slice index 7 of dimension 0 out of bounds", [ROW]),
        (
            lambda axis: tf.gather(ROW, [0], axis=axis),
            r"axis in the range \[-1, 1\), .* got 2",
            [2],
        ),
        (lambda x: tf.nn.top_k(x, 4).values, "at least k columns. Had 3, needed 4", [ROW]),
        (
            lambda i: tf.gather_nd(ROW, i),
            r"indices\[0,1\] = \[7\] .* param shape \[3\]",
            [[[[0], [7]]]],
        ),
        (lambda: tf.gather_nd(tf.zeros([0, 2]), [[0, 0]]), r"is empty\. .* shape: \[0,2\]", []),
        (lambda p: tf.dynamic_partition(ROW, p, 4), r"partitions\[2\] = 99 is not", [[0, 1, 99]]),
        (
            lambda p: tf.dynamic_partition(np.eye(2), p, 2),
            r"partitions\[1,0\] = 9 is not in \[0, 2\)",
            [[[0, 1], [9, 1]]],
        ),
    ],
)
def test_what_a_run_refuses(make, message, fed):
    in_run(make, message, *fed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"on_value": np.float32(2), "dtype": tf.int32},
            "float32.* of on_value .* parameter .*int32",
        ),
        (
            {"off_value": tf.constant(2.0), "dtype": tf.int32},
            "float32.* of off_value does not match",
        ),
        (
            {"on_value": 2.0, "off_value": 1},
            "of on_value does not match dtype .*int32.* of off_value",
        ),
    ],
)
def test_values_of_one_hot_have_its_dtype(arguments, message):
    with pytest.raises(TypeError, match=message):
        tf.one_hot([1], 3, **arguments)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("batch_dims", [1, 2])
def test_coordinates_within_a_batch(known, dtype, batch_dims):
    params = np.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    rng = np.random.default_rng(1)
    indices = rng.integers(0, 3, (2, 3, 2, 1)[: batch_dims + 1] + (2,)).astype(dtype)
    rows = [
        params[entry][tuple(np.moveaxis(indices[entry], -1, 0))]
        for entry in np.ndindex(*params.shape[:batch_dims])
    ]
    wanted = np.reshape(rows, (*params.shape[:batch_dims], *np.shape(rows)[1:]))
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(dtype, indices.shape if known else None)
        by_number = tf.gather_nd(params, fed, batch_dims=batch_dims)
        by_tensor = tf.gather_nd(params, fed, batch_dims=tf.constant(batch_dims))
        assert by_number.shape.sizes == (wanted.shape if known else None)
        for result in session.run([by_number, by_tensor], {fed: indices}):
            np.testing.assert_array_equal(result, wanted)
