"""Saving and restoring need no memory of the size of the variables."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MIB = 1 << 20
CHILD = """
import json, pathlib, sys
import gpugraph as tf
from tests.library.train.savers.test_saving_memory import forget_peak, peak

shapes = [[25_000_000]] + [[1_250_000]] * 20 + [[1250, 1000]]
zeros = tf.zeros_initializer()
values = [tf.get_variable(f"v{n}", s, initializer=zeros) for n, s in enumerate(shapes)]
text = tf.get_variable("text", initializer=["abc"])
savers = [tf.train.Saver(values), tf.train.Saver([*values, text], sharded=True)]
with tf.Session() as sess:
    for value in values:
        sess.run(value.initializer)
    sess.run(text.initializer)
    small = tf.train.Saver([text])
    small.restore(sess, small.save(sess, f"{sys.argv[1]}/small", write_meta_graph=False))
    growth = {}
    for kind, saver in zip(("plain", "sharded"), savers):
        before = forget_peak()
        path = saver.save(sess, f"{sys.argv[1]}/{kind}", write_meta_graph=False)
        growth[f"save {kind}"] = peak() - before
    before = forget_peak()
    savers[0].restore(sess, f"{sys.argv[1]}/plain")
    growth["restore"] = peak() - before
print(json.dumps(growth))
"""


def status(key: str) -> int:
    """Return a size of this process, in bytes."""
    found = re.search(rf"{key}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024


def resident() -> int:
    return status("VmRSS")


def peak() -> int:
    return status("VmHWM")


def forget_peak() -> int:
    """Reset the peak, and return the resident memory."""
    Path("/proc/self/clear_refs").write_text("5")
    return resident()


def test_memory_above_the_variables_stays_small(tmp_path):
    try:
        forget_peak()
    except OSError:
        pytest.skip("the system does not say how much memory a process had")
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    growth = json.loads(done.stdout)
    assert len(growth) == 3
    assert max(growth.values()) < 64 * MIB, growth
