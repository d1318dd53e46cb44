"""Monitored sessions call hooks in order, end cleanly, and go on where a server was lost."""

from __future__ import annotations

import threading

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


class _Recorder(tf.train.SessionRunHook):
    def __init__(self, args=None, stop_at=None):
        self.calls, self.args, self.stop_at, self.results = [], args, stop_at, []

    def begin(self):
        self.calls.append("begin")
        tf.constant(1, name="from_hook")

    def after_create_session(self, session, coord):
        self.calls.append("created")
        assert session.graph.finalized
        assert not coord.should_stop()

    def before_run(self, run_context):
        self.calls.append("before")
        assert run_context.original_args.fetches is not None
        return self.args

    def after_run(self, run_context, run_values):
        self.calls.append("after")
        self.results.append(run_values.results)
        if self.stop_at is not None and len(self.results) >= self.stop_at:
            run_context.request_stop()

    def end(self, session):
        self.calls.append("end")


def _step():
    step = tf.train.get_or_create_global_step()
    return tf.assign_add(step, 1)


def test_hooks_are_called_in_order_and_fetch_what_they_ask_for():
    x = tf.placeholder(tf.float32, [])
    y = x * 2.0
    hook = _Recorder(tf.train.SessionRunArgs({"y": [y]}, {x: 4.0}), stop_at=2)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        while not session.should_stop():
            assert session.run([y, {"z": y}]) == [8.0, {"z": 8.0}]
        with pytest.raises(RuntimeError, match="Run called even after should_stop requested"):
            session.run(y)
    assert hook.calls == ["begin", "created", "before", "after", "before", "after", "end"]
    assert hook.results == [{"y": [8.0]}] * 2
    assert not tf.get_default_graph().finalized
    assert session.should_stop()
    assert session.graph is None
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.run(y)
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.close()


def test_feeds_that_meet():
    x = tf.placeholder(tf.float32, [])
    feeding = _Recorder(tf.train.SessionRunArgs(None, {x: 4.0}))
    with tf.train.MonitoredSession(hooks=[feeding]) as session:
        with pytest.raises(RuntimeError, match="Same tensor is fed by a SessionRunHook and user"):
            session.run(x, {x: 1.0})
        assert session.run(x) == 4.0
    with tf.train.MonitoredSession(hooks=[feeding, tf.train.FeedFnHook(lambda: {x: 1.0})]) as both:
        with pytest.raises(RuntimeError, match="Same tensor is fed by two hooks"):
            both.run(x)


def test_options_of_hooks_are_merged():
    seen = []

    class Looks(_Recorder):
        def after_run(self, run_context, run_values):
            seen.append(run_values)

    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    hooks = [Looks(), _Recorder(tf.train.SessionRunArgs(None, options=options))]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        session.run(tf.get_default_graph().get_tensor_by_name("from_hook:0"))
    assert seen[0].options.trace_level == tf.RunOptions.FULL_TRACE
    assert seen[0].run_metadata.step_stats is not None


@pytest.mark.parametrize("error", [tf.errors.OutOfRangeError(None, None, "end"), StopIteration()])
def test_the_end_of_the_input_is_a_clean_end(error):
    hook = _Recorder()
    with tf.train.MonitoredSession(hooks=[hook]):
        raise error
    assert hook.calls[-1] == "end"


def test_an_error_ends_without_the_hooks_end():
    hook = _Recorder()
    with pytest.raises(ValueError, match="mine"):
        with tf.train.MonitoredSession(hooks=[hook]):
            raise ValueError("mine")
    assert hook.calls == ["begin", "created"]
    assert not tf.get_default_graph().finalized


@pytest.mark.parametrize("method", ["begin", "after_create_session", "before_run", "end"])
def test_a_hook_that_raises_leaves_nothing_behind(method):
    def fail(*_):
        raise ValueError("hook")

    hook, x = _Recorder(), tf.constant(1)
    setattr(hook, method, fail)
    threads = threading.active_count()
    with pytest.raises(ValueError, match="hook"):
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            session.run(x)
    assert threading.active_count() == threads
    assert not tf.get_default_graph().finalized


def test_a_lost_server_is_replaced():
    train = _step()

    class Loses(_Recorder):
        def before_run(self, run_context):
            if len(self.calls) == 2:
                self.calls.append("lost")
                raise tf.errors.AbortedError(None, None, "gone")

    hook = Loses()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(train) == 1
        assert session.run_step_fn(lambda step_context: step_context.run_with_hooks(train)) == 2
    assert hook.calls[:4] == ["begin", "created", "lost", "created"]
    single = Loses()
    with pytest.raises(tf.errors.AbortedError):
        with tf.train.SingularMonitoredSession(hooks=[single]) as session:
            session.run(train)


def test_step_functions():
    x = tf.constant(2.0)
    with tf.train.MonitoredSession() as session:

        def stops(step_context):
            assert step_context.session.run(x) == 2.0
            step_context.request_stop()

        with pytest.raises(ValueError, match="`step_fn` may either have one `step_context`"):
            session.run_step_fn(lambda context: 1)
        assert session.run_step_fn(lambda step_context: step_context.run_with_hooks(x)) == 2.0
        session.run_step_fn(stops)
        raise AssertionError("StopIteration leaves the block")
    assert session.should_stop()


def test_raw_sessions():
    v = tf.Variable(3.0)
    with tf.train.SingularMonitoredSession() as session:
        assert session.raw_session().run(v) == 3.0
        assert session.graph is v.graph
    assert session.raw_session() is None


def test_an_error_of_a_thread_is_raised():
    x = tf.constant(1.0)

    class Fails(_Recorder):
        def after_create_session(self, session, coord):
            coord.request_stop(ValueError("thread"))

    with pytest.raises(ValueError, match="thread"):
        with tf.train.MonitoredSession(hooks=[Fails()]) as session:
            assert session.should_stop()
            session.run(x)


def test_a_training_session_writes_summaries_and_counts_steps(tmp_path):
    train = _step()
    tf.summary.scalar("s", 1.5)
    hooks = [tf.train.StopAtStepHook(last_step=5)]
    with tf.train.MonitoredTrainingSession(
        summary_dir=str(tmp_path), save_summaries_steps=2, log_step_count_steps=2, hooks=hooks
    ) as session:
        while not session.should_stop():
            last = session.run(train)
    tf.summary.FileWriterCache.clear()
    assert last == 5
    (path,) = tmp_path.iterdir()
    rows = [
        (event.step, value.tag)
        for event in tf.train.summary_iterator(str(path))
        for value in event.summary.value
    ]
    assert [row for row in rows if row[1] == "s"] == [(1, "s"), (3, "s"), (5, "s")]
    assert [row for row in rows if row[1] != "s"] == [
        (3, "global_step/sec"),
        (5, "global_step/sec"),
    ]


def test_workers_wait_for_the_chief():
    tf.Variable(1.0)
    manager = tf.train.SessionManager(
        ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=0.01
    )
    with pytest.raises(tf.errors.DeadlineExceededError, match="Session was not ready after"):
        manager.wait_for_session("", max_wait_secs=0.03)
    creator = tf.train.WorkerSessionCreator(max_wait_secs=0)
    with pytest.raises(tf.errors.DeadlineExceededError):
        tf.train.MonitoredSession(creator)


def test_the_manager_says_which_variables_are_not_ready():
    tf.Variable(1.0, name="a")
    local = tf.Variable(1.0, name="b", collections=["local_variables"])
    ready = tf.report_uninitialized_variables()
    manager = tf.train.SessionManager(ready_op=ready)
    with pytest.raises(RuntimeError, match="Model is not initialized and no init_op or init_fn"):
        manager.prepare_session("")
    with pytest.raises(RuntimeError, match=r"did not make model ready.*error: .*: a, b"):
        manager.prepare_session("", init_op=tf.no_op())
    with pytest.raises(ValueError, match="you must also pass a local_init_op"):
        tf.train.SessionManager(ready_for_local_init_op=ready)
    with pytest.raises(ValueError, match="Can not provide both checkpoint_dir"):
        manager.prepare_session("", checkpoint_dir="a", checkpoint_filename_with_path="b")
    both = tf.train.SessionManager(local.initializer, ready, tf.report_uninitialized_variables([]))
    init = tf.global_variables_initializer()
    with both.prepare_session("", init_op=init, init_fn=lambda session: None) as session:
        assert session.run(local) == 1.0


def test_parts_of_a_scaffold():
    tf.Variable(1.0)
    calls = []
    scaffold = tf.train.Scaffold(init_fn=lambda parts, session: calls.append(parts))
    copy = tf.train.Scaffold(copy_from_scaffold=scaffold)
    with pytest.raises(TypeError, match="copy_from_scaffold is not a Scaffold"):
        tf.train.Scaffold(copy_from_scaffold=3)
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(copy)):
        assert tf.get_default_graph().finalized
    assert calls == [copy]
    assert copy.finalize().init_op is tf.get_collection(tf.GraphKeys.INIT_OP)[0]
    tf.get_default_graph()._unsafe_unfinalize()
    tf.add_to_collection(tf.GraphKeys.INIT_OP, tf.no_op())
    with pytest.raises(RuntimeError, match='More than one item in the collection "init_op"'):
        tf.train.Scaffold().finalize()


@pytest.mark.parametrize("hooks", [{1}, "s"])
def test_hooks_that_are_none(hooks: object) -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="hooks must be"):
        tf.train.MonitoredSession(hooks=hooks)
