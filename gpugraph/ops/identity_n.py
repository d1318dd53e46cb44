"""IdentityN: several tensors as they are, by one op: one gradient for them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.graph.infer import InferContext
from gpugraph.graph.tensor import Tensor
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays import run_all
from gpugraph.ops.declare import Attr, op
from gpugraph.shapes import TensorShape

__all__ = ["identity_n"]


def _same_shapes(context: InferContext) -> Sequence[TensorShape]:
    return context.shapes


def _copies(_: KernelContext, *arrays: Any) -> Callable[[], Any]:
    half = len(arrays) // 2
    pairs = zip(arrays[half:], arrays[:half], strict=True)
    return run_all([partial(np.copyto, out, source) for out, source in pairs])


_identity_n = op(
    "IdentityN",
    inputs="input: T",
    outputs="output: T",
    attrs={"T": Attr("list(type)", required=True)},
    infer=_same_shapes,
    cpu=Call(make=_copies),
    gpu=Call(make=_copies),
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
