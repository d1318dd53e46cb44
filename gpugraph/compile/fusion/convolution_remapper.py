"""Remapping: fusion of the ops that follow a convolution into the convolution.

  Conv2D, then BiasAdd (or Add, AddV2 of a vector along the channels) or, on the CPU, a batch
  normalization of inference, then on the CPU optionally Add or AddV2 of images, then optionally
  Relu or Relu6: one `_FusedConv2D`

Intermediate results are not stored, so no other op may read them, and the ops that compute them may
have no outgoing control edges. The new op has the name of the last op. With a bias, its results are
equal bit by bit to the results of the separate ops. A convolution is replaced only if it has native
code for its device, since fusion would not make NumPy faster.

As in Grappler, `RewriterConfig.remapping` controls this pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpugraph.compile.analysis.fusibility import kernels_on, node_signature
from gpugraph.compile.rewriting.node_replacement import (
    Replacing,
    are_ours,
    is_reference,
    only_taker,
    public_attrs,
)
from gpugraph.compile.steps.native_node_code import native_form
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.jit_settings import jit
from gpugraph.graph.nodes.runtime_graph import Edge, Node
from gpugraph.kernel import CSource, Source
from gpugraph.ops.nn.convolution.conv_bias_activation import ACTIVATIONS

_SUMS = ("Add", "AddV2")
_ADDITIONS = ("BiasAdd", *_SUMS)
_NORMS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")


@compile_pass("remapping")
def remap(unit: Unit) -> Outcome:
    """Replace each sequence that a fused convolution can compute by a `_FusedConv2D`."""
    native = jit(unit.target.config)
    natives = kernels_on(unit, native.is_on)
    if not any(natives.values()):
        return native.reason, ()
    roots = {node.id for node in unit.roots}
    replacing = Replacing(unit)
    for node in unit.graph.op_nodes():
        if node.type == "Conv2D" and natives.get(node.assigned_device):
            group = _group(unit, node, roots)
            if group is not None:
                _put(replacing, group)
    return replacing.finish("convolutions with fused ops")


class _Group(NamedTuple):
    """The ops to fuse, as members: a convolution and the ops that follow it. `fused_ops` names
    these, and `args` are the edges of their inputs.
    """

    members: list[Node]
    fused_ops: list[str]
    args: list[Edge]
    epsilon: float = 1e-4

    def follows(self, unit: Unit, roots: set[int]) -> Edge | None:
        """Return the edge from the last member to the only op that reads it, if this op may be
        fused.
        """
        edge = only_taker(self.members[-1], roots)
        return edge if edge is not None and are_ours(unit, [edge.dst]) else None

    def append(self, node: Node, op_type: str, args: Sequence[Edge] = ()) -> None:
        self.members.append(node)
        self.fused_ops.append(op_type)
        self.args.extend(args)


def _group(unit: Unit, node: Node, roots: set[int]) -> _Group | None:
    """Return the convolution `node` with the ops to fuse into it, or None if no bias or
    normalization follows or `node` has no native code.
    """
    if not _is_native(unit, node) or any(is_reference(edge) for edge in node.input_edges()):
        return None
    if not are_ours(unit, [node]):
        return None
    group = _Group([node], [], [])
    on_cpu = unit.device_types[node.assigned_device] == "CPU"
    edge = group.follows(unit, roots)
    if edge is None:
        return None
    if edge.dst.type in _ADDITIONS:
        bias = edge.dst.input_edge(1 - edge.dst_input)
        if not _is_bias(unit, node, edge.dst, bias):
            return None
        group.append(edge.dst, "BiasAdd", [bias])
    elif on_cpu and _is_norm(node, edge):
        group.append(edge.dst, "FusedBatchNorm", edge.dst.input_edges()[1:])
        group = group._replace(epsilon=edge.dst.attrs["epsilon"])
    else:
        return None
    edge = group.follows(unit, roots)
    if edge is not None and on_cpu and _is_addition_of_images(unit, edge):
        group.append(edge.dst, "Add", [edge.dst.input_edge(1 - edge.dst_input)])
        edge = group.follows(unit, roots)
    if edge is not None and edge.dst.type in ACTIVATIONS:
        group.append(edge.dst, edge.dst.type)
    return group


def _is_native(unit: Unit, node: Node) -> bool:
    """Return whether the convolution's sizes are known and its device has a native function for its
    attrs.
    """
    on_gpu = unit.device_types[node.assigned_device] != "CPU"
    native = unit.kernel(node) if on_gpu else native_form(node)
    signature = node_signature(unit, node)
    if signature is None or not isinstance(native, (CSource, Source)):
        return False
    if node.attrs["T"].size < 4 and not on_gpu:  # separate ops round each intermediate result
        return False
    if any(0 in shape for shape in (*signature.input_shapes, *signature.output_shapes)):
        return False
    try:
        if isinstance(native, Source):
            native.launches(signature)
        else:
            native.parameters(signature)
    except NotImplementedError:
        return False
    return True


def _is_bias(unit: Unit, node: Node, addition: Node, bias: Edge) -> bool:
    """Return whether `bias` is a vector with one number per channel, and `addition` adds it along
    the channels.
    """
    layout, added = _layout(node), _layout(addition)
    outputs = unit.shapes[node.id][0][1 if layout == "NCHW" else -1]
    bias_shape = unit.shapes[bias.src.id][bias.src_output]
    if is_reference(bias) or bias_shape.sizes != (outputs.value,):
        return False
    return layout == (added if addition.type == "BiasAdd" else "NHWC")


def _is_norm(node: Node, edge: Edge) -> bool:
    """Return whether `edge` leads to a normalization of the images of `node` by known moments, of
    which only the first output is read.
    """
    norm = edge.dst
    if norm.type not in _NORMS or edge.dst_input or norm.attrs["is_training"]:
        return False
    dtypes = {arg.src.output_types[arg.src_output] for arg in norm.input_edges()}
    if dtypes != {node.output_types[0]} or _layout(norm) != _layout(node):
        return False  # a reference is a separate dtype
    return all(out.is_control or out.src_output == 0 for out in norm._out)


def _is_addition_of_images(unit: Unit, edge: Edge) -> bool:
    """Return whether `edge` leads to an addition of another tensor of the same shape."""
    if edge.dst.type not in _SUMS:
        return False
    other = edge.dst.input_edge(1 - edge.dst_input)
    if is_reference(other) or other.src is edge.src:
        return False
    shape = unit.shapes[edge.src.id][edge.src_output]
    return unit.shapes[other.src.id][other.src_output].sizes == shape.sizes


def _layout(node: Node) -> str:
    layout = node.attrs.get("data_format", "NHWC")
    return layout.decode() if isinstance(layout, bytes) else str(layout)


def _put(replacing: Replacing, group: _Group) -> None:
    convolution, last = group.members[0], group.members[-1]
    attrs = public_attrs(convolution)
    attrs |= {"num_args": len(group.args), "fused_ops": group.fused_ops, "epsilon": group.epsilon}
    edges = [*convolution.input_edges(), *group.args]
    note = f"Conv2D with {', '.join(group.fused_ops)}: "
    replacing.put_fused(last, "_FusedConv2D", attrs, edges, group.members[:-1], note)
