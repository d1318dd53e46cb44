"""`tf.profiler`: counts of parameters and of floating-point operations, times of runs, outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.tensorflow_import.profiling.float_operations import (
    OpStats,
    RegisterStatistics,
    get_stats_for_node_def,
)
from gpugraph.tensorflow_import.profiling.graph_profiles import Profiler, profile
from gpugraph.tensorflow_import.profiling.profile_options import ProfileOptionBuilder

FLOPS = ProfileOptionBuilder(ProfileOptionBuilder.float_operation()).with_empty_output().build()
PARAMETERS = ProfileOptionBuilder.trainable_variables_parameter() | {"output": "none"}


def f(*shape: int | None) -> Any:
    return tf.placeholder(tf.float32, shape)


def _layers() -> Any:
    net = tf.layers.conv2d(f(1, 32, 32, 3), 8, 3, activation=tf.nn.relu, name="c1")
    net = tf.layers.flatten(tf.layers.max_pooling2d(net, 2, 2))
    return tf.layers.dense(net, 10, name="fc")


# The counts are those of TensorFlow 2.21's tf.compat.v1.profiler for the same calls.
@pytest.mark.parametrize(
    "build, expected",
    [
        (lambda: tf.matmul(f(4, 3), f(4, 5), transpose_a=True), 120),
        (lambda: tf.matmul(f(2, 3, 4), f(2, 5, 4), transpose_b=True), 240),
        (lambda: tf.matmul(f(None, 4), f(4, 5)), 0),
        (lambda: tf.nn.conv2d(f(2, 8, 8, 3), f(3, 3, 3, 5), [1, 2, 2, 1], "SAME"), 8640),
        (
            lambda: tf.nn.depthwise_conv2d_native(
                f(2, 8, 8, 3), f(3, 3, 3, 2), [1, 1, 1, 1], "VALID"
            ),
            7776,
        ),
        (
            lambda: tf.nn.conv2d_transpose(
                f(2, 4, 4, 5), f(3, 3, 3, 5), [2, 8, 8, 3], [1, 2, 2, 1]
            ),
            8640,
        ),
        (lambda: tf.nn.avg_pool(f(2, 8, 8, 3), [1, 3, 3, 1], [1, 2, 2, 1], "VALID"), 486),
        (lambda: tf.nn.softmax(f(3, 4)), 60),
        (lambda: tf.nn.l2_loss(f(3, 4)), 35),
        (lambda: tf.add_n([f(3, 4)] * 3), 24),
        (lambda: tf.reduce_sum(f(3, 4), 0), 8),
        (lambda: tf.nn.relu(f(3, 4)), 0),
        (lambda: tf.gradients(tf.rsqrt(tf.get_variable("b", [4])), tf.trainable_variables()), 33),
        (_layers, 475644),
    ],
)
def test_floating_point_operations(build: Callable[[], Any], expected: int) -> None:
    with tf.Graph().as_default() as graph:
        build()
        assert profile(graph, options=FLOPS).total_float_ops == expected


def test_parameters_by_scope() -> None:
    with tf.Graph().as_default():
        _layers()
        tf.get_variable("step", [], trainable=False)
        root = profile(options=PARAMETERS)
    assert root.name == "_TFProfRoot" and root.total_parameters == 8 * 28 + 1801 * 10 - 10 + 10
    assert {child.name: child.total_parameters for child in root.children} == {
        "c1": 224,
        "fc": 18010,
    }
    assert [child.name for child in root.children[0].children] == ["c1/bias", "c1/kernel"]
    assert type(root).FromString(root.SerializeToString()) == root


def test_times_of_runs_and_outputs(tmp_path: Any, capsys: Any) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        y = tf.matmul(tf.random_normal([40, 40]), tf.random_normal([40, 40]), name="y")
        metadata = tf.RunMetadata()
        session.run(y, None, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    profiler = Profiler(graph)
    profiler.add_step(3, metadata)
    builder = ProfileOptionBuilder(ProfileOptionBuilder.time_and_memory(min_bytes=0))
    file, trace = tmp_path / "profile.txt", tmp_path / "trace.json"
    by_type = profiler.profile_operations(builder.with_file_output(str(file)).build())
    assert by_type.total_exec_micros >= 1
    assert "MatMul" in {child.name for child in by_type.children}
    assert "micros" in file.read_text()
    profiler.profile_name_scope(builder.with_timeline_output(str(trace)).build())
    assert "traceEvents" in trace.read_text()
    other = profiler.profile_name_scope(builder.with_step(4).with_stdout_output().build())
    assert other.total_exec_micros == 0
    assert "_TFProfRoot" in capsys.readouterr().out


def test_what_is_refused() -> None:
    with tf.Graph().as_default():
        with pytest.raises(NotImplementedError, match="no profile by code"):
            profile(cmd="code")
        with pytest.raises(ValueError, match="unknown command: tree"):
            profile(cmd="tree")
        with pytest.raises(NotImplementedError, match="'pprof' is not written"):
            profile(options=ProfileOptionBuilder().with_pprof_output("x").build())
        with pytest.raises(ValueError, match="needs the statistics of a run"):
            profile(options=ProfileOptionBuilder().with_timeline_output("x").build())


def test_statistics_of_a_program() -> None:
    @RegisterStatistics("Cosh", "flops")
    def count(graph: Any, node: Any) -> OpStats:
        return OpStats("flops", 7)

    with tf.Graph().as_default() as graph:
        op = tf.cosh(f(3)).op
        total = get_stats_for_node_def(graph, op.node_def, "flops")
        total += get_stats_for_node_def(graph, tf.square(f(3)).op.node_def, "flops")
        assert total.value == 10
        assert get_stats_for_node_def(graph, op.node_def, "weight").value is None
        assert profile(graph, options=FLOPS).total_float_ops == 10
    with pytest.raises(KeyError, match="Registering two statistics"):
        RegisterStatistics("Cosh", "flops")(count)
