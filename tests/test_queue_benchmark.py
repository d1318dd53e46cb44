"""The rows of benchmarks/queues.py and monitored_step.py in small sizes: nothing is lost."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import gpugraph as tf

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
queues, monitored_step = map(importlib.import_module, ("queues", "monitored_step"))


@pytest.mark.parametrize("at_once", [1, queues.MANY])
def test_every_element_passes_once(at_once):
    passed = queues.passed(queues.own, queues.TINY, at_once)
    np.testing.assert_array_equal(passed.result, np.arange(queues.TINY))


@pytest.mark.parametrize("row", monitored_step.SESSIONS)
def test_a_measurement_is_a_hundred_steps(row):
    with tf.Graph().as_default():
        work = monitored_step.rows()[row]["gpugraph"]()
        work.step()
        assert work.results() == [work.per]
    tf.summary.FileWriterCache.clear()
