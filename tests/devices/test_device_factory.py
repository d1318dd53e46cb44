"""The registry of device factories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.devices import CPUDevice, DeviceFactory


class Maker:
    """A factory of a given number of devices of a type."""

    def __init__(self, device_type: str = "TOY", count: int = 1) -> None:
        self.device_type = device_type
        self.count = count

    def create_devices(self, options: tf.SessionOptions, name_prefix: str) -> list[CPUDevice]:
        kind = self.device_type
        return [CPUDevice(f"{name_prefix}/device:{kind}:{index}") for index in range(self.count)]


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    entries = dict(DeviceFactory._entries)
    yield
    DeviceFactory._entries.clear()
    DeviceFactory._entries.update(entries)


def names(**settings: Any) -> list[str]:
    options = tf.SessionOptions("", tf.ConfigProto(**settings))
    return [device.name for device in DeviceFactory.add_devices(options, "/job:a")]


def test_cpu_and_gpu_are_there_with_tensorflow_s_priorities() -> None:
    assert DeviceFactory.device_priority("CPU") == 70
    assert DeviceFactory.device_priority("GPU") == 210
    assert DeviceFactory.device_priority("TOY") == -1
    assert DeviceFactory.get_factory("TOY") is None


def test_a_higher_priority_replaces_a_lower_one_is_ignored_an_equal_one_is_an_error() -> None:
    low, middle, high = Maker(), Maker(), Maker()
    DeviceFactory.register("TOY", middle)
    assert DeviceFactory.device_priority("TOY") == 50
    DeviceFactory.register("TOY", low, 49)
    assert DeviceFactory.get_factory("TOY") is middle
    with pytest.raises(tf.errors.AlreadyExistsError, match="TOY with the same priority 50"):
        DeviceFactory.register("TOY", high, 50)
    assert DeviceFactory.get_factory("TOY") is middle
    DeviceFactory.register("TOY", high, 51)
    assert DeviceFactory.get_factory("TOY") is high
    assert DeviceFactory.device_priority("TOY") == 51


@pytest.mark.parametrize(
    ("device_type", "factory", "priority"), [("", Maker(), 1), ("TOY", Maker(), -1), ("TOY", 5, 1)]
)
def test_an_incomplete_registration_is_refused(
    device_type: str, factory: Any, priority: int
) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="create_devices"):
        DeviceFactory.register(device_type, factory, priority)
    assert DeviceFactory.get_factory("TOY") is None


def test_types_rank_by_priority_then_by_name() -> None:
    for device_type, priority in (("D1", 50), ("D3", 49), ("D2", 51), ("D0", 50)):
        DeviceFactory.register(device_type, Maker(), priority)
    assert DeviceFactory.device_types() == ["GPU", "CPU", "D2", "D0", "D1", "D3"]


def test_the_cpu_comes_first_then_types_by_rank() -> None:
    DeviceFactory.register("TOY", Maker("TOY", 2), 300)
    result = names(device_count={"CPU": 2}, gpu_options=tf.GPUOptions(virtual_gpus=1))
    assert result == [
        f"/job:a/device:{device}" for device in ("CPU:0", "CPU:1", "TOY:0", "TOY:1", "GPU:0")
    ]


def test_without_a_cpu_nothing_is_made() -> None:
    with pytest.raises(tf.errors.NotFoundError, match="No CPU devices"):
        names(device_count={"CPU": 0})
    DeviceFactory.unregister("CPU")
    with pytest.raises(tf.errors.NotFoundError, match="CPU Factory not registered"):
        names()


def test_two_devices_can_not_have_one_name() -> None:
    DeviceFactory.register("TOY", Maker("CPU", 1), 10)
    with pytest.raises(tf.errors.AlreadyExistsError, match="/job:a/device:CPU:0"):
        names()


def test_what_is_not_registered_can_not_be_forgotten() -> None:
    with pytest.raises(tf.errors.NotFoundError, match="TOY"):
        DeviceFactory.unregister("TOY")
