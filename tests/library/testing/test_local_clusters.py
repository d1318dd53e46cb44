"""`tf.test.create_local_cluster`."""

from __future__ import annotations

import pytest

import gpugraph as tf

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")


def test_servers_of_both_jobs() -> None:
    config = tf.ConfigProto(device_count={"CPU": 2})
    workers, servers = tf.test.create_local_cluster(2, 1, worker_config=config)
    with tf.Graph().as_default(), tf.Session(workers[1].target) as session:
        names = [device.name for device in session.list_devices()]
        with tf.device("/job:ps/task:0"):
            x = tf.constant(2)
        assert session.run(x * 3) == 6
    assert len(names) == 5
    assert "/job:worker/replica:0/task:0/device:CPU:1" in names
    for server in (*workers, *servers):
        server.stop()
