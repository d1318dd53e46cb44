"""Fused in place: the inputs of a fused op whose memory one of its outputs may take.

    members   y = relu(x + b)     s = sum(y)          y may lie where x does, not where b does
    members   y = relu(x)         z = y * x           y may not: x is read once y is written

By NumPy the members run one after the other, over whole tensors, and one writes its output where
the step has it. So it may be in place of an input that no later member reads, and that the member
reads element for element. Native code reads an element of all inputs before it writes that element
of its outputs (`devices/codegen/loop_schedule.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.fusion.fused_members import Member


def fused_in_place(node: Node, slot: int) -> list[int]:
    """The inputs of a `_Fused` in whose memory output `slot` may be, if it has their shape.

    With other outputs in memory of their own.
    """
    members: Sequence[Member] = node.attrs["members"]
    value = node.attrs["stores"][slot]
    number = len(node.input_types)
    last_reader: dict[int, int] = {}
    writer = -1
    for index, member in enumerate(members):
        last_reader.update(dict.fromkeys(member.sources, index))
        number += len(member.output_types)
        if writer < 0 and value < number:
            writer = index
    return [
        source
        for source in range(len(node.input_types))
        if last_reader[source] < writer
        or (last_reader[source] == writer and _works_in_place(members[writer], source))
    ]


def _works_in_place(member: Member, value: int) -> bool:
    """Whether a member may write its only output where it reads a value."""
    if len(member.output_types) > 1:
        return False
    if isinstance(member.kernel.function, np.ufunc):
        return True  # it minds overlaps itself
    decl = DECLARATIONS.get(member.op_type)
    if decl is None or 0 not in decl.alias:
        return False
    readers = [slot for slot, source in enumerate(member.sources) if source == value]
    return readers == [decl.alias[0]]
