"""A signal at any place of a compilation loses no memory of a device."""

from __future__ import annotations

import gc
import signal
import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.steps import plan_arrays
from gpugraph.devices import device as device_module, session_resources
from gpugraph.memory.bfc import bfc_allocator, chunk_store

MODULES = (device_module, plan_arrays, session_resources, bfc_allocator, chunk_store)
FILES = frozenset(module.__file__ for module in MODULES)


def interrupting(countdown: int) -> Any:
    """Return a profile function that sends a signal where Python looks for them: as a function
    begins,
    and after a call of a builtin one. Only the files that hold memory count."""
    left = [countdown]

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_return") and frame.f_code.co_filename in FILES:
            left[0] -= 1
            if left[0] == 0:
                signal.raise_signal(signal.SIGINT)

    return profile


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("gpus", [0, 1])
@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_no_memory_is_lost(stride: int, gpus: int, interruptible: None) -> None:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=gpus))
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        y = tf.reduce_sum(tf.boolean_mask(x, x > 0.0) * 2.0) + tf.constant(np.ones(3, np.float32))
    for countdown in range(1, 2000, stride):
        session = tf.Session(graph=graph, config=config)
        devices = session._backend.devices  # type: ignore[attr-defined]
        sys.setprofile(interrupting(countdown))
        is_over = False
        try:
            session.run(y, {x: [1.0, -1.0]})
            is_over = True
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        assert session.run(y, {x: [1.0, -1.0, 2.0]}).tolist() == [7.0] * 3
        session.close()
        if any(bytes_in_use(devices)):
            gc.collect()
        assert not any(bytes_in_use(devices)), f"after an interrupt at place {countdown}"
        if is_over:
            break
    assert countdown > 50


def bytes_in_use(devices: list[Any]) -> list[int]:
    return [device.allocator.get_stats().bytes_in_use for device in devices]
