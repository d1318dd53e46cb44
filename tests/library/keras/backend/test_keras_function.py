"""`function`: values in, values out, updates, tensors fed to inputs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import gpugraph as tf

K = tf.keras.backend


def test_outputs_and_updates():
    x, v, w = K.placeholder((None, 2)), K.variable(1.0), K.variable(0.0)
    f = K.function([x], [x * v, v + 0.0], updates=[(w, w + v), tf.assign_add(v, 1.0)], name="f")
    first, second = f([[[1, 2]]])
    np.testing.assert_array_equal(first, [[1, 2]])
    assert second.dtype == np.float32 and f.name == "f"
    assert K.get_value(v) == 2
    f([np.ones([3, 2])])
    assert K.get_value(v) == 3


def test_the_outputs_have_the_structure_that_was_asked_for():
    x = K.placeholder((2,))
    value = K.function(x, {"a": x + 1.0, "b": (x, K.variable(3.0))})(np.zeros(2))
    assert value["a"].tolist() == [1, 1] and value["b"][0].tolist() == [0, 0]
    assert value["b"][1] == 3


def test_a_tensor_is_fed_to_an_input():
    x = K.placeholder((2,))
    f = K.function([x], [x, x * 2.0])
    for source in (tf.random_normal([2]), tf.constant([1, 2]), K.variable([1.0, 2.0])):
        value, double = f([source])
        np.testing.assert_allclose(2 * value, double)
    assert f([[3, 4]])[1].tolist() == [6, 8]


def test_none_feeds_nothing():
    x = tf.placeholder_with_default(4.0, [])
    f = K.function([x], [x])
    assert (f([None]), f([2]), f([None])) == ([4], [2], [4])


def test_sparse_inputs_and_outputs():
    x = K.placeholder((2, 3), sparse=True)
    f = K.function([x], [tf.sparse.to_dense(x), x])
    dense = np.float32([[0, 2, 0], [0, 0, 3]])
    for value in (
        scipy.sparse.csr_matrix(dense),
        tf.SparseTensorValue([[0, 1], [1, 2]], [2.0, 3.0], [2, 3]),
    ):
        filled, sparse = f([value])
        np.testing.assert_array_equal(filled, dense)
        assert sparse.values.tolist() == [2, 3] and sparse.dense_shape.tolist() == [2, 3]


def test_further_feeds_fetches_and_statistics():
    x, y = K.placeholder(()), K.placeholder(())
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    f = K.function(
        [x], [x + y], feed_dict={y: 3.0}, fetches=x * y, options=options, run_metadata=metadata
    )
    seen = []
    f.fetch_callbacks[f.fetches[0]] = seen.append
    assert f([2]) == [5] and seen == [6]
    f.feed_dict[y] = 4.0
    assert f([2]) == [6] and seen == [6, 8]
    assert metadata.step_stats.dev_stats


def test_it_follows_the_session():
    x, v = K.placeholder(()), K.variable(1.0)
    f = K.function([x], [x + v])
    assert f([1]) == [2]
    with tf.Session() as other:
        v.load(10.0, other)
        assert f([1]) == [11]
    assert f([1]) == [2]


def test_wrong_arguments_are_refused():
    x = K.placeholder(())
    with pytest.raises(TypeError, match="`updates` in a Keras backend function should be a list"):
        K.function([x], [x], updates=x.op)
    with pytest.raises(ValueError, match=r'Invalid argument "color" passed to K\.function'):
        K.function([x], [x], color=1)
