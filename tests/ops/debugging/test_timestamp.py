"""Timestamp: another number at each run."""

from __future__ import annotations

import time

import gpugraph as tf


def test_timestamp_is_of_each_run():
    now = tf.timestamp()
    with tf.Session() as session:
        before = time.time()
        first, second = session.run(now), session.run(now)
    assert before <= first <= second <= time.time()
