"""State that outlives a run: variables, kernels' states, constants on devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices import CPUDevice, Resources, uninitialized


class Plan:
    """Holds a variable's memory."""

    stale = False


@pytest.fixture
def cpu() -> CPUDevice:
    return CPUDevice("/device:CPU:0")


@pytest.fixture
def resources() -> Resources:
    return Resources()


def in_use(device: CPUDevice) -> int:
    return device.allocator.get_stats().bytes_in_use


def test_a_variable_is_one_by_container_and_name(resources: Resources, cpu: CPUDevice) -> None:
    v = resources.variable("", "v", cpu, tf.float32)
    assert resources.variable("", "v", cpu, tf.float32) is v
    assert resources.variable("other", "v", cpu, tf.float32) is not v
    assert resources.home("", "v") == cpu.name
    assert resources.home("", "w") is None


def test_a_variable_keeps_its_home(resources: Resources, cpu: CPUDevice) -> None:
    resources.variable("", "v", cpu, tf.float32)
    with pytest.raises(tf.errors.InternalError, match=r"v lives on /device:CPU:0.*/device:CPU:1"):
        resources.variable("", "v", CPUDevice("/device:CPU:1"), tf.float32)


def test_a_variable_has_a_value_once_something_was_assigned(
    resources: Resources, cpu: CPUDevice
) -> None:
    v = resources.variable("", "scope/v", cpu, tf.float32)
    for _ in range(2):
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value scope/v"):
            _ = v.value
        v.reserve((2,))
    v.initialized = True
    assert v.value.shape == (2,)
    assert "scope/v" in uninitialized("scope/v", by_handle=False).message


def test_a_variable_that_moves_tells_those_who_hold_its_memory(
    resources: Resources, cpu: CPUDevice
) -> None:
    v = resources.variable("", "v", cpu, tf.float32)
    plan = Plan()
    v.watchers[id(plan)] = plan
    v.reserve((2,))
    plan.stale = False
    old = v.reserve((2,))
    assert v.reserve((2,)) is old
    assert not plan.stale
    assert v.reserve((3,)).array.shape == (3,)
    assert plan.stale
    assert in_use(cpu) == 512, "the old memory is there as long as somebody holds it"
    del old
    assert in_use(cpu) == 256
    v.release()
    assert not v.initialized and in_use(cpu) == 0


def test_a_variable_that_finds_no_room_keeps_its_value(resources: Resources) -> None:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=[1]))
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        size = tf.placeholder(tf.int32, [])
        variable = tf.Variable([7.0], validate_shape=False, name="v")
        resized = tf.assign(variable, tf.fill([size], 1.0), validate_shape=False)
    with tf.Session(graph=graph, config=config) as session:
        session.run(variable.initializer)
        with pytest.raises(tf.errors.ResourceExhaustedError):
            session.run(resized.op, {size: 1 << 20})
        np.testing.assert_array_equal(session.run(variable), [7])
        session.run(resized.op, {size: 3})
        np.testing.assert_array_equal(session.run(variable), [1, 1, 1])


def test_a_state_is_made_once(resources: Resources) -> None:
    results: list[object] = []

    def make() -> object:
        results.append(object())
        return results[-1]

    assert resources.state("node", make) is resources.state("node", make)
    assert resources.state("other", make) is not results[0]
    assert len(results) == 2


def test_a_constant_is_on_a_device_once_while_somebody_holds_its_value(
    resources: Resources, cpu: CPUDevice
) -> None:
    value: Any = np.arange(100, dtype=np.float32)
    array = resources.constant(cpu, value, tf.float32, "c")
    np.testing.assert_array_equal(array, value)
    assert resources.constant(cpu, value, tf.float32, "c") is array
    once = in_use(cpu)
    other = CPUDevice("/device:CPU:1")
    assert resources.constant(other, value, tf.float32, "c") is not array
    del value
    resources.constant(cpu, np.arange(100, dtype=np.float32), tf.float32, "d")
    assert in_use(cpu) == once
    assert in_use(other) == 0
    resources.clear()
    assert in_use(cpu) == 0


def test_containers_are_cleared_by_name(resources: Resources, cpu: CPUDevice) -> None:
    for container in ("", "a", "b"):
        resources.variable(container, "v", cpu, tf.float32).reserve((2,))
    resources.clear(["a"])
    assert list(resources.variables) == [("", "v"), ("b", "v")]
    resources.clear(["localhost"])
    assert list(resources.variables) == [("b", "v")]
    resources.clear()
    assert not resources.variables and in_use(cpu) == 0
