"""Graphs as text: the written form, the accepted forms, and the errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from gpugraph.base.dtypes import bool as tf_bool, float32, float64, int32
from gpugraph.base.errors import AlreadyExistsError, InvalidArgumentError
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.nodes.graph_text import format_graph, format_node, parse_graph
from gpugraph.graph.nodes.node_and_edge import Node
from gpugraph.graph.nodes.runtime_graph import RuntimeGraph
from gpugraph.graph.op_def import ArgDef, AttrDef, OpDef

T = {"T": AttrDef("T", "type")}
X, Y = ArgDef("x", type_attr="T"), ArgDef("y", type_attr="T")
OPS = {
    op.name: op
    for op in (
        OpDef("Const", outputs=(ArgDef("output", type_attr="dtype"),)),
        OpDef("Add", inputs=(X, Y), outputs=(ArgDef("z", type_attr="T"),), attrs=T),
        OpDef("NoOp"),
        OpDef(
            "AddN",
            inputs=(ArgDef("inputs", type_attr="T", number_attr="N"),),
            outputs=(ArgDef("sum", type_attr="T"),),
        ),
        OpDef(
            "Pack",
            inputs=(ArgDef("axis", type=int32), ArgDef("all", type_list_attr="Ts"), X),
            outputs=(ArgDef("all", type_list_attr="Ts"),),
        ),
        OpDef(
            "Variable",
            outputs=(ArgDef("ref", type_attr="dtype", is_ref=True),),
            attrs={
                "dtype": AttrDef("dtype", "type", float32, has_default=True),
                "container": AttrDef("container", "string", "", has_default=True),
            },
        ),
        OpDef(
            "Assign",
            inputs=(ArgDef("ref", type_attr="T", is_ref=True), ArgDef("value", type_attr="T")),
            outputs=(ArgDef("output_ref", type_attr="T", is_ref=True),),
        ),
    )
}


def node(graph: RuntimeGraph, name: str) -> Node:
    found = graph.find(name)
    assert found is not None
    return found


def test_what_is_written_reads_back_the_same() -> None:
    text = (
        "a = Const() {dtype=float32, value=1.5}\n"
        "b = Const() @/device:GPU:0 {dtype=float32, shape=shape(2,?)}\n"
        "d = NoOp(^a)\n"
        "c = Add(a, b, ^d) @/gpu:0 @@/job:localhost/replica:0/task:0/device:GPU:0 {T=float32}\n"
    )
    graph = parse_graph(text, OPS)
    assert format_graph(graph) == text
    assert [n.name for n in graph.op_nodes()] == ["a", "b", "d", "c"]
    c = node(graph, "c")
    assert c.op_def is OPS["Add"]
    assert c.node_def.input == ["a", "b", "^d"]
    assert c.requested_device == "/gpu:0"
    assert c.assigned_device == "/job:localhost/replica:0/task:0/device:GPU:0"
    assert c.input_types == (float32, float32)
    assert node(graph, "b").attrs["shape"] == TensorShape([2, None])
    assert str(c.origin) == "line 4"


def test_a_graph_is_written_in_topological_order_without_source_and_sink() -> None:
    graph = parse_graph("b = B(a)\na = A()", {})
    graph.fix_source_and_sink_edges()
    assert format_graph(graph) == "a = A()\nb = B(a)\n"
    assert format_graph(RuntimeGraph()) == ""


def test_comments_and_blank_lines_are_skipped_and_brackets_may_be_left_out() -> None:
    graph = parse_graph("\n# nothing\n  a = A\n\n  b = B(a)  \n", {})
    assert format_graph(graph) == "a = A()\nb = B(a)\n"


def test_undeclared_ops_take_what_they_are_given() -> None:
    graph = parse_graph("a = A()\nb = B(a, a)\nc = B(b)", {})
    assert node(graph, "b").input_types == (float32, float32)
    assert node(graph, "c").input_types == node(graph, "a").output_types == (float32,)


def test_declared_ops() -> None:
    text = """
    op TwoOut(2) -> 2
    op Pick(int32, float32) -> bool, float32_ref
    op Sink(float32)
    op Int() -> int32
    a = A()
    i = Int()
    t = TwoOut(a, a)
    p = Pick(i, t:1)
    s = Sink(p:1)
    """
    graph = parse_graph(text, {})
    assert node(graph, "t").output_types == (float32, float32)
    assert node(graph, "p").output_types == (tf_bool, float32._as_ref)
    assert node(graph, "p").op_def.outputs[1].is_ref
    assert node(graph, "s").output_types == ()
    assert node(graph, "s").input_edge(0).src_output == 1


def test_attrs_not_written_come_from_inputs_and_defaults() -> None:
    text = """
    i = Const() {dtype=int32}
    f = Const() {dtype=float64}
    n = AddN(i, i, i)
    p = Pack(n, f, i, f)
    v = Variable() {dtype=float64}
    w = Variable()
    u = Assign(v, f)
    """
    graph = parse_graph(text, OPS)
    assert node(graph, "n").attrs == {"N": 3, "T": int32}
    assert node(graph, "p").attrs == {"Ts": [float64, int32], "T": float64}
    assert node(graph, "p").output_types == (float64, int32)
    assert node(graph, "v").output_types == (float64._as_ref,)
    assert node(graph, "w").attrs == {"dtype": float32, "container": ""}
    assert node(graph, "u").input_types == (float64._as_ref, float64)
    again = parse_graph(format_graph(graph), OPS)
    assert format_graph(again) == format_graph(graph)


def test_lines_may_use_later_lines() -> None:
    text = "m = Merge(a, n)\na = A()\nn = NextIteration(m)"
    assert node(parse_graph(text, {}), "m").node_def.input == ["a", "n"]
    with pytest.raises(ValueError, match="line 1: attr T must be written"):
        parse_graph("x = Add(a, a)\na = A()", OPS)


def test_a_line_of_one_node() -> None:
    graph = RuntimeGraph()
    op = graph.add_node("x", OpDef("Op"), attrs={"b": [1, (2, int32)], "a": "it's, {so}"})
    assert format_node(op) == 'x = Op() {a="it\'s, {so}", b=[1, [2, int32]]}'


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.sampled_from([float32, int32, tf_bool, float32._as_ref])
    | st.just(TensorShape(None))
    | st.lists(st.none() | st.integers(0, 9)).map(TensorShape),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


def text_of(value: Any) -> str:
    return repr(value) if not isinstance(value, TensorShape) else repr(value.sizes)


@given(st.dictionaries(st.from_regex(r"[A-Za-z_]\w*", fullmatch=True), VALUES, max_size=4))
def test_attr_values_read_back(attrs: dict[str, Any]) -> None:
    graph = RuntimeGraph()
    graph.add_node("a", OpDef("Op"), attrs=attrs, output_types=[float32])
    read = node(parse_graph(format_graph(graph), {}), "a").attrs
    assert read.keys() == attrs.keys()
    for key, value in attrs.items():
        assert text_of(read[key]) == text_of(value)


def test_other_values_are_shown_short_and_cannot_be_read_back() -> None:
    graph = RuntimeGraph()
    graph.add_node("a", OpDef("Op"), attrs={"value": {"key": "long " * 50}})
    text = format_graph(graph)
    assert text.startswith("a = Op() {value=<{'key': 'long ")
    assert len(text) < 100
    with pytest.raises(ValueError, match=r"line 1: .* cannot be read back"):
        parse_graph(text, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = A()\nb", "line 2: not a node"),
        ("a = A(", "line 1: not a node"),
        ("a = A() {x}", "line 1: 'x' is not an attr"),
        ("a = A() {x=what}", "line 1: 'what' is not an attr value"),
        ("a = A(b:x)", "line 1: 'b:x' is not an input"),
        ("a = A(^b:1)", "line 1: '\\^b:1' is not an input"),
        ("\na = A(b)", "line 2: no node is called 'b'"),
        ("a = A()\nb = B(a:1)", "line 2: .*invalid output 1"),
        ("a = A()\na = A()", "line 2: Node already exists: a"),
        ("a:b = A()", "line 1: Node name is not valid"),
        ("a = A()\nb = Add(a)", "line 2: Add takes 2 inputs, not 1"),
        ("op I() -> int32\ni = I()\nb = B(i)", "line 3: .*incompatible with expected float32"),
        ("op I() -> int33", "line 1: "),
        ("c = Const()", "line 1: attr dtype must be written"),
    ],
)
def test_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_graph(text, OPS)


def test_the_graphs_own_error_is_the_cause() -> None:
    with pytest.raises(ValueError, match="line 2") as caught:
        parse_graph("a = A()\na = A()", {})
    assert isinstance(caught.value.__cause__, AlreadyExistsError)


def test_a_cyclic_graph_is_not_written() -> None:
    with pytest.raises(InvalidArgumentError, match="cycle"):
        format_graph(parse_graph("a = A(b)\nb = B(a)", {}))
