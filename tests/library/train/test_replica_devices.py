"""Devices of graphs with parameter servers."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

CLUSTER = {"ps": ["ps0:2222", "ps1:2222"], "worker": {0: "worker0:2222"}}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def definition():
    config = tf.ConfigProto()
    for name, tasks in CLUSTER.items():
        config.cluster_def.job.add(name=name, tasks=dict.fromkeys(range(len(tasks)), "host"))
    return config.cluster_def


def message():
    pytest.importorskip("google.protobuf", reason="the extra `proto` is not installed")
    cluster = tf.train.ClusterDef()
    for name, tasks in CLUSTER.items():
        cluster.job.add(name=name, tasks=dict.fromkeys(range(len(tasks)), "host"))
    return cluster


@pytest.mark.parametrize(
    "cluster", [dict, tf.train.ClusterSpec, lambda _: definition(), lambda _: message()]
)
@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_go_to_one_server_after_the_other(cluster, use_resource):
    with tf.device(tf.train.replica_device_setter(cluster=cluster(CLUSTER))):
        variables = [tf.Variable(1.0, use_resource=use_resource) for _ in range(3)]
        product = variables[0] * 2.0
    assert [v.device for v in variables] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    assert product.device == "/job:worker"
    assert variables[1].initializer.device == "/job:ps/task:1"


def test_what_an_operation_asks_for_is_kept():
    setter = tf.train.replica_device_setter(2, worker_device="/job:worker/task:3")
    with tf.device(setter):
        with tf.device("/gpu:1"):
            first, product = tf.Variable(1.0), tf.constant(2.0)
        with tf.device("/job:other"):
            second = tf.Variable(1.0)
        third = tf.Variable(1.0)
    assert first.device == "/job:ps/task:0/device:GPU:1"
    assert product.device == "/job:worker/task:3/device:GPU:1"
    assert second.device == "/job:other"
    assert third.device == "/job:ps/task:1"


def test_without_merging_a_device_is_kept_as_it_is():
    with tf.device(tf.train.replica_device_setter(1, merge_devices=False)), tf.device("/cpu:0"):
        kept = tf.Variable(1.0)
    assert kept.device == "/device:CPU:0"


def test_without_servers_no_device_is_asked_for():
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster={"worker": ["a:1"]}) is None
    with tf.device(tf.train.replica_device_setter(ps_tasks=0)):
        assert tf.Variable(1.0).device == ""
    with tf.device(tf.train.replica_device_setter(1, ps_device="", worker_device="/job:w")):
        assert tf.Variable(1.0).device == "/job:w"


def test_other_op_types_and_strategies():
    setter = tf.train.replica_device_setter(4, ps_ops=["Const"], ps_strategy=lambda op: 3)
    with tf.device(setter):
        assert tf.constant(1).device == "/job:ps/task:3"
        assert tf.Variable(lambda: tf.zeros([2])).device == "/job:worker"


def test_the_task_with_the_least_load():
    load = tf.contrib.training.byte_size_load_fn
    greedy = tf.contrib.training.GreedyLoadBalancingStrategy(2, load)
    shapes = [[100], [10], [10], [], [70], [11]]
    with tf.device(tf.train.replica_device_setter(2, ps_strategy=greedy)):
        variables = [tf.Variable(np.zeros(shape, np.float32)) for shape in shapes]
    tasks = [tf.DeviceSpec.from_string(v.device).task for v in variables]
    assert tasks == [0, 1, 1, 1, 1, 1]
    handle = tf.Variable(np.zeros([3], np.float64), use_resource=True)
    assert load(handle.op) == 24
    assert load(variables[0].op) == 400
    with pytest.raises(ValueError, match="must have a single output"):
        load(tf.split(tf.zeros([4]), 2)[0].op)
    with pytest.raises(ValueError, match="is not fully defined"):
        load(tf.placeholder(tf.float32, [None]).op)


def test_wrong_arguments():
    setter = tf.train.replica_device_setter
    with pytest.raises(TypeError, match="ps_strategy must be callable"):
        setter(1, ps_strategy=3)
    with pytest.raises(TypeError, match="`cluster` must be a dictionary mapping"):
        setter(cluster=["ps0:2222"])
    with pytest.raises(TypeError, match="The tasks for job 'ps' must be a list"):
        setter(cluster={"ps": "ps0:2222"})
