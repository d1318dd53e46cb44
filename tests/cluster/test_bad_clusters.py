"""Faults between processes: each gives one clear error in the session, and all else goes on."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cluster.access import Credentials
from gpugraph.cluster.calls.answers import message_of
from gpugraph.cluster.transport import Peer

from .local_cluster import PROCESSES, free_ports, local_cluster, over_grpc, server_processes

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")


def test_clusters_that_disagree_about_a_task() -> None:
    own, other = (f"localhost:{port}" for port in free_ports(2))
    server = tf.train.Server({"a": [own], "b": [other]}, "a", 0)
    stranger = tf.train.Server({"c": [other]}, "c", 0)
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        with pytest.raises(tf.errors.UnavailableError, match="given different clusters") as info:
            session.run(tf.constant(1.0))
        assert other in info.value.message
        with tf.Session(stranger.target, graph=tf.Graph()) as whole:
            assert len(whole.list_devices()) == 1
    server.stop()
    stranger.stop()


def test_two_sessions_of_one_graph() -> None:
    with local_cluster(a=1, b=1) as servers, tf.Graph().as_default():
        with tf.device("/job:b"):
            v = tf.get_variable("v", initializer=1.0)
            more = tf.assign_add(v, 1.0)
        with over_grpc(servers["a", 0]) as target:
            with tf.Session(target) as one, tf.Session(target) as two:
                one.run(v.initializer)
                assert two.run(more) == 2
                doubled = v * 2  # both copy the added nodes
                assert [one.run(doubled), two.run(doubled), two.run(more)] == [4, 4, 3]


def test_two_clients_of_one_session() -> None:
    server = tf.train.Server.create_local_server()
    peer = Peer(server.target.removeprefix("grpc://"), Credentials())
    handle = peer.call("CreateSession", message_of("CreateSession")).handle
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="one")
        content = graph.as_graph_def().SerializeToString()
    message = message_of("ExtendSession", handle=handle, graph=content, new_version=1)
    peer.call("ExtendSession", message)
    with pytest.raises(tf.errors.AbortedError, match="another client has extended it"):
        peer.call("ExtendSession", message)
    names = {"fetch": ["one:0"]}
    answer = peer.call("RunStep", message_of("RunStep", handle=handle, slot=1, names=names))
    assert peer.read_values(answer.value) == [1.0]
    peer.close()
    server.stop()


def test_a_worker_that_dies_while_a_tensor_is_fetched() -> None:
    size = 32 << 20
    with server_processes(1, a=1, b=1) as spec, tf.Graph().as_default():
        with tf.device("/job:b"):
            large = tf.zeros([size]) + tf.placeholder(tf.float32, [], name="x")
        with tf.device("/job:a"):
            total, small = tf.reduce_max(large), tf.constant(2.0) * 2
        with tf.Session(f"grpc://{spec['a'][0]}") as session:
            assert session.run(total, {"x:0": 3.0}) == 3
            threading.Timer(0.3, PROCESSES[spec["b"][0]].kill).start()
            with pytest.raises(
                (tf.errors.UnavailableError, tf.errors.AbortedError), match=spec["b"][0]
            ):
                while True:
                    session.run(total, {"x:0": np.float32(1.0)})
            assert session.run(small) == 4
