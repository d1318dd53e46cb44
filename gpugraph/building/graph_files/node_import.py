"""Import of a GraphDef's nodes as operations. The operations are added to the graph together, when
all of them exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.graph_files.attr_import import (
    check_inputs,
    check_type,
    checked_value_count,
    complete,
    node_error,
    read_attrs,
)
from gpugraph.building.graph_files.call_op_types import CALL_OP_DEFS
from gpugraph.building.graph_files.function_library import FunctionLibrary
from gpugraph.building.graph_files.graph_def_index import GraphDefIndex, Source
from gpugraph.building.graph_files.op_type_support import op_type_refusal
from gpugraph.building.graph_files.undeclared_ops import OutputGuesses, raw_attrs
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.creation_origin import here
from gpugraph.graph.client.op_inference import infer_shapes, output_types
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.device_names import check_valid
from gpugraph.graph.op_def import OpDef
from gpugraph.graph.op_library import OP_DEFS

_MAX_OUTPUTS = 1 << 16
"""The maximum number of outputs of a node: a small file could request any number."""

_UNKNOWN = TensorShape.of(None)
_COLOCATION = b"loc:@"
_ENTERS = ("Enter", "RefEnter")


class NodeImport:
    """The operations of one GraphDef during its import.

    Args:
      index: the nodes.
      names: maps the name of each node in the file to its name in the graph.
      mapped: the tensors and operations that replace sources (`input_map`).
      producer: the version of the GraphDef, which determines the behaviour of some op types and
        shape functions.

    Attributes:
      used: the sources that have been replaced so far.
      calls: the operations that call functions of the library, in order.
    """

    def __init__(
        self,
        graph: Graph,
        index: GraphDefIndex,
        names: Mapping[str, str],
        mapped: Mapping[Source, Any],
        library: FunctionLibrary,
        producer: int,
    ) -> None:
        self.graph = graph
        self.index = index
        self.names = names
        self.mapped = mapped
        self.library = library
        self.producer = min(producer, graph._versions.producer)
        self.made_by = producer
        self.calls: list[Operation] = []
        self.used: set[Source] = set()
        self.ops: dict[str, Operation] = {}  # by the node's name in the file, in order
        self._back: list[tuple[Operation, int, Source]] = []
        self._value_counts: dict[Operation, int] = {}
        self._origin = here(graph._origins)
        self._guesses = OutputGuesses(index)

    def make(self) -> None:
        """Create all operations, without adding them to the graph.

        If an op type is not declared, the node becomes an operation that fails in a run. Raises
        ValueError if a node is malformed.
        """
        for number in self.index.in_order(self.mapped):
            self._make(number)
        for op, slot, source in self._back:
            self._close(op, slot, source)

    def enter(self, has_own_frames: bool = True) -> None:
        """Add the operations to the graph, and apply the scopes that are active around the import.

        The active scopes are device scopes, control dependencies and control flow contexts.

        Args:
          has_own_frames: whether the frames of the operations are separate from the graph's frames
            of the same name. They are the same frames if the operations extend a copy of the graph.
        """
        graph, ops = self.graph, [*self.ops.values()]
        if has_own_frames:
            _rename_frames(graph, [op for op in ops if op.type in _ENTERS])
        with graph._lock:
            for op in ops:
                op._id = len(graph._ops)
                graph._ops.append(op)
                graph._by_name[op.name] = op
                graph._names.setdefault(op.name.lower(), 1)
            graph._value_counts.update(self._value_counts)
        for block in graph._scope.controls:
            block.seen.update(ops)
        for op in ops:
            device, controls, op._device = op._device, op._control_inputs, ""
            if device and not _colocation(op):
                with graph.device(device):
                    graph._enter_scopes(op, graph._scope)
            else:
                graph._enter_scopes(op, graph._scope)
            op._control_inputs = tuple(dict.fromkeys([*controls, *op._control_inputs]))
        for op in ops:
            self._follow_colocation(op)

    def _follow_colocation(self, op: Operation) -> None:
        """Place the op on the device of the op with which it is colocated."""
        for name in _colocation(op):
            leader = self.graph._by_name.get(name)
            if leader is not None and leader._device:
                op._device = leader._device
                return

    # -- one node

    def _make(self, number: int) -> None:
        index = self.index
        node, name = index.nodes[number], index.names[number]
        full = self.names[name]
        inputs, controls = self._sources(number)
        op_def = self._op_def(node.op)
        if op_def is None:
            op_def, attrs = OpDef(node.op, is_stateful=True), raw_attrs(node)
            types = self._guesses.output_types(number)
        else:
            op_def.check_available(self.made_by)
            attrs = read_attrs(node, op_def, full)
            self._guesses.settle(op_def, attrs, inputs)
            complete(attrs, op_def, [tensor._dtype for tensor in inputs], full)
            check_inputs(op_def, attrs, inputs, full)
            types = _types(op_def, attrs, full)
        if node.device:
            check_valid(node.device)
        if "_class" in attrs:
            attrs["_class"] = self._prefixed(attrs["_class"], name)
        op = Operation._of(self.graph, full, op_def, inputs, types, attrs, self._origin)
        op._control_inputs = controls
        op._device = node.device
        self.ops[name] = op
        if op_def.name in CALL_OP_DEFS or op_def.name in self.library.functions:
            self.calls.append(op)
        elif op_def.name not in OP_DEFS:
            op._refusal = op_type_refusal(node.op, full)
            self._guesses.note(op)
        self._infer(op, node)
        if node.op == "Const":
            value_count = checked_value_count(op, node.attr["value"].tensor)
            if value_count is not None:
                self._value_counts[op] = value_count
        for slot, source in enumerate(index.sources[number]):
            if self._is_back(number, source):
                self._back.append((op, slot, source))

    def _op_def(self, op_type: str) -> OpDef | None:
        return self.library.op_def(op_type)

    def _is_back(self, number: int, source: Source) -> bool:
        return source not in self.mapped and self.index.is_back_edge(number, source)

    def _sources(self, number: int) -> tuple[tuple[Tensor, ...], tuple[Operation, ...]]:
        """Return the inputs and control inputs of a node. If an input is a back edge, the op that
        closes the loop does not exist yet. Until `_close` sets such an input, another tensor
        replaces it.
        """
        inputs: list[Tensor | None] = []
        controls: dict[Operation, None] = {}
        for source in self.index.sources[number]:
            if source in self.mapped:
                self.used.add(source)
                element = self.mapped[source]
            elif self._is_back(number, source):
                inputs.append(None)
                continue
            elif source[1] < 0:
                element = self.ops[source[0]]
            else:
                element = self.output(self.index.names[number], source)
            if source[1] < 0:
                controls[element] = None
            else:
                inputs.append(element)
        first = next((tensor for tensor in inputs if tensor is not None), None)
        if first is None and inputs:
            raise ValueError(
                f"Node '{self.index.names[number]}' has no input from outside of its loop"
            )
        complete_inputs = [first if tensor is None else tensor for tensor in inputs]
        return tuple(complete_inputs), tuple(controls)  # type: ignore[arg-type]

    def output(self, user: str, source: Source) -> Tensor:
        """Return the tensor that `source`, an input of `user`, denotes. Raises ValueError if the
        tensor doesn't exist.
        """
        outputs = self.ops[source[0]]._outputs
        if source[1] >= len(outputs):
            raise ValueError(
                f"Node '{user}': Connecting to invalid output {source[1]} of source node "
                f"{source[0]} which has {len(outputs)} outputs."
            )
        return outputs[source[1]]

    def _close(self, op: Operation, slot: int, source: Source) -> None:
        """Set the input `slot` of a Merge, which is the input for the loop's back edge, to the
        tensor that `source` denotes.
        """
        tensor = self.output(op.name, source)
        check_type(op.name, slot, tensor, op._inputs[slot]._dtype)
        op._inputs = (*op._inputs[:slot], tensor, *op._inputs[slot + 1 :])

    def _prefixed(self, groups: Any, name: str) -> list[bytes]:
        """Return colocation groups in which the nodes' names in the file are replaced by their
        names in the graph.
        """
        if not (isinstance(groups, list) and all(isinstance(group, bytes) for group in groups)):
            raise ValueError(
                f"Node '{name}': attr '_class' is not a list of names, but {groups!r:.100}"
            )
        result = []
        for group in groups:
            if group.startswith(_COLOCATION):
                leader = group[len(_COLOCATION) :].decode("utf-8", "surrogateescape")
                if leader not in self.names:
                    if self.library.active:  # in a function's body: its arguments are not nodes
                        continue
                    raise ValueError(
                        f"Node '{name}' expects to be colocated with unknown node '{leader}'"
                    )
                group = _COLOCATION + self.names[leader].encode()
            result.append(group)
        return result

    # -- shapes

    def infer_again(self) -> None:
        """Infer all static shapes again. Call this method when the shapes of the results of calls
        have become known.
        """
        for op in self.ops.values():
            if op.type in ("Merge", "RefMerge") or op._op_def.infer is None:
                continue
            before = [tensor._shape for tensor in op._outputs]
            infer_shapes(op, self.producer)
            for tensor, shape in zip(op._outputs, before):
                tensor._shape = tensor._shape.merge_with(shape)

    def _infer(self, op: Operation, node: Any) -> None:
        """Infer an operation's static shapes, and merge them with the shapes in its attr
        `_output_shapes`.
        """
        if op._op_def.infer is not None:
            infer_shapes(op, self.producer)
            _check_sizes(op)
        if op.type in ("Merge", "RefMerge") and any(
            self._is_back(self.index.by_name[node.name], source)
            for source in self.index.sources[self.index.by_name[node.name]]
        ):
            op._outputs[0]._shape = _UNKNOWN
        if "_output_shapes" in node.attr:
            self._refine(op, node.attr["_output_shapes"].list.shape)

    def _refine(self, op: Operation, shapes: Any) -> None:
        if len(shapes) > len(op._outputs):
            raise ValueError(
                f"Node '{op.name}' has {len(op._outputs)} outputs but the _output_shapes attribute "
                f"specifies shapes for {len(shapes)} outputs"
            )
        for number, (tensor, message) in enumerate(zip(op._outputs, shapes)):
            try:
                shape = as_shape(message)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"Node '{op.name}' has an invalid _output_shapes attribute (shape #{number} "
                    f"error: '{error}')"
                ) from error
            try:
                tensor._shape = tensor._shape.merge_with(shape)
            except (Misfit, ValueError) as error:
                raise ValueError(
                    f"Node '{op.name}' has an _output_shapes attribute inconsistent with the "
                    f"GraphDef for output #{number}: {error}"
                ) from error


def _check_sizes(op: Operation) -> None:
    """Raise ValueError if the inferred size of an axis is 2^63 or more, which can happen if, for
    example, sizes are added.
    """
    for tensor in op._outputs:
        if max((size or 0 for size in tensor._shape.sizes or ()), default=0) >= 1 << 63:
            raise ValueError(
                f"Output of node '{op.name}' is too large: its shape is {tensor._shape}"
            )


def _types(op_def: OpDef, attrs: dict[str, Any], name: str) -> list[DType]:
    """Return the dtypes of the outputs. Raises ValueError if there are too many outputs."""
    for arg in op_def.outputs:
        if arg.number_attr and attrs[arg.number_attr] > _MAX_OUTPUTS:
            count = attrs[arg.number_attr]
            raise node_error(f"{count} outputs are more than {_MAX_OUTPUTS}", name, op_def)
    return output_types(op_def, attrs)


def _rename_frames(graph: Graph, enters: list[Operation]) -> None:
    """Rename the frames whose names the graph already uses. Two loops with the same frame name
    would become one loop.
    """
    if not enters:
        return
    present = {op._attrs["frame_name"] for op in graph._ops if op.type in _ENTERS}
    renamed: dict[str, str] = {}
    for op in enters:
        frame = op._attrs["frame_name"]
        if frame in present and frame not in renamed:
            numbered = (f"{frame}_{number}" for number in count(1))
            renamed[frame] = next(name for name in numbered if name not in present)
        op._attrs = {**op._attrs, "frame_name": renamed.get(frame, frame)}


def _colocation(op: Operation) -> list[str]:
    """Return the names of all other operations with which the op is colocated."""
    groups = [group for group in op._attrs.get("_class", ()) if group.startswith(_COLOCATION)]
    names = [group[len(_COLOCATION) :].decode() for group in groups]
    return [name for name in names if name != op.name]
