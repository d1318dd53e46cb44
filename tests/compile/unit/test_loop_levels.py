"""Schedule: levels of loops, and orders that keep groups together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.compile.unit.loop_levels import Item, Level, arranged, flattened, levels, loops_whole
from gpugraph.graph.nodes.graph_text import parse_graph
from gpugraph.graph.nodes.loop_frames import Frame, loop_frames
from gpugraph.graph.nodes.runtime_graph import RuntimeGraph

LOOP = """
before = A()
e = Enter(before) {frame_name='loop'}
m = Merge(e, n)
b = B(m)
n = NextIteration(b)
x = Exit(m)
after = B(x)
aside = B(before)
both = C(after, aside)
"""


def found(text: str) -> tuple[RuntimeGraph, Level, list[Level]]:
    """Return the graph, the level around all loops, and those of loops."""
    graph = parse_graph(text, {})
    frames = loop_frames(graph)
    every = levels(graph, frames, ())
    return graph, every[frames.root], [every[frame] for frame in frames.loops()]


def depth(level: Level) -> dict[str, int]:
    return {item.name: count for item, count in level.depth.items()}


def test_a_loop_is_one_item_of_the_level_around_it() -> None:
    _, root, (loop,) = found(LOOP)
    assert depth(root) == {"before": 0, "loop": 1, "aside": 1, "after": 2, "both": 3}
    assert depth(loop) == {"e": 0, "m": 1, "b": 2, "n": 3, "x": 2}


def test_an_edge_between_loops_binds_where_they_part() -> None:
    """The inner loop's result is needed by another inner loop, both in one outer one."""
    _, root, loops = found(
        "a = A()\no = Enter(a) {frame_name='outer'}\n"
        "i = Enter(o) {frame_name='one'}\nx = Exit(i)\n"
        "j = Enter(x) {frame_name='two'}\ny = Exit(j)\nz = Exit(y)\nafter = B(z)"
    )
    assert depth(root) == {"a": 0, "outer": 1, "after": 2}
    assert depth(loops[0]) == {"o": 0, "one": 1, "two": 2, "z": 3}


def test_two_exits_do_not_bind_a_loop_twice() -> None:
    _, root, _ = found(
        "a = A()\ne = Enter(a) {frame_name='f'}\nx = Exit(e)\ny = Exit(e)\nb = C(x, y)"
    )
    assert depth(root) == {"a": 0, "f": 1, "b": 2}


def test_a_loop_that_needs_its_own_result() -> None:
    text = "a = A()\ne = Enter(a) {frame_name='f'}\nx = Exit(e)\ng = Enter(x) {frame_name='f'}"
    with pytest.raises(InvalidArgumentError, match="loop 'f' needs its own result before it can"):
        found(text)


def test_two_loops_that_need_each_other() -> None:
    with pytest.raises(InvalidArgumentError, match="needs its own result before it can start"):
        found(
            "a = A()\ne = Enter(a) {frame_name='f'}\nx = Exit(e)\ng = Enter(a) {frame_name='g'}\n"
            "y = Exit(g)\nh = Enter(x) {frame_name='g'}\ni = Enter(y) {frame_name='f'}"
        )


def test_a_cycle_is_no_loop() -> None:
    """Only a cycle that a NextIteration closes is a loop; the frame of nodes on others is
    unknown.
    """
    graph = parse_graph("a = A()\nb = B(a, c)\nc = B(b)", {})
    frames = loop_frames(parse_graph("a = A()", {}))
    with pytest.raises(InvalidArgumentError, match="cycle with 2 nodes, including: b -> c -> b"):
        levels(graph, frames, ())


def order(text: str, group: Callable[[Item], object]) -> str:
    graph, root, _ = found(text)
    ids = {node: node.id for node in graph.op_nodes()}
    items = arranged(root, lambda item: (root.depth[item], ids.get(item, 0)), group)  # type: ignore[call-overload]
    return " ".join(item.name for item in items)


ROWS = "a = A()\nb1 = B(a)\nc1 = C(a)\nb2 = B(b1)\nc2 = C(c1)\nb3 = B(b2)\nlast = D(b3, c2)"


def test_without_groups_by_rank() -> None:
    assert order(ROWS, lambda item: None) == "a b1 c1 b2 c2 b3 last"


def test_groups_stay_together() -> None:
    assert order(ROWS, lambda item: item.name[0]) == "a b1 b2 b3 c1 c2 last"


def test_a_group_waits_for_what_it_needs() -> None:
    text = ROWS + "\nb4 = B(c2)"
    assert order(text, lambda item: item.name[0]) == "a b1 b2 b3 c1 c2 b4 last"


def test_a_loop_comes_whole_before_what_follows_it() -> None:
    graph = parse_graph(LOOP, {})
    names = [node.name for node in loops_whole(graph)]
    assert sorted(names) == sorted(node.name for node in graph.op_nodes())
    for before, after in (("before", "e"), ("e", "m"), ("m", "b"), ("n", "after"), ("x", "after")):
        assert names.index(before) < names.index(after)


def test_the_end_of_an_iteration_follows_its_nodes() -> None:
    graph = parse_graph("a = A()\ne = B(a)\nend = E()", {})
    a, e, end = graph.op_nodes()
    root = Frame("", None)
    loop = Frame("f", root)
    loop.end = end
    assert flattened({root: [a, loop], loop: [e]}, root) == [a, e, end]
