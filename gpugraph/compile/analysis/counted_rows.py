"""The outputs whose number of rows a kernel counts during a run, and the names of these numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from gpugraph.base.dtypes import OBJECTS
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.graph.op_def import host_slots
from gpugraph.kernel import Call, RowSource
from gpugraph.ops.framework.kernel_registry import kernels_of
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


_EQUAL = {"ListDiff": CountedRows("", (0, 1)), "ComputeAccidentalHits": CountedRows("", (0, 1, 2))}
"""By op type, the rows that a NumPy kernel counts, apart from the rows of sparse tensors."""


INFERRED = {"DecodeCSV", "LookupTableFindV2", "ReduceJoin"}
"""The op types whose kernels return new arrays, always of the inferred shapes."""


def counted_rows(node: Node) -> Sequence[CountedRows]:
    """Return the numbers of rows that the node's kernel counts."""
    decl = DECLARATIONS.get(node.type)
    if decl is None:
        return ()
    if not any(dtype.base_dtype in OBJECTS for dtype in node.output_types):
        by_native = rows_counted_by(decl.native, len(node.output_types))
        if by_native:
            return by_native
    if node.type in _EQUAL:
        return [_EQUAL[node.type]]
    outputs = decl.op_def.outputs
    pairs = [
        slots
        for pair in _sparse_outputs(node.type)
        for slots in zip(
            *(sorted(host_slots(outputs, frozenset({i}), node.attrs)) for i in pair), strict=True
        )
    ]
    is_single = len(pairs) == 1
    return [CountedRows("" if is_single else f":{slots[0]}", slots) for slots in pairs]


def counts_rows(op_type: str) -> bool:
    """Return whether a NumPy kernel of the op counts rows."""
    return op_type in _EQUAL or bool(_sparse_outputs(op_type))


@cache
def _sparse_outputs(op_type: str) -> Sequence[tuple[int, int]]:
    """Return the numbers of the declared outputs that are the indices and values of sparse tensors,
    if a kernel of the library decides in a run how many elements these have, and has no side
    effects. A program's op may name its outputs so and mean something else.
    """
    op_def = DECLARATIONS[op_type].op_def
    entries = [entry for entry in kernels_of(op_type) if entry.device_type == "CPU"]
    calls = [entry.kernel for entry in entries if entry.is_ours]
    if op_def.is_stateful or not any(isinstance(c, Call) and c.dynamic for c in calls):
        return ()
    numbers = {arg.name: number for number, arg in enumerate(op_def.outputs)}
    return [
        (number, numbers[f"{name[:-7]}values"])
        for name, number in numbers.items()
        if name.endswith("indices") and f"{name[:-7]}values" in numbers
    ]


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
