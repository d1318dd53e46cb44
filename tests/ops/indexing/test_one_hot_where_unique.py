"""Sequences of numbers between two."""

from __future__ import annotations

import gpugraph as tf


def test_linspace_ends_at_its_end() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        ends = [tf.linspace(0.0, 1.0, count)[-1] for count in (42, 48, 56, 62, 2)]
        assert session.run(ends) == [1.0] * 5
        assert session.run(tf.linspace(3.0, 4.0, 1)).tolist() == [3.0]
