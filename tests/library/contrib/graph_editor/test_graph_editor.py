"""`tf.contrib.graph_editor`: selections, copies, and rerouted inputs, by the values of runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture
def ge() -> Any:
    with tf.as_tensorflow():
        from tensorflow.contrib import graph_editor  # noqa: PLC0415
    return graph_editor


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def network() -> tuple[Any, ...]:
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.name_scope("one"):
        a = tf.multiply(x, 2.0, name="a")
    with tf.name_scope("two"):
        b = tf.add(a, 1.0, name="b")
        c = tf.square(b, name="c")
    return x, a, b, c


def names(items: Any) -> list[str]:
    return [item.name for item in items]


def test_selections(ge: Any, graph: Any) -> None:
    x, a, b, c = network()
    assert names(ge.filter_ops_from_regex(graph, "^two/[bc]$")) == ["two/b", "two/c"]
    assert names(ge.select_ops("^one/", graph=graph)) == ["one/a/y", "one/a"]
    assert names(ge.select_ts("(?#ts)/c:", c, graph=graph)) == ["two/c:0"]
    assert ge.select_ops(a.op, [b.op, a.op]) == [a.op, b.op]
    assert names(ge.get_name_scope_ops(graph, "two")) == ["two/b/y", "two/b", "two/c"]
    assert ge.filter_ts(c.op, lambda t: t is b) == [b]
    assert ge.get_consuming_ops(a) == [b.op]
    assert names(ge.filter_ts_from_regex([b.op], "one")) == ["one/a:0"]
    with pytest.raises(ValueError, match="keyword argument 'graph'"):
        ge.select_ops("a")
    with pytest.raises(TypeError, match="Expected a"):
        ge.make_list_of_op(3)
    assert x in ge.get_tensors(graph)


def test_walks(ge: Any) -> None:
    x, a, b, c = network()
    other = tf.negative(a, name="other")
    assert ge.get_forward_walk_ops(a.op) == [a.op, b.op, other.op, c.op]
    assert ge.get_forward_walk_ops(a, inclusive=False) == [c.op]
    assert ge.get_forward_walk_ops(x.op, stop_at_ts=[a]) == [x.op, a.op]
    assert ge.get_backward_walk_ops(c, within_ops=[a.op, b.op, c.op]) == [c.op, b.op, a.op]
    assert ge.get_walks_intersection_ops(x.op, c.op) == [x.op, a.op, b.op, c.op]
    with tf.control_dependencies([c]):
        late = tf.no_op(name="late")
    assert late in ge.get_forward_walk_ops(c.op, control_outputs=ge.ControlOutputs(x.graph))
    assert c.op in ge.get_backward_walk_ops(late, control_inputs=True)


def test_copies_with_other_inputs(ge: Any) -> None:
    x, a, b, c = network()
    stopped = tf.stop_gradient(a)
    view, info = ge.copy_with_input_replacements(ge.sgv([b.op, c.op]), {a: stopped}, dst_scope="n")
    copied = info.transformed(c)
    assert copied.name == "n/two/c:0"
    assert info.original(copied) is c
    assert names(view.ops) == ["n/two/b", "n/two/c"]
    assert set(names(view.inputs)) == {"StopGradient:0", "two/b/y:0"}
    assert tf.gradients(copied, x) == [None]
    with tf.Session() as session:
        assert session.run([c, copied], {x: 3.0}) == [49.0, 49.0]
    again, _ = ge.copy_with_input_replacements([b.op, c.op], {}, dst_scope="n")
    assert names(again.ops) == ["n_1/two/b", "n_1/two/c"]


def test_a_copy_into_another_graph(ge: Any) -> None:
    _, _, b, c = network()
    with tf.Graph().as_default() as other:
        view, info = ge.copy(ge.sgv([b.op, c.op]), other, dst_scope="new")
    assert view.graph is other
    feeds = [op.outputs[0] for op in other.get_operations() if op.type == "Placeholder"]
    assert len(feeds) == 2
    with tf.Session(graph=other) as session:
        assert session.run(info.transformed(c), dict.fromkeys(feeds, 2.0)) == 16.0


def test_replaced_and_rerouted_tensors(ge: Any) -> None:
    x, a, b, c = network()
    ten = tf.constant(10.0)
    replaced = ge.graph_replace(c, {a: ten})
    with tf.Session() as session:
        assert session.run([c, replaced], {x: 3.0}) == [49.0, 121.0]
        assert ge.reroute_ts([ten], [a], can_modify=[c.op]) == 0
        assert ge.reroute_ts(ten, a) == 1
        assert session.run(c) == 121.0
        assert ge.swap_ts(ten, a, cannot_modify=[replaced.op]) == 2
    with pytest.raises(ValueError, match="not connected"):
        ge.graph_replace(x, {c: b})


def test_control_inputs(ge: Any) -> None:
    *_, b, c = network()
    count = tf.Variable(0)
    step = tf.assign_add(count, 1).op
    ge.add_control_inputs(c.op, [step])
    with tf.Session() as session:
        session.run(count.initializer)
        session.run(c, {"x:0": np.float32(1)})
        assert session.run(count) == 1
    with pytest.raises(ValueError, match="already a control_input"):
        ge.add_control_inputs(c.op, step)
    ge.remove_control_inputs(c.op, step)
    assert list(c.op.control_inputs) == []
    with pytest.raises(ValueError, match="is not a control_input"):
        ge.remove_control_inputs(b.op, step)
