"""The C expressions of ops, from which fused kernels for CPUs and GPUs are generated.

An op declares them by its `Elementwise` or `Reduction` kernel for a GPU, or by a `Decomposition`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.kernel import Builder, Decomposition, Elementwise, Reduction, Signature
from gpugraph.ops.framework.kernel_registry import find_kernel, is_ours
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.reductions.reduction_ops import reduced_axes

Expressions = Elementwise | Reduction | Decomposition
EXPRESSIONS = Elementwise, Reduction, Decomposition


def expressions_of(op_type: str, attrs: Mapping[str, Any], device_type: str) -> Expressions | None:
    """Return the expressions of an op on a type of device, or None if it declares none."""
    if not is_ours(op_type, device_type, attrs):
        entry = find_kernel(op_type, device_type, attrs)
    else:
        decl = DECLARATIONS.get(op_type)
        if decl is not None and isinstance(decl.native, Decomposition):
            return decl.native
        entry = find_kernel(op_type, "GPU", attrs)
    kernel = None if entry is None else entry.kernel
    return kernel if isinstance(kernel, (Elementwise, Reduction)) else None


def build(
    builder: Builder, expressions: Expressions, signature: Signature, inputs: Sequence[int]
) -> Sequence[int]:
    """Add the op to the code that `builder` generates. Return the numbers of its outputs' values.

    For an op that writes variables, these are the new values of the variables. inputs: the numbers
    of the values of the op's inputs, except for inputs in host memory. Raises NotImplementedError
    if there are no expressions for these attrs or shapes.
    """
    if isinstance(expressions, Decomposition):
        return expressions.build(builder, signature, inputs)
    if isinstance(expressions, Elementwise):
        return [builder.apply(expressions, inputs, signature.output_types[0].base_dtype)]
    if len(signature.input_types) == 1:
        return [builder.reduce(expressions, inputs[0])]
    axes = reduced_axes(signature.value(1), len(signature.input_shapes[0]))
    return [builder.reduce(expressions, inputs[0], sorted(axes))]
