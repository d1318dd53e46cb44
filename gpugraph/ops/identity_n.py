"""IdentityN: several tensors as they are, by one op: one gradient for them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.graph.infer import InferContext
from gpugraph.graph.tensor import Tensor
from gpugraph.kernel import Signature
from gpugraph.ops.arrays import Pairs, copying
from gpugraph.ops.declare import Attr, op
from gpugraph.shapes import TensorShape

__all__ = ["identity_n"]


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
    made: list[Tensor] = _identity_n(input, name=name)
    return made
