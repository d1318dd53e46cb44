"""SparseMatMul, which multiplies dense matrices that may be mostly zero.

The kernel does not skip zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import bfloat16, float32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, MatrixProducts
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.linalg.matmul import matrices_of

_FLAGS = ("transpose_a", "transpose_b", "a_is_sparse", "b_is_sparse")


def _infer(context: InferContext) -> Sequence[TensorShape]:
    a, b = (of_rank(shape, 2, "matrix") for shape in context.shapes)
    a = a[::-1] if context.attrs["transpose_a"] else a
    b = b[::-1] if context.attrs["transpose_b"] else b
    if None not in (a[1], b[0]) and a[1] != b[0]:
        raise ValueError(f"Dimensions must be equal, but are {a[1]} and {b[0]}")
    return [TensorShape.of((a[0], b[1]))]


def _bind(context: KernelContext, a: Any, b: Any, out: Any) -> Any:
    left = a.T if context.attrs["transpose_a"] else a
    right = b.T if context.attrs["transpose_b"] else b
    return lambda: np.copyto(out, left @ right)


def _back(op: Any, dy: Any) -> list[Any]:
    a, b = (cast(tensor, float32) for tensor in op.inputs)
    transposes_a, transposes_b = (op.attrs[flag] for flag in _FLAGS[:2])
    by_a = (
        raw_ops.MatMul(b, dy, transpose_a=transposes_b, transpose_b=True)
        if transposes_a
        else (raw_ops.MatMul(dy, b, transpose_b=not transposes_b))
    )
    by_b = (
        raw_ops.MatMul(dy, a, transpose_a=True, transpose_b=transposes_a)
        if transposes_b
        else (raw_ops.MatMul(a, dy, transpose_a=not transposes_a))
    )
    pairs = zip((by_a, by_b), op.inputs, strict=True)
    return [cast(slope, tensor.dtype.base_dtype) for slope, tensor in pairs]


op(
    "SparseMatMul",
    inputs="a: Ta, b: Tb",
    outputs="product: float32",
    attrs={
        **{flag: Attr("bool", False) for flag in _FLAGS},
        **{key: Attr("type", float32, allowed=(float32, bfloat16)) for key in ("Ta", "Tb")},
    },
    grad=_back,
    infer=_infer,
    **numpy_kernels(Call(make=_bind)),
    native=MatrixProducts(matrices_of),
    doc=("The float32 product of two matrices. The flags for sparse operands have no effect."),
)


def sparse_matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the float32 product of dense float32 or bfloat16 matrices that are mostly zero.

    Raises ValueError if a rank is not 2 or the sizes are incompatible.

    Args:
      a_is_sparse, b_is_sparse: ignored.
    """
    flags = dict(zip(_FLAGS, (transpose_a, transpose_b, a_is_sparse, b_is_sparse), strict=True))
    return raw_ops.SparseMatMul(a, b, name=name, **flags)
