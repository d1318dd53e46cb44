"""Values of images at positions between pixels, by bilinear interpolation."""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.constants_and_placeholders import ones_like
from gpugraph.ops.arrays.masks_and_coordinates import meshgrid
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape
from gpugraph.ops.elementwise.arithmetic_functions import maximum, minimum
from gpugraph.ops.elementwise.comparison_and_select import greater_equal, less_equal, logical_and
from gpugraph.ops.elementwise.unary_functions import floor
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.coordinate_gather_scatter import gather_nd
from gpugraph.ops.reductions.clip_by_norm import clip_by_value
from gpugraph.ops.reductions.ranges_and_running_sums import range as numbers


def pixels_at(images: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return the pixels of `images` [batch, height, width, channels] at integer positions.

    Positions outside of the image give 0.

    Args:
      x, y: the positions as whole floats [batch, positions].
    """
    sizes = shape(images)
    right, bottom = (cast(sizes[axis] - 1, x.dtype) for axis in (2, 1))
    inside = logical_and(
        logical_and(greater_equal(x, 0.0), less_equal(x, right)),
        logical_and(greater_equal(y, 0.0), less_equal(y, bottom)),
    )
    columns = cast(clip_by_value(x, 0.0, right), dtypes.int32)
    rows = cast(clip_by_value(y, 0.0, bottom), dtypes.int32)
    batch = expand_dims(numbers(sizes[0]), 1) * ones_like(rows)
    values_read = gather_nd(images, stack([batch, rows, columns], axis=-1))
    return values_read * expand_dims(cast(inside, images.dtype), -1)


def between_pixels(images: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Interpolate `images` at float positions x, y [batch, positions]. Pixels outside of the image
    have the value 0.
    """
    left, top = floor(x), floor(y)
    right_part, lower_part = (expand_dims(part, -1) for part in (x - left, y - top))
    right_part, lower_part = (cast(part, images.dtype) for part in (right_part, lower_part))
    upper = (1 - right_part) * pixels_at(images, left, top) + right_part * pixels_at(
        images, left + 1.0, top
    )
    lower = (1 - right_part) * pixels_at(images, left, top + 1.0) + right_part * pixels_at(
        images, left + 1.0, top + 1.0
    )
    return (1 - lower_part) * upper + lower_part * lower


def resampler(data: Any, warp: Any, name: str = "resampler") -> Tensor:
    """Return `data` [batch, height, width, channels] at the positions `warp` [batch, ..., 2].

    The last axis of `warp` contains x and y, in pixels. Values outside of the image are 0. The
    result has the shape [batch, ..., channels]. The op has gradients with respect to `data` and
    `warp`.
    """
    with name_scope(name):
        images, places = convert_to_tensor(data, name="data"), convert_to_tensor(warp, name="warp")
        if images.shape.ndims not in (4, None):
            raise ValueError(f"data must be 4-D, got shape {images.shape}")
        flat = reshape(places, concat([shape(places)[:1], [-1, 2]], 0))
        values_read = between_pixels(images, flat[..., 0], flat[..., 1])
        sizes = concat([shape(places)[:-1], shape(images)[3:]], 0)
        result = reshape(values_read, sizes)
        if places.shape.ndims is not None and images.shape.ndims is not None:
            result.set_shape(places.shape[:-1].concatenate(images.shape[3:]))
        return result


def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> Tensor:
    """Move each pixel of `image` [batch, height, width, channels] by a vector of `flow`.

    Pixel (i, j) of image b of the result is the value of the image at (i, j) - flow[b, i, j].
    Positions outside of the image give the values at its edge.

    Args:
      flow: floats [batch, height, width, 2], in rows and columns.
    """
    with name_scope(name):
        images, flow = convert_to_tensor(image), convert_to_tensor(flow)
        sizes = shape(images)
        columns, rows = meshgrid(numbers(sizes[2]), numbers(sizes[1]))
        places = cast(stack([rows, columns], axis=2), flow.dtype) - flow
        bottom, right = (cast(sizes[axis] - 1, flow.dtype) for axis in (1, 2))
        y = minimum(maximum(places[..., 0], 0.0), bottom)
        x = minimum(maximum(places[..., 1], 0.0), right)
        flat = [sizes[0], sizes[1] * sizes[2]]
        values_read = reshape(between_pixels(images, reshape(x, flat), reshape(y, flat)), sizes)
        values_read.set_shape(images.shape)
        return values_read
