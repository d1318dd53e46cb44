"""Timeline: traces that Chrome opens, checked by a strict validator."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.inspection.chrome_trace import trace_faults
from gpugraph.inspection.timeline import Timeline


@pytest.fixture(scope="module")
def metadata() -> Any:
    """Return a training step on two devices."""
    metadata = tf.RunMetadata()
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=1))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        with tf.device("/gpu:0"):
            x = tf.placeholder(tf.float32, [4, 8], name="x")
            w = tf.Variable(np.ones((8, 3), np.float32), name="w")
            h = tf.nn.relu(tf.matmul(x, w) + 1.0, name="h")
        with tf.device("/cpu:0"):
            loss = tf.reduce_mean(tf.square(h), name="loss")
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        feeds = {x: np.ones((4, 8))}
        session.run([train, loss], feeds, options=options, run_metadata=metadata)
    return metadata


def trace_of(metadata: Any, **kwargs: Any) -> Any:
    return json.loads(Timeline(metadata.step_stats).generate_chrome_trace_format(**kwargs))


def test_a_trace_keeps_the_rules_of_viewers(metadata: Any) -> None:
    assert list(trace_faults(trace_of(metadata, show_memory=True))) == []


def test_it_has_a_process_a_device_an_event_a_step_and_arrows(metadata: Any) -> None:
    events = trace_of(metadata, show_memory=True)["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert sorted(name[-5:] for name in names) == ["CPU:0", "GPU:0"]
    steps = [stats for device in metadata.step_stats.dev_stats for stats in device.node_stats]
    assert sum(event["ph"] == "X" for event in events) == len(steps)
    arrows = [event for event in events if event["ph"] == "s"]
    assert [arrow["name"] for arrow in arrows] == ["h"]
    assert any(event["ph"] == "C" and event["args"]["bytes"] for event in events)
    (product,) = [event for event in events if event.get("args", {}).get("name") == "MatMul"]
    assert product["name"] == "MatMul" and product["args"]["input1"] == "w/read"


def test_arrows_and_memory_are_there_where_asked_for(metadata: Any) -> None:
    phases = {event["ph"] for event in trace_of(metadata, show_dataflow=False)["traceEvents"]}
    assert phases == {"M", "X"}


def test_an_analysis_has_each_allocators_maximum(metadata: Any) -> None:
    analysis = Timeline(metadata.step_stats).analyze_step_stats()
    assert set(analysis.allocator_maximums) == {"cpu", "gpu_0"}
    assert analysis.allocator_maximums["gpu_0"].num_bytes >= 48
    assert list(trace_faults(json.loads(analysis.chrome_trace.format_to_string(pretty=True)))) == []


def test_what_is_no_statistics_is_refused() -> None:
    with pytest.raises(TypeError, match=r"step_stats must be a StepStats.*FULL_TRACE"):
        Timeline(None)


@pytest.mark.parametrize(
    "phase, change, fault",
    [
        ("X", {"ts": -1.0}, "its 'ts' is -1.0"),
        ("X", {"dur": "1"}, "its 'dur' is '1'"),
        ("X", {"tid": 99}, "has no name"),
        ("X", {"dur": 1e9}, "begins before the step before it ends"),
        ("s", {"id": 99}, "has one end"),
        ("f", {"ts": 0.0}, "goes back in time"),
        ("C", {"args": {"bytes": "many"}}, "its counter is not a number"),
        ("M", {"ph": "?"}, "not an event of a known phase"),
    ],
)
def test_the_validator_finds_faults(metadata: Any, phase: str, change: Any, fault: str) -> None:
    trace = copy.deepcopy(trace_of(metadata, show_memory=True))
    event = next(event for event in trace["traceEvents"] if event["ph"] == phase)
    event.update(change)
    assert any(fault in found for found in trace_faults(trace))
    assert list(trace_faults([])) == ["the trace is not an object with a list 'traceEvents'"]
