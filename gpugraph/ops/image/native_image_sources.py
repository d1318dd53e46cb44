"""Native kernels that resize images, with their integer parameters (kernels/host/images).

A resizing method is represented by two matrices of weights, for rows and for columns. Most of their
elements are zero, so the kernel's parameters contain only the nonzero weights and their columns.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.kernel import RowSource, Signature

Matrix = Callable[[int, int, Any], Any]
"""A function from (input size, output size, attrs) to the weights [output size, input size] along
one axis.
"""

Nearest = Callable[[int, int, Any], Any]
"""A function from (input size, output size, attrs) to the index of the input pixel for each output
pixel along one axis.
"""

PIXELS = (
    dtypes.float32, dtypes.float64, dtypes.float16, dtypes.uint8, dtypes.int8, dtypes.uint16,
    dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64,
)  # fmt: skip
"""The dtypes of pixels, by their numbers in host_pixels.h."""

_MAX_WEIGHTS = 1 << 20


def pixel_kind(dtype: DType) -> int:
    """Return the number by which the kernels identify a dtype of pixels. Raises NotImplementedError
    if they do not support it.
    """
    if dtype.base_dtype not in PIXELS:
        raise NotImplementedError(f"pixels are real numbers, not {dtype.base_dtype.name}")
    return PIXELS.index(dtype.base_dtype)


def _table(matrix: Any) -> list[int]:
    """Return a matrix as a list of integers that a kernel reads.

    The list has the number of nonzero weights, the index at which each row's weights start, the
    weights' columns, and the bits of the weights as float64.
    """
    rows, columns = np.nonzero(matrix)
    if len(rows) > _MAX_WEIGHTS:
        raise NotImplementedError(f"{len(rows)} weights along one axis")
    starts = np.searchsorted(rows, np.arange(len(matrix) + 1))
    bits = np.asarray(matrix, np.float64)[rows, columns].view(np.int64)
    return [len(rows), *starts.tolist(), *columns.tolist(), *bits.tolist()]


def _kept(matrix: Any) -> int:
    """Return the maximum, over all rows, of the number of columns from the first to the last
    nonzero weight of the row.
    """
    used = matrix[matrix.any(axis=1)] != 0
    if not len(used):
        return 1
    spans = used.shape[1] - used[:, ::-1].argmax(axis=1) - used.argmax(axis=1)
    return int(spans.max())


class _Axis(NamedTuple):
    """The weights along one axis. They consist of the result of `_table`, the result of `_kept`,
    and the number of columns that have a nonzero weight.
    """

    table: Any
    kept: int
    used: int


@lru_cache(256)
def _axis(
    matrix: Matrix, size: int, new: int, aligns: bool, is_centered: bool, is_back: bool
) -> _Axis:
    """Return the weights that resize `size` pixels to `new` pixels, or the weights of the gradient.

    The results are cached by size, because even images of varying sizes have only a few different
    sizes along each axis.
    """
    attrs = {"align_corners": aligns, "half_pixel_centers": is_centered}
    weights = matrix(size, new, attrs)
    weights = weights.T if is_back else weights
    used = int(np.count_nonzero(weights.any(axis=0)))
    return _Axis(np.array(_table(weights), np.int64), _kept(weights), used)


def resized(matrix: Matrix, is_back: bool = False, has_original: bool = False) -> RowSource:
    """Return the native kernel that multiplies images by matrices of weights on both sides. The
    gradient multiplies by the transposed matrices.

    Args:
      has_original: whether the original images are the second input.
    """

    def parameters(signature: Signature) -> list[int]:
        source, target = signature.input_shapes[0], signature.output_shapes[0]
        small, large = (target, source) if is_back else (source, target)
        if min(*source, *target) <= 0 or signature.output_types[0] not in PIXELS[:2]:
            raise NotImplementedError("there are no images, or they are not float32 or float64")
        attrs = signature.attrs
        options = bool(attrs.get("align_corners")), bool(attrs.get("half_pixel_centers")), is_back
        rows, columns = (
            _axis(matrix, operator.index(size), operator.index(new), *options)
            for size, new in zip(small[1:3], large[1:3], strict=True)
        )
        first = int(rows.used <= target[1])
        kind = pixel_kind(signature.input_types[0])
        numbers = [source[0], *source[1:], *target[1:3], kind, first, rows.kept]
        return [*numbers, *rows.table.tolist(), *columns.table.tolist()]

    name = "gg_resize_back" if has_original else "gg_resize"
    return RowSource("host_resize.h", name, parameters, element=-1, is_exact=False)


def nearest_pixels(nearest: Nearest) -> RowSource:
    """Return the native kernel that copies the nearest pixels."""

    def parameters(signature: Signature) -> list[int]:
        source, target = signature.input_shapes[0], signature.output_shapes[0]
        if min(*source, *target) <= 0:
            raise NotImplementedError("there are no images")
        places = [
            nearest(size, new, signature.attrs).tolist()
            for size, new in zip(source[1:3], target[1:3], strict=True)
        ]
        item = signature.output_types[0].base_dtype.size
        sizes: Sequence[int] = (*source[:3], *target[1:3], source[3] * item, item)
        return [*sizes, *places[0], *places[1]]

    return RowSource("host_nearest.h", "gg_nearest", parameters, None)


def cropped(function: str, images: int, crops: int) -> RowSource:
    """Return the native kernel of crops or of their gradients (host_crops.h).

    Args:
      images: the index of the argument with the images. The arguments are the inputs, except for
        host inputs, followed by the outputs.
      crops: the index of the argument with the crops.
    """

    def parameters(signature: Signature) -> list[int]:
        inputs = 4 if function == "gg_box_back" else 3
        shapes = [*signature.input_shapes[:inputs], signature.output_shapes[0]]
        types = [*signature.input_types[:inputs], signature.output_types[0]]
        image, crop = shapes[images], shapes[crops]
        if min(*image, *crop) <= 0 or types[-1].base_dtype is not dtypes.float32:
            raise NotImplementedError("there are no images, or they are not float32")
        method = signature.attrs["method"]
        bilinear = int(method in (b"bilinear", "bilinear"))
        outside = np.float32(signature.attrs.get("extrapolation_value", 0.0)).view(np.int32)
        kind = pixel_kind(types[images])
        return [crop[0], *image, *crop[1:3], kind, bilinear, int(outside)]

    return RowSource("host_crops.h", function, parameters, element=-1, is_exact=False)


TO_HSV, TO_RGB, SATURATION, HUE = range(4)
"""The conversions of host_colors.h."""


def colored(conversion: int) -> RowSource:
    """Return the native kernel that converts or changes colours. The last axis has the channels of
    a colour.
    """

    def parameters(signature: Signature) -> list[int]:
        return [prod(signature.input_shapes[0][:-1]), conversion]

    return RowSource("host_colors.h", "gg_colors", parameters, is_exact=False)


def contrasted() -> RowSource:
    """Return the native kernel of AdjustContrastv2."""

    def parameters(signature: Signature) -> list[int]:
        *images, height, width, channels = signature.input_shapes[0]
        return [prod(images), height * width, channels]

    return RowSource("host_colors.h", "gg_contrast", parameters, is_exact=False)
