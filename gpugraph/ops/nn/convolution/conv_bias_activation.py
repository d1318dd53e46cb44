"""A convolution with an epilogue, which is applied before the results are stored.

Programs do not create this op. The compiler's remap pass replaces Conv2D and the ops that follow it
with this op. The attr `fused_ops` names these ops, in this order:

  BiasAdd, whose input is a bias, or FusedBatchNorm of inference, whose inputs are scale, offset,
    mean and variance
  Add of images, if there is one
  Relu or Relu6, if there is one

`args` are the inputs of these ops. With a bias, the results have the same bits as the results of
the separate ops. A normalization may round a product and a sum together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, Signature
from gpugraph.ops.framework.kernel_helpers import run_all
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.nn.convolution.conv2d_ops import bind_convolution
from gpugraph.ops.nn.convolution.convolution_declaration import infer_convolution
from gpugraph.ops.nn.convolution.convolution_launches import convolution_gpu
from gpugraph.ops.nn.windows.native_window_sources import FusedEnd, fused_source
from gpugraph.ops.nn.windows.window_geometry import CONV_ATTRS, IMAGES, check_equal, text
from gpugraph.ops.nn.windows.window_launches import forward_shapes

ACTIVATIONS = ("", "Relu", "Relu6")
"""The activations; the index of an activation is its number in host_product.h."""

_VECTORS = {"BiasAdd": 1, "FusedBatchNorm": 4}


def end_of(attrs: Any) -> FusedEnd:
    """Return the ops that follow the convolution.

    Raises ValueError if `fused_ops` or the number of `args` is none that the op supports.
    """
    fused = [text(name) for name in attrs["fused_ops"]]
    first, after = fused[:1], fused[1:]
    addends = int(after[:1] == ["Add"])
    activation = "".join(after[addends:])
    if not first or first[0] not in _VECTORS or len(after) > addends + 1:
        activation = "no activation"
    if activation not in ACTIVATIONS:
        raise ValueError(
            "fused_ops must be BiasAdd or FusedBatchNorm, then an optional Add, then an optional "
            f"{' or '.join(ACTIVATIONS[1:])}, not {fused}"
        )
    vectors = _VECTORS[first[0]]
    if attrs["num_args"] != vectors + addends:
        raise ValueError(
            f"{', '.join(fused)} need {vectors + addends} args, but there are {attrs['num_args']}"
        )
    return FusedEnd(vectors, addends, ACTIVATIONS.index(activation), float(attrs["epsilon"]))


def _infer(context: InferContext) -> Sequence[TensorShape]:
    end = end_of(context.attrs)
    outputs = of_rank(context.shapes[1], 4, "filter")[3]
    for shape in context.shapes[2 : 2 + end.by_channel]:
        (size,) = of_rank(shape, 1, "bias")
        check_equal(size, outputs, "the biases and the filter's outputs")
    return infer_convolution(IMAGES, context)


def _bind(
    context: KernelContext, image: Any, weights: Any, *args_and_out: Any
) -> Callable[[], Any]:
    end, (*args, out) = end_of(context.attrs), args_and_out
    vectors = args[: end.by_channel]
    if not IMAGES.channels_last(context.attrs):
        vectors = [vector.reshape(-1, 1, 1) for vector in vectors]
    calls: list[Callable[[], Any]] = [bind_convolution(context, image, weights, out)]
    if end.by_channel == 1:
        calls.append(partial(np.add, out, vectors[0], out))
    else:
        calls.append(partial(_normalize, out, vectors, end.epsilon))
    if end.addends:
        calls.append(partial(np.add, out, args[-1], out))
    if end.activation:
        calls.append(partial(np.maximum, out, 0, out=out))
    if ACTIVATIONS[end.activation] == "Relu6":
        calls.append(partial(np.minimum, out, 6, out=out))
    return run_all(calls)


def _normalize(images: Any, vectors: Sequence[Any], epsilon: float) -> None:
    """Normalize images in place.

    Args:
      vectors: scale, offset, mean and variance by channel.
    """
    scale, offset, mean, variance = vectors
    factor = 1 / np.sqrt(variance + variance.dtype.type(epsilon)) * scale
    np.subtract(images, mean, images)
    np.multiply(images, factor, images)
    np.add(images, offset, images)


def _gpu_activation(signature: Signature) -> int:
    """Return the activation's number, for GPUs.

    Raises NotImplementedError unless a bias and an activation are all that is fused.
    """
    end = end_of(signature.attrs)
    if (end.by_channel, end.addends) != (1, 0):
        raise NotImplementedError("GPUs fuse only a bias and an activation with a convolution")
    return end.activation


op(
    "_FusedConv2D",
    inputs="input: T, filter: T, args: num_args * T",
    outputs="output: T",
    attrs={
        "T": FLOATING,
        "num_args": Attr("int"),
        **CONV_ATTRS,
        "fused_ops": Attr("list(string)", []),
        "epsilon": Attr("float", 1e-4),
    },
    infer=_infer,
    cpu=Call(make=_bind),
    gpu=convolution_gpu(IMAGES, Call(make=_bind), _gpu_activation),
    native=fused_source("gg_conv2d_fused", forward_shapes, end_of),
    grad=NO_GRADIENT,
    doc="Conv2D, then the `fused_ops`, whose inputs are `args`.",
)
