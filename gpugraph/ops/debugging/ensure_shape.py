"""EnsureShape: passes on a tensor of a certain shape, and ends the run at one of another.

It is stateful here, though not in TensorFlow, so that it is run wherever it is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, KernelContext, Launch, Signature, Source
from gpugraph.ops.framework.op_declaration import Attr, op
from gpugraph.ops.framework.row_update_launches import copy_elements


def _infer(context: InferContext) -> Sequence[TensorShape]:
    return [context.attrs["shape"].merge_with(context.shapes[0])]


def _bind(context: KernelContext, source: Any, out: Any) -> Callable[[], Any]:
    wanted = context.attrs["shape"]
    if not wanted.is_compatible_with(source.shape):
        raise invalid_argument(
            f"Shape {source.shape} is not compatible with expected shape {wanted}."
        )

    def run() -> None:
        if source is not out:
            np.copyto(out, source)

    return run


def _launch(signature: Signature) -> list[Launch]:
    (sizes,), wanted = signature.input_shapes, signature.attrs["shape"]
    if not wanted.is_compatible_with(sizes):
        raise NotImplementedError(f"{sizes} is not compatible with {wanted}")
    return [copy_elements(Arg(0), Arg(1), prod(sizes), signature.output_types[0])]


_ensure_shape = op(
    "EnsureShape",
    inputs="input: T",
    outputs="output: T",
    attrs={"shape": Attr("shape", required=True), "T": ALL},
    infer=_infer,
    view={0: 0},
    cpu=Call(make=_bind),
    gpu=Source("row_gather_and_put.cu", _launch, Call(make=_bind)),
    grad=lambda op, dy: dy,
    stateful=True,
    doc="The input; InvalidArgumentError where its shape does not fit the attr `shape`.",
)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """`x`, of which from here on `shape` is known; a run in which it has another one ends.

    shape: sizes, of which some (None) or all (None for the shape) may be left open. ValueError
    where it is known that `x` has another shape, InvalidArgumentError where a run finds that.
    """
    return _ensure_shape(x, shape=shape, name=name)
