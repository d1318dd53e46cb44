"""A function call that was inlined when its graph was imported, and its serialization.

The operation of the call stays in the graph and forwards the results of the inlined operations. If
no operation outside of the call uses the inlined operations, `as_graph_def` writes the original
call and the function instead of them. Gradients may use tensors inside the call. Then
`as_graph_def` writes a call of a *longer* function: the original function with these tensors as
further results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from gpugraph.graph.op_def import OpDef


class InlinedCall(NamedTuple):
    """The record of an inlined call: the call in the imported file, and the inlined operations.

    Args:
      op_def, attrs, inputs, control_inputs: the call as it is in the file.
      body: the operations that were inlined.
      twins: for a tensor of the body, the function's tensor that the tensor copies, if known.
    """

    op_def: OpDef
    attrs: dict[str, Any]
    inputs: tuple[Any, ...]
    control_inputs: tuple[Any, ...]
    body: Sequence[Any]
    twins: Mapping[Any, Any] = MappingProxyType({})

    def has_as_results(self, tensors: Iterable[Any]) -> bool:
        """Return whether a longer function could also return these tensors of the body."""
        is_partitioned = {"f", "Tout"} <= self.attrs.keys()
        return is_partitioned and all(
            tensor in self.twins
            and not tensor._dtype.is_ref_dtype
            and tensor.op._get_control_flow_context() is None
            for tensor in tensors
        )


class LongerCalls:
    """The calls that are written with further results, because operations outside a call use
    tensors inside it.

    Attributes:
      results: maps the operation of a call to the tensors that become further results, in order.
    """

    def __init__(self) -> None:
        self.results: dict[Any, list[Any]] = {}

    def attrs_of(self, op: Any, call: InlinedCall) -> dict[str, Any]:
        """Return the attrs of a call. If the call has further results, the attrs name the longer
        function.
        """
        extra = self.results.get(op)
        if not extra:
            return call.attrs
        function = call.attrs["f"].with_results([call.twins[tensor] for tensor in extra])
        types = [*call.attrs["Tout"], *(tensor._dtype.base_dtype for tensor in extra)]
        return {**call.attrs, "f": function, "Tout": types}

    def names(self) -> dict[str, str]:
        """Return the new name of each tensor that became a further result, by its old name.

        A name is written as in the inputs of a NodeDef.
        """
        names = {}
        for op, extra in self.results.items():
            for slot, tensor in enumerate(extra, len(op._outputs)):
                index = tensor.value_index
                names[tensor.op.name if index == 0 else f"{tensor.op.name}:{index}"] = (
                    f"{op.name}:{slot}" if slot else op.name
                )
        return names


def written_calls(
    ops: Iterable[Any], used: Iterable[Any] = (), longer: LongerCalls | None = None
) -> tuple[dict[Any, InlinedCall], set[Any]]:
    """Return (a dict from operations to the calls that are written in their place, the inlined
    operations that are not written).

    Args:
      ops: the operations to write.
      used: operations that must be written even if they were inlined.
      longer: an object that receives the calls that are written with further results. If `longer`
        is None, the bodies of these calls are written instead.
    """
    ops, used = list(ops), set(used)
    calls: dict[Any, InlinedCall] = {}
    unwritten: set[Any] = set()
    for op in ops:
        if op._call is not None and op not in unwritten:
            calls[op] = op._call
            unwritten.update(op._call.body)
    while calls:
        callers = {member: op for op, call in calls.items() for member in call.body}
        exposed = {callers[member] for member in used if member in callers}
        tensors: dict[Any, dict[Any, None]] = {}
        for op in ops:
            if op in callers:
                continue
            for member in (*(tensor.op for tensor in op._inputs), *op._control_inputs):
                if member in callers and op is not callers[member]:
                    tensors.setdefault(callers[member], {})
            for tensor in op._inputs:
                if tensor.op in callers and op is not callers[tensor.op]:
                    tensors[callers[tensor.op]][tensor] = None
        results = {}
        for op, needed in tensors.items():
            if longer is not None and calls[op].has_as_results(needed):
                results[op] = list(needed)
            else:
                exposed.add(op)
        if not exposed:
            if longer is not None:
                longer.results = results
            break
        for op in exposed:
            unwritten.difference_update(calls.pop(op).body)
        for op in exposed:  # calls inside of their bodies may still be written as calls
            for member in op._call.body:
                if member._call is not None and member not in unwritten:
                    calls[member] = member._call
                    unwritten.update(member._call.body)
    return calls, unwritten
