"""A function call that was inlined when its graph was imported, and its serialization.

The operation of the call stays in the graph and forwards the results of the inlined operations. If
no operation outside of the call uses the inlined operations, `as_graph_def` replaces them by the
original call and the library's function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gpugraph.graph.op_def import OpDef


class InlinedCall(NamedTuple):
    """A call's operation as it is in the imported file, and the operations that were inlined
    (`body`).
    """

    op_def: OpDef
    attrs: dict[str, Any]
    inputs: tuple[Any, ...]
    control_inputs: tuple[Any, ...]
    body: Sequence[Any]


def written_calls(ops: Iterable[Any]) -> tuple[dict[Any, InlinedCall], set[Any]]:
    """Return the calls to write as calls, by operation, and the inlined operations to omit."""
    ops = list(ops)
    calls: dict[Any, InlinedCall] = {}
    unwritten: set[Any] = set()
    for op in ops:
        if op._call is not None and op not in unwritten:
            calls[op] = op._call
            unwritten.update(op._call.body)
    while calls:
        callers = {member: op for op, call in calls.items() for member in call.body}
        exposed = {
            callers[member]
            for op in ops
            for member in (*(tensor.op for tensor in op._inputs), *op._control_inputs)
            if member in callers and op not in callers and op is not callers[member]
        }
        if not exposed:
            break
        for op in exposed:
            unwritten.difference_update(calls.pop(op).body)
        for op in exposed:  # calls inside of their bodies may still be written as calls
            for member in op._call.body:
                if member._call is not None and member not in unwritten:
                    calls[member] = member._call
                    unwritten.update(member._call.body)
    return calls, unwritten
