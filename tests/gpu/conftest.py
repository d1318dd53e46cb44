"""A GPU that a test has lost is lost to its process: others are not to be blamed for it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import gpugraph as tf

from .machine import EMULATED, on_gpus


def _is_lost() -> bool:
    try:
        with tf.Graph().as_default(), on_gpus(1, 64) as session:
            x = tf.placeholder(tf.float32, [2])
            return bool(session.run(x + 1.0, {x: [1, 2]}).tolist() != [2, 3])
    except Exception:
        return True


@pytest.fixture(autouse=True)
def _gpu_is_still_there() -> Iterator[None]:
    """Where tests are spread over processes the next ones get a fresh process."""
    yield
    if EMULATED or not _is_lost():
        return
    if "PYTEST_XDIST_WORKER" in os.environ:
        os._exit(70)
    pytest.exit("the GPU is lost: CUDA does nothing more in this process", returncode=70)
