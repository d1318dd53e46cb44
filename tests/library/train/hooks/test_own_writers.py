"""Hooks and supervisors ask a program's own writer for the methods of TensorFlow's, no others."""

from __future__ import annotations

import gpugraph as tf


class Writer:
    """A recorder of its arguments, with the methods that TensorFlow's hooks call."""

    def __init__(self):
        self.logs, self.scalars, self.graphs = [], [], []

    def add_session_log(self, session_log, global_step=None):
        assert isinstance(session_log, tf.SessionLog)
        self.logs.append((session_log.status, session_log.checkpoint_path, global_step))

    def add_summary(self, summary, global_step=None):
        if isinstance(summary, bytes):
            summary = tf.Summary.FromString(summary)
        self.scalars += [(value.tag, global_step) for value in summary.value]

    def add_graph(self, graph=None, global_step=None, graph_def=None):
        self.graphs.append(graph)

    def add_meta_graph(self, meta_graph_def, global_step=None):
        assert isinstance(meta_graph_def, tf.MetaGraphDef)

    def reopen(self):
        pass

    def flush(self):
        pass

    def close(self):
        self.logs.append("closed")


def test_hooks_write_to_a_programs_own_writer(tmp_path, monkeypatch):
    writer = Writer()
    monkeypatch.setattr(
        "gpugraph.library.summary.file_writer_cache.FileWriterCache.get", lambda _: writer
    )
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        train = tf.assign_add(step, 1)
        tf.summary.scalar("loss", tf.constant(1.0))
        hooks = [
            tf.train.SummarySaverHook(1, summary_writer=writer, summary_op=tf.summary.merge_all()),
            tf.train.StepCounterHook(1, summary_writer=writer),
            tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1),
        ]
        with tf.train.SingularMonitoredSession(hooks) as session:
            session.run(train)
            session.run(train)
    start, checkpoint = tf.SessionLog.START, tf.SessionLog.CHECKPOINT
    path = str(tmp_path / "model.ckpt")
    assert (start, "", 1) in writer.logs
    assert (checkpoint, path, 2) in writer.logs
    assert ("loss", 2) in writer.scalars
    assert ("global_step/sec", 2) in writer.scalars
    assert writer.graphs


def test_a_supervisor_writes_to_a_programs_own_writer(tmp_path):
    writer = Writer()
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        supervisor = tf.train.Supervisor(logdir=str(tmp_path), summary_writer=writer)
        with supervisor.managed_session() as session:
            session.run(step)
    assert writer.logs[0] == (tf.SessionLog.START, "", 0)
    assert writer.logs[-2:] == [(tf.SessionLog.STOP, "", None), "closed"]
