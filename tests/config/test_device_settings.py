"""Devices by tf.config.experimental: the lists, and the devices of new sessions."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.config import device_settings

experimental = tf.config.experimental
Part = experimental.VirtualDeviceConfiguration
TASK = "/job:localhost/replica:0/task:0"
CPU = ("/physical_device:CPU:0", "CPU")


@pytest.fixture(autouse=True)
def forgotten():
    yield
    device_settings.forget()


class TwoGpus:
    """Two GPUs, beside one between them that can't be used."""

    def gpu_ordinals(self):
        return [0, 2]

    def session_devices(self, config):
        return [(f"{TASK}/device:GPU:{i}", "GPU") for i in range(config.device_count["GPU"])]


@pytest.fixture
def gpus(monkeypatch):
    monkeypatch.setattr(device_settings, "source", [TwoGpus()])
    return experimental.list_physical_devices("GPU")


def test_the_cpu_is_there():
    assert experimental.list_physical_devices("CPU") == [CPU]
    assert experimental.list_physical_devices()[0].name == CPU[0]
    assert experimental.get_visible_devices("CPU") == [CPU]
    assert experimental.list_logical_devices("CPU") == [(f"{TASK}/device:CPU:0", "CPU")]
    assert f"{TASK}/device:CPU:0" in tf.config.experimental_list_devices()
    assert experimental.list_physical_devices("TPU") == []


def test_sessions_have_the_parts_of_the_cpu():
    cpu = experimental.list_physical_devices("CPU")[0]
    assert experimental.get_virtual_device_configuration(cpu) is None
    experimental.set_virtual_device_configuration(cpu, [Part(), Part()])
    experimental.set_visible_devices(cpu)
    assert experimental.get_virtual_device_configuration(cpu) == [(None,), (None,)]
    names = [f"{TASK}/device:CPU:{index}" for index in range(2)]
    assert tf.config.experimental_list_devices() == names
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/cpu:1"):
        assert [device.name for device in session.list_devices()] == names
        assert session.run(tf.constant(2.0) * 3.0) == 6.0
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto()) as session:
        assert len([d for d in session.list_devices() if d.device_type == "CPU"]) == 1


def test_sessions_use_the_visible_gpus(gpus):
    assert [gpu.name[-5:] for gpu in gpus] == ["GPU:0", "GPU:1"]
    experimental.set_visible_devices(gpus[1], "GPU")
    assert experimental.get_visible_devices() == [CPU, gpus[1]]
    config = tf.config.session_config()
    assert config.gpu_options.visible_device_list == "2"
    assert config.device_count == {"CPU": 1, "GPU": 1}
    experimental.set_visible_devices([], "GPU")
    assert tf.config.session_config().device_count == {"CPU": 1, "GPU": 0}
    experimental.set_visible_devices(gpus)
    assert experimental.get_visible_devices("CPU") == []


def test_memory_grows_on_all_or_on_none(gpus):
    assert experimental.get_memory_growth(gpus[0]) is False
    experimental.set_memory_growth(gpus[0], True)
    assert experimental.get_memory_growth(gpus[0]) is True
    with pytest.raises(ValueError, match="Memory growth cannot differ between GPU devices"):
        tf.config.session_config()
    experimental.set_memory_growth(gpus[1], True)
    assert tf.config.session_config().gpu_options.allow_growth


def test_gpus_are_divided(gpus):
    experimental.set_virtual_device_configuration(gpus[1], [Part(64), Part(memory_limit=128)])
    config = tf.config.session_config()
    parts = config.gpu_options.experimental.virtual_devices
    assert [list(part.memory_limit_mb) for part in parts] == [[], [64, 128]]
    assert config.device_count["GPU"] == 3
    assert len(experimental.list_logical_devices()) == 3
    with pytest.raises(ValueError, match="Cannot set memory growth on device when virtual"):
        experimental.set_memory_growth(gpus[1], True)
    with pytest.raises(ValueError, match="Setting memory limit is required for GPU"):
        experimental.set_virtual_device_configuration(gpus[0], [Part()])


def test_wrong_devices():
    cpu = experimental.list_physical_devices("CPU")[0]
    with pytest.raises(ValueError, match="Cannot set memory growth on non-GPU devices"):
        experimental.set_memory_growth(cpu, True)
    with pytest.raises(ValueError, match="Setting memory limit on CPU virtual devices"):
        experimental.set_virtual_device_configuration(cpu, [Part(64)])
    for refused in (
        lambda: experimental.set_visible_devices("/gpu:0"),
        lambda: experimental.set_visible_devices(cpu, "GPU"),
        lambda: experimental.get_memory_growth("/gpu:0"),
        lambda: experimental.get_virtual_device_configuration("/gpu:0"),
    ):
        with pytest.raises(ValueError, match="Unrecognized device: "):
            refused()
