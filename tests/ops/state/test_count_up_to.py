"""CountUpTo: a variable counts to a limit, and then refuses."""

from __future__ import annotations

import pytest

import gpugraph as tf


@pytest.mark.parametrize("use_resource", [False, True])
def test_counts_up_to_a_limit(use_resource: bool):
    counter = tf.Variable(1, use_resource=use_resource)
    step = tf.count_up_to(counter, 3)
    with tf.Session() as session:
        session.run(counter.initializer)
        assert [session.run(step) for _ in range(2)] == [1, 2]
        with pytest.raises(tf.errors.OutOfRangeError, match="limit of 3"):
            session.run(step)
        assert session.run(counter) == 3
