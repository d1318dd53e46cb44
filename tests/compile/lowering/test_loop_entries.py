"""Loops that, as TensorFlow writes them, get a counter which waits for the loop's result."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.compile.lowering.loop_entries import start_loops_early
from gpugraph.graph.nodes.graph_text import parse_graph
from gpugraph.graph.nodes.runtime_graph import RuntimeGraph

LOOP = """
op Switch(2) -> 2
x = A()
e = Enter(x) {frame_name='f'}
m = Merge(e, n)
s = Switch(m, c)
i = Identity(s:1)
n = NextIteration(i)
result = Exit(s)
c = LoopCond(b)
b = B(m)
count = Const(%s) {value=0, dtype=float32}
e2 = Enter(count) {frame_name='f'}
m2 = Merge(e2, n2)
s2 = Switch(m2, c)
one = Const(^i, %s) {value=1, dtype=float32}
add = A(s2:1, one)
n2 = NextIteration(add)
counted = Exit(s2)
written = A(result)
backward = Enter(counted) {frame_name='g'}
"""


def waiting(text: str) -> RuntimeGraph:
    graph = parse_graph(text, {})
    start_loops_early(graph)
    return graph


def inputs(graph: RuntimeGraph, name: str) -> list[str]:
    node = graph.find(name)
    assert node is not None
    return node.input_names()


def test_a_constant_that_a_loop_starts_with_does_not_wait_for_it() -> None:
    graph = waiting(LOOP.replace(", %s)", ")") % "^written")
    assert (inputs(graph, "count"), inputs(graph, "one")) == ([], ["^i"])
    assert inputs(graph, "backward") == ["counted", "^written"]


def test_a_constant_in_a_loop_does_not_wait_for_it_either() -> None:
    text = LOOP.replace("count = Const(%s)", "count = Const()") % "^copy"
    text += "waited = Enter(written) {frame_name='f'}\ncopy = Identity(waited, ^i)\n"
    graph = waiting(text)
    assert inputs(graph, "one") == ["^i"]
    assert inputs(graph, "backward") == ["counted", "^written"]
    assert graph.find("waited") is None and graph.find("copy") is None


def test_nor_do_ops_that_are_the_same_at_any_time() -> None:
    text = LOOP.replace("count = Const(%s)", "count = Const()") % "^copy"
    text += "waited = Enter(written) {frame_name='f'}\ncopy = Identity(waited)\n"
    graph = waiting(text + "more = B(i, ^copy)")
    assert inputs(graph, "more") == ["i"] and graph.find("copy") is None


def test_a_read_of_a_variable_waits() -> None:
    text = LOOP.replace("count = Const(%s)", "count = Const()") % "^i"
    text += "waited = Enter(written) {frame_name='f'}\ncopy = Identity(waited)\n"
    text += "op VariableV2() -> float32_ref\nop RefEnter(float32_ref) -> float32_ref\n"
    text += "v = VariableV2()\nentered = RefEnter(v) {frame_name='f'}\nread = A(entered, ^copy)"
    assert inputs(waiting(text), "read") == ["entered", "^copy"]


@pytest.mark.parametrize("other", ["^x", "^other"])
def test_other_waits_stay(other: str) -> None:
    graph = waiting(LOOP.replace(", %s)", ")") % other + "other = A(x)\n")
    assert inputs(graph, "count") == [other]
    assert inputs(graph, "backward") == ["counted"]


def node(name: str, op: str, *inputs: str, **attrs: Any) -> Any:
    values = {"T": {"type": 3}} if op not in ("Const", "LoopCond") else {}
    return tf.NodeDef(name=name, op=op, input=inputs, attr={**values, **attrs})


def number(name: str, value: int, *waits: str) -> Any:
    tensor = tf.make_tensor_proto(value)
    return node(name, "Const", *waits, value={"tensor": tensor}, dtype={"type": 3})


def test_a_graph_with_such_a_counter_runs() -> None:
    with tf.Graph().as_default() as graph:
        v = tf.Variable(0.0, name="v", use_resource=False)
        total = tf.while_loop(lambda y: y < 20.0, lambda y: y * 2.0, [1.5])
        tf.assign(v, total, name="written")
        graph_def = graph.as_graph_def()
    frame = {"frame_name": {"s": b"while/while_context"}}
    count = {"N": {"i": 2}}
    graph_def.node.extend(
        [
            number("count", 0, "^written"),
            node("enter", "Enter", "count", **frame),
            node("merge", "Merge", "enter", "next", **count),
            node("switch", "Switch", "merge", "while/LoopCond"),
            node("waited", "Enter", "written", **frame, T={"type": 1}),
            node("copy", "Identity", "waited", "^while/Identity", T={"type": 1}),
            number("one", 1, "^copy", "^while/Identity"),
            node("sum", "Add", "switch:1", "one"),
            node("next", "NextIteration", "sum"),
            node("counted", "Exit", "switch"),
            node("after", "Identity", "counted"),
            node("seen", "Identity", "v", "^after", T={"type": 1}),
        ]
    )
    with tf.Graph().as_default():
        after, seen, init = tf.import_graph_def(
            graph_def, name="", return_elements=["after:0", "seen:0", "v/Assign"]
        )
        with tf.Session() as session:
            session.run(init)
            assert session.run([after, seen]) == [4, 24.0]
