"""CropAndResize, which crops boxes out of images and resizes them, and its gradients.

A box is [y1, x1, y2, x2] in fractions of the image. (0, 0) is the center of the first pixel, and
(1, 1) is the center of the last pixel. A crop is computed as the product of a matrix of weights for
rows, the image, and a matrix of weights for columns. `ResizeBilinear` is computed in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import INTEGRAL, float16, float32, float64
from gpugraph.base.errors import OutOfRangeError, invalid_argument
from gpugraph.base.misfit import value_error
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.image.native_image_sources import cropped

_ON_HOST = HostOnly("where it reads depends on boxes, which the host must read")

_IMAGE_TYPES = (float16, float32, float64, *INTEGRAL)
_METHOD = Attr("string", "bilinear", allowed=("bilinear", "nearest"))
_Box = tuple[float, ...]


def _check_boxes(context: InferContext, boxes: int) -> int | None:
    """Check the input `boxes` and the image indices, which are the next input. Return the number of
    boxes, or None if it is unknown.
    """
    count, columns = of_rank(context.shapes[boxes], 2, "boxes")
    (others,) = of_rank(context.shapes[boxes + 1], 1, "box_ind")
    if columns not in (4, None):
        raise value_error(
            f"boxes need 4 columns, but have {columns}", f"Dimension must be 4 but is {columns}"
        )
    if count is not None and others is not None and count != others:
        raise ValueError(f"There are {count} boxes, but {others} numbers of images")
    return others if count is None else count


def _infer_crops(context: InferContext) -> Sequence[TensorShape]:
    depth = of_rank(context.shapes[0], 4, "image")[3]
    count = _check_boxes(context, 1)
    value = context.value(3)
    if value is not None and (len(ints(value)) != 2 or min(ints(value)) <= 0):
        raise ValueError(f"crop_size must be two positive numbers, but is {ints(value)}")
    height, width = (None, None) if value is None else ints(value)
    return [TensorShape.of((count, height, width, depth))]


def _is_bilinear(attrs: Any) -> bool:
    method = attrs["method"]
    name = method.decode() if isinstance(method, bytes) else method
    if name not in ("bilinear", "nearest"):
        raise invalid_argument(f"method must be 'bilinear' or 'nearest', but is {name!r}")
    return bool(name == "bilinear")


def _shares(new: int) -> Any:
    """Return the position of each pixel of a crop within its box. The first edge of the box is at
    0, and the last edge is at 1.
    """
    return np.arange(new) / (new - 1) if new > 1 else np.array([0.5])


def _places(first: float, last: float, size: int, new: int) -> Any:
    """Return the positions in the image of a crop's pixels along one axis, as float32, and whether
    each position is inside the image.

    Args:
      first, last: the edges of the box along this axis.
      size: the number of pixels of the image.
      new: the number of pixels of the crop.
    """
    low, high, last_pixel = np.float32(first), np.float32(last), np.float32(size - 1)
    if new > 1:
        step = (high - low) * last_pixel / np.float32(new - 1)
        places = low * last_pixel + np.arange(new, dtype=np.float32) * step
    else:
        places = np.array([np.float32(0.5) * (low + high) * last_pixel])
    return places, (places >= 0) & (places <= last_pixel)


def _weights(first: float, last: float, size: int, new: int, bilinear: bool) -> Any:
    places, inside = _places(first, last, size, new)
    matrix, rows = np.zeros((new, size)), np.flatnonzero(inside)
    places = places[rows]
    if not bilinear:
        matrix[rows, np.floor(places + np.float32(0.5)).astype(int)] = 1
        return matrix
    low = np.floor(places).astype(int)
    matrix[rows, low] += 1 - (places - low)
    np.add.at(matrix, (rows, np.ceil(places).astype(int)), places - low)
    return matrix


def _box_weights(box: _Box, sizes: Any, news: Any, bilinear: bool) -> tuple[Any, Any]:
    """Return the weight matrices of a crop's rows and of its columns.

    Args:
      sizes: (height, width) of the image.
      news: (height, width) of the crop.
    """
    y1, x1, y2, x2 = box
    rows = _weights(y1, y2, sizes[0], news[0], bilinear)
    return rows, _weights(x1, x2, sizes[1], news[1], bilinear)


def _slopes(first: float, last: float, size: int, new: int) -> Any:
    """Return the derivatives of the bilinear weights with respect to the pixels' positions."""
    places, inside = _places(first, last, size, new)
    matrix, rows = np.zeros((new, size)), np.flatnonzero(inside)
    np.add.at(matrix, (rows, np.floor(places[rows]).astype(int)), -1)
    np.add.at(matrix, (rows, np.ceil(places[rows]).astype(int)), 1)
    return matrix


def _crops(boxes: Any, numbers: Any, count: int) -> Iterator[tuple[int, int, _Box]]:
    """Yield (index of the box, index of its image, box) for each box.

    Raises OutOfRangeError if an image index is not below `count`, the number of images.
    """
    if numbers.size and (numbers.min() < 0 or numbers.max() >= count):
        raise OutOfRangeError(None, None, "box_index has values outside [0, batch_size)")
    for index, (box, number) in enumerate(zip(boxes.tolist(), numbers.tolist(), strict=True)):
        yield index, number, tuple(box)


def _product(rows: Any, image: Any, columns: Any) -> Any:
    """Return rows @ image @ columns^T, for each channel."""
    return np.einsum("rh,hwd,cw->rcd", rows, image, columns, optimize=True)


def _bind_crops(
    context: KernelContext, images: Any, boxes: Any, numbers: Any, out: Any
) -> Callable[[], Any]:
    bilinear, outside = _is_bilinear(context.attrs), context.attrs["extrapolation_value"]
    sizes, news = images.shape[1:3], out.shape[1:3]

    def run() -> None:
        for index, number, box in _crops(boxes, numbers, images.shape[0]):
            rows, columns = _box_weights(box, sizes, news, bilinear)
            y1, x1, y2, x2 = box
            out[index] = _product(rows, images[number], columns)
            out[index][~_places(y1, y2, sizes[0], news[0])[1]] = outside
            out[index][:, ~_places(x1, x2, sizes[1], news[1])[1]] = outside

    return run


def _crops_back(op: Any, dy: Any) -> list[Any]:
    images, boxes, numbers, _ = op.inputs
    dimages = None
    if images.dtype.is_floating:
        dimages = raw_ops.CropAndResizeGradImage(
            dy,
            boxes,
            numbers,
            raw_ops.Shape(images),
            T=images.dtype.base_dtype,
            method=op.attrs["method"],
        )
    return [dimages, raw_ops.CropAndResizeGradBoxes(dy, images, boxes, numbers), None, None]


op(
    "CropAndResize",
    inputs="image: T, boxes: float32, box_ind: int32, crop_size: vector int32",
    outputs="crops: float32",
    attrs={"T": _IMAGE_TYPES, "method": _METHOD, "extrapolation_value": Attr("float", 0.0)},
    infer=_infer_crops,
    memory=OpMemory(host_inputs=[3]),
    cpu=Call(make=_bind_crops),
    gpu=_ON_HOST,
    native=cropped("gg_crop", images=0, crops=3),
    grad=_crops_back,
    doc=(
        "Crops of images, one for each box, resized to crop_size. box_ind has the index of each "
        "box's image. Pixels outside the image have the value extrapolation_value."
    ),
)


def _bind_image_grad(
    context: KernelContext, grads: Any, boxes: Any, numbers: Any, out: Any
) -> Callable[[], Any]:
    bilinear = _is_bilinear(context.attrs)
    sizes, news = out.shape[1:3], grads.shape[1:3]

    def run() -> None:
        out.fill(0)
        for index, number, box in _crops(boxes, numbers, out.shape[0]):
            rows, columns = _box_weights(box, sizes, news, bilinear)
            out[number] += _product(rows.T, grads[index], columns.T).astype(out.dtype)

    return run


def _infer_image_grad(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 4, "grads")
    _check_boxes(context, 1)
    return [TensorShape.of(of_rank(context.value_as_shape(3), 4, "image_size"))]


op(
    "CropAndResizeGradImage",
    inputs="grads: float32, boxes: float32, box_ind: int32, image_size: int32",
    outputs="output: T",
    attrs={"T": (float32, float16, float64), "method": _METHOD},
    infer=_infer_image_grad,
    memory=OpMemory(host_inputs=[3]),
    cpu=Call(make=_bind_image_grad),
    gpu=_ON_HOST,
    native=cropped("gg_crop_back", images=3, crops=0),
    grad=NO_GRADIENT,
    doc=("The gradient of CropAndResize with respect to the images, whose shape is image_size."),
)


def _box_grad(grads: Any, images: Any, boxes: Any, numbers: Any, out: Any) -> None:
    sizes, news = images.shape[1:3], grads.shape[1:3]
    along = [_shares(new) for new in news]
    for index, number, box in _crops(boxes, numbers, images.shape[0]):
        rows, columns = _box_weights(box, sizes, news, True)
        y1, x1, y2, x2 = box
        down = _product(_slopes(y1, y2, sizes[0], news[0]), images[number], columns)
        right = _product(rows, images[number], _slopes(x1, x2, sizes[1], news[1]))
        dy = (down * grads[index]).sum((1, 2)) * (sizes[0] - 1)
        dx = (right * grads[index]).sum((0, 2)) * (sizes[1] - 1)
        out[index] = [
            (dy * (1 - along[0])).sum(),
            (dx * (1 - along[1])).sum(),
            (dy * along[0]).sum(),
            (dx * along[1]).sum(),
        ]


def _infer_box_grad(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 4, "grads")
    of_rank(context.shapes[1], 4, "image")
    return [TensorShape.of((_check_boxes(context, 2), 4))]


op(
    "CropAndResizeGradBoxes",
    inputs="grads: float32, image: T, boxes: float32, box_ind: int32",
    outputs="output: float32",
    attrs={"T": _IMAGE_TYPES, "method": Attr("string", "bilinear", allowed=("bilinear",))},
    infer=_infer_box_grad,
    cpu=Call(_box_grad),
    gpu=_ON_HOST,
    native=cropped("gg_box_back", images=1, crops=0),
    grad=NO_GRADIENT,
    doc="The gradient of a bilinear CropAndResize with respect to the boxes.",
)


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Tensor:
    """Crop boxes out of images [batch, height, width, depth], and resize them to `crop_size`.

    The result is float32 [n, *crop_size, depth]. `box_indices` is a newer name of `box_ind`. Raises
    ValueError if shapes are incompatible. A run raises OutOfRangeError if an element of `box_ind`
    is not the index of an image.

    Args:
      boxes: a tensor of shape [n, 4], with rows of y1, x1, y2, x2 in fractions of the image from 0
        to 1. Pixels outside the image become `extrapolation_value`.
      box_ind: a tensor of shape [n], with the index of each box's image.
      method: "bilinear" or "nearest".
    """
    return raw_ops.CropAndResize(
        image,
        boxes,
        box_ind if box_indices is None else box_indices,
        crop_size,
        method=method,
        extrapolation_value=extrapolation_value,
        name=name,
    )
