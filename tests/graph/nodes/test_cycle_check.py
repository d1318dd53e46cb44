"""Cycles: found, named in order, told from loops."""

from __future__ import annotations

import pytest

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.graph.nodes.cycle_check import validate_no_cycle
from gpugraph.graph.nodes.graph_text import parse_graph
from gpugraph.graph.nodes.runtime_graph import RuntimeGraph


def test_no_cycle_is_fine() -> None:
    graph = parse_graph("a = A()\nb = B(a, a)\nc = C(a, b, ^a)", {})
    graph.fix_source_and_sink_edges()
    validate_no_cycle(graph)
    validate_no_cycle(RuntimeGraph())


def test_a_cycle_is_named_in_order() -> None:
    text = "op Two() -> 1\na = A()\nx = X(a, z)\nz = Z(y)\ny = Y(x)\nafter = B(x)\nw = W(after)"
    with pytest.raises(InvalidArgumentError) as caught:
        validate_no_cycle(parse_graph(text, {}))
    start = "Graph is invalid, contains a cycle with 3 nodes, including: x -> y -> z -> x"
    assert caught.value.message.startswith(start)
    assert "x: defined at line 3" in caught.value.message
    assert "after" not in caught.value.message


def test_a_control_edge_can_close_a_cycle() -> None:
    with pytest.raises(InvalidArgumentError, match="cycle with 2 nodes, including: a -> b -> a"):
        validate_no_cycle(parse_graph("a = A(^b)\nb = B(a)", {}))


def test_a_node_that_needs_itself_is_a_cycle() -> None:
    with pytest.raises(InvalidArgumentError, match="cycle with 1 nodes, including: a -> a"):
        validate_no_cycle(parse_graph("a = A(a)", {}))


def test_next_iteration_to_merge_is_no_cycle() -> None:
    loop = "e = Enter(a)\nm = Merge(e, n)\nb = Body(m)\nn = {}(b)\na = A()"
    validate_no_cycle(parse_graph(loop.format("NextIteration"), {}))
    with pytest.raises(InvalidArgumentError, match=r"including: m -> b -> n -> m"):
        validate_no_cycle(parse_graph(loop.format("Identity"), {}))


def test_extra_edges_count() -> None:
    graph = parse_graph("a = A()\nb = B(a)\nc = C()", {})
    a, b, c = graph.op_nodes()
    validate_no_cycle(graph, [(b, c)])
    with pytest.raises(InvalidArgumentError, match="a -> b -> c -> a"):
        validate_no_cycle(graph, [(b, c), (c, a)])


def test_a_long_cycle_is_found_without_recursion_and_not_listed_whole() -> None:
    lines = [f"n{i} = A(n{(i or 50_000) - 1})" for i in range(50_000)]
    graph = parse_graph("\n".join(lines), {})
    with pytest.raises(InvalidArgumentError) as caught:
        validate_no_cycle(graph)
    assert "cycle with 50000 nodes, including: n0 -> n1 -> n2" in caught.value.message
    assert len(caught.value.message) < 1000
