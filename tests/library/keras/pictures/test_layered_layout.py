"""Layouts of graphs with ranks: no two boxes overlap, edges go down, chains are straight."""

from __future__ import annotations

from hypothesis import given, strategies as st

from gpugraph.library.keras.pictures.layered_layout import Box, lay_out


@st.composite
def ranked_graphs(draw):
    sizes = draw(st.lists(st.tuples(st.floats(5, 200), st.floats(5, 80)), min_size=1, max_size=12))
    boxes = [Box(width, height, draw(st.integers(0, 5))) for width, height in sizes]
    pairs = [
        (first, second)
        for first in range(len(boxes))
        for second in range(len(boxes))
        if boxes[first].rank < boxes[second].rank
    ]
    return boxes, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


@given(ranked_graphs())
def test_boxes_lie_apart_and_inside(ranked_graph):
    boxes, edges = ranked_graph
    layout = lay_out(boxes, edges)
    for number, box in enumerate(boxes):
        assert box.x - box.width / 2 >= -1e-6 and box.x + box.width / 2 <= layout.width + 1e-6
        assert box.y - box.height / 2 >= -1e-6 and box.y + box.height / 2 <= layout.height + 1e-6
        for other in boxes[:number]:
            apart_x = abs(box.x - other.x) >= (box.width + other.width) / 2 - 1e-6
            apart_y = abs(box.y - other.y) >= (box.height + other.height) / 2 - 1e-6
            assert apart_x or apart_y


@given(ranked_graphs())
def test_routes_go_down_through_bends_that_are_apart_from_boxes(ranked_graph):
    boxes, edges = ranked_graph
    layout = lay_out(boxes, edges)
    assert len(layout.routes) == len(edges)
    for (first, second), route in zip(edges, layout.routes):
        assert route[0] is boxes[first] and route[-1] is boxes[second]
        assert [box.rank for box in route] == list(range(route[0].rank, route[-1].rank + 1))
        for bend in route[1:-1]:
            for box in boxes:
                if box.rank == bend.rank:
                    assert abs(box.x - bend.x) >= box.width / 2


def test_a_chain_is_straight():
    boxes = [Box(width, 10.0, rank) for rank, width in enumerate((30.0, 100.0, 50.0))]
    layout = lay_out(boxes, [(0, 1), (1, 2)])
    assert {box.x for box in boxes} == {50.0} and layout.width == 100.0
