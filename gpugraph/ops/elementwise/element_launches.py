"""Kernels of elementwise functions that a single C expression cannot compute.

The kernels are in CUDA files. special_unary.cu and special_binary.cu have functions that need a
series or a loop, and complex_elementwise.cu has functions of complex numbers.
"""

from __future__ import annotations

from functools import partial
from math import prod

from gpugraph.kernel import Arg, Call, Launch, Signature, Source
from gpugraph.ops.framework.cuda_grids import THREADS, Arguments, grid_of, shared_axes

_BLOCK = THREADS, 1, 1
_AXES = 4


def special_source(function: str, host: Call) -> Source:
    """Return the kernel of a unary function in kernels/cuda/math/special_functions.cuh.

    Args:
      function: the name of the function in that file.
      host: the NumPy kernel, which runs if CUDA C can't.
    """
    return Source("special_unary.cu", partial(_launch_special, function), host)


def special_pair_source(function: str, host: Call) -> Source:
    """Return the kernel of a binary function in special_functions.cuh. The operands are
    broadcast.
    """
    return Source("special_binary.cu", partial(_launch_special, function), host)


def _launch_special(function: str, signature: Signature) -> list[Launch]:
    shape, types = signature.output_shapes[0], {"T": signature.output_types[0].base_dtype}
    arguments: Arguments = (Arg(0), Arg(1), prod(shape))
    name = "gg_unary"
    if len(signature.input_shapes) == 2:
        sizes, strides = shared_axes(signature.input_shapes, shape, _AXES)
        name = "gg_binary"
        arguments = (Arg(0), Arg(1), Arg(2), prod(shape), *sizes[1:], *strides[0], *strides[1])
    return [Launch(name, grid_of(prod(shape)), _BLOCK, arguments, types, {"CALL": function})]


def complex_source(function: str, host: Call) -> Source:
    """Return the kernel of a unary function of complex numbers in complex_elementwise.cu."""
    return Source("complex_elementwise.cu", partial(_launch_complex, function), host)


def _launch_complex(function: str, signature: Signature) -> list[Launch]:
    total = prod(signature.output_shapes[0])
    part = "float" if signature.input_types[0].base_dtype.size == 8 else "double"
    arguments = (Arg(0), Arg(1), total)
    return [Launch(function, grid_of(total), _BLOCK, arguments, {}, {"PART": part})]
