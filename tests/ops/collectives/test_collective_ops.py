"""Collectives over devices of one process, against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.collectives.collective_ops import (
    all_gather,
    all_reduce,
    broadcast_recv,
    broadcast_send,
)

CPUS = [f"/cpu:{index}" for index in range(3)]
GPUS = ["/gpu:0", "/cpu:0", "/gpu:1"]
VALUES = np.random.RandomState(0).uniform(-2, 2, (3, 2, 4)).astype(np.float32)


@pytest.fixture(params=["cpus", "gpus"])
def devices(request: pytest.FixtureRequest) -> Sequence[str]:
    return CPUS if request.param == "cpus" else GPUS


def run(fetches: Any, feeds: Any = None) -> Any:
    config = tf.ConfigProto(device_count={"CPU": 3}, gpu_options=tf.GPUOptions(virtual_gpus=2))
    with tf.Session(config=config) as session:
        return session.run(fetches, feeds)


def on_each(devices: Sequence[str], function: Callable[[Any], Any]) -> list[Any]:
    results = []
    for device, value in zip(devices, VALUES):
        with tf.device(device):
            results.append(function(tf.constant(value)))
    return results


@pytest.mark.parametrize(
    ("merge_op", "final_op", "expected"),
    [
        ("Add", "Id", VALUES.sum(0)),
        ("Add", "Div", VALUES.mean(0)),
        ("Mul", "Id", VALUES.prod(0)),
        ("Max", "Id", VALUES.max(0)),
        ("Min", "Div", VALUES.min(0) / 3),
    ],
)
def test_all_reduce(devices: Sequence[str], merge_op: str, final_op: str, expected: Any) -> None:
    with tf.Graph().as_default():
        sums = on_each(devices, lambda x: all_reduce(x, 3, 1, 1, merge_op, final_op))
        results = run([value + 0.0 for value in sums])
    for result in results:
        np.testing.assert_allclose(result, expected, rtol=1e-6)
        np.testing.assert_array_equal(result, results[0])


def test_all_gather(devices: Sequence[str]) -> None:
    with tf.Graph().as_default():
        gathered = on_each(devices, lambda x: all_gather(x, 3, 1, 1))
        assert [x.shape.as_list() for x in gathered] == [[6, 4]] * 3
        results = run(gathered)
    order = np.argsort(devices)
    for result in results:
        np.testing.assert_array_equal(result, VALUES[order].reshape(6, 4))


def test_broadcast(devices: Sequence[str]) -> None:
    with tf.Graph().as_default():
        with tf.device(devices[0]):
            sent = broadcast_send(tf.constant(VALUES[0]), [2, 4], tf.float32, 3, 1, 1)
        received = []
        for device in devices[1:]:
            with tf.device(device):
                received.append(broadcast_recv([2, 4], tf.float32, 3, 1, 1))
        results = run([sent, *received, received[0] * 2])
    for result in results[:3]:
        np.testing.assert_array_equal(result, VALUES[0])
    np.testing.assert_array_equal(results[3], VALUES[0] * 2)


def test_gradients_of_replicas_are_averaged() -> None:
    with tf.Graph().as_default():
        inputs = [tf.placeholder(tf.float32, [None, 2]) for _ in CPUS[:2]]
        weights, updates, key = [], [], 0
        for device, x in zip(CPUS, inputs):
            with tf.device(device):
                w = tf.Variable([[1.0], [2.0]])
                (gradient,) = tf.gradients(tf.reduce_mean(tf.square(tf.matmul(x, w))), [w])
                mean = all_reduce(gradient, 2, 1, 7, "Add", "Div")
                updates.append(tf.assign_sub(w, 0.1 * mean))
                weights.append(w)
        draw = np.random.RandomState(key)
        values = [draw.standard_normal((4, 2)) for _ in inputs]
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            session.run(tf.global_variables_initializer())
            session.run(updates, dict(zip(inputs, values)))
            got = session.run(weights)
    w = np.array([[1.0], [2.0]])
    both = np.concatenate(values)
    np.testing.assert_allclose(got[0], w - 0.1 * 2 * both.T @ (both @ w) / 8, rtol=1e-5)
    np.testing.assert_array_equal(got[0], got[1])


def test_what_is_refused_when_the_graph_is_built() -> None:
    with tf.Graph().as_default():
        x = tf.constant([1.0])
        with pytest.raises(ValueError, match="Device assignment required"):
            all_reduce(x, 2, 1, 1, "Add", "Id")
        with tf.device("/cpu:0"):
            x = tf.constant([1.0])
        with pytest.raises(ValueError, match="group_size to all_reduce must be at least 2"):
            all_reduce(x, 1, 1, 1, "Add", "Id")
        with pytest.raises(ValueError, match="merge_op is 'Sum'"):
            all_reduce(x, 2, 1, 1, "Sum", "Id")
        with pytest.raises(ValueError, match="Shape of broadcast_send tensor not equal"):
            broadcast_send(x, [2], tf.float32, 2, 1, 1)
        with pytest.raises(ValueError, match="Type of broadcast_send tensor not equal"):
            broadcast_send(x, [1], tf.int32, 2, 1, 1)


def test_what_is_refused_in_a_run() -> None:
    with tf.Graph().as_default():
        sums = on_each(CPUS, lambda x: all_reduce(x, 3, 1, 1, "Add", "Id"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="2 of the 3 members"):
            run(sums[:2])
        with tf.device("/cpu:0"):
            other = all_reduce(tf.constant([1.0]), 2, 2, 1, "Add", "Id")
            same = all_reduce(tf.constant([2.0]), 2, 2, 1, "Add", "Id")
        with pytest.raises(tf.errors.InvalidArgumentError, match="request the same device"):
            run([other, same])
        with tf.device("/cpu:1"):
            product = all_reduce(tf.constant([2.0]), 2, 2, 1, "Mul", "Id")
            wide = all_reduce(tf.constant([2.0, 1.0]), 2, 2, 1, "Add", "Id")
        with pytest.raises(tf.errors.InvalidArgumentError, match="the members differ in merge_op"):
            run([other, product])
        with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
            run([other, wide])
