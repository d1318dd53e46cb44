"""Functions of ops: what they say of arguments they can not take."""

from __future__ import annotations

import pytest

import gpugraph as tf


def test_a_value_of_another_dtype_names_its_parameter() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError) as refused:
        tf.add(tf.constant(1), 2.5)
    assert str(refused.value).startswith(
        "Expected int32 passed to parameter 'y' of op 'Add', got 2.5 of type 'float' instead. "
    )
