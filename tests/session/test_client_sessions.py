"""A session's life: made, entered, default, closed, reset."""

from __future__ import annotations

import gc
import logging
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.constant(3.0, name="c")
    return graph


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"target": 3}, "target must be a string.*int"),
        ({"target": tf.ConfigProto()}, r"target must be.*Session\(config=config\)"),
        ({"graph": 3}, "graph must be a tf.Graph.*int"),
        ({"config": 3}, "config must be a tf.ConfigProto.*int"),
        pytest.param(
            {"config": tf.Graph()}, r"config must be.*Session\(graph=graph\)", id="a graph"
        ),
    ],
    ids=repr,
)
def test_wrong_arguments_are_type_errors(arguments: dict[str, Any], said: str) -> None:
    for kind in (tf.Session, tf.InteractiveSession):
        with pytest.raises(TypeError, match=said):
            kind(**arguments)


def test_the_default_graph_is_run_if_none_is_given(graph: Any) -> None:
    with graph.as_default(), tf.Session() as session:
        assert session.graph is graph
        assert session.run("c:0") == 3
    assert session.sess_str == ""


def test_no_target_and_a_target_of_bytes_are_this_process(graph: Any) -> None:
    for target in (None, "", b""):
        with tf.Session(target, graph) as session:
            assert session.run("c:0") == 3


def test_an_unknown_target_is_not_found() -> None:
    with pytest.raises(tf.errors.NotFoundError, match=r'target: "nowhere".*DIRECT_SESSION'):
        tf.Session("nowhere")


def test_an_empty_graph_can_not_be_run_until_it_has_operations() -> None:
    graph = tf.Graph()
    with tf.Session(graph=graph) as session:
        for fetches in ([], "c:0"):
            with pytest.raises(RuntimeError, match=r"graph is empty.*Add operations"):
                session.run(fetches)
        with graph.as_default():
            c = tf.constant(1.0)
        assert session.run([]) == []
        assert session.run(c) == 1


def test_inside_with_the_session_and_its_graph_are_the_defaults(graph: Any) -> None:
    with tf.Session(graph=graph) as session:
        assert tf.get_default_graph() is graph
        assert tf.get_default_session() is session
        assert tf.constant(2.0).eval() == 2
    assert tf.get_default_graph() is not graph
    assert tf.get_default_session() is None


def test_as_default_keeps_the_graph_and_does_not_close(graph: Any) -> None:
    session = tf.Session(graph=graph)
    with session.as_default() as entered:
        assert entered is session
        assert graph.get_tensor_by_name("c:0").eval() == 3
        assert tf.get_default_graph() is not graph
        with session.as_default():
            graph.get_operation_by_name("c").run()
    assert session.run("c:0") == 3


def test_the_default_session_is_the_thread_s_own(graph: Any) -> None:
    results = []
    with tf.Session(graph=graph):
        thread = threading.Thread(target=lambda: results.append(tf.get_default_session()))
        thread.start()
        thread.join()
    assert results == [None]


def test_eval_says_what_is_wrong_with_the_session(graph: Any) -> None:
    c = graph.get_tensor_by_name("c:0")
    with pytest.raises(ValueError, match=r"evaluate.*No default session"):
        c.eval()
    with pytest.raises(ValueError, match=r"execute.*No default session"):
        c.op.run()
    with tf.Session(graph=tf.Graph()), pytest.raises(ValueError, match="different"):
        c.eval()


def test_a_session_is_entered_once_at_a_time(graph: Any) -> None:
    with (
        tf.Session(graph=graph) as session,
        pytest.raises(RuntimeError, match=r"not re-entrant.*as_default\(\)"),
    ):
        session.__enter__()
    assert tf.get_default_session() is None


def test_leaving_with_closes_also_after_an_error(graph: Any) -> None:
    session = tf.Session(graph=graph)
    with pytest.raises(ZeroDivisionError), session:
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="closed"):
        session.run("c:0")


def test_a_closed_session_refuses_all_but_being_closed(graph: Any) -> None:
    session = tf.Session(graph=graph)
    call = session.make_callable("c:0")
    assert session.run("c:0") == call() == 3
    session.close()
    session.close()
    uses = [
        lambda: session.run("c:0"),
        lambda: session.run("never run before:0"),
        lambda: session.run(["c:0"]),
        lambda: session.make_callable("c:0"),
        lambda: session.explain("c:0"),
        call,
        session.list_devices,
        session.memory_stats,
    ]
    for use in uses:
        with pytest.raises(RuntimeError, match="closed Session"):
            use()


def test_a_session_that_nobody_holds_gives_its_memory_back(graph: Any) -> None:
    session = tf.Session(graph=graph)
    with graph.as_default():
        x = tf.placeholder(tf.float32, [1000])
        doubled = x + x
    session.run(doubled, {x: np.zeros(1000)})
    device = weakref.ref(session._backend.devices[0])  # type: ignore[attr-defined]
    allocator = device().allocator  # type: ignore[union-attr]
    assert allocator.get_stats().bytes_in_use > 0
    del session
    gc.collect()
    assert device() is None
    assert allocator.get_stats().bytes_in_use == 0


def test_an_interactive_session_is_the_default_until_it_is_closed(graph: Any) -> None:
    session = tf.InteractiveSession(graph=graph)
    try:
        assert tf.get_default_session() is session
        assert tf.get_default_graph() is graph
        assert graph.get_tensor_by_name("c:0").eval() == 3
        with pytest.warns(UserWarning, match=r"interactive session is already active"):
            second = tf.InteractiveSession(graph=graph)
        assert tf.get_default_session() is second
        second.close()
        assert tf.get_default_session() is session
    finally:
        session.close()
    session.close()
    assert tf.get_default_session() is None
    assert tf.get_default_graph() is not graph
    tf.InteractiveSession().close()  # no warning: none is active any more


def test_reset_clears_variables_and_closes_live_sessions() -> None:
    with tf.Graph().as_default() as graph:
        variable = tf.Variable(1.0)
    sessions = [tf.Session(graph=graph), tf.InteractiveSession(graph=graph)]
    for session in sessions:
        session.run(variable.initializer)
    devices = [session._backend.devices[0] for session in sessions]
    tf.Session.reset("")
    assert [device.allocator.get_stats().bytes_in_use for device in devices] == [0, 0]
    for session in sessions:
        with pytest.raises(RuntimeError, match="closed"):
            session.run(variable)
    assert tf.get_default_session() is None
    with tf.Session(graph=graph) as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(variable)
        with pytest.raises(tf.errors.NotFoundError, match='target: "elsewhere"'):
            tf.Session.reset("elsewhere")
        session.run(variable.initializer)
        assert session.run(variable) == 1


def test_a_changed_operation_is_told_once_and_what_ran_stays(caplog: Any) -> None:
    with tf.Graph().as_default() as graph:
        one, two = tf.constant(1.0), tf.constant(2.0)
        total = tf.add(one, one, name="total")
    with caplog.at_level(logging.WARNING, "gpugraph"), tf.Session(graph=graph) as session:
        assert session.run(total) == 2
        total.op._update_input(1, two)
        assert not caplog.messages
        assert session.run(total) == 2
        assert len(caplog.messages) == 1
        assert session.run(total) == 2
        with graph.as_default():
            late = tf.add(one, one, name="late")
        late.op._update_input(1, two)
        assert session.run(late) == 3
    assert len(caplog.messages) == 1
    assert "'total'" in caplog.text and "test_client_sessions.py" in caplog.text


def test_operations_changed_before_the_session_came_are_no_matter(caplog: Any) -> None:
    with tf.Graph().as_default() as graph:
        one, two = tf.constant(1.0), tf.constant(2.0)
        total = tf.add(one, one)
    total.op._update_input(1, two)
    with caplog.at_level(logging.WARNING, "gpugraph"), tf.Session(graph=graph) as session:
        assert session.run(total) == 3
        assert session.run(total) == 3
    assert not caplog.messages
