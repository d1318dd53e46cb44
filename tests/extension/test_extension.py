"""A device type, kernels, an allocator and a session from outside, without touching ours."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices import DeviceFactory
from gpugraph.memory import AllocatorRegistry
from gpugraph.ops.framework import kernel_registry as kernels
from gpugraph.session import SessionFactory

from . import toy


@pytest.fixture
def _toy() -> Iterator[None]:
    toy.register()
    try:
        yield
    finally:
        DeviceFactory.unregister("TOY")
        AllocatorRegistry.unregister("Pages", toy.PRIORITY)
        SessionFactory.unregister("TOY_SESSION")
        for op_type in ("Add", "Neg"):
            kernels._KERNELS.pop((op_type, "TOY"))
        toy.RAN.clear()


@pytest.mark.usefixtures("_toy")
def test_a_program_runs_on_what_a_plug_in_brought() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        a = tf.raw_ops.Add(x=x, y=x, name="a")
        b = tf.tanh(a, name="b")  # the toy has no Tanh
        c = tf.negative(b, name="c")
        d = tf.negative(tf.cast(c, tf.int32), name="d")  # nor Neg of int32
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    with tf.Session("toy://here", graph) as session:
        told = session.explain([c, d], {x: value})
        where = {name: told.device_of(name).rpartition("device:")[2] for name in "abcd"}
        assert where == {"a": "TOY:0", "b": "CPU:0", "c": "TOY:0", "d": "CPU:0"}
        got_c, got_d = session.run([c, d], {x: value})
        np.testing.assert_array_equal(got_c, -np.tanh(2 * value))
        np.testing.assert_array_equal(got_d, -got_c.astype(np.int32))
        assert toy.RAN == ["a", "c"]
        assert session._backend.prepared == 1  # type: ignore[attr-defined]
        stats = session.memory_stats()
        for each in session._backend.devices:  # type: ignore[attr-defined]
            assert isinstance(each.allocator, toy.PageAllocator)
            assert 0 < stats[each.name].bytes_in_use <= toy.LIMIT
        assert [each.device_type for each in session.list_devices()] == ["CPU", "TOY"]
        with pytest.raises(tf.errors.ResourceExhaustedError, match="TOY:0 by allocator toy"):
            session.run(c, {x: np.zeros((200_000, 3))})
        np.testing.assert_array_equal(session.run(c, {x: value}), got_c)


@pytest.mark.usefixtures("_toy")
def test_what_it_has_no_kernel_for_is_told() -> None:
    with tf.Graph().as_default() as graph, tf.device("/device:TOY:0"):
        x = tf.placeholder(tf.float32, [3])
        y = tf.raw_ops.Add(x=x, y=x)
        z = tf.tanh(y, name="z")
    with tf.Session("toy://", graph) as session:
        np.testing.assert_array_equal(session.run(y, {x: [1, 2, 3]}), [2, 4, 6])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"z[\s\S]*TOY"):
            session.run(z, {x: [1, 2, 3]})


def test_without_the_plug_in_nothing_of_it_is_there() -> None:
    assert DeviceFactory.device_priority("TOY") == -1
    with pytest.raises(tf.errors.NotFoundError, match="toy://"):
        tf.Session("toy://here")
    with tf.Graph().as_default(), tf.device("/device:TOY:0"):
        x = tf.raw_ops.Add(x=tf.random_uniform([2]), y=1.0)
    with (
        tf.Session(graph=x.graph) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="TOY"),
    ):
        session.run(x)
