"""Sessions on servers: runs, variables that outlive sessions, errors; direct and by gRPC."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cluster import wire_values
from gpugraph.cluster.task_sessions import TaskDevices, TaskSession
from gpugraph.inspection.timeline import Timeline

from .local_cluster import local_cluster, over_grpc

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")


@pytest.fixture(scope="module")
def server() -> Iterator[tf.train.Server]:
    server = tf.train.Server.create_local_server()
    yield server
    server.stop()


@pytest.fixture(params=["in this process", "over gRPC"])
def target(request: pytest.FixtureRequest, server: tf.train.Server) -> Iterator[str]:
    over = over_grpc(server) if request.param == "over gRPC" else contextlib.nullcontext()
    with over, tf.Graph().as_default():
        yield server.target
        tf.Session.reset(server.target)


def test_values_of_all_kinds(target: str) -> None:
    x = tf.placeholder(tf.float32)
    fetches = [x * 2, tf.constant("a"), tf.constant(["b", "cc"]), tf.constant(3), tf.no_op()]
    fetches += [tf.constant([], tf.bool), tf.cast(x, tf.complex64), tf.cast(x, tf.float16)]
    with tf.Session(target) as session, tf.Session() as local:
        got, want = (s.run(fetches, {x: [1.0, 2.0]}) for s in (session, local))
        text = tf.placeholder(tf.string)
        assert session.run(tf.strings.length(text), {text: ["abc", ""]}).tolist() == [3, 0]
    for value, expected in zip(got, want, strict=True):
        assert type(value) is type(expected)
        np.testing.assert_array_equal(value, expected)
        assert getattr(value, "dtype", None) == getattr(expected, "dtype", None)
    got[0][0] = 5.0  # a copy, which may be changed


def test_a_graph_that_grows(target: str) -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.Session(target) as session:
        assert session.run(x + 1, {x: 1.0}) == 2
        y = tf.cond(x > 0, lambda: x * 3, lambda: -x)
        assert session.run(y, {x: 2.0}) == 6
        z = tf.while_loop(lambda v: v < 10, lambda v: v + y, [x])
        assert session.run(z, {x: 2.0}) == 14
        gradient = tf.gradients(tf.square(z), x)[0]  # adds operations to the loop
        assert session.run(gradient, {x: 2.0}) == 28 * 7
        with tf.Session(target) as other:
            assert other.run(z, {x: 2.0}) == 14


def test_variables_outlive_sessions(target: str) -> None:
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    r = tf.get_variable("r", initializer=3.0, use_resource=True)
    q = tf.FIFOQueue(3, tf.int32, shared_name="q")
    with tf.Session(target) as session:
        session.run([v.initializer, r.initializer])
        session.run([tf.assign_add(v, [1.0, 1.0]), r.assign_add(1.0), q.enqueue(7)])
    with tf.Session(target) as session:
        np.testing.assert_array_equal(session.run(v), [2.0, 3.0])
        assert session.run(r) == 4
        assert session.run(q.dequeue()) == 7
    tf.Session.reset(target)
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            session.run(v)


def test_reset_closes_sessions_and_clears_the_containers_that_it_names(target: str) -> None:
    with tf.container("mine"):
        v = tf.get_variable("v", initializer=1.0)
    w = tf.get_variable("w", initializer=2.0)
    session = tf.Session(target)
    session.run(tf.global_variables_initializer())
    tf.Session.reset(target, ["mine"])
    for _ in range(2):
        with pytest.raises(tf.errors.AbortedError, match="has no session"):
            session.run(w)
    session.close()
    with tf.Session(target) as session:
        assert session.run(w) == 2
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            session.run(v)


def test_isolated_sessions_share_nothing(target: str) -> None:
    v = tf.get_variable("v", initializer=1.0)
    config = tf.ConfigProto(isolate_session_state=True)
    with tf.Session(target, config=config) as one, tf.Session(target) as other:
        one.run(v.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            other.run(v)
        other.run(v.initializer)
        one.run(tf.assign_add(v, 1.0))
        assert (one.run(v), other.run(v)) == (2, 1)


def test_random_numbers_belong_to_a_session(target: str) -> None:
    x = tf.random_uniform([2], seed=3)
    draws = []
    for _ in range(2):
        with tf.Session(target) as session:
            draws.append([session.run(x) for _ in range(2)])
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0][0] != draws[0][1]).all()


def test_errors_name_the_operation_and_the_line(target: str) -> None:
    x = tf.placeholder(tf.float32, name="x")
    y = tf.check_numerics(x, "bad", name="y")
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value") as info:
            session.run(y)
        assert info.value.op is x.op
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad : Tensor had NaN") as info:
            session.run(y, {x: float("nan")})
        assert info.value.op is y.op
        assert "test_grpc_session.py" in str(info.value)
        with tf.device("/job:nosuch"):
            z = tf.identity(x, name="z")
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="explicitly assigned to /job:nosuch but available"
        ):
            session.run(z, {x: 1.0})
        assert session.run(y, {x: 2.0}) == 2


def test_a_time_limit_ends_a_run_that_waits(target: str) -> None:
    q = tf.FIFOQueue(3, tf.int32)
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(q.dequeue(), options=tf.RunOptions(timeout_in_ms=100))
        session.run(q.enqueue(5))
        assert session.run(q.dequeue()) == 5
    with tf.Session(target, config=tf.ConfigProto(operation_timeout_in_ms=100)) as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(q.dequeue())


def test_a_session_waits_for_another(target: str) -> None:
    q = tf.FIFOQueue(3, tf.int32, shared_name="shared")
    values = []
    with tf.Session(target) as one, tf.Session(target) as other:
        waiting = threading.Thread(target=lambda: values.append(one.run(q.dequeue())), daemon=True)
        waiting.start()
        other.run(q.enqueue(6))
        waiting.join(20)
    assert values == [6]


def test_large_values_go_in_chunks(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_values, "INLINE_BYTES", 1000)
    monkeypatch.setattr(wire_values, "CHUNK_BYTES", 7000)
    x = tf.placeholder(tf.float64)
    value = np.random.RandomState(0).standard_normal((50, 40))
    with tf.Session(target) as session:
        np.testing.assert_array_equal(session.run(x + 0.0, {x: value}), value)
        texts = session.run(tf.as_string(x), {x: value})
    assert float(texts[3, 4]) == pytest.approx(value[3, 4], abs=1e-5)


def test_a_closed_session(target: str) -> None:
    session = tf.Session(target)
    x = tf.constant(1)
    session.run(x)
    session.close()
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.run(x)


def test_partial_runs_and_callables(target: str) -> None:
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    a = x + 1
    b = a * y
    with tf.Session(target) as session:
        handle = session.partial_run_setup([a, b], [x, y])
        assert session.partial_run(handle, a, {x: 1.0}) == 2
        assert session.partial_run(handle, b, {y: 5.0}) == 10
        assert session.make_callable(b, [x, y])(2.0, 3.0) == 9


def test_a_trace_has_the_steps_of_all_tasks() -> None:
    tasks = [f"/job:{job}/replica:0/task:0/device:CPU:0" for job in ("ps", "worker")]
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with local_cluster(ps=1, worker=1) as servers, tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.device("/job:ps"):
            y = tf.exp(x, name="on_ps")
        with tf.device("/job:worker"):
            z = tf.reduce_sum(tf.sqrt(y, name="on_worker"), name="sum")
        with tf.device("/job:ps"):
            last = tf.sin(z, name="again_on_ps")
        with over_grpc(servers["worker", 0]) as target, tf.Session(target) as session:
            for _ in range(2):
                metadata = tf.RunMetadata()
                session.run(last, {x: [0.0, 1.0]}, options=options, run_metadata=metadata)
                stats = {item.device: item for item in metadata.step_stats.dev_stats}
                assert sorted(stats) == tasks
                names = [{node.node_name for node in stats[task].node_stats} for task in tasks]
                assert {"on_ps", "again_on_ps"} <= names[0]
                assert any("sum" in name for name in names[1])
                starts = {
                    node.node_name: node.all_start_micros
                    for item in stats.values()
                    for node in item.node_stats
                }
                assert starts["on_ps"] <= starts["again_on_ps"]
                text = Timeline(metadata.step_stats).generate_chrome_trace_format()
                assert "again_on_ps" in text
            untraced = tf.RunMetadata()
            session.run(last, {x: [0.0, 1.0]}, run_metadata=untraced)
            assert not untraced.step_stats.dev_stats


def test_the_graphs_of_all_devices_are_in_the_metadata() -> None:
    options = tf.RunOptions(output_partition_graphs=True)
    with local_cluster(ps=1, worker=1) as servers, tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.device("/job:ps"):
            y = tf.exp(x, name="on_ps")
        with tf.device("/job:worker"):
            z = tf.sqrt(y, name="on_worker")
        with tf.device("/job:ps"):
            last = tf.sin(z, name="again_on_ps")
        with over_grpc(servers["worker", 0]) as target, tf.Session(target) as session:
            metadata = tf.RunMetadata()
            session.run(last, {x: [0.0, 1.0]}, options=options, run_metadata=metadata)
            graphs = {graph.node[0].device: graph for graph in metadata.partition_graphs}
            tasks = [f"/job:{job}/replica:0/task:0/device:CPU:0" for job in ("ps", "worker")]
            assert sorted(graphs) == tasks and len(metadata.partition_graphs) == 2
            names = [{node.name for node in graphs[task].node} for task in tasks]
            assert {"on_ps", "again_on_ps"} <= names[0] and "on_worker" in names[1]
            assert all(node.device == tasks[0] for node in graphs[tasks[0]].node)
            assert not metadata.step_stats.dev_stats
            session.run(last, {x: [0.0, 1.0]}, run_metadata=metadata)
            assert not metadata.partition_graphs


def test_a_run_is_explained_by_tasks() -> None:
    with local_cluster(ps=1, worker=1) as servers, tf.Graph().as_default():
        with tf.device("/job:ps"):
            x = tf.placeholder(tf.float32, [], name="x") + 1.0
        with tf.device("/job:worker"):
            y = tf.exp(x, name="y")
        with over_grpc(servers["worker", 0]) as target:
            for place in (target, servers["ps", 0].target):
                with tf.Session(place) as session:
                    lines = str(session.explain(y, {"x:0": 1.0})).splitlines()
                    assert lines[0] == "A run over 2 tasks"
                    tasks = [f"/job:{job}/replica:0/task:0" for job in ("ps", "worker")]
                    first = f"  stage 1: computes {x.name}; sends {x.name} to {tasks[1]}"
                    second = f"  stage 1: takes {x.name} of {tasks[0]}; computes y:0"
                    on_ps = lines.index(f"{tasks[0]}: 2 operations: add/y, add")
                    assert lines.index(first) == on_ps + 1
                    assert lines.index(second) == lines.index(f"{tasks[1]}: 1 operations: y") + 1
                    assert str(session.explain(x, {"x:0": 1.0})).startswith("A run over 1 task\n")


def test_devices_and_filters() -> None:
    with local_cluster(ps=1, worker=2) as servers:
        target = servers["worker", 1].target
        with tf.Session(target, graph=tf.Graph()) as session:
            names = [device.name for device in session.list_devices()]
        tasks = [name.removesuffix("/device:CPU:0") for name in names]
        want = ["worker/replica:0/task:1", "ps/replica:0/task:0", "worker/replica:0/task:0"]
        assert tasks == [f"/job:{task}" for task in want]
        config = tf.ConfigProto(device_filters=["/job:ps"])
        with tf.Session(target, config=config, graph=tf.Graph()) as session:
            assert [device.name for device in session.list_devices()] == names[:2]


@pytest.mark.parametrize("address", ["localhost", "localhost:x", ":1"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not the address of a server"):
        tf.Session(f"grpc://{address}", graph=tf.Graph())


@pytest.mark.parametrize("of_server, of_session, count", [(1, 0, 1), (0, 0, 0), (1, 3, 3)])
def test_a_session_has_the_threads_of_its_server(
    of_server: int, of_session: int, count: int
) -> None:
    server_config = tf.ConfigProto(inter_op_parallelism_threads=of_server)
    config = tf.ConfigProto(inter_op_parallelism_threads=of_session)
    task = TaskDevices("/job:worker/replica:0/task:0", server_config)
    session = TaskSession(task, config, tf.Graph())
    assert session.target.config.inter_op_parallelism_threads == count
    task.close()


@pytest.mark.parametrize("is_remote", [False, True])
def test_a_server_limits_runs_that_have_no_limit(is_remote: bool) -> None:
    """The server's own settings apply to a session that has none."""
    server = tf.train.Server.create_local_server(tf.ConfigProto(operation_timeout_in_ms=100))
    there = over_grpc(server) if is_remote else contextlib.nullcontext(server.target)
    with tf.Graph().as_default(), there as target:
        taken = tf.FIFOQueue(3, tf.float32, shared_name="queue").dequeue()
        for config in (None, tf.ConfigProto(), tf.ConfigProto(operation_timeout_in_ms=300)):
            start = time.monotonic()
            with tf.Session(target, config=config) as session:
                with pytest.raises(tf.errors.DeadlineExceededError):
                    session.run(taken)
            least = (config.operation_timeout_in_ms if config else 0) or 100
            assert time.monotonic() - start >= least / 1000
        with tf.Session(target) as session:
            start = time.monotonic()
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(taken, options=tf.RunOptions(timeout_in_ms=400))
            assert time.monotonic() - start >= 0.4
    server.stop()


def _waiting_fetches() -> dict[str, Any]:
    """Return an op of each kind that waits, which nothing ends."""
    raw = tf.raw_ops
    queue, full = tf.FIFOQueue(1, tf.float32, []), tf.FIFOQueue(1, tf.float32, [])
    barrier = raw.Barrier(component_types=[tf.float32], shapes=[[]])
    take = {"num_elements": 1, "component_types": [tf.float32]}
    lasting: Any = lambda: (time.sleep(3), np.float32(1))[1]  # noqa: E731
    return {
        "dequeue": queue.dequeue(),
        "dequeue_many": queue.dequeue_many(2),
        "enqueue_many": full.enqueue_many([[1.0, 2.0]]),
        "stage": tf.contrib.staging.StagingArea([tf.float32]).get(),
        "map_stage": tf.contrib.staging.MapStagingArea([tf.float32]).get(1),
        "barrier": raw.BarrierTakeMany(handle=barrier, **take),
        "accumulator": tf.ConditionalAccumulator(tf.float32, []).take_grad(1),
        "sparse_accumulator": tf.SparseConditionalAccumulator(tf.float32).take_grad(1),
        "reader": tf.TFRecordReader().read(tf.FIFOQueue(1, tf.string)),
        "batch": tf.train.batch([tf.constant(1.0)], 2),
        "py_func": tf.py_func(lasting, [], tf.float32),
        "loop": tf.while_loop(lambda i: i >= 0, lambda i: i * 1, [tf.constant(1)]),
    }


@pytest.mark.parametrize("by", ["server", "session", "run"])
def test_whatever_waits_ends_at_the_limit(by: str) -> None:
    limit = tf.ConfigProto(operation_timeout_in_ms=150)
    server = tf.train.Server.create_local_server(limit if by == "server" else None)
    options = tf.RunOptions(timeout_in_ms=150) if by == "run" else None
    with tf.Graph().as_default():
        fetches = _waiting_fetches()
        with tf.Session(server.target, config=limit if by == "session" else None) as session:
            for name, fetch in fetches.items():
                start = time.monotonic()
                with pytest.raises(tf.errors.DeadlineExceededError):
                    session.run(fetch, options=options)
                assert 0.1 < time.monotonic() - start < 2.5, name
    server.stop()
