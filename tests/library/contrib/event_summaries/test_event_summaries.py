"""`tf.contrib.summary` and `tf.compat.v2.summary`: which events a run writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def events(folder: Path) -> list[tuple[int, str, Any]]:
    """Return (step, tag, value) of each summary in the event files of a folder."""
    return [
        (event.step, value.tag, value)
        for file in sorted(folder.glob("events*"))
        for event in tf.train.summary_iterator(str(file))
        for value in event.summary.value
    ]


def test_summaries_are_written_when_the_step_is_a_multiple(tmp_path: Path) -> None:
    summary = tf.contrib.summary
    step = tf.train.get_or_create_global_step()
    writer = summary.create_file_writer(str(tmp_path), flush_millis=10000)
    with writer.as_default(), summary.record_summaries_every_n_global_steps(2):
        loss = tf.cast(step, tf.float32) * 10.0
        with tf.name_scope("train"):
            summary.scalar("loss", loss)
        summary.histogram("weights", [1.0, 2.0, 3.0], family="all")
        train = tf.assign_add(step, 1)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            summary.initialize(graph=tf.get_default_graph(), session=session)
            for _ in range(5):
                session.run(summary.all_summary_ops())
                session.run(train)
            session.run(summary.flush())
    written = events(tmp_path)
    assert [(at, tag) for at, tag, _ in written] == [
        (at, tag) for at in (0, 2, 4) for tag in ("train/loss", "all/all/weights")
    ]
    assert [value.simple_value for _, tag, value in written if "loss" in tag] == [0.0, 20.0, 40.0]
    assert written[1][2].histo.sum == 6.0
    files = list(tmp_path.glob("events*"))
    assert len(files) == 1
    assert any(event.graph_def for event in tf.train.summary_iterator(str(files[0])))


def test_nothing_is_recorded_unless_asked_for(tmp_path: Path) -> None:
    summary = tf.contrib.summary
    assert isinstance(summary.scalar("without_writer", 1.0), tf.Operation)
    with summary.create_file_writer(str(tmp_path)).as_default():
        default = summary.scalar("x", 1.0, step=1)
        with summary.always_record_summaries():
            always = summary.scalar("y", 2.0, step=7)
            with summary.never_record_summaries():
                never = summary.scalar("z", 3.0, step=1)
        with tf.Session() as session:
            session.run(summary.summary_writer_initializer_op())
            assert session.run([default, always, never]) == [False, True, False]
            session.run(summary.flush())
    assert [(step, tag) for step, tag, _ in events(tmp_path)] == [(7, "y")]


def test_a_writer_must_be_initialized(tmp_path: Path) -> None:
    summary = tf.contrib.summary
    with summary.create_file_writer(str(tmp_path)).as_default(), summary.always_record_summaries():
        written = summary.scalar("x", 1.0, step=1)
        with tf.Session() as session, pytest.raises(tf.errors.OpError, match="initialize"):
            session.run(written)
    with pytest.raises(RuntimeError, match="No default"):
        summary.initialize()


def test_images_and_recordings(tmp_path: Path) -> None:
    summary = tf.contrib.summary
    with summary.create_file_writer(str(tmp_path)).as_default(), summary.always_record_summaries():
        ops = [
            summary.image("i", tf.zeros([2, 4, 4, 3]), max_images=1, step=3),
            summary.audio("a", tf.zeros([1, 8, 1]), 8000.0, 1, step=3),
            summary.generic("g", tf.constant([1, 2]), step=3),
        ]
        with tf.Session() as session:
            summary.initialize(session=session)
            session.run(ops)
            session.run(summary.flush())
    values = {tag: value for _, tag, value in events(tmp_path)}
    assert values["i/image"].image.width == 4
    assert values["a/audio"].audio.sample_rate == 8000.0
    assert tf.make_ndarray(values["g"].tensor).tolist() == [1, 2]


def test_summaries_of_version_2(tmp_path: Path) -> None:
    with tf.as_tensorflow():
        from tensorflow.compat import v2  # noqa: PLC0415

    step = tf.Variable(5, dtype=tf.int64)
    flag = tf.placeholder(tf.bool, [])
    with v2.summary.create_file_writer(str(tmp_path)).as_default():
        with pytest.raises(ValueError, match="No step set"):
            v2.summary.scalar("x", 1.0)
        with v2.summary.record_if(lambda: flag):
            v2.summary.scalar("loss", tf.constant(3), step=step)
            v2.summary.histogram("h", [0.0, 1.0, 1.0], step=step, buckets=2)
            v2.summary.text("t", "words", step=step)
            v2.summary.image("i", np.ones([1, 2, 3, 1], np.float32), step=step)
            v2.summary.audio("a", np.zeros([1, 5, 2], np.float32), 100, step=step)
        with tf.Session() as session:
            session.run([tf.global_variables_initializer()])
            session.run(tf.contrib.summary.summary_writer_initializer_op())
            for is_on in (False, True):
                session.run(tf.summary.all_v2_summary_ops(), {flag: is_on})
            session.run(v2.summary.flush())
    written = {tag: (at, value) for at, tag, value in events(tmp_path)}
    assert sorted(written) == ["a", "h", "i", "loss", "t"]
    at, value = written["loss"]
    assert (at, value.metadata.plugin_data.plugin_name) == (5, "scalars")
    assert tf.make_ndarray(value.tensor) == np.float32(3)
    assert tf.make_ndarray(written["h"][1].tensor).tolist() == [[0, 0.5, 1], [0.5, 1, 2]]
    assert tf.make_ndarray(written["t"][1].tensor) == b"words"
    width, height, png = tf.make_ndarray(written["i"][1].tensor).tolist()
    assert (width, height) == (b"3", b"2")
    with tf.Session() as session:
        assert session.run(tf.image.decode_png(png)).tolist() == np.full([2, 3, 1], 255).tolist()
    assert tf.make_ndarray(written["a"][1].tensor)[0, 0][:4] == b"RIFF"
    assert written["a"][1].metadata.plugin_data.content == b"\x10\x0b"


def test_the_scalar_of_version_2_takes_the_step_that_is_set(tmp_path: Path) -> None:
    with tf.as_tensorflow():
        from tensorflow.compat import v2  # noqa: PLC0415

    v2.summary.experimental.set_step(9)
    try:
        with v2.summary.create_file_writer(str(tmp_path)).as_default() as writer:
            written = v2.summary.scalar("x", 1.0)
            with tf.Session() as session:
                session.run(writer.init())
                assert session.run(written)
                session.run(writer.close())
    finally:
        v2.summary.experimental.set_step(None)
    assert [(at, tag) for at, tag, _ in events(tmp_path)] == [(9, "x")]


def test_writers_without_a_file(tmp_path: Path) -> None:
    summary = tf.contrib.summary
    with summary.create_file_writer(None).as_default() as writer, tf.Session() as session:
        with summary.always_record_summaries():
            written = summary.scalar("x", 1.0, step=1)
        session.run([writer.init(), writer.flush(), writer.close(), written])
    assert summary.eval_dir(str(tmp_path), "test") == str(tmp_path / "eval_test")
    with pytest.raises(ValueError, match="logdir"), tf.as_tensorflow():
        from tensorflow.compat import v2  # noqa: PLC0415

        v2.summary.create_file_writer(None)
