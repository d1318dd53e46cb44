"""Ops that resize images by bilinear, nearest neighbour, bicubic or area interpolation.

Every method is linear and separable. An image is multiplied by a matrix of weights on the left (for
rows) and by another matrix on the right (for columns). The gradient is multiplied by the transposes
of these matrices. As in TensorFlow's kernels, the position of an output pixel in the input is
computed in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import INTEGRAL, bfloat16, float16, float32, float64, int8, int32, uint8
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.image.native_image_sources import nearest_pixels, resized
from gpugraph.ops.image.resize_launches import nearest_gpu, resize_back_gpu, resize_gpu

_REAL = (float64, float32, float16, bfloat16, *INTEGRAL)
_BACK = {"Bilinear": (float32, float64, float16, bfloat16), "Bicubic": (float32, float64)}
_MODES = {"align_corners": Attr("bool", False), "half_pixel_centers": Attr("bool", False)}


def _infer_resized(context: InferContext) -> Sequence[TensorShape]:
    batch, _, _, channels = of_rank(context.shapes[0], 4, "images")
    (length,) = of_rank(context.shapes[1], 1, "size")
    if length not in (2, None):
        raise ValueError(f"Dimension must be 2 but is {length}: size is [height, width]")
    value = context.value(1)
    partial = context.value_as_shape(1).sizes or (None, None)
    height, width = partial if value is None else ints(value)
    if value is not None and any(size <= 0 for size in ints(value)):
        raise ValueError(f"output dimensions must be positive, but are {[height, width]}")
    return [TensorShape.of((batch, height, width, channels))]


# -- the sources of each pixel


def _scale(size: int, new: int, attrs: Any) -> np.float32:
    if attrs["align_corners"] and new > 1:
        return np.float32(size - 1) / np.float32(new - 1)
    return np.float32(size) / np.float32(new)


def _sources(size: int, new: int, attrs: Any) -> Any:
    """Return the position in the input of each output pixel along one axis, as float32."""
    places = np.arange(new, dtype=np.float32)
    scale = _scale(size, new, attrs)
    if attrs.get("half_pixel_centers"):
        return (places + np.float32(0.5)) * scale - np.float32(0.5)
    return places * scale


def _weight_matrix(size: int, terms: Sequence[tuple[Any, Any]]) -> Any:
    """Return a matrix [new, size] of weights.

    Args:
      terms: pairs (columns, weights) of vectors. weights[i] is added to the element in row i and
        column columns[i].
    """
    new = len(terms[0][0])
    matrix = np.zeros((new, size))
    for columns, weights in terms:
        np.add.at(matrix, (np.arange(new), columns), weights)
    return matrix


def _bilinear(size: int, new: int, attrs: Any) -> Any:
    places = _sources(size, new, attrs)
    below = np.floor(places)
    part = (places - below).astype(np.float64)
    lower = np.maximum(below.astype(np.int64), 0)
    upper = np.minimum(np.ceil(places).astype(np.int64), size - 1)
    return _weight_matrix(size, [(lower, 1 - part), (np.maximum(upper, 0), part)])


_STEPS = 1024
"""Positions are rounded to multiples of 1 / _STEPS pixels for bicubic weights."""


def _cubic(distance: Any, a: float) -> Any:
    """Return the value of Keys' cubic kernel ("Cubic convolution interpolation for digital image
    processing", 1981) at a distance.
    """
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _bicubic(size: int, new: int, attrs: Any) -> Any:
    places = _sources(size, new, attrs)
    below = np.floor(places)
    part = np.rint((places - below) * np.float32(_STEPS)) / _STEPS
    centered = attrs["half_pixel_centers"]
    terms = []
    for offset in (-1, 0, 1, 2):
        columns = below.astype(np.int64) + offset
        weights = _cubic(offset - part.astype(np.float64), -0.5 if centered else -0.75)
        inside = np.clip(columns, 0, size - 1)
        if centered:  # pixels outside the image get no weight, and the others share it
            weights = np.where(inside == columns, weights, 0.0)
        terms.append((inside, weights))
    matrix = _weight_matrix(size, terms)
    if centered:
        matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix


def _area(size: int, new: int, attrs: Any) -> Any:
    scale = _scale(size, new, attrs)
    begin = np.arange(new, dtype=np.float32) * scale
    end = np.arange(1, new + 1, dtype=np.float32) * scale
    pixels = np.arange(int(np.ceil(end[-1])) if new else 0)
    covered = np.minimum(end[:, None], pixels + 1) - np.maximum(begin[:, None], pixels)
    shares = np.maximum(covered, 0).astype(np.float64) / float(scale)
    matrix = np.zeros((new, size))
    for pixel in pixels.tolist():
        matrix[:, min(pixel, size - 1)] += shares[:, pixel]
    return matrix


_WEIGHTS: dict[str, Callable[[int, int, Any], Any]] = {
    "Bilinear": _bilinear,
    "Bicubic": _bicubic,
    "Area": _area,
}


def _check_images(sizes: Sequence[int]) -> None:
    if min(sizes) <= 0:
        raise invalid_argument(f"input image must be of non-zero size: {sizes}")


def _matrices(kind: str, sizes: Sequence[int], news: Sequence[int], attrs: Any) -> list[Any]:
    """Return the weight matrices [output size, input size] for height and width."""
    _check_images(list(sizes))
    return [_WEIGHTS[kind](size, new, attrs) for size, new in zip(sizes, news, strict=True)]


def _weigh(matrix: Any, wide: Any) -> Any:
    """Return matrix @ wide.

    Elements with weight 0 are skipped, because 0 times NaN or infinity would be NaN.
    """
    chosen = [np.flatnonzero(weights) for weights in matrix]
    parts = [row[places] @ wide[..., places, :] for row, places in zip(matrix, chosen)]
    return np.stack(parts, axis=-2)


def _product(matrix: Any, wide: Any) -> Any:
    """Return matrix @ wide. All numbers must be finite.

    If each row of the matrix has only a few nonzero weights, these are applied one after the other,
    which takes less time than a matrix product.
    """
    count = int(np.count_nonzero(matrix, axis=1).max(initial=0))
    if not 0 < count <= _FEW_WEIGHTS:
        return np.matmul(matrix, wide)
    columns = np.argsort(matrix == 0, axis=1, kind="stable")[:, :count]
    weights = np.take_along_axis(matrix, columns, 1)
    result = weights[:, 0, np.newaxis] * wide[..., columns[:, 0], :]
    for number in range(1, count):
        result += weights[:, number, np.newaxis] * wide[..., columns[:, number], :]
    return result


_FEW_WEIGHTS = 4


def _multiply(rows: Any, columns: Any, images: Any, out: Any) -> None:
    """Store rows @ image @ columns^T in `out`, for each image and each channel."""
    batch, height, width, channels = images.shape
    matmul = _product if images.dtype.kind in "iu" or np.isfinite(images).all() else _weigh
    wide = images.astype(np.float64, copy=False).reshape(batch, height, width * channels)
    half = matmul(rows, wide).reshape(batch, rows.shape[0], width, channels)
    np.copyto(out, matmul(columns, half), casting="unsafe")


def _bind_resize(kind: str, context: KernelContext, images: Any, out: Any) -> Callable[[], Any]:
    matrices = _matrices(kind, images.shape[1:3], out.shape[1:3], context.attrs)
    rows, columns = (np.asarray(matrix, like=out) for matrix in matrices)
    return partial(_multiply, rows, columns, images, out)


def store_bilinear(images: Any, out: Any, attrs: Any) -> None:
    """Store arrays of images, resized to the size of `out`, in `out`."""
    rows, columns = _matrices("Bilinear", images.shape[1:3], out.shape[1:3], attrs)
    _multiply(rows, columns, images, out)


def _infer_original(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 4, "grads")
    return [TensorShape.of(of_rank(context.shapes[1], 4, "original_image"))]


def _bind_resize_grad(
    kind: str, context: KernelContext, grads: Any, images: Any, out: Any
) -> Callable[[], Any]:
    del images
    matrices = _matrices(kind, out.shape[1:3], grads.shape[1:3], context.attrs)
    rows, columns = (np.asarray(matrix.T, like=out) for matrix in matrices)
    return partial(_multiply, rows, columns, grads, out)


def _modes(op: Any) -> dict[str, Any]:
    return {mode: op.attrs[mode] for mode in _MODES}


def _resize_back(kind: str, op: Any, dy: Any) -> list[Any]:
    images = op.inputs[0]
    if not images.dtype.is_floating:
        return [None, None]
    source = images if images.dtype is not float16 else raw_ops.Cast(images, DstT=float32)
    dx = getattr(raw_ops, f"Resize{kind}Grad")(dy, source, **_modes(op))
    return [raw_ops.Cast(dx, DstT=float16) if source is not images else dx, None]


def _by_size(op_type: str, op: Any, dy: Any) -> list[Any]:
    """Return the gradient of `op`, computed by an op of type `op_type`. The inputs of that op are
    dy and the (height, width) of the input of `op`.
    """
    size = raw_ops.Slice(raw_ops.Shape(op.inputs[0]), np.array([1], np.int32), [2])
    return [getattr(raw_ops, op_type)(dy, size, **_modes(op)), None]


for _kind, _taps in (("Bilinear", 2), ("Bicubic", 4)):
    op(
        f"Resize{_kind}",
        inputs="images: T, size: int32",
        outputs="resized_images: float32",
        attrs={"T": _REAL, **_MODES},
        infer=_infer_resized,
        memory=OpMemory(host_inputs=[1]),
        cpu=Call(make=partial(_bind_resize, _kind)),
        gpu=resize_gpu(Call(make=partial(_bind_resize, _kind)), _taps, _scale),
        native=resized(_WEIGHTS[_kind]),
        grad=partial(_resize_back, _kind),
        doc=f"Images [batch, height, width, channels] of another size, by {_kind.lower()} "
        "interpolation, in float32.",
    )
    op(
        f"Resize{_kind}Grad",
        inputs="grads: float32, original_image: T",
        outputs="output: T",
        attrs={"T": _BACK[_kind], **_MODES},
        infer=_infer_original,
        cpu=Call(make=partial(_bind_resize_grad, _kind)),
        gpu=resize_back_gpu(Call(make=partial(_bind_resize_grad, _kind)), _taps, _scale, 2),
        native=resized(_WEIGHTS[_kind], is_back=True, has_original=True),
        grad=partial(_by_size, f"Resize{_kind}"),
        doc=f"The gradient of Resize{_kind} with respect to the images original_image.",
    )

op(
    "ResizeArea",
    inputs="images: T, size: int32",
    outputs="resized_images: float32",
    attrs={"T": _REAL, "align_corners": Attr("bool", False)},
    infer=_infer_resized,
    memory=OpMemory(host_inputs=[1]),
    cpu=Call(make=partial(_bind_resize, "Area")),
    gpu=Call(make=partial(_bind_resize, "Area")),
    native=resized(_area),
    grad=NO_GRADIENT,
    doc=(
        "Images of another size, as float32. Each pixel is the mean of the area of the input that "
        "it covers."
    ),
)

# -- nearest neighbour


def _nearest(size: int, new: int, attrs: Any) -> Any:
    """Return, for each output pixel, the index of the input pixel that it copies."""
    places = np.arange(new, dtype=np.float32)
    scale = _scale(size, new, attrs)
    if attrs["half_pixel_centers"]:
        pixels = np.floor((places + np.float32(0.5)) * scale)
    elif attrs["align_corners"]:
        pixels = np.floor(places * scale + np.float32(0.5))
    else:
        pixels = np.floor(places * scale)
    return np.clip(pixels.astype(np.int64), 0, size - 1)


def _bind_nearest(context: KernelContext, images: Any, out: Any) -> Callable[[], Any]:
    _check_images(list(images.shape[1:3]))
    rows, columns = (
        np.asarray(_nearest(size, new, context.attrs), like=out)
        for size, new in zip(images.shape[1:3], out.shape[1:3], strict=True)
    )
    return lambda: np.copyto(out, images[:, rows[:, None], columns])


def _nearest_matrix(size: int, new: int, attrs: Any) -> Any:
    return np.eye(size)[_nearest(size, new, attrs)]


def _bind_nearest_grad(context: KernelContext, grads: Any, out: Any) -> Callable[[], Any]:
    rows, columns = (
        np.asarray(_nearest_matrix(size, new, context.attrs).T, like=out)
        for size, new in zip(out.shape[1:3], grads.shape[1:3], strict=True)
    )
    return partial(_multiply, rows, columns, grads, out)


op(
    "ResizeNearestNeighbor",
    inputs="images: T, size: int32",
    outputs="resized_images: T",
    attrs={"T": _REAL, **_MODES},
    infer=_infer_resized,
    memory=OpMemory(host_inputs=[1]),
    cpu=Call(make=_bind_nearest),
    gpu=nearest_gpu(Call(make=_bind_nearest), _scale),
    native=nearest_pixels(_nearest),
    grad=partial(_by_size, "ResizeNearestNeighborGrad"),
    doc="Images of another size. Each pixel is a copy of the nearest pixel of the input.",
)
op(
    "ResizeNearestNeighborGrad",
    inputs="grads: T, size: int32",
    outputs="output: T",
    attrs={"T": (float64, float32, float16, bfloat16, int32, int8, uint8), **_MODES},
    infer=_infer_resized,
    memory=OpMemory(host_inputs=[1]),
    cpu=Call(make=_bind_nearest_grad),
    gpu=resize_back_gpu(Call(make=_bind_nearest_grad), 1, _scale, 1),
    native=resized(_nearest_matrix, is_back=True),
    grad=partial(_by_size, "ResizeNearestNeighbor"),
    doc=(
        "The gradient of ResizeNearestNeighbor with respect to images of height and width `size`."
    ),
)


# -- public functions


def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resize images [batch, height, width, channels] to `size`, [height, width], as float32.

    A pixel between input pixels is the mean of its neighbours, weighted by nearness.

    Raises ValueError if the rank is not 4 or a size is not positive.

    Args:
      align_corners: whether the centers of the corner pixels keep their positions.
      half_pixel_centers: whether pixel i is centered at i + 0.5, instead of at i.

    >>> session.run(tf.image.resize_bilinear(tf.ones([1, 2, 2, 1]), [4, 4])).shape
    (1, 4, 4, 1)
    """
    return raw_ops.ResizeBilinear(
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_bicubic(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resize images by cubic convolution. The result is float32. See `resize_bilinear` for the
    arguments.
    """
    return raw_ops.ResizeBicubic(
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resize images by nearest neighbour interpolation, which keeps the dtype. See
    `resize_bilinear` for the arguments.
    """
    return raw_ops.ResizeNearestNeighbor(
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_area(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Resize images, as float32. Each pixel of the result covers an area of the input, and is the
    mean of this area.

    There is no gradient. See `resize_bilinear` for the arguments.
    """
    return raw_ops.ResizeArea(images, size, align_corners=align_corners, name=name)
