"""Gradual sums: a large AddN is split, so that each term is added as soon as it is computed.

    AddN(a, b, c, d)          a, b, c and d live until d is computed
    ((a + b) + c) + d         at most two live, and each sum overwrites the previous one

A recurrent network reads a weight matrix in each time step. The gradients of the matrix for all
time steps are the terms of one AddN. An AddN adds its terms from the first to the last. The AddN is
split only if its terms become available in that order, so that the result stays the same bit by
bit. The partial sums remain separate steps, because one fused kernel would again wait for all
terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpugraph.base.dtypes import float32, float64
from gpugraph.base.sizes import hint
from gpugraph.compile.analysis.fusibility import APART
from gpugraph.compile.analysis.places import places
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Source, Unit
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.memory import human_readable_bytes

LARGE = 1 << 20
"""The minimum total size of the terms in bytes: the memory saved must be worth the additional
steps.
"""

LARGE_TERM = 1 << 14
"""The minimum size of one term in bytes. For a smaller term, launching a step takes longer than the
addition.
"""


@compile_pass()
def sums(unit: Unit) -> Outcome:
    """Split each large AddN whose terms become available one after another. All terms must be in
    one loop and have one guard.
    """
    if not any(_is_large(unit, node) for node in unit.graph.op_nodes()):
        return "no large sum gets its terms one after the other", ()
    lines = []
    for place in places(unit):
        for node in place.nodes:
            groups = _in_turn(node, place.depth) if _is_large(unit, node) else []
            if len(groups) > 2 and not all(source.is_constant for source, _ in groups[0]):
                _split(unit, node, groups)
                size = human_readable_bytes(_bytes(unit, node))
                lines.append(
                    f"{node.name}: {len(groups)} sums of terms of {size}, as they are computed"
                )
    return f"{len(lines)} large sums add each term as soon as it is computed", lines


def _bytes(unit: Unit, node: Node) -> int:
    """Return the size of one term in bytes. If the size is unknown, return 0."""
    elements = unit.shapes[node.id][0].num_elements()
    return 0 if elements is None else hint(elements) * node.output_types[0].itemsize


def _is_large(unit: Unit, node: Node) -> bool:
    if node.type != "AddN" or node.output_types[0].base_dtype not in (float32, float64):
        return False  # one AddN of 16-bit terms rounds only once
    size = _bytes(unit, node)
    return size >= LARGE_TERM and size * len(node.input_types) >= LARGE


def _in_turn(node: Node, depth: Mapping[int, int]) -> list[list[Source]]:
    """Return the terms in groups. Each group becomes available after the preceding group.

    The order of the terms does not change. A term that is available no later than an earlier term
    belongs to the group of that term. The first group has at least two terms.

    Args:
      depth: the depth at which each term becomes available, by node id.
    """
    groups: list[list[Source]] = []
    latest = -1
    for edge in node.input_edges():
        comes = depth.get(edge.src.id, 0)
        is_first_full = len(groups) > 1 or (groups and len(groups[0]) > 1)
        if not groups or (comes > latest and is_first_full):
            groups.append([])
        groups[-1].append((edge.src, edge.src_output))
        latest = max(latest, comes)
    return groups


def _split(unit: Unit, node: Node, groups: Sequence[Sequence[Source]]) -> None:
    """Add a partial sum for each group except the last. The node itself then adds the last group to
    the preceding sum.
    """
    graph, dtype = unit.graph, node.output_types[0]
    total: list[Source] = []
    for number, group in enumerate(groups[:-1]):
        terms = [*total, *group]
        partial_sum = unit.add_op(
            "AddN",
            node,
            terms,
            attrs={"T": dtype, "N": len(terms), APART: True},
            output_types=[dtype],
            suffix=f"sum_{number}",
            shapes=[unit.shapes[node.id][0]],
        )
        unit.reasons[partial_sum.id] = unit.reasons.get(node.id, "")
        total = [(partial_sum, 0)]
    for edge in node.input_edges():
        graph.remove_edge(edge)
    last = [*total, *groups[-1]]
    node.attrs = {**node.attrs, "N": len(last), APART: True}
    node.input_types = (dtype,) * len(last)
    for index, (source, slot) in enumerate(last):
        graph.add_edge(source, slot, node, index)
