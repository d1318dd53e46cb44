"""A misspelt name of a tensor or operation gets the names that are similar to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpugraph as tf


@pytest.fixture
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as opened:
        x = tf.placeholder(tf.float32, [], name="inputs")
        with tf.name_scope("fc2"):
            tf.identity(x, name="BiasAdd")
        yield opened


def test_fetches_feeds_and_lookups_name_the_nearest(session: tf.Session) -> None:
    graph = session.graph
    tensors, ops = "Similar names: 'fc2/BiasAdd:0'.", "Similar names: 'fc2/BiasAdd'."
    for function, similar in (
        (lambda: session.run("fc2/BiasAd:0"), tensors),
        (lambda: session.run("fc2/BiasAd"), ops),
        (lambda: session.run("BiasAdd:0"), tensors),
        (lambda: session.run("fc2/BiasAdd:0", {"input:0": 1.0}), "Similar names: 'inputs:0'."),
        (lambda: graph.get_tensor_by_name("fc2/BiasAd:0"), tensors),
        (lambda: graph.get_tensor_by_name("fc2/BiasAd"), tensors),
        (lambda: graph.get_operation_by_name("fc/BiasAdd"), ops),
    ):
        with pytest.raises((KeyError, ValueError, TypeError)) as caught:
            function()
        assert similar in str(caught.value)
        assert "refers to a" in str(caught.value) or "is not a Tensor's" in str(caught.value)


def test_a_name_that_resembles_no_other_gets_none(session: tf.Session) -> None:
    with pytest.raises(KeyError) as caught:
        session.graph.get_operation_by_name("zzzzzzzz")
    assert "Similar" not in str(caught.value)
