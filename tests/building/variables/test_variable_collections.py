"""Types that count as tensors, and the initializer of all tables."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


def test_what_is_a_tensor():
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    tensors = [tf.constant(1), tf.Variable(1), tf.SparseTensor([[0]], [1], [2]), slices]
    assert all(tf.is_tensor(tensor) for tensor in tensors)
    assert not any(tf.is_tensor(value) for value in (1, np.ones(2), "a", None, tf.no_op()))
    assert tf.convert_to_tensor_or_indexed_slices(slices) is slices
    assert tf.convert_to_tensor_or_indexed_slices([1.0]).dtype == tf.float32
    with pytest.raises(ValueError, match="dtype"):
        tf.convert_to_tensor_or_indexed_slices(slices, tf.int32)


def test_tables_are_initialized_by_what_the_collection_has():
    assert tf.tables_initializer().name == "init_all_tables"
    operation = tf.no_op(name="fill")
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, operation)
    assert tf.initialize_all_tables(name="all").control_inputs == [operation]
