"""Settings of the whole process, under the names of `tf.config.experimental`.

The settings of devices and of eager execution are in `device_settings` and `eager_settings`. This
module contains the settings on which compiled plans depend. When one of them changes, this module
notifies all sessions, which compile their plans again. So runs need not read the settings.
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
    """An object, such as a session, with state that depends on the settings."""

    def settings_changed(self) -> None:
        """Rebuild the state that depends on the settings. This method is called after a setting has
        changed.
        """


_watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()
_lock = new_lock()
"""Guards `_watchers`, to which sessions of other threads add themselves."""
_settings = {"tensor_float_32": False}


def watch(watcher: Watcher) -> None:
    """Arrange for `watcher.settings_changed()` to be called after each change of a setting, as long
    as `watcher` exists.
    """
    with _lock:
        _watchers.add(watcher)


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Set whether GPUs may round float32 to TF32 in matrix products and in convolutions by cuDNN.
    By default, GPUs must not round.

    With TF32, GPUs that have TF32 tensor cores (Ampere and later) compute products several times as
    fast. TF32 has 10 bits of mantissa.

    The name is from TensorFlow 2.4, where TF32 is enabled by default. Existing plans of sessions
    are compiled again. Raises TypeError if `enabled` is not a bool.
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
    """Return whether float32 may be rounded to TF32 in matrix products on GPUs."""
    return _settings["tensor_float_32"]
