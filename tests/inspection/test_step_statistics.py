"""StepStats, cost graphs and graphs of devices, as TensorFlow reports them."""

from __future__ import annotations

from typing import Any

import numpy as np

import gpugraph as tf

FULL = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)


def stats_by_name(metadata: Any) -> dict[str, Any]:
    return {s.node_name: s for d in metadata.step_stats.dev_stats for s in d.node_stats}


def traced(fetches: Any, feeds: Any = None, config: Any = None, runs: int = 1) -> Any:
    metadata = tf.RunMetadata()
    with tf.Session(config=config) as session:
        for _ in range(runs):
            session.run(fetches, feeds, options=FULL, run_metadata=metadata)
    return metadata


def test_a_step_has_times_memory_output_and_a_label() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        y = tf.matmul(x, np.ones((3, 4), np.float32), name="y")
        stats = stats_by_name(traced(y, {x: np.ones((2, 3))}))["y"]
    assert stats.timeline_label.startswith("y = MatMul(_arg_x_0_0, ")
    assert 0 <= stats.op_start_rel_nanos <= stats.op_end_rel_nanos <= stats.all_end_rel_nanos
    assert 0 < stats.scheduled_micros <= stats.all_start_micros
    (memory,) = stats.memory
    assert (memory.allocator_name, memory.total_bytes) == ("cpu", 32) and memory.live_bytes >= 32
    (output,) = stats.output
    assert [dim.size for dim in output.tensor_description.shape.dim] == [2, 4]
    assert output.tensor_description.dtype == tf.float32.as_datatype_enum
    assert output.tensor_description.allocation_description.requested_bytes == 32


def test_a_run_of_a_constant_has_its_nodes() -> None:
    with tf.Graph().as_default():
        stats = stats_by_name(traced(tf.constant([1.0, 2.0], name="c")))
    assert set(stats) == {"c", "_retval_c_0_0"}
    assert stats["c"].timeline_label == "c = Const()" and stats["c"].all_start_micros > 0
    assert stats["c"].output[0].tensor_description.allocation_description.requested_bytes == 8


def test_a_fused_step_names_its_operations(monkeypatch: Any) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "1")
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4, 3], name="x")
        y = tf.reduce_mean(tf.square(x, name="s") * 2.0, name="m")
        labels = [s.timeline_label for s in stats_by_name(traced(y, {x: np.ones((4, 3))})).values()]
    (fused,) = [label for label in labels if " = _Fused(" in label]
    assert fused.partition(" of ")[2].split(", ") == ["s", "mul", "m"]


def test_a_receive_names_the_tensor_and_the_device_it_comes_from() -> None:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1))
    with tf.Graph().as_default():
        with tf.device("/gpu:0"):
            fed = tf.placeholder(tf.float32, [1])
            x = tf.add(fed, 1.0, name="x")
        with tf.device("/cpu:0"):
            y = tf.multiply(x, 2.0)
        stats = stats_by_name(traced(y, {fed: [1.0]}, config))
    (label,) = [s.timeline_label for s in stats.values() if "_Recv" in s.timeline_label]
    assert label.endswith("(x @/job:localhost/replica:0/task:0/device:GPU:0)")


def test_a_cost_graph_comes_each_so_many_runs() -> None:
    options = tf.GraphOptions(build_cost_model=2, build_cost_model_after=1)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        y = tf.matmul(x, np.ones((3, 4), np.float32), name="y")
        found = []
        with tf.Session(config=tf.ConfigProto(graph_options=options)) as session:
            for _ in range(4):
                metadata = tf.RunMetadata()
                session.run(y, {x: np.ones((2, 3))}, run_metadata=metadata)
                found.append(metadata.cost_graph)
    assert [bool(graph and len(graph.node)) for graph in found] == [False, True, False, True]
    nodes = {node.name: node for node in found[1].node}
    product = nodes["y"]
    assert [info.preceding_port for info in product.input_info] == [0, 0]
    assert found[1].node[product.input_info[0].preceding_node].name == "_arg_x_0_0"
    assert product.output_info[0].size == 32
    assert [dim.size for dim in product.output_info[0].shape.dim] == [2, 4]


def test_what_runs_report_is_written_as_tensorflows_bytes() -> None:
    with tf.Graph().as_default():
        fed = tf.placeholder(tf.float32, [1])
        metadata = traced(tf.add(fed, 1.0, name="sum"), {fed: [1.0]})
    again = tf.RunMetadata.FromString(metadata.SerializeToString())
    assert stats_by_name(again).keys() == stats_by_name(metadata).keys() == {"sum"}


def test_memory_counts_variables_and_what_is_sized_in_the_run() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(np.ones(1000, np.float32), name="v")
        x = tf.placeholder(tf.float32, [None], name="x")
        places = tf.where(tf.greater(x, 0.0), name="places")
        y = tf.add(tf.reduce_sum(variable), tf.cast(tf.reduce_sum(places), tf.float32), name="y")
        session.run(variable.initializer)
        metadata = tf.RunMetadata()
        session.run(y, {x: np.ones(5000)}, options=FULL, run_metadata=metadata)
        live = {name: stats.memory[0].live_bytes for name, stats in stats_by_name(metadata).items()}
        assert all(count >= 4000 for count in live.values())
        assert live["places"] >= 4000 + 8 * 5000
        (memory,) = session.report(None, y, {x: np.ones(5000)}).data["memory"]
        assert ["v", "variable", 4000] in memory["owners"]
        assert memory["owners"][-1][0] == "sized in the run"
        assert memory["peak"] == sum(count for _, _, count in memory["owners"]) > 44000
