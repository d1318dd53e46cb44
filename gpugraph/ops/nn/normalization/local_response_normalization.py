"""Local response normalization, which divides each channel by a norm of the neighbouring channels.

    y = x / norm ** beta    norm = bias + alpha * (sum of x ** 2 up to depth_radius channels away)

See Krizhevsky et al., "ImageNet classification with deep convolutional neural networks", 2012.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import Arg, Call, KernelContext, Launch, RowSource, Scratch, Signature, Source
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of, wide_type
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of, shape_of, size_at
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.nn.windows.window_geometry import sum_dtype, unless_empty
from gpugraph.ops.nn.windows.window_launches import place_type

_ATTRS = {
    "depth_radius": Attr("int", 5),
    "bias": Attr("float", 1.0),
    "alpha": Attr("float", 1.0),
    "beta": Attr("float", 0.5),
}


class _Work:
    """Scratch memory for images as rows of channels, and the op's attrs. For float16 images, the
    memory is float32.
    """

    def __init__(self, context: KernelContext, like: Any) -> None:
        self.context, self.dtype = context, sum_dtype(context)
        self.shape = (-1, like.shape[-1])
        self.rows = int(np.prod(like.shape[:-1]))
        number = self.dtype.as_numpy_dtype
        self.radius = int(context.attrs["depth_radius"])
        self.bias, self.alpha, self.beta = (
            number(context.attrs[key]) for key in ("bias", "alpha", "beta")
        )

    def scratch(self) -> Any:
        """Allocate memory for rows of channels."""
        return self.context.scratch((self.rows, self.shape[1]), self.dtype)

    def near(self, source: Any, out: Any) -> None:
        """Store in `out`, for each channel, the sum of `source` over all channels at a distance of
        at most `radius`.
        """
        np.copyto(out, source)
        for distance in range(1, min(self.radius, self.shape[1] - 1) + 1):
            np.add(out[:, distance:], source[:, :-distance], out[:, distance:])
            np.add(out[:, :-distance], source[:, distance:], out[:, :-distance])

    def norm(self, images: Any, squares: Any, out: Any) -> None:
        """Store in `out` bias + alpha * (the sum of squares over all channels at a distance of at
        most `radius`).
        """
        np.multiply(images, images, squares)
        self.near(squares, out)
        np.multiply(out, self.alpha, out)
        np.add(out, self.bias, out)


@unless_empty
def _bind_forward(context: KernelContext, images: Any, out: Any) -> Callable[[], Any]:
    work = _Work(context, images)
    source, target = images.reshape(work.shape), out.reshape(work.shape)
    wide, squares, norm = work.scratch(), work.scratch(), work.scratch()

    def run() -> None:
        np.copyto(wide, source)
        work.norm(wide, squares, norm)
        np.power(norm, -work.beta, norm)
        np.multiply(wide, norm, norm)
        np.copyto(target, norm, casting="same_kind")

    return run


@unless_empty
def _bind_backward(
    context: KernelContext, dy: Any, images: Any, outputs: Any, out: Any
) -> Callable[[], Any]:
    work = _Work(context, images)
    slope, source, result, target = (
        array.reshape(work.shape) for array in (dy, images, outputs, out)
    )
    wide, norm, part, total = (work.scratch() for _ in range(4))
    twice = work.dtype.as_numpy_dtype(2) * work.alpha * work.beta

    def run() -> None:
        np.copyto(wide, source)
        work.norm(wide, part, norm)
        np.multiply(slope, result, part, dtype=part.dtype)
        np.divide(part, norm, part)
        work.near(part, total)
        np.multiply(total, wide, total)
        np.multiply(total, twice, total)
        np.power(norm, -work.beta, norm)
        np.multiply(norm, slope, norm)
        np.subtract(norm, total, norm)
        np.copyto(target, norm, casting="same_kind")

    return run


# -- on GPUs


def _launch(signature: Signature, function: str, *arguments: Arg | Scratch | float) -> Launch:
    """Return a launch of `function` over all elements.

    The function receives the arrays among `arguments`, then the number of elements, the number of
    channels and the radius, and then the numbers among `arguments`.
    """
    shape, attrs = signature.output_shapes[0], signature.attrs
    count, depth = prod(shape), shape[-1]
    radius = min(int(attrs["depth_radius"]), depth - 1)
    arrays = [argument for argument in arguments if isinstance(argument, (Arg, Scratch))]
    numbers = [argument for argument in arguments if not isinstance(argument, (Arg, Scratch))]
    return Launch(
        function,
        grid_of(count),
        (THREADS, 1, 1),
        (*arrays, count, depth, radius, *numbers),
        {"T": signature.output_types[0]},
        {"PLACE": place_type(count)},
    )


def _launch_forward(signature: Signature) -> list[Launch]:
    numbers = [float(signature.attrs[key]) for key in ("bias", "alpha", "beta")]
    return [_launch(signature, "gg_response", Arg(0), Arg(1), *numbers)]


def _launch_backward(signature: Signature) -> list[Launch]:
    bias, alpha, beta = (float(signature.attrs[key]) for key in ("bias", "alpha", "beta"))
    dtype, count = wide_type(signature.output_types[0]), prod(signature.output_shapes[0])
    norms, shares = (Scratch(name, count, dtype) for name in ("norms", "shares"))
    first = Arg(0), Arg(1), Arg(2), norms, shares, bias, alpha
    then = Arg(0), Arg(1), norms, shares, Arg(3), beta, 2 * alpha * beta
    return [
        _launch(signature, "gg_response_shares", *first),
        _launch(signature, "gg_response_back", *then),
    ]


# -- native code


def _native(function: str) -> RowSource:
    def parameters(signature: Signature) -> list[int]:
        shape, attrs = signature.output_shapes[0], signature.attrs
        numbers = np.array([attrs[key] for key in ("bias", "alpha", "beta")], np.float64)
        return [
            prod(shape[:-1]),
            shape[-1],
            max(int(attrs["depth_radius"]), 0),
            *numbers.view(np.int64).tolist(),
        ]

    return RowSource("host_local_response.h", function, parameters, is_exact=False)


def _infer(context: InferContext) -> list[TensorShape]:
    return [TensorShape.of(of_rank(context.shapes[0], 4, "input"))]


def _infer_backward(context: InferContext) -> list[TensorShape]:
    merged = TensorShape.of(of_rank(context.shapes[0], 4, "input_grads"))
    for shape in context.shapes[1:]:
        merged = merged.merge_with(shape)
    return [merged]


def _near(op: Any, images: Tensor) -> Callable[[Any], Any]:
    """Return a function that sums over the neighbours of each channel.

    The function multiplies by a matrix of zeros and ones. Therefore it has gradients.
    """
    depth, dtype = size_at(images, -1), images.dtype.base_dtype
    numbers = raw_ops.Range(0, depth, 1)
    distances = raw_ops.Abs(raw_ops.Sub(raw_ops.ExpandDims(numbers, 1), numbers))
    band = cast(raw_ops.LessEqual(distances, np.int32(op.attrs["depth_radius"])), dtype)

    def near(value: Any) -> Any:
        rows = raw_ops.Reshape(value, raw_ops.Pack([-1, depth]))
        return raw_ops.Reshape(raw_ops.MatMul(rows, band), shape_of(images))

    return near


def _gradient_of_gradient(op: Any, g: Any) -> list[Any]:
    """Return the gradients of LRNGrad with respect to dy, x and y.

    LRNGrad computes dx = dy norm^-beta - 2 alpha beta x near(dy y / norm), where near sums over
    neighbouring channels.
    """
    dy, x, y = op.inputs
    near = _near(op, x)
    number = x.dtype.base_dtype.as_numpy_dtype
    alpha, beta, bias = (number(op.attrs[key]) for key in ("alpha", "beta", "bias"))
    norm = raw_ops.Add(raw_ops.Mul(near(raw_ops.Mul(x, x)), alpha), bias)
    shrunk = raw_ops.Pow(norm, -beta)
    twice = number(2) * alpha * beta
    reached = raw_ops.Mul(near(raw_ops.Mul(g, x)), twice)
    share = raw_ops.RealDiv(reached, norm)
    by_dy = raw_ops.Sub(raw_ops.Mul(g, shrunk), raw_ops.Mul(share, y))
    by_y = raw_ops.Neg(raw_ops.Mul(share, dy))
    bent = raw_ops.RealDiv(raw_ops.Mul(raw_ops.Mul(g, dy), raw_ops.Mul(shrunk, beta)), norm)
    by_norm = raw_ops.Sub(raw_ops.RealDiv(raw_ops.Mul(share, raw_ops.Mul(dy, y)), norm), bent)
    outer = raw_ops.Mul(raw_ops.Mul(x, near(by_norm)), number(2) * alpha)
    products = near(raw_ops.RealDiv(raw_ops.Mul(dy, y), norm))
    by_x = raw_ops.Sub(outer, raw_ops.Mul(raw_ops.Mul(g, products), twice))
    return [by_dy, by_x, by_y]


def _declare(
    name: str,
    inputs: str,
    infer: InferFunction,
    bind: Any,
    launch: Any,
    native: RowSource,
    grad: Any,
    doc: str,
) -> OpFunction:
    kernel = Call(make=bind)
    return op(
        name,
        inputs=inputs,
        outputs="output: T",
        attrs={**_ATTRS, "T": FLOATING},
        infer=infer,
        cpu=kernel,
        gpu=Source("local_response_norm.cu", launch, kernel),
        native=native,
        grad=grad,
        doc=doc,
    )


_lrn = _declare(
    "LRN", "input: T", _infer, _bind_forward, _launch_forward, _native("gg_local_response"),
    lambda op, dy: raw_ops.LRNGrad(dy, op.inputs[0], op.outputs[0], **attrs_of(op, _ATTRS)),
    "input / (bias + alpha * (sum of input ** 2 over nearby channels)) ** beta",
)  # fmt: skip
_declare(
    "LRNGrad", "input_grads: T, input_image: T, output_image: T", _infer_backward, _bind_backward,
    _launch_backward, _native("gg_local_response_back"), _gradient_of_gradient,
    "The gradient of LRN, whose output for `input_image` is `output_image`.",
)  # fmt: skip


def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Divide each channel of images [n, h, w, c] by a norm of its neighbours.

    The result is input / (bias + alpha * sum) ** beta, where `sum` is over the squares of the
    channels at a distance of at most `depth_radius`. Raises ValueError if the input does not have
    rank 4.
    """
    return _lrn(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)
