"""A convolution with an epilogue: a bias and an activation, which are applied before the results
are stored.

Programs do not create this op. The compiler's remap pass replaces Conv2D, BiasAdd and Relu with
this op. The attr `fused_ops` names the ops that follow the convolution. The results have the same
bits as the results of the separate ops.
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
from gpugraph.ops.nn.windows.native_window_sources import biased_source
from gpugraph.ops.nn.windows.window_geometry import CONV_ATTRS, IMAGES, check_equal, text
from gpugraph.ops.nn.windows.window_launches import forward_shapes

ACTIVATIONS = ("", "Relu", "Relu6")
"""The activations after the bias; the index of an activation is its number in host_product.h."""


def _activation_number(attrs: Any) -> int:
    """Return the index of the activation in `ACTIVATIONS`.

    Raises ValueError if `fused_ops` is not a bias followed by one of these activations.
    """
    fused = [text(name) for name in attrs["fused_ops"]]
    after = "".join(fused[1:])
    if fused[:1] != ["BiasAdd"] or len(fused) > 2 or after not in ACTIVATIONS:
        activations = ", ".join(name for name in ACTIVATIONS if name)
        raise ValueError(
            f"fused_ops must be BiasAdd, alone or followed by one of {activations}, not {fused}"
        )
    return ACTIVATIONS.index(after)


def _infer(context: InferContext) -> Sequence[TensorShape]:
    _activation_number(context.attrs)
    if context.attrs["num_args"] != 1:
        raise ValueError(f"args must be a bias only, but there are {context.attrs['num_args']}")
    (bias,) = of_rank(context.shapes[2], 1, "bias")
    outputs = of_rank(context.shapes[1], 4, "filter")[3]
    check_equal(bias, outputs, "the biases and the filter's outputs")
    return infer_convolution(IMAGES, context)


def _bind(
    context: KernelContext, image: Any, weights: Any, bias: Any, out: Any
) -> Callable[[], Any]:
    if not IMAGES.channels_last(context.attrs):
        bias = bias.reshape(-1, 1, 1)
    calls: list[Callable[[], Any]] = [
        bind_convolution(context, image, weights, out),
        partial(np.add, out, bias, out),
    ]
    activation = _activation_number(context.attrs)
    if activation:
        calls.append(partial(np.maximum, out, 0, out=out))
    if ACTIVATIONS[activation] == "Relu6":
        calls.append(partial(np.minimum, out, 6, out=out))
    return run_all(calls)


def _activation(signature: Signature) -> int:
    return _activation_number(signature.attrs)


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
    gpu=convolution_gpu(IMAGES, Call(make=_bind), _activation),
    native=biased_source("gg_conv2d_biased", forward_shapes, _activation),
    grad=NO_GRADIENT,
    doc="Conv2D, then the `fused_ops`: a BiasAdd of `args`, and a Relu or Relu6.",
)
