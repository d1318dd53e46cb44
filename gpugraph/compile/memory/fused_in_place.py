"""In-place fusion: determines which inputs of a fused op may be overwritten by an output of that
op.

  members   y = relu(x + b)     s = sum(y)          y may overwrite x, but not b
  members   y = relu(x)         z = y * x           y may not overwrite x, because z reads x later

In NumPy the members run one after another, each over whole tensors. A member whose value is an
output of the fused op writes to the plan's memory. This member may overwrite an input if it reads
the input element by element, and no later member reads it. In native code, a loop reads an element
of all inputs before it writes that element of the outputs (`devices/codegen/loop_schedule.py`).
However, members that depend on the result of a reduction are computed in another loop, which may
read the inputs again. In that case, only a single output may overwrite an input, because the last
loop writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.sizes import varies
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel import Elementwise
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.fusion.fused_members import FusedMember


def fused_in_place(node: Node, slot: int) -> list[int]:
    """Return the inputs of a `_Fused` node that output `slot` may overwrite.

    The caller must ensure that the input and the output have equal shapes, and that all other
    outputs have separate memory.
    """
    known = node.attrs["layout"].in_place
    if slot not in known:
        known[slot] = _in_place(node, slot)
    inputs: list[int] = known[slot]
    return inputs


def _in_place(node: Node, slot: int) -> list[int]:
    members: Sequence[FusedMember] = node.attrs["members"]
    if len(node.attrs["stores"]) > 1 and _has_further_loops(members, len(node.input_types)):
        return []
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


def _has_further_loops(members: Sequence[FusedMember], number: int) -> bool:
    """Return whether some member may depend on the result of a reduction, so that the kernel needs
    more than one loop.

    Args:
      number: the number of inputs of the fused op.
    """
    read = {source for member in members for source in member.sources}
    for member in members:
        outputs = range(number, number + len(member.output_types))
        number += len(member.output_types)
        if isinstance(member.expressions, Elementwise):
            continue
        shapes = member.signature.output_shapes
        sizes: list[Any] = [prod(shape) for shape in member.signature.input_shapes]
        if any(map(varies, sizes)):  # the comparisons would differ between iterations
            return True
        most = max(sizes)
        if read & set(outputs) or any(prod(shape) >= most > 1 for shape in shapes):
            return True  # a decomposition with such outputs may contain reductions
    return False


def _works_in_place(member: FusedMember, value: int) -> bool:
    """Return whether a member has a single output and may write it over the input `value`."""
    if len(member.output_types) > 1:
        return False
    if isinstance(member.kernel.function, np.ufunc):
        return True  # it handles overlaps itself
    decl = DECLARATIONS.get(member.op_type)
    if decl is None or 0 not in decl.memory.alias:
        return False
    readers = [slot for slot, source in enumerate(member.sources) if source == value]
    return readers == [decl.memory.alias[0]]
