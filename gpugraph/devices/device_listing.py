"""The list of the devices that a session would have. No session is created for it."""

from __future__ import annotations

from collections.abc import Sequence

from gpugraph.config import ConfigProto, SessionOptions, device_settings
from gpugraph.devices.cuda.detection.gpu_detection import detect
from gpugraph.devices.device import DeviceAttributes
from gpugraph.devices.device_factory import DeviceFactory


def list_local_devices(session_config: ConfigProto | None = None) -> list[DeviceAttributes]:
    """Return the attributes of each device that a session with this config would have: name, type,
    memory limit in bytes, incarnation, and description.
    """
    options = SessionOptions("", session_config if session_config is not None else ConfigProto())
    devices = DeviceFactory.add_devices(options, "")
    try:
        return [device.attributes for device in devices]
    finally:
        for device in devices:
            device.close()


def unusable_gpus() -> tuple[str, ...]:
    """Return a sentence with the reason for each visible GPU that can't be used. If there is no
    such GPU, return an empty tuple.
    """
    return detect().left_out


class _Devices:
    """The `DeviceSource` that supplies the devices for `tf.config`."""

    def gpu_ordinals(self) -> Sequence[int]:
        return [gpu.ordinal for gpu in detect().gpus]

    def session_devices(self, config: ConfigProto) -> Sequence[tuple[str, str]]:
        task = "/job:localhost/replica:0/task:0"
        return [(task + device.name, device.device_type) for device in list_local_devices(config)]


device_settings.source[:] = [_Devices()]
