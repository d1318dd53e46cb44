"""Orders, reachability and depths: their meaning, and that they never recurse."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from gpugraph.base.dtypes import float32
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.graph.nodes.graph_text import parse_graph
from gpugraph.graph.nodes.graph_walks import (
    depths,
    reachable_backwards,
    reverse_dfs,
    reverse_topological_order,
    topological_order,
)
from gpugraph.graph.nodes.runtime_graph import Node, RuntimeGraph
from gpugraph.graph.op_def import OpDef

MANY = 200_000
LOOP = """
a = A()
e = Enter(a)
m = Merge(e, n)
b = Body(m)
n = NextIteration(b)
x = Exit(m)
"""


def names(nodes: list[Node]) -> list[str]:
    return [node.name for node in nodes]


def node(graph: RuntimeGraph, name: str) -> Node:
    found = graph.find(name)
    assert found is not None
    return found


def chain(length: int) -> RuntimeGraph:
    graph = RuntimeGraph()
    op, one = OpDef("Op"), (float32,)
    previous = graph.add_node("n0", op, output_types=one)
    for i in range(1, length):
        following = graph.add_node(f"n{i}", op, input_types=one, output_types=one)
        graph.add_edge(previous, 0, following, 0)
        previous = following
    return graph


def fan(width: int) -> RuntimeGraph:
    """Return one node read by many, all read by one."""
    graph = RuntimeGraph()
    op, one = OpDef("Op"), (float32,)
    first = graph.add_node("first", op, output_types=one)
    last = graph.add_node("last", op)
    for i in range(width):
        middle = graph.add_node(f"n{i}", op, input_types=one, output_types=one)
        graph.add_edge(first, 0, middle, 0)
        graph.add_control_edge(middle, last)
    return graph


@st.composite
def dags(draw: st.DrawFn) -> RuntimeGraph:
    """Acyclic graphs whose creation order is unrelated to their edges."""
    size = draw(st.integers(1, 12))
    order = draw(st.permutations(range(size)))
    graph = RuntimeGraph()
    nodes = [graph.add_node(f"n{i}", OpDef("Op")) for i in range(size)]
    pairs = draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))))
    for left, right in pairs:
        if left != right:
            src, dst = sorted((left, right))
            graph.add_control_edge(nodes[order[src]], nodes[order[dst]])
    if draw(st.booleans()):
        graph.fix_source_and_sink_edges()
    return graph


def program_edges(graph: RuntimeGraph) -> list[tuple[int, int]]:
    return [(e.src.id, e.dst.id) for e in graph.edges() if e.src.is_op and e.dst.is_op]


# Orders


def test_ready_nodes_come_in_the_order_they_were_made() -> None:
    graph = parse_graph("z = Z(b)\nb = B()\na = A()\nc = C(a, b)", {})
    assert names(topological_order(graph)) == ["b", "z", "a", "c"]
    assert names(reverse_topological_order(graph)) == ["c", "a", "z", "b"]


def test_an_order_holds_ops_only() -> None:
    graph = parse_graph("a = A()\nb = B(a)", {})
    graph.fix_source_and_sink_edges()
    assert names(topological_order(graph)) == ["a", "b"]
    assert topological_order(RuntimeGraph()) == []


def test_a_loop_is_cut_at_its_back_edge() -> None:
    graph = parse_graph(LOOP, {})
    assert names(topological_order(graph)) == ["a", "e", "m", "b", "n", "x"]
    assert list(depths(graph).values()) == [0, 1, 2, 3, 4, 3]


@pytest.mark.parametrize("walk", [topological_order, reverse_topological_order, depths])
def test_orders_refuse_a_cycle(walk: Callable[[RuntimeGraph], object]) -> None:
    with pytest.raises(InvalidArgumentError, match="a -> b -> a"):
        walk(parse_graph("a = A(b)\nb = B(a)", {}))


@given(dags())
def test_an_order_respects_every_edge_and_prefers_early_nodes(graph: RuntimeGraph) -> None:
    order = [n.id for n in topological_order(graph)]
    assert sorted(order) == [n.id for n in graph.op_nodes()]
    place = {id: at for at, id in enumerate(order)}
    edges = program_edges(graph)
    assert all(place[src] < place[dst] for src, dst in edges)
    for at, id in enumerate(order):
        done = set(order[:at])
        ready = [i for i in order[at:] if {src for src, dst in edges if dst == i} <= done]
        assert id == min(ready)
    assert [n.id for n in reverse_topological_order(graph)] == order[::-1]


# Reachability


def test_what_roots_need() -> None:
    graph = parse_graph("a = A()\nb = B()\nc = C(a, ^d)\nd = D()\ne = E(c)", {})
    graph.fix_source_and_sink_edges()
    ids = reachable_backwards(graph, [node(graph, "c")])
    assert ids == {node(graph, name).id for name in "acd"}
    assert reachable_backwards(graph, []) == set()
    everything = {n.id for n in graph.op_nodes()}
    assert reachable_backwards(graph, graph.nodes()) == everything


def test_a_loop_needs_its_back_edge() -> None:
    graph = parse_graph(LOOP, {})
    assert len(reachable_backwards(graph, [node(graph, "x")])) == 6


@given(dags(), st.data())
def test_reachable_is_the_least_closed_set(graph: RuntimeGraph, data: st.DataObject) -> None:
    roots = data.draw(st.lists(st.sampled_from(graph.op_nodes())))
    expected = {n.id for n in roots}
    edges = program_edges(graph)
    while new := {src for src, dst in edges if dst in expected} - expected:
        expected |= new
    assert reachable_backwards(graph, roots) == expected


# Depths


def test_a_depth_is_the_longest_path() -> None:
    graph = parse_graph("a = A()\nb = B(a)\nc = C(a, b)\nd = D()", {})
    graph.fix_source_and_sink_edges()
    assert depths(graph) == {n.id: d for n, d in zip(graph.op_nodes(), [0, 1, 2, 0], strict=True)}


def test_extra_edges_deepen() -> None:
    graph = parse_graph("a = A()\ns = _Send(a)\nr = _Recv()\nb = B(r)", {})
    a, send, recv, b = graph.op_nodes()
    assert depths(graph) == {a.id: 0, send.id: 1, recv.id: 0, b.id: 1}
    assert depths(graph, [(send, recv)]) == {a.id: 0, send.id: 1, recv.id: 2, b.id: 3}
    with pytest.raises(InvalidArgumentError, match="s -> r -> b -> s"):
        depths(graph, [(send, recv), (b, send)])


@given(dags())
def test_a_depth_is_one_more_than_the_deepest_input(graph: RuntimeGraph) -> None:
    found = depths(graph)
    edges = program_edges(graph)
    for op in graph.op_nodes():
        before = [found[src] for src, dst in edges if dst == op.id]
        assert found[op.id] == (1 + max(before) if before else 0)
    assert len(found) == len(graph.op_nodes())


@given(dags(), st.data())
def test_extra_edges_are_like_edges(graph: RuntimeGraph, data: st.DataObject) -> None:
    order = topological_order(graph)
    places = st.tuples(st.integers(0, len(order) - 1), st.integers(0, len(order) - 1))
    drawn = [sorted(pair) for pair in data.draw(st.lists(places))]
    extra = [(order[i], order[j]) for i, j in drawn if i != j]
    with_extra = depths(graph, extra)
    for src, dst in extra:
        graph.add_control_edge(src, dst)
    assert with_extra == depths(graph)


# Depth first


def test_depth_first_enters_before_and_leaves_after_the_inputs() -> None:
    graph = parse_graph("a = A()\nb = B(a)\nc = C(b, a)\nd = D()", {})
    seen: list[str] = []
    reverse_dfs(
        graph, enter=lambda n: seen.append(f"+{n.name}"), leave=lambda n: seen.append(f"-{n.name}")
    )
    assert seen == ["+c", "+b", "+a", "-a", "-b", "-c", "+d", "-d"]


def test_depth_first_from_given_roots() -> None:
    graph = parse_graph("a = A()\nb = B(a)\nc = C(b, a)", {})
    graph.fix_source_and_sink_edges()
    left: list[Node] = []
    reverse_dfs(graph, [node(graph, "b"), node(graph, "a"), graph.sink], leave=left.append)
    assert names(left) == ["a", "b"]


def test_depth_first_goes_once_around_a_loop_nobody_leaves() -> None:
    graph = parse_graph("\n".join(LOOP.splitlines()[:-1]), {})
    left: list[Node] = []
    reverse_dfs(graph, leave=left.append)
    assert sorted(names(left)) == ["a", "b", "e", "m", "n"]


@given(dags())
def test_leaving_order_is_topological(graph: RuntimeGraph) -> None:
    left: list[int] = []
    reverse_dfs(graph, leave=lambda n: left.append(n.id))
    assert sorted(left) == [n.id for n in graph.op_nodes()]
    assert all(left.index(src) < left.index(dst) for src, dst in program_edges(graph))


# Size


def test_a_chain_of_many_nodes() -> None:
    graph = chain(MANY)
    nodes = graph.op_nodes()
    assert topological_order(graph) == nodes
    assert depths(graph)[nodes[-1].id] == MANY - 1
    assert len(reachable_backwards(graph, nodes[-1:])) == MANY
    left: list[Node] = []
    reverse_dfs(graph, leave=left.append)
    assert left == nodes


def test_a_fan_of_many_nodes() -> None:
    graph = fan(MANY)
    first, last, *middle = graph.op_nodes()
    assert topological_order(graph) == [first, *middle, last]
    assert depths(graph)[last.id] == 2
    assert len(reachable_backwards(graph, [last])) == MANY + 2
    left: list[Node] = []
    reverse_dfs(graph, leave=left.append)
    assert left == [first, *middle, last]
