"""ClusterSpec: jobs and addresses, from dicts, messages and other specs."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.cluster.cluster_spec import check_addresses


@pytest.fixture
def spec() -> tf.train.ClusterSpec:
    return tf.train.ClusterSpec({"ps": ["a:1", "b:2"], "worker": {1: "c:3"}})


def test_what_it_holds(spec: tf.train.ClusterSpec) -> None:
    assert spec.as_dict() == {"ps": ["a:1", "b:2"], "worker": {1: "c:3"}}
    assert spec.jobs == ["ps", "worker"]
    assert spec.num_tasks("ps") == 2
    assert spec.task_indices("worker") == [1]
    assert spec.task_address("worker", 1) == "c:3"
    assert spec.job_tasks("worker") == [None, "c:3"]
    assert str(spec) == "ClusterSpec({'ps': ['a:1', 'b:2'], 'worker': {1: 'c:3'}})"


def test_equality_and_truth(spec: tf.train.ClusterSpec) -> None:
    assert spec == tf.train.ClusterSpec(spec)
    assert spec != tf.train.ClusterSpec({"ps": ["a:1"]})
    assert spec != spec.as_dict()
    assert spec
    assert not tf.train.ClusterSpec({})


def test_messages(spec: tf.train.ClusterSpec) -> None:
    message = spec.as_cluster_def()
    assert isinstance(message, tf.train.ClusterDef)
    assert tf.train.ClusterSpec(message) == spec
    config = tf.ConfigProto()
    config.cluster_def.ParseFromString(message.SerializeToString())
    assert tf.train.ClusterSpec(config.cluster_def) == spec


def test_messages_have_their_jobs_by_name() -> None:
    spec = tf.train.ClusterSpec({"worker": ["w:1"], "ps": {3: "p:3", 1: "p:1"}, "a": ["a:1"]})
    assert spec.jobs == ["worker", "ps", "a"]
    assert [job.name for job in spec.as_cluster_def().job] == ["a", "ps", "worker"]
    assert tf.train.ClusterSpec(spec.as_cluster_def()).jobs == ["a", "ps", "worker"]
    assert str(spec).startswith("ClusterSpec({'a': ['a:1'], 'ps': {1: 'p:1', 3: 'p:3'}, 'worker'")


@pytest.mark.parametrize(
    ("cluster", "error", "words"),
    [
        (3, TypeError, "`cluster` must be a dictionary"),
        ({"a": 3}, TypeError, "The tasks for job 'a' must be a list or a dictionary"),
        ({"a": {"x": "b"}}, ValueError, "invalid literal for int"),
        ({"a": {0.5: "b"}}, ValueError, "must be an integer from 0 on, but it is 0.5"),
        ({"a": [3]}, TypeError, "Task address 3 must be bytes or unicode"),
        ({3: ["a"]}, TypeError, "Job name 3 must be bytes or unicode"),
    ],
)
def test_what_is_no_cluster(cluster: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        tf.train.ClusterSpec(cluster)


def test_addresses_that_may_be_the_same() -> None:
    """A server refuses two tasks at one address; a ClusterSpec alone may have any addresses."""
    check_addresses(tf.train.ClusterSpec({"worker": ["a:1"], "evaluator": ["a:1"]}))
    check_addresses(tf.train.ClusterSpec({"worker": ["localhost:0", "localhost:0"]}))
    twice = tf.train.ClusterSpec({"a": ["localhost:1"], "c": {2: "localhost:1"}})
    with pytest.raises(ValueError, match="'localhost:1': /job:a/task:0 and /job:c/task:2"):
        tf.train.Server(twice, "a", 0)


def test_what_is_not_there(spec: tf.train.ClusterSpec) -> None:
    with pytest.raises(ValueError, match="No such job in cluster: 'x'"):
        spec.num_tasks("x")
    with pytest.raises(ValueError, match="No task with index 0 in job 'worker'"):
        spec.task_address("worker", 0)


def test_replica_device_setter_takes_one(spec: tf.train.ClusterSpec) -> None:
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(cluster=spec)):
        devices = [tf.get_variable(name, [2]).device for name in "abc"]
    assert devices == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
