"""Ops that forward tensors: IdentityN, one op for several tensors, and GuaranteeConst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import ALL
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, Signature
from gpugraph.ops.framework.kernel_helpers import Pairs, copy_array, copying, numpy_kernels
from gpugraph.ops.framework.op_declaration import Attr, op
from gpugraph.ops.framework.shape_functions import IN_PLACE


def _same_shapes(context: InferContext) -> Sequence[TensorShape]:
    return context.shapes


def _copies(_: Signature, *arrays: Any) -> Pairs:
    half = len(arrays) // 2
    return list(zip(arrays[:half], arrays[half:], strict=True))


_identity_n = op(
    "IdentityN",
    inputs="input: T",
    outputs="output: T",
    attrs={"T": Attr("list(type)", required=True, minimum=1)},
    infer=_same_shapes,
    **copying(_copies),
    grad=lambda op, *grads: list(grads),
    doc="The inputs, unchanged.",
)


def identity_n(input: Any, name: str | None = None) -> list[Tensor]:
    """Return a list of copies of the tensors in the list `input`. All copies are outputs of one
    IdentityN op.

    Raises TypeError if `input` is not a list, and ValueError if it is empty.

    >>> session.run(tf.identity_n([1, 2]))
    [np.int32(1), np.int32(2)]
    """
    if isinstance(input, (list, tuple)) and not input:
        raise ValueError("IdentityN needs at least one tensor")
    return _identity_n(input, name=name)


_guarantee_const = op(
    "GuaranteeConst",
    inputs="input: T",
    outputs="output: T",
    attrs={"T": ALL},
    **IN_PLACE,
    **numpy_kernels(Call(copy_array)),
    grad=lambda op, dy: dy,
    stateful=True,
    doc="The input. The program guarantees that it has the same value in every run.",
)


def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """Return `input`, which the caller guarantees to have the same value in every run."""
    return _guarantee_const(input, name=name)
