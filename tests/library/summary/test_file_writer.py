"""Event files: TensorBoard reads them as they were written, and nothing is left open."""

from __future__ import annotations

import threading

import pytest

import gpugraph as tf
from gpugraph.formats.summary_bytes import scalar_summary


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield
    tf.summary.FileWriterCache.clear()


def _files(folder):
    return sorted(folder.glob("events.out.tfevents.*"))


def _events(folder):
    return [event for path in _files(folder) for event in tf.train.summary_iterator(str(path))]


def test_events_are_written_when_enough_wait(tmp_path):
    before = threading.active_count()
    writer = tf.summary.FileWriter(tmp_path, max_queue=3, filename_suffix=".x")
    (path,) = _files(tmp_path)
    sizes = [path.stat().st_size]
    for step in range(4):
        writer.add_summary(scalar_summary(b"a", step), step)
        sizes.append(path.stat().st_size)
    assert path.name.endswith(".x")
    assert sizes[0] == sizes[1] == sizes[2] < sizes[3] == sizes[4]
    writer.flush()
    assert path.stat().st_size > sizes[4]
    writer.close()
    assert threading.active_count() <= before


def test_all_kinds_of_events(tmp_path):
    v = tf.Variable(1.0)
    graph = v.graph
    with tf.summary.FileWriter(tmp_path, graph) as writer:
        with tf.Session() as session:
            writer.add_summary(session.run(tf.summary.scalar("s", 2.0)), 3)
        writer.add_summary(tf.Summary(value=[{"tag": "t", "simple_value": 1.0}]))
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 4)
        writer.add_event(tf.Event(step=9))
        with pytest.raises(TypeError, match="MetaGraphDef, saw type: <class 'int'>"):
            writer.add_meta_graph(3)
        with pytest.raises(TypeError, match="The passed graph must be an instance of `Graph`"):
            writer.add_graph(3)
        with pytest.raises(ValueError, match="Please pass only graph, or graph_def"):
            writer.add_graph(graph, graph_def=tf.GraphDef())
        with pytest.raises(TypeError, match="Event"):
            writer.add_event(3)
        with pytest.raises(Exception, match=r"Error parsing message|message ends"):
            writer.add_summary(b"\x08")
    kinds = [event.WhichOneof("what") for event in _events(tmp_path)]
    assert kinds == [
        *("file_version", "graph_def", "meta_graph_def", "summary", "summary", "session_log"),
        None,
    ]
    events = _events(tmp_path)
    assert events[0].file_version == "brain.Event:2"
    assert {node.name for node in tf.GraphDef.FromString(events[1].graph_def).node} >= {"Variable"}
    assert (events[3].step, events[3].summary.value[0].simple_value) == (3, 2.0)
    assert events[5].step == 4


def test_metadata_is_written_once(tmp_path):
    text = tf.summary.text("t", tf.constant("x"))
    with tf.summary.FileWriter(tmp_path) as writer, tf.Session() as session:
        for _ in range(2):
            writer.add_summary(session.run(text))
    first, second = (event.summary.value[0] for event in _events(tmp_path)[1:])
    assert first.HasField("metadata")
    assert not second.HasField("metadata")
    assert first.tensor == second.tensor


def test_run_metadata(tmp_path):
    metadata = tf.RunMetadata()
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_run_metadata(metadata, "step1", 1)
        with pytest.raises(ValueError, match="already used for this event type"):
            writer.add_run_metadata(metadata, "step1", 2)
    assert _events(tmp_path)[1].tagged_run_metadata.tag == "step1"


def test_a_closed_writer_warns_and_may_be_reopened(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.close()
    with pytest.warns(UserWarning, match="Attempting to use a closed FileWriter"):
        writer.add_summary(b"")
    assert len(_files(tmp_path)) == 1
    writer.reopen()
    writer.add_summary(scalar_summary(b"a", 1.0))
    writer.close()
    assert len(_files(tmp_path)) == 2
    assert writer.get_logdir() == str(tmp_path)


def test_folders_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(tf.errors.FailedPreconditionError):
        tf.summary.FileWriter(tmp_path / "file")
    with pytest.raises(tf.errors.OpError):
        tf.summary.FileWriter("/proc/no/such/folder")


def test_writers_of_a_folder_are_shared(tmp_path):
    first = tf.summary.FileWriterCache.get(str(tmp_path))
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is first
    tf.summary.FileWriterCache.clear()
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is not first
    with tf.Session() as session:
        one = tf.summary.FileWriter(tmp_path / "s", session=session)
        two = tf.summary.FileWriter(tmp_path / "s", session=session)
    assert one.event_writer is two.event_writer
    one.close()


def test_damaged_files(tmp_path):
    with pytest.raises(tf.errors.NotFoundError):
        list(tf.train.summary_iterator(str(tmp_path / "none")))
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(scalar_summary(b"a", 1.0))
    (path,) = _files(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(tf.errors.DataLossError, match="truncated record"):
        list(tf.train.summary_iterator(str(path)))
    path.write_bytes(content[:20] + b"?" + content[21:])
    with pytest.raises(tf.errors.DataLossError, match="corrupted record at 0"):
        list(tf.train.summary_iterator(str(path)))


def test_the_writer_of_a_folder_begins_with_the_graph(tmp_path):
    tf.constant(1.0, name="one")
    writer = tf.summary.FileWriterCache.get(tmp_path)
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is writer
    tf.summary.FileWriterCache.clear()
    kinds = [event.WhichOneof("what") for event in _events(tmp_path)]
    assert kinds == ["file_version", "graph_def", "meta_graph_def"]


def test_run_metadata_of_a_full_trace(tmp_path):
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    y = tf.matmul(x, x, name="y")
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    metadata = tf.RunMetadata()
    with tf.Session() as session, tf.summary.FileWriter(tmp_path, session.graph) as writer:
        session.run(y, {x: [[1, 2], [3, 4]]}, options=options, run_metadata=metadata)
        writer.add_run_metadata(metadata, "step1", 1)
    tagged = _events(tmp_path)[-1].tagged_run_metadata
    read = tf.RunMetadata.FromString(tagged.run_metadata)
    (device,) = read.step_stats.dev_stats
    assert [stats.node_name for stats in device.node_stats] == ["y"]
    assert device.node_stats[0].timeline_label == "y = MatMul(_arg_x_0_0, _arg_x_0_0)"
    assert {node.op for graph in read.partition_graphs for node in graph.node} >= {"MatMul"}
    assert tagged.tag == "step1" and read.SerializeToString() == metadata.SerializeToString()
