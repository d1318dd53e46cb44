"""tf.test.Benchmark: measurement, reports and runs."""

from __future__ import annotations

import pytest

import gpugraph as tf
from gpugraph.library.testing import benchmarks


@pytest.fixture(autouse=True)
def no_others(monkeypatch):
    monkeypatch.setattr(benchmarks.Benchmark, "classes", [])
    with tf.Graph().as_default():
        yield


def declare():
    class Adding(tf.test.Benchmark):
        def benchmarkRuns(self):
            count = tf.Variable(0)
            add = count.assign_add(1)
            with tf.Session(config=tf.test.benchmark_config()) as session:
                session.run(count.initializer)
                self.values = self.run_op_benchmark(
                    session, add.op, burn_iters=3, min_iters=4, mbs=2, store_trace=True,
                    extras={"size": 7},
                )  # fmt: skip
                self.count = self.evaluate(count)

        def benchmark_other(self):
            self.report_benchmark(iters=5, wall_time=0.25, name="named")

        def helper(self):
            raise AssertionError

    return Adding


def test_an_operation_is_measured_and_reported(capsys):
    benchmark = declare()()
    benchmark.benchmarkRuns()
    values = benchmark.values
    assert benchmark.count == 8  # a traced run too
    assert values["iters"] == 4
    assert values["wall_time"] > 0
    assert values["throughput"] == 2 / values["wall_time"]
    extras = values["extras"]
    assert extras["size"] == 7
    assert {"wall_time_mean", "wall_time_stdev", "step_stats"} <= set(extras)
    assert any(key.startswith("allocator_maximum_num_bytes_") for key in extras)
    output = capsys.readouterr().out
    assert output.startswith("Adding.benchmarkRuns: iters: 4, wall_time: ")
    assert "size: 7" in output
    assert "step_stats" not in output


def test_the_command_line_names_benchmarks(capsys):
    declare()
    tf.test.main(["program", "--benchmark_filter=other$"])
    assert capsys.readouterr().out == "Adding.named: iters: 5, wall_time: 0.25\n"
    arguments = ["program", "--verbose", "-benchmark_filter=all"]
    assert benchmarks.requested_benchmarks(arguments) == "all"
    assert arguments == ["program", "--verbose"]
    assert benchmarks.requested_benchmarks(["program"]) is None
    with pytest.raises(ValueError, match="No benchmarks matched the pattern: 'nothing'"):
        tf.test.main(["program", "--benchmark_filter=nothing"])


def test_the_base_is_abstract():
    assert tf.test.Benchmark.is_abstract()
    assert not declare().is_abstract()
    with pytest.raises(ValueError, match="no default session"):
        declare()().evaluate(tf.constant(1))
    rewriting = tf.test.benchmark_config().graph_options.rewrite_options
    assert rewriting.dependency_optimization == rewriting.OFF
