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


_SPARSE = CountedRows("", (0, 1))

_BY_NUMPY = {
    **dict.fromkeys(("StringSplit", "StringSplitV2", "SparseAdd", "SparseSlice"), _SPARSE),
    **dict.fromkeys(("SparseConcat", "SparseFillEmptyRows", "SparseCross"), _SPARSE),
    **dict.fromkeys(("DenseToDenseSetOperation", "DenseToSparseSetOperation"), _SPARSE),
    **dict.fromkeys(("SparseToSparseSetOperation", "SparseReduceSumSparse"), _SPARSE),
}
"""By op type, the rows that a NumPy kernel counts: those of the indices and values of a sparse
tensor."""


INFERRED = {"LookupTableFindV2"}
"""The op types whose kernels return new arrays, always of the inferred shapes."""


def counted_rows(node: Node) -> Sequence[CountedRows]:
    """Return the numbers of rows that the node's kernel counts."""
    decl = DECLARATIONS.get(node.type)
    native = decl.native if decl is not None else None
    if node.type in _BY_NUMPY:
        return [_BY_NUMPY[node.type]]
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
