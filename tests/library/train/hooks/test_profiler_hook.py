"""ProfilerHook writes traces and the metadata of runs, when it is time."""

from __future__ import annotations

import json

import pytest

import gpugraph as tf


def test_traces_of_every_second_step(tmp_path):
    with tf.Graph().as_default():
        train = tf.assign_add(tf.train.create_global_step(), 1, name="train")
        hook = tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            for _ in range(5):
                session.run(train)
    tf.summary.FileWriterCache.clear()
    assert sorted(path.name for path in tmp_path.glob("*.json")) == [
        "timeline-2.json", "timeline-4.json",
    ]  # fmt: skip
    events = json.loads((tmp_path / "timeline-4.json").read_text())["traceEvents"]
    assert "train" in {event.get("args", {}).get("name") for event in events}
    (path,) = tmp_path.glob("events.*")
    written = list(tf.train.summary_iterator(str(path)))
    tags = [event.tagged_run_metadata.tag for event in written]
    assert list(filter(None, tags)) == ["step_2", "step_4"]
    metadata = tf.RunMetadata.FromString(written[-1].tagged_run_metadata.run_metadata)
    assert "train" in {stats.node_name for stats in metadata.step_stats.dev_stats[0].node_stats}


def test_it_needs_a_time_and_a_global_step():
    with pytest.raises(ValueError, match="Either every_secs or every_steps"):
        tf.train.ProfilerHook()
    with tf.Graph().as_default():
        with pytest.raises(RuntimeError, match="Global step should be created to use ProfilerHook"):
            tf.train.MonitoredSession(hooks=[tf.train.ProfilerHook(1)])
