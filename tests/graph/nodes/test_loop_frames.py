"""Frames: the loop that each node is in, and loops that are not well-formed."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gpugraph.base.errors import InternalError, InvalidArgumentError
from gpugraph.graph.nodes.graph_text import parse_graph
from gpugraph.graph.nodes.loop_frames import Frames, enters_once, is_loop_merge, loop_frames
from gpugraph.graph.nodes.runtime_graph import RuntimeGraph

OPS = "op Switch(float32, float32) -> 2\nop Merge(float32, float32) -> float32, int32\n"
LOOP = """
a = A()
e = Enter(a) {frame_name='loop'}
m = Merge(e, n)
c = LoopCond(m)
s = Switch(m, c)
b = Body(s:1)
n = NextIteration(b)
x = Exit(s)
after = B(x)
"""


def parsed(text: str) -> RuntimeGraph:
    return parse_graph(OPS + text, {})


def frame_of(graph: RuntimeGraph, names: str, frames: Frames | None = None) -> list[str]:
    found = frames or loop_frames(graph)
    return [found.at(node).name for node in nodes(graph, names.split())]


def nodes(graph: RuntimeGraph, names: Iterable[str]) -> list:
    return [node for name in names for node in graph.op_nodes() if node.name == name]


def test_a_node_is_in_the_frame_of_its_inputs() -> None:
    graph = parsed(LOOP)
    assert frame_of(graph, "a after") == ["", ""]
    assert frame_of(graph, "e m c s b n x") == ["loop"] * 7
    frames = loop_frames(graph)
    (loop,) = frames.loops()
    assert (loop.parent, loop.depth, loop.loop_cond) == (frames.root, 1, *nodes(graph, "c"))
    listed = (loop.enters, loop.merges, loop.next_iterations, loop.exits)
    assert [[node.name for node in each] for each in listed] == [["e"], ["m"], ["n"], ["x"]]


def test_loops_in_loops() -> None:
    graph = parsed(
        LOOP.replace("b = Body(s:1)", "")
        + "e2 = Enter(s:1) {frame_name='inner'}\nm2 = Merge(e2, n2)\nn2 = NextIteration(m2)\n"
        + "b = Exit(m2)\nk = Enter(a) {frame_name='loop', is_constant=True}\n"
        + "k2 = Enter(k) {frame_name='inner', is_constant=True}\nd = Body(m2, k2)"
    )
    frames = loop_frames(graph)
    assert frame_of(graph, "k e2 m2 k2 d b n", frames) == ["loop", *["inner"] * 5, "loop"]
    outer, inner = frames.loops()
    assert list(inner.up()) == [inner, outer, frames.root]
    assert (inner.depth, frames.root.child_towards(inner)) == (2, outer)


def test_enters_of_one_name_lead_into_one_frame() -> None:
    graph = parsed("a = A()\nx = Enter(a) {frame_name='f'}\ny = Enter(a) {frame_name=b'f'}")
    (loop,) = loop_frames(graph).loops()
    assert {node.name for node in loop.enters} == {"x", "y"}


def test_a_control_edge_leads_into_the_frame_too() -> None:
    graph = parsed(LOOP + "c1 = Const(^m)\nd = Body(c1, m)\nc2 = Const(^x)")
    assert frame_of(graph, "c1 d c2") == ["loop", "loop", ""]


def test_any_loop_may_take_a_constant_that_waits_for_nothing() -> None:
    graph = parsed(LOOP + "k = Const()\nd = Body(m, k)\nd2 = Body(a, k)")
    assert frame_of(graph, "k d d2") == ["", "loop", ""]


def test_what_arrives_from_another_device_stays_in_its_frame() -> None:
    graph = parsed(LOOP + "send = _Send(m)\nrecv = _Recv()\nd = Body(recv)")
    send, recv = nodes(graph, ["send", "recv"])
    assert frame_of(graph, "recv d", loop_frames(graph, [(send, recv)])) == ["loop", "loop"]


def test_what_closes_a_loop_makes_a_merge_one_of_a_loop() -> None:
    graph = parsed(LOOP + "o = Merge(after, a)")
    assert [is_loop_merge(node) for node in nodes(graph, ["m", "o"])] == [True, False]


def test_what_enters_once_goes_to_merges_only() -> None:
    graph = parsed(
        LOOP
        + "k = Enter(a) {frame_name='loop', is_constant=True}\nd = Body(k)\n"
        + "f = Enter(a) {frame_name='loop'}\ng = Body(f)\n"
        + "h = Enter(a) {frame_name='loop'}\ni = Const(^h)\n"
        + "unused = Enter(a) {frame_name='loop'}"
    )
    names = ["e", "k", "f", "h", "unused", "b"]
    assert [enters_once(node) for node in nodes(graph, names)] == [
        True, False, False, False, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LOOP + "d = Body(m, a)", r"'?\{\{node d\}\} has inputs from different frames\. The input "
         r"\{\{node a\}\} is in frame ''\. The input \{\{node m\}\} is in frame 'loop'"),
        (LOOP + "d = Body(a, ^m)", "has inputs from different frames"),
        ("a = A()\nx = Exit(a)", "Exit 'x' is in no loop: no Enter leads to it"),
        ("a = A()\nx = NextIteration(a)", "NextIteration 'x' is in no loop"),
        ("a = A()\nx = LoopCond(a)", "LoopCond 'x' is in no loop"),
        ("a = A()\nx = Enter(a)", "The Enter x must have a frame name"),
        (LOOP + "c2 = LoopCond(m)", "Loop 'loop' has more than one LoopCond node: c"),
        ("a = A()\ne = Enter(a) {frame_name='f'}\nn = NextIteration(e)\nm = Merge(a, n)",
         r"\{\{node m\}\} has inputs from different frames(?s:.*)itself is in frame ''"),
    ],
)  # fmt: skip
def test_no_loop(text: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        loop_frames(parsed(text))


def test_a_frame_is_entered_from_one_frame() -> None:
    text = LOOP + "p = Enter(m) {frame_name='in'}\nq = Enter(a) {frame_name='in'}"
    with pytest.raises(
        InternalError, match=r"Mismatched parent frames for 'in'(?s:.*)defined at line"
    ):
        loop_frames(parsed(text))


def test_a_deep_nest_needs_no_recursion() -> None:
    lines = [f"e{i + 1} = Enter(e{i}) {{frame_name='f{i}'}}" for i in range(3000)]
    frames = loop_frames(parsed("e0 = A()\n" + "\n".join(lines)))
    assert len(frames.loops()) == 3000
    assert frames.loops()[-1].depth == 3000
