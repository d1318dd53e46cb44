"""Projective transforms of images: rotation, translation, and general transforms given by eight
numbers.

A transform [a0, a1, a2, b0, b1, b2, c0, c1] sets the pixel (x, y) of the result to the pixel ((a0 x
+ a1 y + a2) / k, (b0 x + b1 y + b2) / k) of the image, with k = c0 x + c1 y + 1.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.images.image_sampling import between_pixels, pixels_at
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.constants_and_placeholders import ones, ones_like, zeros_like
from gpugraph.ops.arrays.masks_and_coordinates import meshgrid
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape
from gpugraph.ops.elementwise.comparison_and_select import equal, where
from gpugraph.ops.elementwise.unary_functions import abs as absolute, cos, floor, sign, sin
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.reductions.ranges_and_running_sums import range as numbers

_IMAGE_TYPES = {
    *(dtypes.uint8, dtypes.int32, dtypes.int64),
    *(dtypes.float16, dtypes.float32, dtypes.float64),
}


def transform(
    images: Any,
    transforms: Any,
    interpolation: str = "NEAREST",
    output_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Apply projective transforms to images. Pixels from outside of an image are 0.

    Args:
      images: [batch, height, width, channels], [height, width, channels] or [height, width].
      transforms: the eight numbers of one transform, as the module describes, or [batch, 8].
      interpolation: "NEAREST" or "BILINEAR".
      output_shape: height and width of the result, by default the size of the images.
      name: the name of the scope.

    Raises:
      TypeError: the dtype of the images is not supported, or their rank is unknown or not 2 to 4.
    """
    with name_scope(name, "transform"):
        value = convert_to_tensor(images, name="images")
        rows = convert_to_tensor(transforms, dtypes.float32, name="transforms")
        if value.dtype.base_dtype not in _IMAGE_TYPES:
            raise TypeError(f"Invalid dtype {value.dtype}.")
        batch = _as_batch(value)
        if rows.shape.ndims is None:
            raise TypeError("transforms rank must be statically known")
        if rows.shape.ndims not in (1, 2):
            raise TypeError(f"transforms should have rank 1 or 2, but got rank {rows.shape.ndims}")
        if rows.shape.ndims == 1:
            rows = expand_dims(rows, 0)
        size = shape(batch)[1:3] if output_shape is None else convert_to_tensor(output_shape)
        result = _transformed(batch, rows, interpolation, size)
        result = _with_static_size(result, batch, output_shape)
        return _with_rank(result, value)


def _as_batch(images: Tensor) -> Tensor:
    rank = images.shape.ndims
    if rank is None:
        raise TypeError("images rank must be statically known")
    if rank not in (2, 3, 4):
        raise TypeError(f"images should have rank between 2 and 4, but got rank {rank}")
    if rank == 2:
        return images[None, :, :, None]
    return expand_dims(images, 0) if rank == 3 else images


def _with_rank(result: Tensor, images: Tensor) -> Tensor:
    if images.shape.ndims == 2:
        return result[0, :, :, 0]
    return result[0] if images.shape.ndims == 3 else result


def _with_static_size(result: Tensor, batch: Tensor, output_shape: Any) -> Tensor:
    sizes = batch.shape.as_list()
    if output_shape is not None:
        known = isinstance(output_shape, (list, tuple))
        static = [item if isinstance(item, int) else None for item in output_shape] if known else []
        sizes[1:3] = static if len(static) == 2 else [None, None]
    result.set_shape(sizes)
    return result


def _transformed(batch: Tensor, rows: Tensor, interpolation: str, size: Tensor) -> Tensor:
    kinds = ("NEAREST", "BILINEAR")
    if interpolation.upper() not in kinds:
        raise ValueError(f"interpolation must be one of {kinds}, got {interpolation!r}")
    columns, lines = meshgrid(numbers(size[1]), numbers(size[0]))
    x, y = (cast(reshape(item, [1, -1]), dtypes.float32) for item in (columns, lines))
    a0, a1, a2, b0, b1, b2, c0, c1 = (rows[:, number, None] for number in range(8))
    divisor = c0 * x + c1 * y + 1.0
    none = equal(divisor, 0.0)
    divisor = where(none, ones_like(divisor), divisor)
    nowhere = -1e6 * ones_like(divisor)
    from_x = where(none, nowhere, (a0 * x + a1 * y + a2) / divisor)
    from_y = where(none, nowhere, (b0 * x + b1 * y + b2) / divisor)
    spread = ones([shape(batch)[0], 1])
    from_x, from_y = from_x * spread, from_y * spread
    if interpolation.upper() == "NEAREST":
        values_read = pixels_at(batch, _rounded(from_x), _rounded(from_y))
    else:
        exact = batch if batch.dtype.is_floating else cast(batch, dtypes.float32)
        values_read = cast(between_pixels(exact, from_x, from_y), batch.dtype)
    return reshape(values_read, concat([shape(batch)[:1], size, shape(batch)[3:]], 0))


def _rounded(x: Tensor) -> Tensor:
    """Round to whole numbers. Halves are rounded away from zero."""
    return sign(x) * floor(absolute(x) + 0.5)


def rotate(
    images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Rotate images by angles in radians, counterclockwise, around their centres.

    For the other arguments and the errors, see `transform`.

    Args:
      angles: one number for all images, or a vector [batch].
    """
    with name_scope(name, "rotate"):
        value = convert_to_tensor(images)
        if value.dtype.base_dtype not in _IMAGE_TYPES:
            raise TypeError(f"Invalid dtype {value.dtype}.")
        height, width = (cast(shape(_as_batch(value))[axis], dtypes.float32) for axis in (1, 2))
        flat = angles_to_projective_transforms(angles, height, width)
        return transform(value, flat, interpolation=interpolation)


def translate(
    images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Move images by [dx, dy]. `translations` has one such pair, or one for each image."""
    with name_scope(name, "translate"):
        flat = translations_to_projective_transforms(translations)
        return transform(images, flat, interpolation=interpolation)


def angles_to_projective_transforms(
    angles: Any, image_height: Any, image_width: Any, name: str | None = None
) -> Tensor:
    """Return the transforms [batch, 8] that rotate images by angles in radians around their
    centre.
    """
    with name_scope(name, "angles_to_projective_transforms"):
        angle = convert_to_tensor(angles, dtypes.float32)
        if angle.shape.ndims not in (0, 1):
            raise TypeError("Angles should have a rank 0 or 1.")
        angle = reshape(angle, [-1])
        width, height = (cast(item, dtypes.float32) - 1.0 for item in (image_width, image_height))
        x = (width - (cos(angle) * width - sin(angle) * height)) / 2.0
        y = (height - (sin(angle) * width + cos(angle) * height)) / 2.0
        none = zeros_like(angle)
        parts = [cos(angle), -sin(angle), x, sin(angle), cos(angle), y, none, none]
        return stack(parts, axis=1)


def translations_to_projective_transforms(translations: Any, name: str | None = None) -> Tensor:
    """Return the transforms [batch, 8] of translations, which are [dx, dy] or [batch, 2]."""
    with name_scope(name, "translations_to_projective_transforms"):
        moves = convert_to_tensor(translations, dtypes.float32)
        if moves.shape.ndims is None:
            raise TypeError("translation_or_translations rank must be statically known")
        if moves.shape.ndims not in (1, 2):
            raise TypeError("Translations should have rank 1 or 2.")
        moves = reshape(moves, [-1, 2])
        one, none = ones_like(moves[:, 0]), zeros_like(moves[:, 0])
        parts = [one, none, -moves[:, 0], none, one, -moves[:, 1], none, none]
        return stack(parts, axis=1)


def flat_transforms_to_matrices(transforms: Any) -> Tensor:
    """Return transforms [batch, 8] as matrices [batch, 3, 3]. The last element of each matrix
    is 1.
    """
    flat = reshape(convert_to_tensor(transforms, dtypes.float32), [-1, 8])
    return reshape(concat([flat, ones_like(flat[:, :1])], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: Any) -> Tensor:
    """Return matrices [batch, 3, 3] as transforms [batch, 8]. Each matrix is divided by its last
    element.
    """
    flat = reshape(convert_to_tensor(transform_matrices, dtypes.float32), [-1, 9])
    return (flat / flat[:, 8:9])[:, :8]


def compose_transforms(*transforms: Any) -> Tensor:
    """Return one transform that is equivalent to all `transforms`, applied one after the other in
    this order.
    """
    if not transforms:
        raise ValueError("transforms cannot be empty")
    with name_scope("compose_transforms"):
        product = flat_transforms_to_matrices(transforms[0])
        for item in transforms[1:]:
            product = matmul(product, flat_transforms_to_matrices(item))
        return matrices_to_flat_transforms(product)
