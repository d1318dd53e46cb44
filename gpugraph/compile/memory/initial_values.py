"""Initial values of large variables are computed in the memory of the variables.

  random -> scale -> Assign(variable)      one array, not three; nothing is copied

Without this pass, an initializer would hold the random numbers of all variables at the same time,
since their ops have the same depth. However, if a variable already has a value and an op fails
before the Assign, the variable must keep the value. So an initial value is computed in the
variable's memory only if the variable has no value yet. The plan is then valid for only one run.
The next run of the same initializer is compiled again.

Some ops, such as the restoring of a checkpoint, write their output only after everything that can
fail has succeeded (`writes_last`). These ops write directly to the memory of any variable,
including small variables and variables with a value. A plan with only such ops is reused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from gpugraph.compile.memory.fused_in_place import fused_in_place
from gpugraph.compile.unit.compile_unit import COPY, TensorId, Unit, variable_key
from gpugraph.compile.unit.guards import ALWAYS
from gpugraph.graph.nodes.node_and_edge import Edge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.kernel import reference
from gpugraph.ops.framework.op_declaration import DECLARATIONS

LARGE = 1 << 20
"""The minimum size of a variable in bytes for this optimization. For a large variable, the saved
memory is worth compiling the plan again for every run.
"""

_WITHOUT_KERNEL = {NodeClass.CONSTANT, NodeClass.ARG, NodeClass.RECV, NodeClass.VARIABLE}


def initial_values(unit: Unit, references: Mapping[TensorId, Node]) -> dict[TensorId, Node]:
    """Return the tensors that are computed in the memory of a variable, with the node of the
    variable.

    Args:
      references: the variable's node for each reference, from `analysis/variable_references`.
    """
    assigns = [node for node in unit.order if node.type == "Assign"]
    if not any(_bytes(unit, node, 0) >= LARGE or writes_last(node) for node in assigns):
        return {}
    chains = _Chains(unit, references)
    return {tensor: variable for node in assigns for tensor, variable in chains.of(node)}


def runs_once(unit: Unit, initial: Mapping[TensorId, Node]) -> bool:
    """Return whether the plan is valid for only one run, because it computes an initial value in
    the memory of a variable without a value.
    """
    assigns = [node for node in unit.order if node.type == "Assign"]
    return any(
        (node.input_edge(1).src.id, node.input_edge(1).src_output) in initial
        and not writes_last(node)
        for node in assigns
    )


def writes_last(assign: Node) -> bool:
    """Return whether the op that computes the Assign's value (before any Identities) can no longer
    fail once it has begun to write its output.
    """
    edge = assign.input_edge(1)
    while edge.src.node_class is NodeClass.IDENTITY:
        edge = edge.src.input_edge(0)
    decl = DECLARATIONS.get(edge.src.type)
    return decl is not None and decl.memory.writes_last


def _sizes(unit: Unit, node: Node, slot: int) -> tuple[int, ...] | None:
    sizes = unit.shapes[node.id][slot].sizes
    return None if sizes is None or None in sizes else sizes  # type: ignore[return-value]


def _bytes(unit: Unit, node: Node, slot: int) -> int:
    sizes = _sizes(unit, node, slot)
    return 0 if sizes is None else prod(sizes) * node.output_types[slot].base_dtype.itemsize


class _Chains:
    """The chains of ops that compute the values of Assigns. In a chain, each tensor has only one
    reader.
    """

    def __init__(self, unit: Unit, references: Mapping[TensorId, Node]) -> None:
        self.unit = unit
        self.references = references
        self.position = {node.id: index for index, node in enumerate(unit.order)}
        self.hosts = {device.name for device in unit.target.devices if not device.has_kernels}
        self.users = self._users()

    def of(self, assign: Node) -> list[tuple[TensorId, Node]]:
        """Return the tensors in the chain of an Assign that may be computed in the variable's
        memory, each with the node of the variable.
        """
        ref = assign.input_edge(0)
        variable = self.references.get((ref.src.id, ref.src_output))
        if variable is None or not self._may_be_early(assign, variable):
            return []
        tensors: list[tuple[TensorId, Node]] = []
        edge: Edge | None = assign.input_edge(1)
        while edge is not None and self._fits(edge, variable):
            tensors.append(((edge.src.id, edge.src_output), variable))
            edge = next(self._inputs_in_place(edge), None)
        return tensors

    def _may_be_early(self, assign: Node, variable: Node) -> bool:
        """Return whether the variable may change before the Assign.

        There are three conditions. The Assign is on the host, and every run executes it. No op uses
        the variable before the Assign. The variable has no value that a failure would destroy.
        """
        key = variable_key(variable)
        if assign.assigned_device not in self.hosts or not self._is_always(assign):
            return False
        if not writes_last(assign) and not self._is_first(variable):
            return False
        end = self.position[assign.id]
        return all(
            node is assign or node.node_class is NodeClass.VARIABLE or self.position[node.id] > end
            for node in self.users.get(key, ())
        )

    def _is_first(self, variable: Node) -> bool:
        """Return whether a variable is large and was not initialized when the plan was compiled."""
        unit = self.unit
        if _bytes(unit, variable, 0) < LARGE:
            return False
        device = next(d for d in unit.target.devices if d.name == variable.assigned_device)
        dtype = variable.attrs["dtype"]
        state = unit.target.resources.variable(
            *variable_key(variable), device, dtype, COPY in variable.attrs
        )
        return not state.initialized and state.separation is None

    def _users(self) -> dict[tuple[str, str], list[Node]]:
        """Return the nodes that read a reference to each variable."""
        users: dict[tuple[str, str], list[Node]] = {}
        for node in self.unit.order:
            for edge in node._in:
                variable = self.references.get((edge.src.id, edge.src_output))
                if variable is not None and not edge.is_control:
                    users.setdefault(variable_key(variable), []).append(node)
        return users

    def _is_always(self, node: Node) -> bool:
        flow = self.unit.flow
        return flow is None or (
            flow.frames.at(node) is flow.frames.root and flow.guards[node.id] == ALWAYS
        )

    def _fits(self, edge: Edge, variable: Node) -> bool:
        """Return whether a tensor may be computed in the variable's memory. The tensor must have a
        single reader, and the device, dtype and shape of the variable. The output sizes of its
        kernel must be known before the run.
        """
        node, slot = edge.src, edge.src_output
        users = [out for out in node._out if not out.is_control and out.src_output == slot]
        decl = DECLARATIONS.get(node.type)
        return (
            len(users) == 1
            and node.node_class not in _WITHOUT_KERNEL
            and decl is not None
            and not (
                decl.memory.writes
                or (decl.memory.view and node.node_class is not NodeClass.IDENTITY)
            )
            and (len(node.output_types) == 1 or decl.memory.writes_last)
            and node.output_types[slot] is variable.output_types[0].base_dtype
            and _sizes(self.unit, node, slot) == _sizes(self.unit, variable, 0)
            and node.assigned_device == variable.assigned_device
            and self.position[variable.id] < self.position[node.id]
            and self._is_always(node)
            and node.id not in self.unit.failures
            and not reference(self.unit.kernel(node)).dynamic
        )

    def _inputs_in_place(self, edge: Edge) -> Iterator[Edge]:
        """Yield the edges of the inputs that the tensor's op may overwrite and that have the
        tensor's shape.
        """
        node = edge.src
        decl = DECLARATIONS[node.type]
        if decl.memory.writes_last:
            return
        if node.node_class is NodeClass.IDENTITY:
            slots = [0]
        elif node.type == "_Fused":
            slots = fused_in_place(node, 0)
        elif 0 not in decl.memory.alias:
            slots = []
        elif isinstance(reference(self.unit.kernel(node)).function, np.ufunc):
            slots = list(range(len(node.input_types)))  # it handles overlaps itself
        else:
            slots = [decl.memory.alias[0]]
        shape = _sizes(self.unit, node, 0)
        for slot in slots:
            source = node.input_edge(slot)
            if _sizes(self.unit, source.src, source.src_output) == shape:
                yield source
