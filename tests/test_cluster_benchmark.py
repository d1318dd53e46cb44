"""The rows of benchmarks/cluster.py in small sizes: they build, and run on two processes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import gpugraph as tf

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
cluster = pytest.importorskip("cluster")
pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

RESULTS = {
    "4 cross edges": np.full(16, 5.0),
    "a fetch of 100 MB": np.full(25_000_000 // cluster.TINY, 2.0),
    "an edge of 100 MB": 25_000_000 // cluster.TINY * 2.0,
    "products, on one process": 2.0 * (cluster.SIZE // cluster.TINY),
    "products, on two processes": 2.0 * (cluster.SIZE // cluster.TINY),
}


def test_rows() -> None:
    target, servers = cluster.start_cluster("gpugraph")
    assert all(cluster.processor_seconds(pid) > 0 for pid in servers)
    for name, build in cluster.ROWS.items():
        tf.Session.reset(target)
        with tf.Graph().as_default():
            with tf.device(cluster.TASKS[0]):
                fetch = build(tf, cluster.TINY)
            with tf.Session(target) as session:
                session.run(tf.global_variables_initializer())
                result = session.run(fetch)
        np.testing.assert_array_equal(result, RESULTS.get(name))
