"""Polyharmonic splines through scattered points, and warps of images that move points.

Source: Duchon, Splines Minimizing Rotation-Invariant Semi-norms in Sobolev Spaces (1977).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.images.image_sampling import dense_image_warp
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones_like, zeros
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape
from gpugraph.ops.arrays.tile_and_pad import tile
from gpugraph.ops.elementwise.arithmetic_functions import maximum
from gpugraph.ops.elementwise.unary_functions import log, sqrt, square
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul, matrix_transpose
from gpugraph.ops.linalg.solve_and_cholesky import matrix_solve
from gpugraph.ops.reductions.reduction_functions import reduce_sum

_TINY = 1e-10
"""The smallest squared distance, which keeps logarithms and gradients of roots finite."""


def interpolate_spline(
    train_points: Any,
    train_values: Any,
    query_points: Any,
    order: int,
    regularization_weight: float = 0.0,
    name: str = "interpolate_spline",
) -> Tensor:
    """Return the values at `query_points` of a polyharmonic spline through given points.

    The spline is the sum of a linear function and of weighted functions of the distances to the
    given points. A run raises InvalidArgumentError if the points do not determine the spline.

    Args:
      train_points: the given points [batch, n, d].
      train_values: the values at these points [batch, n, k].
      query_points: the points at which to compute the spline [batch, m, d].
      order: the power of the distances in the spline, at least 1. With 2, it is a thin-plate
        spline.
      regularization_weight: the weight of smoothness. With 0, the spline passes through the values.

    Returns:
      The values [batch, m, k].
    """
    with name_scope(name):
        points = convert_to_tensor(train_points)
        values = convert_to_tensor(train_values, points.dtype)
        queries = convert_to_tensor(query_points, points.dtype)
        _, count, axes = points.shape.as_list()
        width = values.shape.as_list()[-1]
        if count is None or axes is None or width is None:
            raise ValueError(f"The points must have known sizes, but the shape is {points.shape}")
        kernel = _radial(_distances(points, points), order)
        kernel += regularization_weight * np.eye(count, dtype=points.dtype.as_numpy_dtype)
        linear = concat([points, ones_like(points[..., :1])], 2)
        batch = shape(points)[0]
        corner = tile(
            _TINY * np.eye(axes + 1, dtype=points.dtype.as_numpy_dtype)[None], [batch, 1, 1]
        )
        left = concat(
            [concat([kernel, linear], 2), concat([matrix_transpose(linear), corner], 2)], 1
        )
        right = concat([values, zeros([batch, axes + 1, width], values.dtype)], 1)
        weights = matrix_solve(left, right)
        terms = matmul(_radial(_distances(queries, points), order), weights[:, :count])
        ahead = concat([queries, ones_like(queries[..., :1])], 2)
        return terms + matmul(ahead, weights[:, count:])


def _distances(first: Tensor, second: Tensor) -> Any:
    """Return the squared distance between each point of `first` [batch, n, d] and each point of
    `second` [batch, m, d], as [batch, n, m].
    """
    return reduce_sum(square(expand_dims(first, 2) - expand_dims(second, 1)), 3)


def _radial(squares: Any, order: int) -> Any:
    """Return the spline's radial function for squared distances: r ** order, multiplied by log(r)
    if `order` is even.
    """
    safe = maximum(squares, _TINY)
    if order % 2:
        return sqrt(safe) if order == 1 else safe ** (0.5 * order)
    return 0.5 * safe ** (0.5 * order) * log(safe)


def sparse_image_warp(
    image: Any,
    source_control_point_locations: Any,
    dest_control_point_locations: Any,
    interpolation_order: int = 2,
    regularization_weight: float = 0.0,
    num_boundary_points: int = 0,
    name: str = "sparse_image_warp",
) -> tuple[Tensor, Tensor]:
    """Warp images so that points move from their source to their destination.

    Raises ValueError if a size of the images is unknown.

    Args:
      image: images [batch, height, width, channels].
      source_control_point_locations: points (y, x) [batch, n, 2].
      dest_control_point_locations: the destinations of these points [batch, n, 2].
      interpolation_order: the order of the spline between the points.
      regularization_weight: the weight of the spline's smoothness.
      num_boundary_points: the number of intervals into which fixed points divide each edge of the
        image. With 0, the edges are not fixed.

    Returns:
      The warped images, and the flow [batch, height, width, 2].
    """
    with name_scope(name):
        images = convert_to_tensor(image)
        batch, height, width, _ = images.shape.as_list()
        if batch is None or height is None or width is None:
            raise ValueError(f"The images must have known sizes, but the shape is {images.shape}")
        start = convert_to_tensor(source_control_point_locations)
        end = convert_to_tensor(dest_control_point_locations)
        flows = end - start
        if num_boundary_points > 0:
            still = _boundary(height, width, num_boundary_points)
            fixed = np.tile(still[None], (batch, 1, 1)).astype(end.dtype.as_numpy_dtype)
            end, flows = concat([end, fixed], 1), concat([flows, np.zeros_like(fixed)], 1)
        grid = np.stack(list(np.mgrid[:height, :width]), -1).reshape(1, -1, 2)
        places = np.tile(grid, (batch, 1, 1)).astype(images.dtype.as_numpy_dtype)
        flow = interpolate_spline(end, flows, places, interpolation_order, regularization_weight)
        dense = reshape(flow, [batch, height, width, 2])
        return dense_image_warp(images, dense), dense


def _boundary(height: int, width: int, intervals: int) -> Any:
    """Return points (y, x) that divide each edge of an image into equal intervals."""
    y, x = (np.linspace(0, size - 1, intervals + 1) for size in (height, width))
    rows, columns = np.meshgrid(y, x, indexing="ij")
    on_edge = np.zeros(rows.shape, bool)
    on_edge[[0, -1]], on_edge[:, [0, -1]] = True, True
    return np.stack([rows[on_edge], columns[on_edge]], -1)
