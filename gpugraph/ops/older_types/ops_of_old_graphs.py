"""Op types that only graphs of early TensorFlow versions contain (see
`framework/deprecations.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import (
    ALL,
    FLOATING,
    REAL,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)  # fmt: skip
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import DECLARATIONS, NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of
from gpugraph.ops.framework.shape_functions import UNKNOWN, from_attr, of_rank, same_shape
from gpugraph.ops.nn.windows.window_geometry import PADDING
from gpugraph.ops.older_types.numpy_op import like, numpy_op
from gpugraph.ops.random.seeds_and_streams import SEED_ATTRS, stream_of

_PIXELS = (uint8, int8, int16, int32, int64, float32, float64)


# -- images


def _adjust_contrast(images: Any, factor: Any, low: Any, high: Any, out: Any) -> None:
    wide = images.astype(np.float32)
    mean = wide.mean((-3, -2), keepdims=True)
    wide = (wide - mean) * factor + mean
    np.copyto(wide, high, where=wide > high)  # a NaN bound has no effect
    np.copyto(wide, low, where=wide < low)
    np.copyto(out, wide)


def _infer_images(context: InferContext) -> Sequence[TensorShape]:
    for index in range(1, 4):
        of_rank(context.shapes[index], 0, "a number")
    return [context.shapes[0]]


numpy_op(
    "AdjustContrast",
    "images: T, contrast_factor: float32, min_value: float32, max_value: float32 -> "
    "output: float32", {"T": _PIXELS}, _infer_images, Call(_adjust_contrast),
    "The distance of each pixel from the mean of its channel times a factor, clipped.",
)  # fmt: skip


def _infer_crop(context: InferContext) -> Sequence[TensorShape]:
    image = context.shapes[0].with_rank(3)
    sizes = context.value_as_shape(1).with_rank(2)
    return [sizes.concatenate(image[2:])]


def _bind_crop(context: KernelContext, image: Any, size: Any, out: Any) -> Callable[[], Any]:
    stream = stream_of(context)

    def run() -> None:
        height, width = size.tolist()
        if height > image.shape[0] or width > image.shape[1]:
            raise invalid_argument(
                f"target height and width must be at most those of the image: ({height}, {width}) "
                f"of {shape_text(image.shape)}"
            )
        words = iter(stream.reserve(1).words(2).tolist())
        left, top = (
            next(words) % (whole - part + 1) if part < whole else 0
            for whole, part in ((image.shape[1], width), (image.shape[0], height))
        )
        np.copyto(out, image[top : top + height, left : left + width])

    return run


numpy_op(
    "RandomCrop", "image: T, size: int64 -> output: T", {"T": _PIXELS, **SEED_ATTRS}, _infer_crop,
    Call(make=_bind_crop),
    "A part of an image, [height, width, depth], of size [height, width] at a random place.",
    stateful=True,
)  # fmt: skip

# -- order


def _infer_top(context: InferContext) -> Sequence[TensorShape]:
    shape, count = context.shapes[0], context.attrs["k"]
    if shape.sizes is None:
        return [UNKNOWN] * 2
    if not shape.sizes:
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    if shape.sizes[-1] is not None and shape.sizes[-1] < count:
        raise ValueError(f"input must have last dimension >= k = {count} but is {shape.sizes[-1]}")
    return [TensorShape.of((*shape.sizes[:-1], count))] * 2


def _bind_top(context: KernelContext, rows: Any, values: Any, indices: Any) -> Callable[[], Any]:
    count, size = context.attrs["k"], rows.shape[-1]

    def run() -> None:
        order = size - 1 - np.argsort(rows[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        np.copyto(indices, order[..., :count], casting="unsafe")
        np.copyto(values, np.take_along_axis(rows, order[..., :count], -1))

    return run


numpy_op(
    "TopK", "input: T -> values: T, indices: int32",
    {"k": Attr("int", required=True, minimum=0), "sorted": Attr("bool", True), "T": REAL},
    _infer_top, Call(make=_bind_top),
    "The k largest elements of each row, the largest first, and their indices.",
)  # fmt: skip

# -- normalization

_NORM_ATTRS: dict[str, Any] = {
    "T": FLOATING,
    "variance_epsilon": Attr("float", required=True),
    "scale_after_normalization": Attr("bool", required=True),
}


def _infer_norm(outputs: int) -> Callable[[InferContext], Sequence[TensorShape]]:
    """Return a shape inference function for an op whose input 0 is images [batch, height, width,
    channels].

    The op's outputs are images of the same shape, and `outputs` vectors with one element for each
    channel.
    """

    def infer(context: InferContext) -> Sequence[TensorShape]:
        images = context.shapes[0].with_rank(4)
        channels = TensorShape.of((images[3].value,))
        for shape in context.shapes[1:4]:
            channels = channels.merge_with(shape.with_rank(1))
        if len(context.shapes) > 4 and outputs:
            images = images.merge_with(context.shapes[4])
        sizes = images.sizes or (None,) * 4
        return [TensorShape.of((*sizes[:3], channels[0].value)), *[channels] * outputs]

    return infer


def _bind_norm(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    images, mean, variance, beta, gamma, out = arrays
    epsilon, scales = (context.attrs[key] for key in _NORM_ATTRS if key != "T")

    def run() -> None:
        factor = 1 / np.sqrt(variance + np.asarray(epsilon, variance.dtype))
        np.copyto(out, (images - mean) * (factor * gamma if scales else factor) + beta)

    return run


def _bind_norm_back(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    images, mean, variance, gamma, dy, dx, dm, dv, db, dg = arrays
    epsilon, scales = (context.attrs[key] for key in _NORM_ATTRS if key != "T")

    def run() -> None:
        wide = variance + np.asarray(epsilon, variance.dtype)
        root = 1 / np.sqrt(wide)
        factor = root * gamma if scales else root
        along = (dy * (images - mean)).sum((0, 1, 2))
        np.copyto(db, dy.sum((0, 1, 2)))
        np.copyto(dx, dy * factor)
        np.copyto(dm, -db * factor)
        np.copyto(dv, along * factor * np.asarray(-0.5, wide.dtype) / wide)
        np.copyto(dg, along * root if scales else 0)

    return run


def _norm_gradient(operation: Any, dy: Any) -> Any:
    images, mean, variance, _, gamma = operation.inputs
    attrs = attrs_of(operation, [key for key in _NORM_ATTRS if key != "T"])
    dx, dm, dv, db, dg = raw_ops.BatchNormWithGlobalNormalizationGrad(
        images, mean, variance, gamma, dy, **attrs
    )
    return [dx, dm, dv, db, dg]


def _refuse_gradient(op: Any, *dys: Any) -> Any:
    raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")


numpy_op(
    "BatchNormWithGlobalNormalization", "t: T, m: T, v: T, beta: T, gamma: T -> result: T",
    _NORM_ATTRS, _infer_norm(0), Call(make=_bind_norm),
    "Images less their mean m over the root of the variance v, times gamma, plus beta.",
    _norm_gradient,
)  # fmt: skip
numpy_op(
    "BatchNormWithGlobalNormalizationGrad",
    "t: T, m: T, v: T, gamma: T, backprop: T -> dx: T, dm: T, dv: T, db: T, dg: T",
    _NORM_ATTRS, _infer_norm(4), Call(make=_bind_norm_back),
    "The gradients of BatchNormWithGlobalNormalization by its inputs.", _refuse_gradient,
)  # fmt: skip

# -- matrices


def _infer_eig(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].sizes
    if sizes is None:
        return [UNKNOWN]
    if len(sizes) < 2:
        raise ValueError(f"Shape must be at least rank 2 but is rank {len(sizes)}")
    side = sizes[-1] if sizes[-2] is None else sizes[-2]
    return [TensorShape.of((*sizes[:-2], None if side is None else side + 1, side))]


def _eig(matrices: Any, out: Any) -> None:
    out[..., 0, :], out[..., 1:, :] = np.linalg.eigh(matrices)


for _name in ("SelfAdjointEig", "BatchSelfAdjointEig"):
    numpy_op(
        _name, "input: T -> output: T", {"T": (float64, float32)}, _infer_eig,
        Call(_eig, by_lapack=True),
        "The eigenvalues of symmetric matrices as a row, over the eigenvectors as columns.",
    )  # fmt: skip


# -- volumes

_VOLUMES: dict[str, Any] = {
    "T": (float16, float32, float64),
    "strides": Attr("list(int)", required=True, minimum=5),
    "padding": PADDING,
    "dilations": Attr("list(int)", [1, 1, 1, 1, 1]),
}


def _bind_volumes(op_type: str, shape_input: int) -> Callable[..., Callable[[], Any]]:
    """Return a function that binds the kernel of `op_type` to a node with an additional input,
    which `op_type` does not have.

    Args:
      shape_input: the index of this input. Only its static shape matters.
    """
    bind = like(op_type, data_format="NDHWC")

    def without(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        run: Callable[[], Any] = bind(context, *arrays[:shape_input], *arrays[shape_input + 1 :])
        return run

    return without


for _name, _slot, _what in (
    ("Conv3DBackpropInput", 0, "input"),
    ("Conv3DBackpropFilter", 1, "filter"),
):
    numpy_op(
        _name, "input: T, filter: T, out_backprop: T -> output: T", _VOLUMES, same_shape(_slot),
        Call(make=_bind_volumes(f"{_name}V2", _slot)),
        f"The gradient of a convolution of volumes by its {_what}, which gives its shape.",
    )  # fmt: skip

# -- others


def _infer_poisson(context: InferContext) -> Sequence[TensorShape]:
    infer = DECLARATIONS["RandomPoissonV2"].op_def.infer
    assert infer is not None
    return infer(context)


op(
    "RandomPoisson",
    inputs="shape: S, rate: dtype",
    outputs="output: dtype",
    attrs={**SEED_ATTRS, "S": (int32, int64), "dtype": (float16, float32, float64)},
    infer=_infer_poisson,
    memory=OpMemory(host_inputs=[0]),
    stateful=True,
    **numpy_kernels(Call(make=like("RandomPoissonV2"))),
    grad=NO_GRADIENT,
    doc=(
        "Random numbers with Poisson distributions of these rates, in the rates' dtype: [*shape, "
        "*rate.shape]."
    ),
)


def _bind_quantize(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
    ends = (np.asarray(context.attrs[key], x.dtype) for key in ("input_min", "input_max"))
    bind = like("QuantizeAndDequantizeV2", round_mode="HALF_TO_EVEN", narrow_range=False)
    run: Callable[[], Any] = bind(context, x, *ends, out)
    return run


numpy_op(
    "QuantizeAndDequantize", "input: T -> output: T",
    {"signed_input": Attr("bool", True), "num_bits": Attr("int", 8),
     "range_given": Attr("bool", False), "input_min": Attr("float", 0.0),
     "input_max": Attr("float", 0.0), "T": FLOATING}, same_shape(0), Call(make=_bind_quantize),
    "As QuantizeAndDequantizeV2, with the range as attrs.", lambda op, dy: dy,
)  # fmt: skip
op(
    "PlaceholderV2",
    outputs="output: dtype",
    attrs={"dtype": ALL, "shape": Attr("shape", required=True)},
    infer=from_attr("shape"),
    **numpy_kernels(Call(make=like("Placeholder"))),
    grad=NO_GRADIENT,
    stateful=True,
    doc=(
        "A tensor that must be fed in every run that needs it. Its shape may be the shape of a "
        "scalar."
    ),
)
