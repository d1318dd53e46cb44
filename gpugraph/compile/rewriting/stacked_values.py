"""Stacked values: a backward loop recomputes cheap values, so that the forward loop need not push
them onto a stack.

    forward     g -> push            1 - g -> push           in each iteration
    backward    pop -> g             pop -> 1 - g            in reverse
    becomes     pop -> g -> 1 - g                            one stack less

The pass removes the stack of a value if one cheap op computes the value, and the inputs of this op
are known in the backward loop too. They are known if they are constants, or are pushed and popped
in the same iterations as the value. The pass also removes one of two stacks onto which the same
value is pushed, and the stacks of constants and of values that are popped but not used. To keep the
value's bits, the op must round at most once, in a dtype that is stored with the precision of the
computation (float32 and float64). Computing the value takes less time than a push and a pop.
Usually the op is fused with the gradient that reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import float32, float64
from gpugraph.base.sizes import has_open_sizes, hint
from gpugraph.compile.analysis.flow_analysis import flow_of
from gpugraph.compile.rewriting.dead_node_elimination import drop_unneeded
from gpugraph.compile.rewriting.node_replacement import are_ours, behind, known_value, public_attrs
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Absorbed, Source, TensorId, Unit
from gpugraph.compile.unit.guards import Flow, holds_never
from gpugraph.graph.nodes.graph_walks import topological_order
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.memory import human_readable_bytes

_CHEAP = {
    *("Add", "AddV2", "Sub", "Mul", "Neg", "Abs", "Square"),
    *("Maximum", "Minimum", "Relu", "Relu6"),
}

_SMALL = 1 << 10
"""The minimum size in bytes of a value that is recomputed. For smaller values, an op may take
longer than a push and a pop.
"""

_HANDED_ON = {NodeClass.ENTER, NodeClass.IDENTITY, NodeClass.SWITCH}


@compile_pass("loop_optimization")
def stacks(unit: Unit) -> Outcome:
    """Remove the pushes, pops and stacks of values that the backward loop can compute."""
    if not any(node.type == "StackPopV2" for node in unit.graph.op_nodes()):
        return "no loop stashes values", ()
    order = {node.id: index for index, node in enumerate(topological_order(unit.graph))}
    lines = []
    for group in _groups(unit):
        group.sort(key=lambda kept: order[kept.value[0].id])  # inputs first
        lines += _Group(unit).reduce(group)
    if lines:
        drop_unneeded(unit)
    return f"{len(lines)} values are computed from others instead of stashed", lines


class _Kept(NamedTuple):
    """A tensor that a loop pushes onto a stack: the stack, the push, the pop, and the pushed
    output.
    """

    stack: Node
    push: Node
    pop: Node
    value: Source


def _groups(unit: Unit) -> Iterable[list[_Kept]]:
    """Return the tensors on stacks in groups. All tensors of a group are pushed in the same
    iterations, and are popped in the same iterations.
    """
    flow = flow_of(unit)
    roots = {node.id for node in unit.roots}
    groups: dict[Any, list[_Kept]] = {}
    for stack in unit.graph.op_nodes():
        users = _users(stack) if stack.type == "StackV2" else []
        by_type = {node.type: node for node in users}
        if len(users) != 2 or set(by_type) != {"StackPushV2", "StackPopV2"}:
            continue
        push, pop = by_type["StackPushV2"], by_type["StackPopV2"]
        size = known_value(unit, stack.input_edge(0))
        is_endless = size is not None and int(size) < 0
        if is_endless and not roots & {push.id, pop.id} and _is_reverse(flow, push, pop):
            edge = behind(push.input_edge(1), [])
            when = [(flow.frames.at(node), flow.guards[node.id]) for node in (stack, push, pop)]
            key = *when, push.assigned_device, pop.assigned_device
            groups.setdefault(key, []).append(_Kept(stack, push, pop, (edge.src, edge.src_output)))
    return groups.values()


def _users(stack: Node) -> list[Node]:
    """Return the nodes that use a stack through its handle, including nodes in loops and
    branches.
    """
    handles = _handed_on(stack)
    edges = [edge for node in handles for edge in node._out if not edge.is_control]
    return [edge.dst for edge in edges if edge.dst.node_class not in _HANDED_ON]


def _handed_on(stack: Node) -> list[Node]:
    """Return the node of a stack, and the nodes that pass its handle into loops and branches."""
    nodes = [stack]
    for node in nodes:
        edges = [edge for edge in node._out if not edge.is_control]
        nodes += [edge.dst for edge in edges if edge.dst.node_class in _HANDED_ON]
    return nodes


def _is_reverse(flow: Flow, push: Node, pop: Node) -> bool:
    """Return whether one loop pushes and another loop pops, and neither loop contains the other."""
    forward, backward = flow.frames.at(push), flow.frames.at(pop)
    elem = push.input_edge(1)
    return (
        flow.frames.root not in (forward, backward)
        and forward not in backward.up()
        and backward not in forward.up()
        and not flow.carried & {forward, backward}
        and not any(holds_never(flow.guards[node.id]) for node in (push, pop))
        and flow.guards[push.id] == flow.of_output(elem.src, elem.src_output)
    )


class _Group:
    """The tensors of a group.

    Attributes:
      known: maps each forward tensor to the tensor that has its value in the backward loop.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.known: dict[TensorId, Source] = {}

    def reduce(self, group: Sequence[_Kept]) -> list[str]:
        """Replace each tensor of the group that can be computed from other tensors of the group, in
        topological order. Return a report line for each.
        """
        lines = []
        for kept in group:
            node, slot = kept.value
            source = self._same(kept) or self.known.get((node.id, slot)) or self._computed(kept)
            if source is None:
                self.known[node.id, slot] = kept.pop, 0
                continue
            self.known[node.id, slot] = source
            lines.append(f"{kept.pop.name}: {node.name} ({node.type}), {self._size(kept)}")
            self._forget(kept, source)
        return lines

    def _same(self, kept: _Kept) -> Source | None:
        """Return a constant that replaces the value if it is the same in each iteration or is not
        used, or else None.
        """
        value = known_value(self.unit, behind(kept.push.input_edge(1), []))
        if value is None and all(edge.is_control for edge in kept.pop._out):
            value = np.zeros((), kept.pop.output_types[0].as_numpy_dtype)
        if value is None or has_open_sizes(value):
            return None
        constant, slot = self._constant(kept, value)
        inputs = list(kept.pop.control_inputs)
        if all(node.is_constant for node in inputs):  # the handle alone is in the pop's loop
            inputs.append(kept.pop.input_edge(0).src)
        self.unit.add_control_inputs(constant, inputs)
        return constant, slot

    def _size(self, kept: _Kept) -> str:
        num_bytes = self._bytes(kept)
        return f"{human_readable_bytes(num_bytes)} in each iteration" if num_bytes else "open sizes"

    def _bytes(self, kept: _Kept) -> int | None:
        node, slot = kept.value
        elements = self.unit.shapes[node.id][slot].num_elements()
        return None if elements is None else hint(elements) * node.output_types[slot].itemsize

    def _computed(self, kept: _Kept) -> Source | None:
        """Add an op that computes the value from other popped values, and return its output. Return
        None if this is impossible or does not save time.
        """
        unit, (node, _) = self.unit, kept.value
        num_bytes = self._bytes(kept)
        if (
            node.type not in _CHEAP
            or node.output_types[0] not in (float32, float64)
            or node.assigned_device != kept.pop.assigned_device
            or (num_bytes is not None and num_bytes < _SMALL)
            or node.id in unit.failures
            or not are_ours(unit, [node])
        ):
            return None
        edges = [behind(edge, []) for edge in node.input_edges()]
        known = [self.known.get((edge.src.id, edge.src_output)) for edge in edges]
        values = [known_value(unit, edge) for edge in edges]
        if all(value is not None for value in values) or any(
            source is None and value is None for source, value in zip(known, values)
        ):
            return None
        sources = [source or self._constant(kept, value) for source, value in zip(known, values)]
        new = unit.add_op(
            node.type,
            kept.pop,
            sources,
            attrs=public_attrs(node),
            output_types=node.output_types,
            suffix="again",
            shapes=unit.shapes[node.id],
        )
        unit.add_control_inputs(new, kept.pop.control_inputs)
        unit.reasons[new.id] = unit.reasons[kept.pop.id]
        return new, 0

    def _constant(self, kept: _Kept, value: Any) -> Source:
        constant = self.unit.add_constant(
            kept.pop, "constant", value, reason=f"for {kept.pop.name}"
        )
        self.unit.reasons[constant.id] = self.unit.reasons[kept.pop.id]
        return constant, 0

    def _forget(self, kept: _Kept, source: Source) -> None:
        """Remove the push and the pop of a tensor. The readers of the pop read `source` instead,
        and the readers of the push read an Identity.
        """
        unit, graph = self.unit, self.unit.graph
        stack, push, pop, _ = kept
        elem = push.input_edge(1)
        passed = unit.add_identity(elem.src, elem.src_output, "not_kept")
        unit.reasons[passed.id] = unit.reasons[push.id]
        unit.add_control_inputs(passed, push.control_inputs)
        for old, (new, slot) in ((push, (passed, 0)), (pop, source)):
            for edge in list(old._out):
                if edge.is_control:
                    graph.add_control_edge(new, edge.dst)
                else:
                    graph.update_edge(new, slot, edge.dst, edge.dst_input)
            unit.remove(old)
            unit.absorbed[old.name] = Absorbed(old.type, old.origin, new.name, "replaced by")
        self._free_of(stack)

    def _free_of(self, stack: Node) -> None:
        """Remove control edges from the handle of an unused stack to nodes in loops that have other
        inputs. Otherwise these edges could keep the stack in the graph.
        """
        for node in _handed_on(stack):
            for edge in list(node._out):
                others = (other for other in edge.dst._in if not other.is_control)
                if edge.is_control and any(not other.src.is_constant for other in others):
                    self.unit.graph.remove_edge(edge)
