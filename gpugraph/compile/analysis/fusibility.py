"""Fusibility: whether an op may be a member of a fused kernel, and the elements over which that
kernel would iterate.

With native code (a C compiler, or a GPU with kernels), a group becomes one kernel. A group may
contain elementwise ops, reductions along the last axes, and, at its end, reductions over all rows
or all elements. Without native code, a group consists of elementwise ops over large tensors, which
NumPy computes tile by tile.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from gpugraph.base.shapes import equal_sizes
from gpugraph.base.sizes import hint, literals_refused, may_vanish
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.devices.native import Fusion, NotNativeError, not_native
from gpugraph.graph.nodes.node_and_edge import Edge
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.graph.op_def import host_slots
from gpugraph.kernel import Call, Decomposition, Elementwise, NodeSignature, Reduction, reference
from gpugraph.ops.framework.kernel_registry import HostOnly, find_kernel
from gpugraph.ops.fusion.op_expressions import Expressions, expressions_of
from gpugraph.ops.reductions.reduction_ops import reduced_axes

LARGE = 1 << 18
"""The minimum number of elements for which NumPy computes a group tile by tile: smaller tensors
stay in the processor's cache anyway.
"""

APART = "_apart"
"""The attr of a node that must stay a separate step instead of joining a group."""

SWAP_HINT = "_swap_to_host"
"""TensorFlow's attr for swapping: the index of an op's input, or a list of indices. The tensors of
these inputs are swapped to the host until the op runs. Such an op stays a separate step.
"""

_SHAPED = {"Select"}
"""Elementwise ops whose inputs must have exactly the output's shape; NumPy's broadcasting does not
apply to them.
"""
_RAISING = {"Div", "FloorDiv", "FloorMod", "Mod", "Pow", "TruncateDiv", "TruncateMod"}
"""Ops that raise an error for some integers, such as a division by 0. With integer inputs they stay
separate steps, so that the error names the op.
"""

_SMALL = 64
"""The maximum number of elements of a host input whose value may be part of a key (see
`FusibleOps._key`).
"""

Shape = tuple[int, ...]


class Space(NamedTuple):
    """The elements over which a kernel iterates if it contains a certain op.

    Attributes:
      inside: for each output of the op, whether other ops of the same kernel may read it. They may
        not if the output is complete only after the kernel has covered all rows.
    """

    sizes: Shape
    inside: tuple[bool, ...]
    is_elementwise: bool


def is_large(sizes: Shape) -> bool:
    """Return whether tensors of these sizes are large enough for tiling (`LARGE`). An open size
    counts with its value in the first run.
    """
    return prod(map(hint, sizes)) >= LARGE


class Fusible(NamedTuple):
    """The properties of a fusible op. Ops that differ only in their names share one object.

    Args:
      shapes_and_values: the input shapes, output shapes and host values for a `NodeSignature`.
      kind: a number that is the same for all equal ops.
      slots: the indices of the inputs that are in device memory.
      call: the NumPy kernel.
    """

    shapes_and_values: tuple[Any, Any, Any]
    space: Space
    expressions: Expressions
    kind: int
    slots: Sequence[int]
    call: Call


def node_signature(unit: Unit, node: Node) -> NodeSignature | None:
    """Return the node's signature, or None if the size of an input or output, or the value of a
    host input, is unknown.
    """
    return _signature_over(unit, node, node.input_edges())


def _signature_over(unit: Unit, node: Node, edges: Sequence[Edge]) -> NodeSignature | None:
    keys = [(edge.src.id, edge.src_output) for edge in edges]
    shapes = unit.shapes
    input_shapes = [shapes[key][slot].sizes for key, slot in keys]
    output_shapes = [shape.sizes for shape in shapes[node.id]]
    for sizes in (*input_shapes, *output_shapes):
        if sizes is None or None in sizes:
            return None
    host_values = {}
    if node.op_def.host_inputs:
        for slot in host_slots(node.op_def.inputs, node.op_def.host_inputs, node.attrs):
            if keys[slot] not in unit.values:
                return None
            host_values[slot] = unit.values[keys[slot]]
    return NodeSignature(
        node.name,
        node.attrs,
        node.input_types,
        node.output_types,
        input_shapes,  # type: ignore[arg-type]
        output_shapes,  # type: ignore[arg-type]
        host_values,
    )


def kernels_on(unit: Unit, native: bool) -> dict[str, bool]:
    """Return a mapping from each device on which ops are fused to a bool: whether a group becomes
    one native kernel on this device.

    For the CPU, the value is `native`, which is whether native code is enabled. A GPU is included
    if it runs kernels.
    """
    return {
        device.name: native or device.device_type != "CPU"
        for device in unit.target.devices
        if device.device_type == "CPU" or device.has_kernels
    }


class FusibleOps:
    """The ops of a unit that may be members of groups.

    Ops that differ only in their names, such as the ops of repeated layers, are examined once.
    """

    def __init__(self, unit: Unit, natives: Mapping[str, bool]) -> None:
        self._unit = unit
        self._natives = natives
        self._kinds: dict[Hashable, Fusible | None] = {}  # results, by key
        self._count = 0
        self._attrs: dict[int, Hashable] = {}  # keys of attrs, by the id of the attrs

    def may_be(self, node: Node) -> bool:
        """Return whether the op could be a member of a group, because its device fuses ops, and it
        is stateless and has an output. Only `find` gives the final answer.
        """
        is_there = node.assigned_device in self._natives
        return is_there and not node.op_def.is_stateful and bool(node.output_types)

    def find(self, node: Node, edges: Sequence[Edge]) -> Fusible | None:
        """Return the properties of an op for which `may_be` is true, or None if no group may
        contain it. Equal ops share one result.

        Args:
          edges: the edges that lead to the op's data inputs.
        """
        key = self._key(node, edges)
        if key is None:
            return self._look(node, edges)
        if key not in self._kinds:
            self._kinds[key] = self._look(node, edges)
        return self._kinds[key]

    def _key(self, node: Node, edges: Sequence[Edge]) -> Hashable:
        """Return a key of all properties of the op except its name. Return None if the value of a
        host input is unknown or too large for a key.
        """
        shapes = self._unit.shapes
        parts: list[Any] = [
            node.type,
            node.assigned_device,
            self._attrs.get(id(node.attrs)) or self._key_of_attrs(node.attrs),
            id(node.input_types),  # equal tuples are shared, so ids suffice
            id(node.output_types),
        ]
        for edge in edges:
            source, slot = edge.src, edge.src_output
            parts += id(source.output_types[slot]), shapes[source.id][slot].sizes
        parts += [shape.sizes for shape in shapes[node.id]]
        key = tuple(parts)
        if not node.op_def.host_inputs:
            return key
        values = []
        for slot in host_slots(node.op_def.inputs, node.op_def.host_inputs, node.attrs):
            edge = edges[slot]
            value = self._unit.values.get((edge.src.id, edge.src_output))
            if value is None or value.size > _SMALL or value.dtype.kind == "O":
                return None
            values.append((value.shape, value.dtype, value.tobytes()))
        return *key, *values

    def _key_of_attrs(self, attrs: Mapping[str, Any]) -> Hashable:
        """Return a key of the attrs. If the attrs can't be hashed, the key is the id of the dict of
        attrs. This id is unique, because the nodes keep the dict alive.
        """
        key: Hashable
        try:
            key = key_of_attrs(attrs)
        except TypeError:
            key = id(attrs)
        self._attrs[id(attrs)] = key
        return key

    def _look(self, node: Node, edges: Sequence[Edge]) -> Fusible | None:
        """Return the properties of the first op that has a certain key, or None if no group may
        contain it.
        """
        signature = _signature_over(self._unit, node, edges)
        if signature is None or APART in node.attrs or SWAP_HINT in node.attrs:
            return None
        native = self._natives[node.assigned_device]
        device_type = self._unit.device_types[node.assigned_device]
        expressions = expressions_of(node.type, node.attrs, device_type)
        if expressions is None or not (native or isinstance(expressions, Elementwise)):
            return None
        if _refers(node, edges):
            return None
        if node.type in _RAISING and node.output_types[0].is_integer:
            return None
        entry = find_kernel(node.type, device_type, node.attrs)
        if entry is None or isinstance(entry.kernel, HostOnly):
            return None
        call = reference(entry.kernel)
        if call.dynamic or call.late:
            return None
        space = _space_of(expressions, signature, node.type in _SHAPED, native)
        if space is None or may_vanish(prod(space.sizes)):
            return None
        if not prod(space.sizes) or not (native or is_large(space.sizes)):
            return None
        self._count += 1
        shared = signature.input_shapes, signature.output_shapes, signature.host_values
        slots = signature.device_inputs()
        return Fusible(shared, space, expressions, self._count, slots, call)


def key_of_attrs(attrs: Mapping[str, Any]) -> Hashable:
    """Return a key of the attrs. Two keys are equal only if the values of the attrs are equal bit
    by bit, so -0.0 and 0.0 differ. Raises TypeError if a value can't be hashed, such as a list.
    """
    numbers = [value.hex() for value in attrs.values() if isinstance(value, float)]
    key = frozenset(attrs.items()), *numbers
    hash(key)
    return key


def _refers(node: Node, edges: Sequence[Edge]) -> bool:
    """Return whether an input or output of the node is a reference to a variable."""
    types = [edge.src.output_types[edge.src_output] for edge in edges]
    for dtype in (*types, *node.output_types, *node.input_types):  # noqa: SIM110 - all ops come here
        if dtype.is_ref_dtype:
            return True
    return False


def _space_of(
    expressions: Expressions, node: NodeSignature, is_shaped: bool, native: bool
) -> Space | None:
    """Return the iteration space of an op whose kernel consists of these expressions, or None if
    the op can't be fused.
    """
    if native:
        input_types = [node.input_types[index] for index in node.device_inputs()]
        if not_native(*input_types, *node.output_types):
            return None
    if isinstance(expressions, Elementwise):
        if node.host_values:
            return None
        sizes = node.output_shapes[0]
        fits = all(
            equal_sizes(shape, sizes) if is_shaped else _broadcasts_to(shape, sizes)
            for shape in node.input_shapes
        )
        return Space(sizes, (True,), True) if fits else None
    if isinstance(expressions, Reduction):
        return _space_of_reduction(node)
    return _space_of_decomposition(expressions, node)


def _broadcasts_to(shape: Shape, sizes: Shape) -> bool:
    """Return whether an input of this shape can be broadcast to the output's shape."""
    if len(shape) > len(sizes):
        return False
    return all(a in (b, 1) for a, b in zip(shape[::-1], sizes[::-1]))


def _space_of_reduction(node: NodeSignature) -> Space | None:
    sizes = node.input_shapes[0]
    rank = len(sizes)
    if len(node.input_types) == 1:
        return Space(sizes, (False,), False)
    try:
        axes = reduced_axes(node.value(1), rank)
    except ValueError:
        return None  # the host kernel reports the error
    over = [axis in axes for axis in range(rank) if sizes[axis] != 1]
    is_last = over == sorted(over)
    is_rows = over == sorted(over, reverse=True) and over.count(False) > 0
    if not (is_last or is_rows) or not any(over):
        return None
    is_inside = is_last and not all(over) and node.output_shapes[0] == _with_ones(sizes, axes)
    return Space(sizes, (is_inside,), False)


def _with_ones(sizes: Shape, axes: frozenset[int]) -> Shape:
    return tuple(1 if axis in axes else size for axis, size in enumerate(sizes))


def _space_of_decomposition(decomposition: Decomposition, node: NodeSignature) -> Space | None:
    """Return the iteration space of an op that has a decomposition, or None if the decomposition
    does not suit a fused kernel. The op's kernel is built on trial to find this space.
    """
    trial = Fusion()
    inputs = [
        trial.input(node.input_types[index].base_dtype, node.input_shapes[index])
        for index in node.device_inputs()
    ]
    try:
        with literals_refused():
            outputs = decomposition.build(trial, node, inputs)
        for value in outputs:
            trial.output(value)
        trial.finish()
    except (NotNativeError, NotImplementedError, ValueError):
        return None
    sizes = max(map(trial.shape, (*inputs, *outputs)), key=prod)
    inside = tuple(
        trial.shape(value) == shape and shape == sizes
        for value, shape in zip(outputs, node.output_shapes)
    )
    return Space(sizes, inside, False)
