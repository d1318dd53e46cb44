"""Inputs of a declared rank: others never reach a kernel."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.framework.op_declaration import DECLARATIONS

X = np.arange(6, dtype=np.float32).reshape(2, 3)
INDICES = np.array([[0, 0], [1, 2]], np.int64)

CALLS: dict[str, tuple[Callable[..., Any], Any]] = {
    "cumsum": (lambda axis: tf.cumsum(X, axis), [0, 1]),
    "cumprod": (lambda axis: tf.cumprod(X, axis), [0, 1]),
    "argmax": (lambda axis: tf.argmax(X, axis), [0, 1]),
    "unsorted_segment_sum": (lambda count: tf.unsorted_segment_sum(X, [0, 1], count), [2, 2]),
    "sparse_split": (
        lambda axis: (
            tf.sparse_split(
                sp_input=tf.SparseTensor(INDICES, [1.0, 2.0], [2, 4]), num_split=2, axis=axis
            )[0].values
        ),
        [[1, 1]],
    ),
    "set_size": (
        lambda values: tf.sets.set_size(
            tf.SparseTensor(INDICES, tf.reshape(values, [2, 1]), [2, 3])
        ),
        [1, 2],
    ),
}


@pytest.mark.parametrize("case", CALLS)
@pytest.mark.parametrize("known", [True, False])
def test_another_rank_is_refused(case: str, known: bool) -> None:
    """By building the graph, or by the run, where TensorFlow's kernel looks."""
    function, value = CALLS[case]
    with tf.Graph().as_default(), tf.Session() as session:
        argument = tf.constant(value)
        if not known:
            argument = tf.placeholder_with_default(argument, None)
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)) as caught:
            session.run(function(argument))
        assert re.search("rank|scalar|out of range|Expected dimension", str(caught.value))


def test_the_graph_of_a_running_sum_is_built_as_in_tensorflow() -> None:
    with tf.Graph().as_default():
        assert tf.cumsum(X, tf.constant([0, 1])).shape == [2, 3]


def test_the_ranks_are_in_the_signature() -> None:
    ranks = {arg.name: arg.rank for arg in DECLARATIONS["SparseSplit"].op_def.inputs}
    assert ranks == {"split_dim": 0, "indices": 2, "values": 1, "shape": 1}
