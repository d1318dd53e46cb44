"""References: writes through ops that pass a variable on reach the variable."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.base.errors import FailedPreconditionError, UnimplementedError
from gpugraph.compile.analysis.variable_references import references
from gpugraph.graph.nodes.graph_text import parse_graph
from gpugraph.graph.nodes.graph_walks import topological_order
from gpugraph.ops.framework.op_declaration import raw_ops


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph: Any) -> Any:
    with tf.Session() as session:
        yield session


def assigned(p: tf.Tensor, v: tf.Variable, w: tf.Variable) -> tf.Tensor:
    """Return a reference: to v, set to 5, if p, else to w, plus 10."""
    return tf.cond(p, lambda: v.assign(5.0), lambda: w.assign_add(10.0))


def test_what_is_written_after_two_branches_reaches_their_variable(session: Any) -> None:
    v, p = tf.Variable(1.0), tf.placeholder(tf.bool, [])
    last = tf.assign_add(assigned(p, v, v), 100.0)
    session.run(v.initializer)
    assert [session.run(last, {p: True}), session.run(v)] == [105.0, 105.0]
    assert [session.run(last, {p: False}), session.run(v)] == [215.0, 215.0]


def test_in_a_loop_too(session: Any) -> None:
    v = tf.Variable(1.0)

    def body(i: Any) -> Any:
        written = tf.assign_add(assigned(tf.equal(i % 2, 0), v, v), 100.0)
        with tf.control_dependencies([written]):
            return i + 1

    last = tf.while_loop(lambda i: i < 3, body, [0])
    with tf.control_dependencies([last]):
        seen = v + 0.0
    session.run(v.initializer)
    assert session.run([last, seen]) == [3, 105.0]  # 105, then 215, then 5 + 100
    assert session.run(v) == 105.0


def test_a_reference_goes_round_a_loop(session: Any) -> None:
    v = tf.Variable(1.0)
    last = tf.while_loop(lambda x: x < 3.0, lambda x: tf.assign_add(x, 1.0), [v.assign(0.0)])
    assert last.dtype.is_ref_dtype
    session.run(v.initializer)
    assert [session.run(last), session.run(v)] == [3.0, 3.0]


def test_a_value_goes_round_where_a_reference_began(session: Any) -> None:
    v = tf.Variable(1.0)
    last = tf.while_loop(lambda x: x < 3.0, lambda x: x + 1.0, [v.assign(0.0)])
    session.run(v.initializer)
    assert [session.run(last), session.run(v)] == [3.0, 0.0]


def test_what_may_be_one_of_two_variables_can_be_read(session: Any) -> None:
    v, w, p = tf.Variable(1.0), tf.Variable(2.0), tf.placeholder(tf.bool, [])
    read = assigned(p, v, w) + 0.0
    session.run([v.initializer, w.initializer])
    assert [session.run(read, {p: p_is}) for p_is in (True, False)] == [5.0, 12.0]


def test_but_not_written(session: Any) -> None:
    v, w, p = tf.Variable(1.0), tf.Variable(2.0), tf.placeholder(tf.bool, [])
    written = tf.assign_add(assigned(p, v, w), 1.0, name="written")
    session.run([v.initializer, w.initializer])
    with pytest.raises(
        UnimplementedError, match=r"'written' requires a reference to one variable(?s:.*)def"
    ):
        session.run(written, {p: True})
    assert session.run([v, w]) == [1.0, 2.0]


def test_the_one_that_is_read_must_be_initialized(session: Any) -> None:
    v, w, p = tf.Variable(1.0), tf.Variable(2.0), tf.placeholder(tf.bool, [])
    one = raw_ops.RefSwitch(v._ref(), p).output_true
    other = raw_ops.RefSwitch(w._ref(), p).output_false
    merged = raw_ops.RefMerge([one, other]).output
    session.run(v.initializer)
    assert session.run(merged, {p: True}) == 1.0
    with pytest.raises(FailedPreconditionError, match="uninitialized value Variable_1"):
        session.run(merged, {p: False})


OPS = """
op VariableV2() -> float32_ref
op RefEnter(float32_ref) -> float32_ref
op RefMerge(float32_ref, float32_ref) -> float32_ref, int32
op RefNextIteration(float32_ref) -> float32_ref
op RefIdentity(float32_ref) -> float32_ref
v = VariableV2()
w = VariableV2()
"""


def referred(text: str, name: str) -> str | None:
    graph = parse_graph(OPS + text, {})
    nodes = {node.name: node for node in graph.op_nodes()}
    result = references(topological_order(graph)).get((nodes[name].id, 0))
    return result.name if result is not None else None


LOOP = """
e = RefEnter(v) {frame_name='f'}
m = RefMerge(e, n)
n = RefNextIteration(b)
"""


def test_what_goes_round_as_it_came_refers_to_what_entered() -> None:
    assert referred(LOOP + "b = RefIdentity(m)", "m") == "v"


def test_what_goes_round_as_another_refers_to_none() -> None:
    text = LOOP + "b = RefEnter(w) {frame_name='f'}\na = RefIdentity(m)"
    assert referred(text, "m") is None
    assert referred(text, "a") is None
    assert referred(text, "b") == "w"


def test_a_merge_of_two_variables_refers_to_none_and_so_do_those_behind_it() -> None:
    text = "m = RefMerge(v, w)\na = RefIdentity(m)\nb = RefMerge(v, v)\nc = RefMerge(b, a)"
    assert [referred(text, name) for name in "mabc"] == [None, None, "v", None]


def test_two_nodes_of_one_variable_are_one() -> None:
    text = OPS.replace("w = VariableV2()", "w = VariableV2() {shared_name='v'}")
    nodes = parse_graph(text + "m = RefMerge(v, w)", {}).op_nodes()
    assert (nodes[-1].id, 0) in references(nodes)
