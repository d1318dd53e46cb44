"""The C expressions of ops, from which fused kernels for CPUs and GPUs are generated.

An op declares its expressions with an `Elementwise` or `Reduction` kernel for GPUs, or with a
`Decomposition`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import prod
from typing import Any

from gpugraph.kernel import Builder, Decomposition, Elementwise, Reduction, RowSource, Signature
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
    """Add the op to the code that `builder` generates. Return the numbers of the values that are
    its outputs.

    For an op that writes variables, these are the new values of the variables.

    Raises NotImplementedError if there are no expressions for the attrs or shapes in `signature`.

    Args:
      inputs: the numbers of the values that are the op's inputs, except for inputs in host memory.
    """
    if isinstance(expressions, Decomposition):
        return expressions.build(builder, signature, inputs)
    if isinstance(expressions, Elementwise):
        return [builder.apply(expressions, inputs, signature.output_types[0].base_dtype)]
    if len(signature.input_types) == 1:
        return [builder.reduce(expressions, inputs[0])]
    axes = reduced_axes(signature.value(1), len(signature.input_shapes[0]))
    return [builder.reduce(expressions, inputs[0], sorted(axes))]


_MOST_GROUPS = 8


def axis_source(expressions: Expressions, signature: Signature) -> RowSource | None:
    """Return the C function of a reduction over any axes, or None if the op is not such a reduction
    or a tensor is empty.
    """
    if not isinstance(expressions, Reduction) or len(signature.input_types) == 1:
        return None
    sizes = signature.input_shapes[0]
    axes = reduced_axes(signature.value(1), len(sizes))
    wide = [axis for axis, size in enumerate(sizes) if size != 1]
    groups = [
        (is_reduced, prod(sizes[axis] for axis in members))
        for is_reduced, members in groupby(wide, axes.__contains__)
    ]
    numbers = [size for _, size in groups]
    if not 2 < len(groups) <= _MOST_GROUPS or not all(numbers):
        return None
    texts = {
        "GG_MAP": expressions.map,
        "GG_COMBINE": expressions.combine,
        "GG_FINISH": expressions.finish,
    }
    described = [len(groups), int(groups[0][0]), *numbers]
    return RowSource(
        "host_axis_reduction.h",
        "gg_reduce_axis",
        lambda _: described,
        macros=lambda _: texts,
        is_exact=False,
    )
