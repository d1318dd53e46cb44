"""Default graphs and sessions: a stack of each in every thread."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from gpugraph import graph
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_stacks import session_for, session_stack
from gpugraph.ops.framework.tensor_conversion import constant


def in_a_thread(work: Any) -> Any:
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(work()))
    thread.start()
    thread.join()
    return answers[0]


def test_default_graphs_nest() -> None:
    bottom = graph.get_default_graph()
    assert graph.get_default_graph() is bottom
    a, b = Graph(), Graph()
    with a.as_default() as entered:
        assert graph.get_default_graph() is entered is a
        with b.as_default(), a.as_default():
            assert constant(1).graph is a
        assert graph.get_default_graph() is a
    assert graph.get_default_graph() is bottom


def test_an_exception_ends_a_default() -> None:
    bottom = graph.get_default_graph()
    with pytest.raises(KeyError), Graph().as_default():
        raise KeyError
    assert graph.get_default_graph() is bottom


def test_exits_must_nest() -> None:
    def work() -> None:
        outer, inner = Graph().as_default(), Graph().as_default()
        outer.__enter__()
        inner.__enter__()
        with pytest.raises(AssertionError, match="Nesting violated for default stack of"):
            outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)

    in_a_thread(work)  # whose stack nobody else sees


def test_each_thread_has_its_own_default_graph() -> None:
    """As in TensorFlow: another thread's graph must be made the default there."""
    mine = graph.get_default_graph()
    with Graph().as_default() as inner:
        theirs, again = in_a_thread(lambda: (graph.get_default_graph(), graph.get_default_graph()))
        assert theirs is again
        assert theirs not in (mine, inner)

        def work() -> Any:
            with inner.as_default():
                return constant(1).graph

        assert in_a_thread(work) is inner


def test_resetting_begins_a_new_graph_at_the_bottom_only() -> None:
    def work() -> Any:
        before = graph.get_default_graph()
        graph.reset_default_graph()
        after = graph.get_default_graph()
        with Graph().as_default(), pytest.raises(AssertionError, match="nested graphs"):
            graph.reset_default_graph()
        return before is not after, graph.get_default_graph() is after

    mine = graph.get_default_graph()
    assert in_a_thread(work) == (True, True)
    assert graph.get_default_graph() is mine


class Session(SimpleNamespace):
    """Anything with a graph and a run."""

    def run(self, fetches: Any, feed_dict: Any) -> Any:
        self.ran = fetches, feed_dict
        return self.name


def test_eval_and_run_take_the_session_given_or_the_default_one() -> None:
    with Graph().as_default() as g:
        x = constant(1)
    default, given = Session(name="default", graph=g), Session(name="given", graph=g)
    assert graph.get_default_session() is None
    with session_stack.using(default):
        assert graph.get_default_session() is default
        assert (x.eval({x: 2}), default.ran) == ("default", (x, {x: 2}))
        assert (x.eval(session=given), given.ran) == ("given", (x, None))
        assert x.op.run({x: 3}) is None  # type: ignore[func-returns-value]
        assert default.ran == (x.op, {x: 3})
        assert in_a_thread(graph.get_default_session) is None
    assert graph.get_default_session() is None


def test_eval_needs_a_session_of_its_graph() -> None:
    with Graph().as_default() as g:
        x = constant(1)
    other = Session(name="other", graph=Graph())
    with pytest.raises(ValueError, match=r"evaluate tensor using `eval\(\)`: No default session"):
        x.eval()
    with pytest.raises(ValueError, match=r"operation using `run\(\)`: No default session"):
        x.op.run()
    with pytest.raises(ValueError, match="Cannot use the given session"):
        x.eval(session=other)
    with session_stack.using(other), pytest.raises(ValueError, match=r"default session.*different"):
        x.eval()
    mine = Session(name="mine", graph=g)
    assert session_for(g, mine, "ask") is mine
