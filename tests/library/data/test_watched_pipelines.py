"""Measured pipelines: time and fullness of each stage in explanations, spans in traces."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.cli.command_line import main
from gpugraph.inspection.chrome_trace import trace_faults
from gpugraph.inspection.timeline import Timeline
from gpugraph.ops.datasets.elements.pipeline_watch import Watch
from gpugraph.plan.pipeline_spans import WATCH_ALL

D = tf.data.Dataset


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def slow(seconds):
    def function(value):
        time.sleep(seconds)
        return value

    return lambda x: tf.py_func(function, [x], tf.int64)


def watch_of(dataset, runs, pause=0.0):
    """Return the watch of an iterator that was watched from its start."""
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    with WATCH_ALL.on(), tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(runs):
            session.run(following)
            time.sleep(pause)
        (watch,) = WATCH_ALL.watches
        return watch


def by_kind(watch: Watch):
    return {times.kind: times for times in watch.times.values()}


def test_each_stage_has_its_time_and_its_elements():
    watch = watch_of(D.range(100).map(slow(0.002)).filter(lambda x: x % 2 > 0).batch(3), 4)
    times = by_kind(watch)
    counts = {kind: one.elements for kind, one in times.items()}
    assert counts == {"Batch": 4, "Filter": 12, "Map": 24, "Range": 24}
    assert times["Map"].spent >= 24 * 2_000_000
    assert times["Map"].spent > 3 * (times["Batch"].spent + times["Range"].spent)


def test_a_slow_pipeline_has_an_empty_buffer_and_a_slow_step_a_full_one():
    slow_input = by_kind(watch_of(D.range(50).map(slow(0.005)).prefetch(4), 10))["Prefetch"]
    assert slow_input.filled / slow_input.takes < 0.3
    assert slow_input.spent > 20_000_000  # the step waits for elements
    quick_input = D.range(50).map(slow(0.001)).prefetch(4)  # a thread reads it
    slow_step = by_kind(watch_of(quick_input, 10, pause=0.02))["Prefetch"]
    assert slow_step.filled / slow_step.takes > 0.7
    assert slow_step.capacity == 4


def test_threads_of_a_map_are_counted_apart():
    watch = watch_of(D.range(40).map(slow(0.003), num_parallel_calls=3), 10)
    times = by_kind(watch)["Map"]
    assert times.worked >= 10 * 3_000_000
    assert "in threads" in watch.text()


def test_the_text_is_a_tree_with_datasets_of_functions():
    dataset = D.zip((D.range(9), D.range(3).flat_map(lambda x: D.from_tensors(x).repeat(3))))
    lines = watch_of(dataset.shuffle(4, seed=1), 5).text().splitlines()
    assert lines[0] == "pipeline of 'IteratorV2':"
    kinds = [line.split("'")[0].rstrip() for line in lines[1:]]
    assert kinds[:3] == ["  Shuffle", "    Zip", "      Range"]
    assert any(kind.startswith("  (in a function) Repeat") for kind in kinds)


def test_elements_are_the_same_and_positions_go_on():
    dataset = D.range(40).shuffle(8, seed=2).map(lambda x: x * 3).batch(4).prefetch(2)
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    expected = []
    with tf.Session() as session:
        session.run(iterator.initializer)
        expected = [session.run(following).tolist() for _ in range(10)]
    with tf.Session() as session:
        session.run(iterator.initializer)
        found = [session.run(following).tolist()]
        session.explain(following)
        found += [session.run(following).tolist() for _ in range(9)]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(following)
    assert found == expected


def test_explain_measures_from_the_first_explanation_on():
    following = D.range(40).batch(4).prefetch(2).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        session.run(following)
        assert "measured from now on" in str(session.explain(following))
        for _ in range(5):
            session.run(following)
        text = str(session.explain(following))
    assert "Prefetch" in text
    assert "5 elements" in text


def test_iterators_that_nobody_explains_are_not_measured():
    iterator = D.range(40).batch(4).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        session.run(following)
        (held,) = [h for h in session._backend.resources.shared.values() if hasattr(h, "measure")]
        assert held.watch is None
        assert "next" not in vars(held.elements)


def test_a_trace_has_the_spans_of_threads():
    dataset = D.range(40).map(slow(0.002), num_parallel_calls=2).batch(2).prefetch(1)
    following = dataset.make_one_shot_iterator().get_next()
    options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
    with tf.Session() as session:
        session.run(following)
        session.run(following, options=options, run_metadata=metadata)
        session.run(following, options=options, run_metadata=metadata)
    device = metadata.step_stats.dev_stats[-1]
    assert device.device == "tf.data"
    assert "PrefetchDataset" in {stats.node_name for stats in device.node_stats}
    assert any(name.startswith("gpugraph_data") for name in device.thread_names.values())
    trace = json.loads(Timeline(metadata.step_stats).generate_chrome_trace_format())
    assert not list(trace_faults(trace))


PROGRAM = """
import gpugraph as tf
dataset = tf.data.Dataset.range(40).map(lambda x: x + 1, 2).batch(4).prefetch(1)
following = dataset.make_one_shot_iterator().get_next()
with tf.Session() as session:
    for _ in range(6):
        session.run(following)
"""


def test_the_commands_show_pipelines(tmp_path, capsys):
    program, trace = tmp_path / "program.py", tmp_path / "trace.json"
    program.write_text(PROGRAM)
    assert main(["explain", str(program)]) == 0
    text = capsys.readouterr().out.partition("-- pipelines of data\n")[2]
    assert text.startswith("pipeline of 'OneShotIterator':\n  Prefetch ")
    assert "6 elements" in text
    assert main(["trace", "-o", str(trace), str(program)]) == 0
    found = json.loads(trace.read_text())
    assert not list(trace_faults(found))
    names = [e["args"]["name"] for e in found["traceEvents"] if e["name"] == "process_name"]
    assert "tf.data" in names
    assert np.isfinite([e["dur"] for e in found["traceEvents"] if e["ph"] == "X"]).all()
