"""Paddings that make sizes whole blocks."""

from __future__ import annotations

import gpugraph as tf

from ...function_cases import same


def test_paddings_for_blocks():
    wanted = [[1, 0], [0, 2]], [[0, 0], [0, 1]]
    same(lambda: tf.required_space_to_batch_paddings([3, 5], [2, 7], [[1, 0], [0, 1]]), wanted)
    shape = tf.placeholder_with_default([3, 5], [2])
    paddings = tf.required_space_to_batch_paddings(shape, [2, 7], [[1, 0], [0, 1]])
    with tf.Session() as session:
        assert [array.tolist() for array in session.run(paddings)] == list(wanted)
    same(lambda: tf.required_space_to_batch_paddings([3], [2]), ([[0, 1]], [[0, 1]]))
