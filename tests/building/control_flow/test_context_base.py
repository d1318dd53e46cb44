"""Control flow contexts: the context in which an op is created, and its effect on the op."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def below(i: Any, *_: Any) -> tf.Tensor:
    return i < 3


def made_in(build: Any) -> list[tf.Operation]:
    graph = tf.get_default_graph()
    before = graph.version
    build()
    return graph.get_operations()[before:]


def test_ops_outside_are_in_no_context(graph: tf.Graph) -> None:
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: 1, lambda: 2)
    z = tf.while_loop(below, lambda i: i + 1, [0])
    for tensor in (y, tf.identity(y), z, tf.identity(z)):
        assert graph.is_fetchable(tensor)
        assert graph.is_feedable(tensor)


def test_results_of_a_loop_in_a_loop_are_inside(graph: tf.Graph) -> None:
    held: list[Any] = []

    def body(i: Any) -> Any:
        held.append(tf.while_loop(below, lambda j: j + 1, [0]))
        return i + held[0]

    tf.while_loop(below, body, [0])
    assert not graph.is_fetchable(held[0])


def test_an_outer_tensor_comes_in_once() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.constant(1.0)
    ops = made_in(lambda: tf.cond(p, lambda: x * x + x, lambda: 0.0))
    assert sum(op.type == "Switch" and op.inputs[0] is x for op in ops) == 1
    ops = made_in(lambda: tf.while_loop(lambda a: a < 9.0, lambda a: a * x + x, [0.0]))
    assert sum(op.type == "Enter" and op.inputs[0] is x for op in ops) == 1


def test_ops_that_read_nothing_wait_for_their_branch() -> None:
    p = tf.placeholder(tf.bool, [])
    held: list[Any] = []
    tf.cond(p, lambda: held.append(tf.constant(1)) or held[0], lambda: 2)
    assert [op.name for op in held[0].op.control_inputs] == ["cond/switch_t"]


def test_init_scope_leaves_branches_and_loops(graph: tf.Graph) -> None:
    held: list[Any] = []

    def body(i: Any) -> Any:
        with tf.init_scope():
            held.append(tf.constant(5))
        with tf.control_dependencies(None):
            held.append(tf.constant(6))
        return i + held[0] + held[1]

    y = tf.while_loop(below, body, [0])
    assert all(graph.is_fetchable(each) and not each.op.control_inputs for each in held)
    with tf.Session() as session:
        assert session.run([y, *held]) == [11, 5, 6]


def test_a_variable_made_inside_is_outside() -> None:
    p = tf.placeholder(tf.bool, [])
    held: list[Any] = []

    def taken() -> Any:
        held.append(tf.Variable(lambda: 3.0, name="v"))
        return held[0] + 1.0

    y = tf.cond(p, taken, lambda: 0.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(held[0]) == 3.0
        assert session.run(y, {p: True}) == 4.0


def test_name_scopes_and_devices_go_on_inside() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.constant(1.0, name="x")
    held: list[Any] = []

    def taken() -> Any:
        with tf.name_scope("inner"), tf.device("/cpu:0"):
            held.append(tf.add(x, x, name="sum"))
        return held[0]

    with tf.name_scope("outer"):
        tf.cond(p, taken, lambda: 0.0)
    assert held[0].op.name == "outer/cond/inner/sum"
    assert held[0].device == "/device:CPU:0"
    entry = held[0].op.inputs[0].op
    assert entry.name == "outer/cond/inner/sum/Switch"
    assert entry.colocation_groups() == [b"loc:@x"]


def test_only_outer_conds_and_loops_are_collected(graph: tf.Graph) -> None:
    p = tf.placeholder(tf.bool, [])
    tf.cond(p, lambda: tf.cond(p, lambda: 1, lambda: 2), lambda: 3)
    tf.while_loop(below, lambda i: tf.while_loop(below, lambda j: j + 1, [i]), [0])
    assert len(graph.get_collection(tf.GraphKeys.COND_CONTEXT)) == 2
    assert len(graph.get_collection(tf.GraphKeys.WHILE_CONTEXT)) == 1


def test_each_thread_has_its_own_context(graph: tf.Graph) -> None:
    """While one thread is inside of a body, others make ops outside, and bodies of their own."""
    inside, go_on = threading.Event(), threading.Event()
    results: list[Any] = []

    def slow(i: Any) -> Any:
        inside.set()
        assert go_on.wait(10)
        return i + 1

    def other() -> None:
        with graph.as_default():
            results.append(tf.while_loop(below, slow, [0]))

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(10)
    plain = tf.constant(4)
    mine = tf.while_loop(below, lambda i: i + 2, [0])
    go_on.set()
    thread.join()
    assert graph.is_fetchable(plain)
    with tf.Session() as session:
        assert session.run([plain, mine, *results]) == [4, 4, 3]


def test_making_loops_in_many_threads(graph: tf.Graph) -> None:
    results: dict[int, Any] = {}

    def make(number: int) -> None:
        with graph.as_default():
            results[number] = tf.while_loop(
                lambda i, a: i < number,
                lambda i, a: (i + 1, tf.cond(a > 3, lambda: a + 1, lambda: a * 2)),
                (0, 1),
            )[1]

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with tf.Session() as session:
        found = session.run([results[number] for number in range(8)])
    assert found == [1, 2, 4, 5, 6, 7, 8, 9]


def test_with_a_default_graph_that_is_another() -> None:
    other = tf.Graph()
    with other.as_default():
        x = tf.constant(2.0)
        p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: x * 2.0, lambda: x)
    assert y.graph is other
    with tf.Session(graph=other) as session:
        assert session.run(y, {p: True}) == 4.0
