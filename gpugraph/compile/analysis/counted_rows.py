"""The outputs whose number of rows a kernel counts during a run, and the names of these numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpugraph.base.dtypes import OBJECTS
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel import RowSource
from gpugraph.ops.framework.op_declaration import DECLARATIONS


class CountedRows(NamedTuple):
    """A number of rows that a kernel counts during a run.

    Args:
      suffix: the end of the number's name, which follows the name of the node. The suffix is empty
        if the kernel counts a single number.
      slots: the indices of the outputs that have this number of rows.
    """

    suffix: str
    slots: Sequence[int]


def counted_rows(node: Node) -> Sequence[CountedRows]:
    """Return the numbers of rows that the node's kernel counts. If an output holds Python objects,
    return an empty sequence, because open plans do not support such outputs.
    """
    decl = DECLARATIONS.get(node.type)
    native = decl.native if decl is not None else None
    if any(dtype.base_dtype in OBJECTS for dtype in node.output_types):
        return ()
    return rows_counted_by(native, len(node.output_types))


def rows_counted_by(native: Any, output_count: int) -> Sequence[CountedRows]:
    """Return the numbers of rows that a native kernel of an op with `output_count` outputs
    counts.
    """
    if not isinstance(native, RowSource) or native.sizes is None:
        return ()
    if native.separate:
        return [CountedRows(f":{slot}", [slot]) for slot in range(output_count)]
    slots = [slot for slot in native.counted if slot < output_count]
    return [CountedRows("", slots)] if slots else ()


def counting_node(name: str) -> str:
    """Return the name of the node whose kernel counts the number with this name."""
    return name.partition(":")[0]
