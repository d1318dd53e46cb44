"""Sequences of different lengths, each turned around by itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.booleans())
def test_turned_twice_it_is_as_it_was(lengths, time_first):
    with tf.Graph().as_default(), tf.Session() as session:
        value = np.arange(len(lengths) * 10, dtype=np.float32).reshape(len(lengths), 5, 2)
        expected = value.copy()
        for row, count in enumerate(lengths):
            expected[row, :count] = value[row, :count][::-1]
        axes = {"seq_axis": 0, "batch_axis": 1} if time_first else {"seq_axis": 1}
        if time_first:
            value, expected = value.swapaxes(0, 1), expected.swapaxes(0, 1)
        once = tf.reverse_sequence(value, lengths, **axes)
        again = tf.reverse_sequence(once, np.int64(lengths), **axes)
        result, back = session.run([once, again])
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(back, value)


def test_older_names_of_the_axes():
    output = tf.reverse_sequence(tf.zeros([2, 3]), [1, 2], seq_dim=1, batch_dim=0)
    assert output.op.attrs["seq_dim"] == 1
    assert output.op.attrs["batch_dim"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs seq_axis"),
        ({"seq_axis": 0}, "must differ, but both are 0"),
        ({"seq_axis": 1, "seq_dim": 1}, "one of 'seq_axis' and its older name 'seq_dim'"),
        ({"seq_axis": 2}, "seq_dim"),
        ({"seq_axis": 1, "seq_lengths": [1]}, "1 seq_lengths, but a batch of 2"),
        ({"seq_axis": 1, "seq_lengths": [[1, 2]]}, "rank 1"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        tf.reverse_sequence(**{"input": tf.zeros([2, 3]), "seq_lengths": [1, 2], **arguments})


@pytest.mark.parametrize(
    ("length", "words"), [(-1, r"seq_lens\(1\) < 0"), (4, r"seq_lens\(1\) > input.dims\(1\)")]
)
def test_lengths_outside(length, words):
    lengths = tf.placeholder(tf.int32, [None])
    output = tf.reverse_sequence(tf.zeros([2, 3]), lengths, seq_axis=1)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(output, {lengths: [3, length]})
        assert session.run(output, {lengths: [3, 3]}).shape == (2, 3)
