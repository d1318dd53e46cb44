"""IdentityN: several tensors as they are, by one op with one gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Signature
from gpugraph.ops.framework.kernel_helpers import Pairs, copying
from gpugraph.ops.framework.op_declaration import Attr, op


def _same_shapes(context: InferContext) -> Sequence[TensorShape]:
    return context.shapes


def _copies(_: Signature, *arrays: Any) -> Pairs:
    half = len(arrays) // 2
    return list(zip(arrays[:half], arrays[half:], strict=True))


_identity_n = op(
    "IdentityN",
    inputs="input: T",
    outputs="output: T",
    attrs={"T": Attr("list(type)", required=True)},
    infer=_same_shapes,
    **copying(_copies),
    grad=lambda op, *grads: list(grads),
    doc="The inputs as they are.",
)


def identity_n(input: Any, name: str | None = None) -> list[Tensor]:
    """Tensors of the same shapes, dtypes and elements as those of the list `input`.

    TypeError for no list, ValueError for an empty one.
    """
    if isinstance(input, (list, tuple)) and not input:
        raise ValueError("IdentityN needs at least one tensor")
    return _identity_n(input, name=name)
