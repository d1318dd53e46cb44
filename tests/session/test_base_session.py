"""Session.run: its caches, its options, and its metadata of a run."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.graph.inference_context import InferContext
from gpugraph.session import base_session as base


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.add(x, 1.0, name="y")
        tf.multiply(y, 10.0, name="z")
    with tf.Session(graph=graph) as session:
        yield session


def plans(session: Any) -> int:
    """Return how many plans the session has made and kept."""
    return len(session._backend.plans)


def test_the_same_fetches_compile_once_in_whatever_structure(session: Any) -> None:
    x, z = (session.graph.get_tensor_by_name(name) for name in ("x:0", "z:0"))
    value = np.ones(2, np.float32)
    for fetches in (z, "z:0", [z], (z,), {"z": z}, [[z], {"again": "z:0"}], (z, z)):
        for key in (x, "x:0"):
            session.run(fetches, {key: value})
            session.run(fetches, {(key,): (value,)})
    assert plans(session) == 1
    session.run([z, "y:0"], {x: value})
    assert plans(session) == 2


def test_a_session_forgets_what_it_was_asked_too_often(session: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(base, "MAX_PREPARED", 3)
    with session.graph.as_default():
        constants = [tf.constant(float(number)) for number in range(10)]
    for _ in range(2):
        assert [session.run(number) for number in constants] == list(range(10))
    assert len(session._prepared) <= 3
    assert plans(session) == 10


def test_a_graph_may_grow_between_runs(session: Any) -> None:
    np.testing.assert_array_equal(session.run("y:0", {"x:0": [1]}), [2])
    with session.graph.as_default():
        grown = session.graph.get_tensor_by_name("y:0") * 3.0
    np.testing.assert_array_equal(session.run(grown, {"x:0": [1]}), [6])
    np.testing.assert_array_equal(session.run("y:0", {"x:0": [1]}), [2])


def test_a_name_that_is_missing_may_come_later(session: Any) -> None:
    with pytest.raises(ValueError, match="later"):
        session.run("later:0")
    with session.graph.as_default():
        tf.constant(5.0, name="later")
    assert session.run("later:0") == 5


@pytest.mark.parametrize(
    "native, names, label",
    [
        ("0", ["y", "z"], "y = Add(_arg_x_0_0, y/y)"),
        ("wait", ["z/fused/_8"], "z/fused/_8 = _Fused(_arg_x_0_0, y/y, z/y), native of y, z"),
    ],
)
def test_a_run_is_traced_step_by_step(
    session: Any, native: str, names: list[str], label: str, monkeypatch: Any
) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", native)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    z = session.run("z:0", {"x:0": [1, 2]}, options=options, run_metadata=metadata)
    np.testing.assert_array_equal(z, [20, 30])
    (stats,) = metadata.step_stats.dev_stats
    steps = stats.node_stats
    assert stats.device == session.list_devices()[0].name
    assert [step.node_name for step in steps] == names
    assert steps[0].timeline_label == label
    assert sorted(steps, key=lambda step: step.all_start_micros) == list(steps)
    assert all(0 <= s.op_end_rel_nanos <= s.all_end_rel_nanos for s in steps)


def test_no_trace_no_statistics(session: Any) -> None:
    metadata = tf.RunMetadata()
    session.run("z:0", {"x:0": [1]}, run_metadata=metadata)
    assert not metadata.step_stats or not metadata.step_stats.dev_stats
    session.run("z:0", {"x:0": [1]}, options=tf.RunOptions(trace_level=3))


def test_the_graph_of_each_device_is_given_on_demand() -> None:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1))
    with tf.Graph().as_default() as graph:
        with tf.device("/gpu:0"):
            a = tf.placeholder(tf.float32, [2]) + 1.0
        with tf.device("/cpu:0"):
            b = tf.multiply(a, 2.0, name="b")
    metadata = tf.RunMetadata()
    with tf.Session(graph=graph, config=config) as session:
        feeds = {a.op.inputs[0]: [1, 2]}
        options = tf.RunOptions(output_partition_graphs=True)
        session.run(b, feeds, options=options, run_metadata=metadata)
    parts = metadata.partition_graphs
    assert [type(part).__name__ for part in parts] == ["GraphDef"] * 2
    ops = [{node.op for node in part.node} for part in parts]
    cpu, gpu = sorted(ops, key=lambda types: "_Send" in types)
    assert {"_Recv", "Mul", "_Retval"} <= cpu and {"_Arg", "AddV2", "_Send"} <= gpu
    assert all(len({node.device for node in part.node}) == 1 for part in parts)


@pytest.mark.parametrize("pool", [1, 3, -2])
def test_there_is_one_thread_pool(session: Any, pool: int) -> None:
    options = tf.RunOptions(inter_op_thread_pool=pool)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"inter_op_thread_pool: {pool}"):
        session.run("z:0", {"x:0": [1]}, options=options)
    session.run("z:0", {"x:0": [1]}, options=tf.RunOptions(inter_op_thread_pool=-1))


def test_options_have_their_types(session: Any) -> None:
    with pytest.raises(TypeError, match=r"options must be a tf\.RunOptions.*int"):
        session.run("z:0", {"x:0": [1]}, options=3)
    with pytest.raises(TypeError, match=r"run_metadata must be a tf\.RunMetadata.*dict"):
        session.run("z:0", {"x:0": [1]}, run_metadata={})


def _same(context: InferContext) -> Any:
    return [context.shapes[0]]


def _nap(value: Any, out: Any) -> None:
    time.sleep(0.03)
    np.copyto(out, value)


nap = tf.register_op(
    "SessionBaseTestNap",
    inputs="value: float",
    outputs="same: float",
    infer=_same,
    cpu=tf.Call(_nap),
    gpu=tf.HostOnly("it sleeps"),
    grad=tf.NO_GRADIENT,
    doc="The value, a while later.",
)


@pytest.mark.parametrize("where", ["run", "session"])
def test_a_run_that_takes_too_long_is_ended_between_two_steps(where: str) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        slow = nap(nap(nap(x)))
    ours = tf.ConfigProto(operation_timeout_in_ms=10) if where == "session" else None
    options = tf.RunOptions(timeout_in_ms=10) if where == "run" else None
    with tf.Session(graph=graph, config=ours) as session:
        with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out"):
            session.run(slow, {x: 1}, options=options)
        patient = tf.RunOptions(timeout_in_ms=60_000)
        assert session.run(slow, {x: 2}, options=patient) == 2
        if where == "run":
            assert session.run(slow, {x: 3}) == 3


def test_graph_def_is_the_graph_s(session: Any) -> None:
    assert [node.name for node in session.graph_def.node] == [
        op.name for op in session.graph.get_operations()
    ]
    assert not any("_output_shapes" in node.attr for node in session.graph_def.node)
    config = tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=True))
    with tf.Session(graph=session.graph, config=config) as other:
        assert other.graph_def == session.graph.as_graph_def(add_shapes=True)


def test_devices_tell_of_themselves(session: Any) -> None:
    (cpu,) = session.list_devices()
    assert cpu.name == "/job:localhost/replica:0/task:0/device:CPU:0"
    assert (cpu.device_type, cpu.memory_limit_bytes) == ("CPU", 256 << 20)
    assert re.search("NumPy", cpu.physical_device_desc)
    assert list(session.memory_stats()) == [cpu.name]


def test_nested_fetches_are_prepared_once(monkeypatch):
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.constant(1), tf.constant(2)
        made = []
        make = session._make
        monkeypatch.setattr(session, "_make", lambda *args: made.append(args) or make(*args))
        for _ in range(2):
            assert session.run([x, {"y": [y]}, (x,)]) == [1, {"y": [2]}, (1,)]
            assert session.run({"x": x, "y": y}) == {"x": 1, "y": 2}
            assert session.run({"y": x, "x": y}) == {"y": 1, "x": 2}
            assert session.run([x, {"y": [y, x]}]) == [1, {"y": [2, 1]}]
        assert len(made) == 4


def test_metadata_is_that_of_its_last_run():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        y = x + 1.0
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {x: 1.0}, options=options, run_metadata=metadata)
        assert len(metadata.step_stats.dev_stats) == 1
        session.run(y, {x: 1.0}, run_metadata=metadata)
        assert metadata == tf.RunMetadata()


def test_pools_of_threads_that_the_session_has():
    config = tf.ConfigProto()
    for _ in range(2):
        config.session_inter_op_thread_pool.add(num_threads=2)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        y = tf.constant(1.0)
        assert session.run(y, options=tf.RunOptions(inter_op_thread_pool=1)) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="There are 0 to 1"):
            session.run(y, options=tf.RunOptions(inter_op_thread_pool=2))
