"""EnsureShape, which forwards a tensor and raises an error if its shape does not match the attr
`shape`.

Unlike in TensorFlow, the op is stateful here. Therefore a run executes it even if it is only a
control input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL
from gpugraph.base.misfit import INPUT_NAME, Misfit, misfit_of
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, KernelContext, Launch, OpMemory, Signature, Source
from gpugraph.ops.framework.op_declaration import Attr, op
from gpugraph.ops.framework.row_update_launches import copy_elements


def _infer(context: InferContext) -> Sequence[TensorShape]:
    wanted, shape = context.attrs["shape"], context.shapes[0]
    try:
        if wanted.rank is not None:
            shape.assert_has_rank(wanted.rank)
        return [wanted.merge_with(shape)]
    except ValueError as error:
        raise Misfit(misfit_of(error).in_graph, _message(shape, wanted)) from error


def _message(shape: Any, wanted: TensorShape) -> str:
    return (
        f"Shape of tensor {INPUT_NAME} {shape_text(shape)} is not compatible with expected shape "
        f"{shape_text(wanted)}."
    )


def _bind(context: KernelContext, source: Any, out: Any) -> Callable[[], Any]:
    wanted = context.attrs["shape"]
    if not wanted.is_compatible_with(source.shape):
        raise Misfit(_message(source.shape, wanted))

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
    memory=OpMemory(view={0: 0}),
    cpu=Call(make=_bind),
    gpu=Source("row_gather_and_put.cu", _launch, Call(make=_bind)),
    grad=lambda op, dy: dy,
    stateful=True,
    doc=(
        "The input. Raises InvalidArgumentError if its shape is not compatible with the attr "
        "`shape`."
    ),
)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return `x` with a static shape that is refined by `shape`. Each run checks the shape.

    Args:
      shape: a list of sizes, in which None means an unknown size, or None if the rank is unknown.

    >>> x = tf.placeholder(tf.float32, [None])
    >>> session.run(tf.ensure_shape(x, [2]), {x: [1, 2]})
    array([1., 2.], dtype=float32)

    Raises ValueError if the static shape of `x` is incompatible with `shape`. A run raises
    InvalidArgumentError if the shape of the value is incompatible.
    """
    return _ensure_shape(x, shape=shape, name=name)
