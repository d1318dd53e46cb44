"""Methods of variables that change them."""

from __future__ import annotations

import pytest

import gpugraph as tf


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_both_kinds_count_up_to_a_limit(use_resource, dtype):
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(3, dtype=dtype, use_resource=use_resource)
        before = variable.count_up_to(5)
        session.run(variable.initializer)
        assert [session.run(before), session.run(before)] == [3, 4]
        assert session.run(variable) == 5
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 5"):
            session.run(before)
        assert session.run(variable) == 5
    assert callable(tf.Variable.count_up_to)
