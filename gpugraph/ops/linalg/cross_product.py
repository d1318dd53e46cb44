"""The cross product of vectors of three elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import REAL
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, Launch, Signature, Source
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.public_function import public_function


def _infer_cross(context: InferContext) -> Sequence[TensorShape]:
    shape = context.shapes[0].merge_with(context.shapes[1]).with_rank_at_least(1)
    if shape.sizes is not None and shape.sizes[-1] not in (3, None):
        raise ValueError(f"Cross products are of 3 elements, but the shape is {shape_text(shape)}")
    return [shape]


def _cross(a: Any, b: Any, out: Any) -> None:
    left = a[..., [1, 2, 0]] * b[..., [2, 0, 1]]
    np.subtract(left, a[..., [2, 0, 1]] * b[..., [1, 2, 0]], out)


def _launch(signature: Signature) -> list[Launch]:
    count = prod(signature.output_shapes[0]) // 3
    types = {"ELEMENT": signature.output_types[0]}
    block = (THREADS, 1, 1)
    return [Launch("gg_cross", grid_of(count), block, (Arg(0), Arg(1), Arg(2), count), types)]


cross: Callable[..., Tensor] = public_function(
    op(
        "Cross",
        inputs="a: T, b: T",
        outputs="product: T",
        attrs={"T": REAL},
        infer=_infer_cross,
        cpu=Call(_cross),
        gpu=Source("cross_product.cu", _launch, Call(_cross)),
        grad=lambda op, dy: [raw_ops.Cross(op.inputs[1], dy), raw_ops.Cross(dy, op.inputs[0])],
        doc=(
            "The cross products of vectors of 3 elements, along the last axis of two tensors of "
            "the same shape. Raises ValueError if the shapes differ or the last size is not 3."
        ),
    )
)
