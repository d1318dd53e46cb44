"""Conversions between RGB, HSV and grey, and changes of brightness, contrast, saturation and hue.

Floating-point images have values in [0, 1]. In integer images, the maximum of the dtype represents
1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import FLOATING, as_dtype
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.attr_values import real_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import Call, RowSource
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.public_function import ImagesFunction, public_function
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.image.native_image_sources import (
    HUE,
    SATURATION,
    TO_HSV,
    TO_RGB,
    colored,
    contrasted,
)
from gpugraph.ops.linalg.tensordot import tensordot
from gpugraph.ops.random.random_ops import random_uniform

# -- hue, saturation, value


def _infer_colors(context: InferContext) -> Sequence[TensorShape]:
    for other in context.shapes[1:]:
        of_rank(other, 0, "The factor")
    shape = context.shapes[0].with_rank_at_least(1)
    if shape.sizes is not None and shape.sizes[-1] not in (3, None):
        raise ValueError(
            f"The last dimension must be 3 colours, but the shape is {shape_text(shape)}"
        )
    return [shape if shape.sizes is None else TensorShape.of((*shape.sizes[:-1], 3))]


def _hsv(rgb: Any) -> tuple[Any, Any, Any]:
    """Convert RGB colours along the last axis to (hue, saturation, value)."""
    red, green, blue = (rgb[..., channel] for channel in range(3))
    value = rgb.max(axis=-1)
    span = value - rgb.min(axis=-1)
    saturation = np.divide(span, value, out=np.zeros_like(value), where=value > 0)
    safe = np.where(span > 0, span, 1)
    hue = np.where(
        red == value,
        (green - blue) / safe,
        np.where(green == value, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    hue = np.where(span > 0, hue / 6, 0)
    return np.where(hue < 0, hue + 1, hue), saturation, value


def _rgb(hue: Any, saturation: Any, value: Any) -> Any:
    """Convert hue, saturation and value to RGB colours along a new last axis."""
    sector = hue[..., None] * 6
    distance = np.abs(sector - np.array([3, 2, 4], hue.dtype))
    distance[..., 0] = 3 - distance[..., 0]
    tint = np.clip(2 - distance, 0, 1)
    return (1 - saturation[..., None] + saturation[..., None] * tint) * value[..., None]


def _to_hsv(rgb: Any, out: Any) -> None:
    for channel, part in enumerate(_hsv(rgb)):
        out[..., channel] = part


def _to_rgb(hsv: Any, out: Any) -> None:
    np.copyto(out, _rgb(hsv[..., 0], hsv[..., 1], hsv[..., 2]), casting="same_kind")


def _image_op(
    op_type: str,
    inputs: str,
    types: Any,
    infer: InferFunction,
    kernel: Any,
    native: RowSource,
    doc: str,
) -> OpFunction:
    call = Call(kernel)
    return op(
        op_type,
        inputs=inputs,
        outputs="output: T",
        attrs={"T": types},
        infer=infer,
        cpu=call,
        gpu=call,
        native=native,
        grad=NO_GRADIENT,
        doc=doc,
    )


def _conversion(
    op_type: str, name: str, kernel: Callable[[Any, Any], None], conversion: int, doc: str
) -> Any:
    doc, native = f"{doc} [..., 3]. No gradient.", colored(conversion)
    declared = _image_op(op_type, "images: T", FLOATING, _infer_colors, kernel, native, doc)
    return public_function(declared, name)


rgb_to_hsv: ImagesFunction = _conversion(
    "RGBToHSV",
    "rgb_to_hsv",
    _to_hsv,
    TO_HSV,
    "Hue, saturation and value, each in [0, 1], of floating colours",
)
hsv_to_rgb: ImagesFunction = _conversion(
    "HSVToRGB",
    "hsv_to_rgb",
    _to_rgb,
    TO_RGB,
    "Red, green and blue of floating hues, saturations and values",
)


# -- changes of all pixels


def _contrast(images: Any, factor: Any, out: Any) -> None:
    mean = images.mean(axis=(-3, -2), keepdims=True, dtype=np.float32)
    np.copyto(out, (images - mean) * factor + mean, casting="same_kind")


def _saturation(images: Any, scale: Any, out: Any) -> None:
    hue, saturation, value = _hsv(images)
    np.copyto(out, _rgb(hue, np.clip(saturation * scale, 0, 1), value), casting="same_kind")


def _hue(images: Any, delta: Any, out: Any) -> None:
    hue, saturation, value = _hsv(images)
    np.copyto(out, _rgb(np.mod(hue + delta, 1), saturation, value), casting="same_kind")


def _infer_contrast(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[1], 0, "contrast_factor")
    return [context.shapes[0].with_rank_at_least(3)]


_CHANGES: tuple[tuple[str, str, Any, Any, RowSource, str], ...] = (
    (
        "AdjustContrastv2",
        "contrast_factor",
        _infer_contrast,
        _contrast,
        contrasted(),
        "distance from the mean",
    ),
    ("AdjustSaturation", "scale", _infer_colors, _saturation, colored(SATURATION), "saturation"),
    ("AdjustHue", "delta", _infer_colors, _hue, colored(HUE), "hue, of which 1 is the circle,"),
)

for _name, _factor, _infer, _kernel, _native, _what in _CHANGES:
    _inputs, _types = f"images: T, {_factor}: float32", (dtypes.float32, dtypes.float16)
    _doc = f"Images whose {_what} is changed by {_factor}."
    _image_op(_name, _inputs, _types, _infer, _kernel, _native, _doc)


def _clip_and_cast(tensor: Tensor, dtype: Any, name: str | None = None) -> Tensor:
    """Clip the values of the tensor to the range of `dtype`, and cast the tensor to `dtype`."""
    source = tensor.dtype.base_dtype
    if source.min < dtype.min:
        tensor = raw_ops.Maximum(tensor, source.as_numpy_dtype(dtype.min))
    if source.max > dtype.max:
        highest = source.as_numpy_dtype(dtype.max)
        if int(highest) > dtype.max:  # the limit was rounded up; the next lower number fits
            highest = np.nextafter(highest, source.as_numpy_dtype(0))
        tensor = raw_ops.Minimum(tensor, highest)
    return cast(tensor, dtype, name=name)


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Convert `image` to another dtype, and scale its values from the range of the old dtype to the
    range of the new dtype.

    The range of a float dtype is [0, 1], and the range of an int dtype is [0, its maximum].

    Args:
      saturate: whether to clip values to the range of `dtype` before the cast.
    """
    source, target = convert_to_tensor(image, name="image"), as_dtype(dtype)
    old = source.dtype.base_dtype
    if target is old:
        return identity(source, name=name)
    with op_scope(name, "convert_image", source) as scope:
        convert = _clip_and_cast if saturate else cast
        if old.is_integer and target.is_integer:
            if old.max > target.max:
                step = (int(old.max) + 1) // (int(target.max) + 1)
                return convert(raw_ops.FloorDiv(source, step), target, scope)
            step = (int(target.max) + 1) // (int(old.max) + 1)
            return raw_ops.Mul(convert(source, target), step, name=scope)
        if old.is_integer:
            return raw_ops.Mul(cast(source, target), 1.0 / old.max, name=scope)
        if target.is_integer:
            return convert(raw_ops.Mul(source, target.max + 0.5), target, scope)
        return cast(source, target, name=scope)


def _adjust(
    default: str, image: Any, adjust: Callable[[Tensor], Any], name: str | None = None
) -> Tensor:
    """Convert the image to floats, apply `adjust`, and convert the result back to the image's
    dtype. Values are clipped to the dtype's range.
    """
    with op_scope(name, default, image):
        source = convert_to_tensor(image, name="image")
        old = source.dtype.base_dtype
        computed = old if old in (dtypes.float16, dtypes.float32) else dtypes.float32
        floats = source if computed is old else convert_image_dtype(source, computed)
        return convert_image_dtype(adjust(floats), old, saturate=True)


def _by(op_type: str, factor: Any) -> Callable[[Tensor], Any]:
    return lambda x: getattr(raw_ops, op_type)(x, cast(factor, dtypes.float32))


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Convert `image` to floats, add `delta` to all pixels, and convert the result back. In integer
    images, the maximum of the dtype represents 1.
    """
    return _adjust("adjust_brightness", image, lambda x: raw_ops.AddV2(x, _as(delta, x)))


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Multiply the distance of each pixel from its channel's mean by `contrast_factor`.

    Args:
      images: a tensor of shape [..., height, width, channels].
    """
    return _adjust("adjust_contrast", images, _by("AdjustContrastv2", contrast_factor))


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Multiply the saturation of the colours of `image` [..., 3] by a factor. The product is
    clipped to [0, 1].
    """
    return _adjust("adjust_saturation", image, _by("AdjustSaturation", saturation_factor), name)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Add `delta` to the hue of the colours of `image` [..., 3]. A delta of 1 is the full colour
    circle.
    """
    return _adjust("adjust_hue", image, _by("AdjustHue", delta), name)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """Return gain * image ** gamma. The result is computed on floats in [0, 1], and converted back
    to the image's dtype.

    Raises ValueError if gamma is negative.
    """
    if not isinstance(gamma, Tensor) and gamma < 0:
        raise ValueError("Gamma should be a non-negative real number.")
    return _adjust(
        "adjust_gamma", image, lambda x: raw_ops.Mul(raw_ops.Pow(x, _as(gamma, x)), _as(gain, x))
    )


def _as(value: Any, x: Tensor) -> Tensor:
    return cast(value, x.dtype.base_dtype)


# -- grey

_GREY = np.array([0.2989, 0.5870, 0.1140])


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """Return the luma 0.2989 R + 0.5870 G + 0.1140 B of RGB colours [..., 3], with shape [..., 1]
    and the same dtype.
    """
    with op_scope(name, "rgb_to_grayscale", images) as scope:
        source = convert_to_tensor(images, name="images")
        if source.shape.rank == 0:
            raise ValueError(f"images must have at least one dimension, but {source} has none")
        floats = convert_image_dtype(source, dtypes.float32)
        grey = tensordot(floats, _GREY.astype(np.float32), [[-1], [-1]])
        grey = raw_ops.ExpandDims(grey, np.array(-1, np.int32))
        return convert_image_dtype(grey, source.dtype.base_dtype, name=scope)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Repeat the grey value of each pixel three times, from [..., 1] to RGB [..., 3].

    Raises ValueError if the rank is unknown, or if there are several values for each pixel.
    """
    with op_scope(name, "grayscale_to_rgb", images) as scope:
        source = convert_to_tensor(images, name="images")
        rank = source.shape.rank
        if rank is None:
            raise ValueError("grayscale_to_rgb needs images of known rank")
        times = np.array([1] * (rank - 1) + [3], np.int32)
        colors: Tensor = raw_ops.Tile(source, times, name=scope)
        colors.set_shape([*source.shape.as_list()[:-1], 3])
        return colors


# -- random changes


def _uniform(low: Any, high: Any, seed: Any) -> Tensor:
    return random_uniform([], low, high, seed=seed)


def _check_range(lower: Any, upper: Any) -> None:
    lower, upper = real_number("lower", lower), real_number("upper", upper)
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Apply `adjust_brightness` with a random delta in [-max_delta, max_delta), drawn in each run.

    Raises ValueError if max_delta is negative.
    """
    if real_number("max_delta", max_delta) < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, _uniform(-max_delta, max_delta, seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Apply `adjust_contrast` with a random factor in [lower, upper), drawn in each run.

    Raises ValueError unless 0 <= lower < upper.
    """
    _check_range(lower, upper)
    return adjust_contrast(image, _uniform(lower, upper, seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Apply `adjust_saturation` with a random factor in [lower, upper), drawn in each run.

    Raises ValueError unless 0 <= lower < upper.
    """
    _check_range(lower, upper)
    return adjust_saturation(image, _uniform(lower, upper, seed))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Apply `adjust_hue` with a random delta in [-max_delta, max_delta), drawn in each run.

    Raises ValueError if max_delta is outside [0, 0.5].
    """
    if real_number("max_delta", max_delta) > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, _uniform(-max_delta, max_delta, seed))
