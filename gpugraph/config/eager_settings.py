"""Settings of eager execution. They are stored but have no effect: gpugraph only runs graphs."""

from __future__ import annotations

_POLICIES = (None, "explicit", "warn", "silent", "silent_for_int32")
_settings: dict[str, bool | str] = {}


def get_device_policy() -> str:
    """Return the value that was set by `set_device_policy`, by default "silent"."""
    return str(_settings.get("policy", "silent"))


def set_device_policy(device_policy: str | None) -> None:
    """Store the policy of eager execution for inputs on another device. The stored value has no
    effect.

    Raises ValueError if the value is not one of the values below.

    Args:
      device_policy: "explicit", "warn", "silent", "silent_for_int32", or None for the default.
    """
    if device_policy not in _POLICIES:
        known = ", ".join(map(repr, _POLICIES))
        raise ValueError(f"Not a valid device policy: {device_policy!r}; there are {known}")
    _settings["policy"] = device_policy or "silent"


def get_synchronous_execution() -> bool:
    """Return the value that was set by `set_synchronous_execution`, by default True."""
    return bool(_settings.get("synchronous", True))


def set_synchronous_execution(enable: bool | None) -> None:
    """Store whether eager execution waits for each op. None means True. The stored value has no
    effect.
    """
    _settings["synchronous"] = enable is None or bool(enable)
