"""Settings of eager execution: they are kept."""

from __future__ import annotations

import pytest

import gpugraph as tf

experimental = tf.config.experimental


def test_they_are_kept():
    assert experimental.get_device_policy() == "silent"
    assert experimental.get_synchronous_execution() is True
    try:
        experimental.set_device_policy("explicit")
        experimental.set_synchronous_execution(False)
        assert experimental.get_device_policy() == "explicit"
        assert experimental.get_synchronous_execution() is False
        with pytest.raises(ValueError, match="Not a valid device policy: 'loud'"):
            experimental.set_device_policy("loud")
        assert experimental.get_device_policy() == "explicit"
    finally:
        experimental.set_device_policy(None)
        experimental.set_synchronous_execution(None)
    assert experimental.get_device_policy() == "silent"
    assert experimental.get_synchronous_execution() is True
