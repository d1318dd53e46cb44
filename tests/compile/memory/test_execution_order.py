"""Order: one sequence for all devices, by depth over the whole graph."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.compile.memory.execution_order import order
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.graph_text import parse_graph
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.plan import PlanKey

from ..stages import compiled, make_target


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def ordered(fetches, feeds=None, gpus=2):
    return compiled(fetches, feeds, upto="execution_order", target=make_target(gpus=gpus))


def test_nodes_come_by_depth_then_device_then_creation():
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/gpu:1"):
        a = tf.negative(x, name="a")
    with tf.device("/gpu:0"):
        b = tf.exp(x, name="b")
        c = tf.abs(x, name="c")
    unit = ordered([a, b, c], {x: (2,)})
    depth = {node.name: unit.depth[node.id] for node in unit.order}
    names = [node.name for node in unit.order]
    assert names[0] == "_arg_x_0_0"
    assert depth["a"] == depth["b"] == depth["c"] == 3  # arg, Send, Recv before
    assert names.index("b") < names.index("c") < names.index("a")
    assert [depth[name] for name in names] == sorted(depth.values())
    assert unit.reports[-1].summary == f"{len(names)} nodes in 5 levels"


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_read_comes_before_a_write_that_it_does_not_wait_for(use_resource):
    """Keras 2.3.1's Adam counts first, and reads the count for the same step after that."""
    v = tf.Variable(1.0, name="v", use_resource=use_resource)
    write = tf.assign_add(v, 1.0)
    read = v.read_value()
    with tf.control_dependencies([write]):
        after = v.read_value()
    p = tf.Variable(0.0)
    update = p.assign(read * 10.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([update, after])[1] == 2
        assert session.run(p) == 10
        value, _, later = session.run([read, write, after])
        assert (value, later) == (2, 3)


def test_a_recv_is_deeper_than_its_send_and_control_edges_count():
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/gpu:0"):
        a = tf.negative(tf.negative(tf.negative(x)), name="a")
    with tf.device("/cpu:0"), tf.control_dependencies([a]):
        b = tf.exp(x, name="b")
        c = tf.add(a, b, name="c")
    unit = ordered([c], {x: (2,)})
    depth = {node.name: unit.depth[node.id] for node in unit.order}
    ((send, recv),) = [ends for ends in unit.send_recv_pairs if ends[0].name.startswith("a/")]
    assert depth[recv.name] == depth[send.name] + 1 == depth["a"] + 2
    assert depth["b"] == depth["a"] + 1
    assert depth["c"] == depth["a"] + 3


def test_a_cycle_is_named():
    text = "a = Neg(b) {T=float32}\nb = Neg(a) {T=float32}\n"
    unit = Unit(PlanKey((), (), ()), make_target(), parse_graph(text, OP_DEFS), ())
    with pytest.raises(
        InvalidArgumentError, match=r"cycle with 2 nodes, including: (a -> b -> a|b -> a -> b)"
    ):
        order(unit)


@settings(max_examples=60)
@given(data=st.data())
def test_one_thread_never_meets_a_recv_before_its_send(data):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        values = [x]
        for _ in range(data.draw(st.integers(1, 25))):
            inputs = [data.draw(st.sampled_from(values)) for _ in range(2)]
            before = data.draw(st.lists(st.sampled_from(values), max_size=2))
            device = data.draw(st.sampled_from(["/cpu:0", "/gpu:0", "/gpu:1"]))
            with tf.device(device), tf.control_dependencies(before):
                values.append(tf.add(*inputs))
        unit = ordered(values[-3:], {x: (2,)})
        done: set[int] = set()
        sends = {recv.id: send.id for send, recv in unit.send_recv_pairs}
        for node in unit.order:
            assert all(edge.src.id in done for edge in node.in_edges if edge.src.is_op)
            assert sends.get(node.id, -1) in {*done, -1}
            done.add(node.id)
