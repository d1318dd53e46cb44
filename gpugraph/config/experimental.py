"""Settings of the whole process, as `tf.config.experimental` has them.

Devices and those of eager execution are in `device_settings` and `eager_settings`. Plans depend on
the others. What holds plans is notified when one of them changes, so that no run has to
read them.
"""

from __future__ import annotations

import weakref
from typing import Protocol

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.config.device_settings import (
    VirtualDeviceConfiguration as VirtualDeviceConfiguration,
    get_memory_growth as get_memory_growth,
    get_virtual_device_configuration as get_virtual_device_configuration,
    get_visible_devices as get_visible_devices,
    list_logical_devices as list_logical_devices,
    list_physical_devices as list_physical_devices,
    set_memory_growth as set_memory_growth,
    set_virtual_device_configuration as set_virtual_device_configuration,
    set_visible_devices as set_visible_devices,
)
from gpugraph.config.eager_settings import (
    get_device_policy as get_device_policy,
    get_synchronous_execution as get_synchronous_execution,
    set_device_policy as set_device_policy,
    set_synchronous_execution as set_synchronous_execution,
)


class Watcher(Protocol):
    """Who keeps what was made by the settings."""

    def settings_changed(self) -> None:
        """A setting of the process has changed: what depends on it is made again."""


_watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()
_lock = new_lock()
"""Of the watchers, which sessions of other threads join."""
_settings = {"tensor_float_32": False}


def watch(watcher: Watcher) -> None:
    """Notifies `watcher` of changes, as long as it lives."""
    with _lock:
        _watchers.add(watcher)


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Lets GPUs with such tensor cores (Ampere and later) round float32 to TF32, which has 10 bits
    of mantissa, in matrix products; they are several times as fast then. Off by default.

    The name is TensorFlow 2.4's, where it is on by default. Plans that sessions have made before
    are made anew. TypeError for what is no bool.
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be True or False, but is {enabled!r}")
    if _settings["tensor_float_32"] != enabled:
        _settings["tensor_float_32"] = enabled
        with _lock:
            watchers = list(_watchers)
        for watcher in watchers:
            watcher.settings_changed()


def tensor_float_32_execution_enabled() -> bool:
    """Whether float32 may be rounded to TF32 in matrix products on GPUs."""
    return _settings["tensor_float_32"]
