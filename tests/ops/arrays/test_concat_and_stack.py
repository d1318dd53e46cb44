"""parallel_stack: tensors of one known shape as rows."""

from __future__ import annotations

import gpugraph as tf

from ..function_cases import refuses, same


def test_parallel_stack():
    same(lambda: tf.parallel_stack([[1, 2], [3, 4]]), [[1, 2], [3, 4]])
    refuses(lambda: tf.parallel_stack([tf.placeholder(tf.float32, [None])]), ValueError, "known")
