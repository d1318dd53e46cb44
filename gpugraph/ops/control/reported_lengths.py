"""`_Lengths`: an op that reports integers which a run computes and which are sizes of later
tensors. Constant folding adds this op (`compile/rewriting/reported_values.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, RowSource, Signature
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op


def _infer(context: InferContext) -> Sequence[TensorShape]:
    return [TensorShape.of((None, 0))] * context.num_outputs


def _of_values(x: Any) -> list[Any]:
    """Return an empty matrix for each element of `x`, with as many rows as the element's value. A
    negative value counts as 0. (Native code rejects negative values.)
    """
    return [np.empty((max(int(value), 0), 0), np.uint8) for value in np.ravel(x)]


def _native() -> RowSource:
    def parameters(signature: Signature) -> list[int]:
        return [prod(signature.input_shapes[0])]

    def sizes(_: Signature, x: Any) -> list[tuple[int, ...]]:
        return [array.shape for array in _of_values(x)]

    return RowSource(
        *("host_lengths.h", "gg_lengths", parameters),
        sizes=sizes,
        separate=True,
        takes_empty=True,
        counter="gg_lengths_count",
    )


op(
    "_Lengths",
    inputs="x: T",
    outputs="lengths: N * uint8",
    attrs={"N": Attr("int", required=True, minimum=1), "T": (dtypes.int32, dtypes.int64)},
    infer=_infer,
    cpu=Call(_of_values, dynamic=True),
    gpu=HostOnly("sizes are computed by the host"),
    native=_native(),
    grad=NO_GRADIENT,
    doc="Output n is an empty matrix with as many rows as the value of element n of x.",
)
