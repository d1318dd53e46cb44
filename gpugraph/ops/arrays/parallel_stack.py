"""ParallelConcat and `parallel_stack`, which stacks tensors of the same fully known shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.base.value_text import shown
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import from_attr
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def _infer_rows(context: InferContext) -> Sequence[TensorShape]:
    shape = from_attr("shape")(context)[0]
    for value in context.shapes:
        row = value.with_rank_at_least(1)
        if row.sizes is not None and row.sizes[0] not in (1, None):
            raise ValueError(f"Each value must be one row, but one has {row.sizes[0]}")
        row[1:].assert_is_compatible_with(shape[1:])
    return [shape]


def _join_rows(*arrays: Any) -> None:
    np.concatenate(arrays[:-1], 0, arrays[-1])


_parallel_concat = op(
    "ParallelConcat",
    inputs="values: N*T",
    outputs="output: T",
    attrs={
        "N": Attr("int", required=True, minimum=1),
        "T": ALL,
        "shape": Attr("shape", required=True),
    },
    infer=_infer_rows,
    **numpy_kernels(Call(_join_rows)),
    grad=lambda op, dy: raw_ops.Split(np.array(0, np.int32), dy, num_split=len(op.inputs)),
    doc="The concatenation of values that have one row each.",
)


def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """Stack `values` along a new first axis. The static shape of the first value must be fully
    known.

    Raises TypeError if `values` is not a sequence or is empty, and ValueError if a size of this
    shape is unknown.
    """
    if not isinstance(values, (list, tuple, Tensor, np.ndarray)) or not len(values):
        raise TypeError(f"parallel_stack takes a list of tensors, not {shown(values)}")
    with op_scope(name, "parallel_stack", *values):
        shape = as_shape(convert_to_tensor(values[0]).shape)
        if not shape.is_fully_defined():
            raise ValueError(f"The shapes of all values must be known, but one is {shape}")
        front = np.array(0, np.int32)
        rows = [raw_ops.ExpandDims(value, front) for value in values]
        return _parallel_concat(rows, shape=TensorShape.of((len(rows),)).concatenate(shape))
