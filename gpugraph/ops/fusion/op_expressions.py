"""Texts of ops: what fused kernels, for the CPU or a GPU, are made of.

An op is said in texts by its `Elementwise` or `Reduction` kernel, or by a `Decomposition`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.kernel import Builder, Decomposition, Elementwise, Reduction, Signature
from gpugraph.ops.framework.kernel_registry import find_kernel, is_ours
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.reductions.reduction_ops import reduced_axes

Texts = Elementwise | Reduction | Decomposition


def texts_of(op_type: str, attrs: Mapping[str, Any], device_type: str) -> Texts | None:
    """What says an op in texts on that type of device, if anything does."""
    if not is_ours(op_type, device_type, attrs):
        entry = find_kernel(op_type, device_type, attrs)
        own = None if entry is None else entry.kernel
        return own if isinstance(own, (Elementwise, Reduction)) else None
    decl = DECLARATIONS.get(op_type)
    if decl is not None and isinstance(decl.native, Decomposition):
        return decl.native
    entry = find_kernel(op_type, "GPU", attrs)
    if entry is not None and isinstance(entry.kernel, (Elementwise, Reduction)):
        return entry.kernel
    return None


def build(
    builder: Builder, texts: Texts, signature: Signature, inputs: Sequence[int]
) -> Sequence[int]:
    """The values of the op's outputs, or, if it writes variables, of those.

    `inputs` are the values of the inputs that are not on the host. NotImplementedError where there
    are no texts for these attrs or shapes.
    """
    if isinstance(texts, Decomposition):
        return texts.build(builder, signature, inputs)
    if isinstance(texts, Elementwise):
        return [builder.apply(texts, inputs, signature.output_types[0].base_dtype)]
    if len(signature.input_types) == 1:
        return [builder.reduce(texts, inputs[0])]
    axes = reduced_axes(signature.value(1), len(signature.input_shapes[0]))
    return [builder.reduce(texts, inputs[0], sorted(axes))]
