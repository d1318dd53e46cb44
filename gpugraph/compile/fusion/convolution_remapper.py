"""Remapping: fusion of a bias and an activation into convolutions.

  Conv2D, then BiasAdd (or Add, AddV2 of a vector along the channels), then optionally Relu or
  Relu6: one `_FusedConv2D`

Intermediate results are not stored, so no other op may read them, and the ops that compute them may
have no outgoing control edges. The new op has the name of the last op. Its results are equal bit by
bit to the results of the separate ops. A convolution is replaced only if it has native code for its
device, since fusion would not make NumPy faster.

As in Grappler, `RewriterConfig.remapping` controls this pass.
"""

from __future__ import annotations

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

_ADDITIONS = ("BiasAdd", "Add", "AddV2")


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
    return replacing.finish("convolutions with fused biases")


class _Group(NamedTuple):
    """The ops to fuse (a convolution, the addition of the bias, and the activation if there is
    one), and the edge of the bias.
    """

    convolution: Node
    addition: Node
    bias: Edge
    activation: Node | None


def _group(unit: Unit, node: Node, roots: set[int]) -> _Group | None:
    """Return the convolution `node` with the ops to fuse into it, or None if there is no bias or
    `node` has no native code.
    """
    if not _is_native(unit, node) or any(is_reference(edge) for edge in node.input_edges()):
        return None
    product = only_taker(node, roots)
    if product is None or product.dst.type not in _ADDITIONS:
        return None
    addition = product.dst
    bias = addition.input_edge(1 - product.dst_input)
    if not _is_bias(unit, node, addition, bias) or not are_ours(unit, (node, addition)):
        return None
    following = only_taker(addition, roots)
    if (
        following is None
        or following.dst.type not in ACTIVATIONS
        or not are_ours(unit, [following.dst])
    ):
        return _Group(node, addition, bias, None)
    return _Group(node, addition, bias, following.dst)


def _is_native(unit: Unit, node: Node) -> bool:
    """Return whether the convolution's sizes are known and its device has a native function for its
    attrs.
    """
    on_gpu = unit.device_types[node.assigned_device] != "CPU"
    native = unit.kernel(node) if on_gpu else native_form(node, "CPU")
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


def _layout(node: Node) -> str:
    layout = node.attrs.get("data_format", "NHWC")
    return layout.decode() if isinstance(layout, bytes) else str(layout)


def _put(replacing: Replacing, group: _Group) -> None:
    convolution, addition, bias, activation = group
    passed = [convolution, addition] if activation else [convolution]
    fused = ["BiasAdd", *([activation.type] if activation else ())]
    attrs = public_attrs(convolution)
    attrs |= {"num_args": 1, "fused_ops": fused, "epsilon": 1e-4}
    edges = [*convolution.input_edges(), bias]
    note = f"Conv2D with {', '.join(fused)}: "
    replacing.put_fused(activation or addition, "_FusedConv2D", attrs, edges, passed, note)
