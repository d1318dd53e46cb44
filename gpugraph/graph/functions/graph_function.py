"""GraphFunction: a function that is the value of an op's attr, and its FunctionDef message."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any
from zlib import crc32

from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.inlined_call import InlinedCall, written_calls
from gpugraph.graph.client.node_messages import node_def_of
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.graph.op_def import OpDef


class GraphFunction:
    """A function that ops call by its name in the graph's library.

    As an attr, the function is written as a NameAttrList message.

    Attributes:
      graph: the function's graph.
      out_names: the names of its results in the message. By default the names are derived from the
        names of the tensors.
      gradient_name: the name of the function that computes its gradient, or "".
    """

    __slots__ = ("__weakref__", "_definition", "gradient_name", "graph", "name", "out_names")

    attr: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, name: str, graph: FuncGraph, definition: Any = None) -> None:
        self.name = name
        self.graph = graph
        self._definition = definition
        self.out_names: Sequence[str] = ()
        self.gradient_name = ""

    def as_name_attr_list(self) -> Any:
        """Return the NameAttrList message of an attr that holds the function."""
        return messages_pb2.NameAttrList(name=self.name)

    def definition(self) -> Any:
        """Return the FunctionDef message."""
        if self._definition is None:
            self._definition = function_def(self.name, self.graph, self.out_names)
        return self._definition

    def with_results(self, tensors: Sequence[Tensor]) -> GraphFunction:
        """Return a function with `tensors`, which are tensors of its graph, as further results."""
        text = " ".join(tensor.name for tensor in tensors)
        name = f"{self.name}_with_{crc32(text.encode()):08x}"
        message = function_def(name, self.graph, self.out_names, tensors)
        return GraphFunction(name, self.graph, message)

    def add_to(self, graph: Graph) -> None:
        """Add the function, and the functions that it calls, to the libraries of `graph` and of its
        outer graphs.
        """
        functions = {self.name: self, **self.graph._functions}
        owner: Graph | None = graph
        while owner is not None:
            owner._functions.update(functions)
            owner = getattr(owner, "outer_graph", None)

    def __repr__(self) -> str:
        return f"<function {self.name} of {len(self.graph.inputs)} arguments>"


def function_def(
    name: str, graph: FuncGraph, out_names: Sequence[str] = (), extra: Sequence[Tensor] = ()
) -> Any:
    """Return the FunctionDef message of a function's graph.

    Args:
      out_names: the names of the results. By default the names are derived from the names of the
        tensors.
      extra: tensors that become further results.
    """
    message = messages_pb2.FunctionDef()
    signature = message.signature
    signature.name = name
    names: dict[str, int] = {}
    texts: dict[Tensor, str] = {}
    for tensor in graph.arguments:
        arg = signature.input_arg.add(name=_arg_name(tensor.op.name, names))
        arg.type = tensor._dtype.base_dtype.as_datatype_enum
        texts[tensor] = arg.name
    skipped = {tensor.op for tensor in texts}
    calls, unwritten = written_calls(graph._ops, [tensor.op for tensor in extra])
    for op in graph._ops:
        if op not in skipped and op not in unwritten:
            message.node_def.append(_body_node(op, texts, skipped, calls))
    results: dict[str, int] = {}
    for slot, tensor in enumerate([*graph.outputs, *extra]):
        is_named = slot < len(out_names)
        chosen = out_names[slot] if is_named else _arg_name(f"{tensor.op.name}", results)
        arg = signature.output_arg.add(name=chosen)
        arg.type = tensor._dtype.base_dtype.as_datatype_enum
        message.ret[arg.name] = _text(tensor, texts, calls)
    for op in graph.controls:
        signature.control_output.append(op.name)
        message.control_ret[op.name] = op.name
    signature.is_stateful = bool(graph.controls)
    return message


def _arg_name(name: str, used: dict[str, int]) -> str:
    """Return a valid argument name that is derived from `name` and not in `used`."""
    base = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "arg"
    if not base[0].isalpha():
        base = f"arg_{base}"
    count = used.get(base, 0)
    used[base] = count + 1
    return _arg_name(f"{base}_{count}", used) if count else base


def _body_node(
    op: Operation,
    texts: dict[Tensor, str],
    skipped: set[Operation],
    calls: Mapping[Operation, InlinedCall],
) -> Any:
    call = calls.get(op)
    node = node_def_of(op, call)
    inputs = op._inputs if call is None else call.inputs
    controls = op._control_inputs if call is None else call.control_inputs
    del node.input[:]
    node.input.extend([_text(tensor, texts, calls) for tensor in inputs])
    node.input.extend([f"^{other.name}" for other in controls if other not in skipped])
    return node


def _text(tensor: Tensor, texts: dict[Tensor, str], calls: Mapping[Operation, InlinedCall]) -> str:
    """Return the name of a tensor in a FunctionDef: `argument` or `node:output:index`."""
    if tensor in texts:
        return texts[tensor]
    index = tensor.value_index
    call = calls.get(tensor.op)
    op_def, attrs = (tensor.op._op_def, tensor.op._attrs) if call is None else call[:2]
    for arg, count in zip(op_def.outputs, _counts(op_def, attrs)):
        if index < count:
            return f"{tensor.op.name}:{arg.name}:{index}"
        index -= count
    raise ValueError(f"'{tensor.name}' is no output of its operation")


def _counts(op_def: OpDef, attrs: Mapping[str, Any]) -> Sequence[int]:
    """Return the number of tensors in each output argument of an operation."""
    counts = []
    for arg in op_def.outputs:
        if arg.type_list_attr:
            counts.append(len(attrs[arg.type_list_attr]))
        else:
            counts.append(attrs[arg.number_attr] if arg.number_attr else 1)
    return counts
