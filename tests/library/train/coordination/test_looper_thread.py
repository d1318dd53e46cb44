"""Threads that loop until their coordinator stops."""

from __future__ import annotations

import pytest

import gpugraph as tf


@pytest.mark.parametrize("interval", [None, 0.0])
def test_a_looper_calls_its_target_until_the_stop(interval):
    coord, calls = tf.train.Coordinator(), []

    def target(step, name=""):
        calls.append((step, name))
        if len(calls) == 3:
            coord.request_stop()

    looper = tf.train.LooperThread.loop(
        coord, interval, target, args=(7,), kwargs={"name": "looper"}
    )
    coord.join()  # the looper is registered
    assert looper.daemon and not looper.is_alive()
    assert calls == [(7, "looper")] * 3


def test_an_exception_stops_the_coordinator_and_subclasses_have_their_own_loop():
    order = []

    class Looper(tf.train.LooperThread):
        def start_loop(self):
            order.append("start")

        def run_loop(self):
            order.append("run")
            if len(order) == 3:
                raise ZeroDivisionError

        def stop_loop(self):
            order.append("stop")

    coord = tf.train.Coordinator()
    Looper(coord, None).start()
    with pytest.raises(ZeroDivisionError):
        coord.join()
    assert order == ["start", "run", "run"]
    with pytest.raises(ValueError, match="'coord' argument must be a Coordinator"):
        tf.train.LooperThread("coord", 1)
