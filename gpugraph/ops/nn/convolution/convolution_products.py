"""Convolutions whose window is a single pixel, with stride 1, as matrix products.

    convolution                (places, channels) @ (channels, outputs)
    gradient of the images     (places, outputs) @ (outputs, channels)
    gradient of the filter     (channels, places) @ (places, outputs)

A place is one position of the window. With channels first, the first two of these are batches of
products, one for each image: (outputs, channels) @ (channels, pixels). The gradient with respect to
the filter would then be a sum over the batch, and a bias would be added to rows. These two cases
are therefore not computed as matrix products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.kernel import Epilogue, MatmulWithEpilogue, MatrixProducts, Signature, WindowSums
from gpugraph.ops.nn.windows.window_geometry import Layout
from gpugraph.ops.nn.windows.window_launches import Shape, geometry_of

ShapesOf = Callable[[Signature], Sequence[Shape]]
"""A function that returns the shapes of images, filter and results of an op."""

Triple = tuple[Any, Any, Any]
Matrices = Callable[[bool, Any, Any, Any], Triple | None]
"""A function of whether channels are last, and of the op's arrays: two inputs and the output.
It returns views (a, b, out) with out = a @ b, or None if the op is no product."""

_RELU = 1
"""The number of Relu in `ACTIVATIONS`."""


def _rows(array: Any) -> Any:
    """Return images with channels last as a matrix, with a row for each pixel."""
    return array.reshape(-1, array.shape[-1])


def _planes(array: Any) -> Any:
    """Return images with channels first as matrices, with a row for each channel."""
    return array.reshape(*array.shape[:2], -1)


def _matrix(filter: Any) -> Any:
    return filter.reshape(filter.shape[-2:])


def _repeated(matrix: Any, images: Any) -> Any:
    """Return a view that repeats the matrix for each of the images."""
    return np.broadcast_to(matrix, (len(images), *matrix.shape))


def forward_matrices(is_last: bool, images: Any, filter: Any, out: Any) -> Triple | None:
    """Return the factors and the result of a convolution's product."""
    if is_last:
        return _rows(images), _matrix(filter), _rows(out)
    return _repeated(_matrix(filter).T, images), _planes(images), _planes(out)


def input_gradient_matrices(is_last: bool, filter: Any, slopes: Any, out: Any) -> Triple | None:
    """Return the factors and the result of the product for the gradient with respect to the
    images.
    """
    if is_last:
        return _rows(slopes), _matrix(filter).T, _rows(out)
    return _repeated(_matrix(filter), slopes), _planes(slopes), _planes(out)


def filter_gradient_matrices(is_last: bool, images: Any, slopes: Any, out: Any) -> Triple | None:
    """Return the factors and the result of the product for the gradient with respect to the filter,
    or None if it is a sum of several products.
    """
    if is_last:
        return _rows(images).T, _rows(slopes), _matrix(out)
    if len(images) == 1:
        return _planes(images)[0], _planes(slopes)[0].T, _matrix(out)
    return None


def _is_by_pixels(layout: Layout, shapes: Sequence[Shape], signature: Signature) -> bool:
    """Return whether windows are single pixels, without strides or padding."""
    images, filter, _ = shapes
    work = geometry_of(layout, signature, images, filter)
    return all(
        axis.window == axis.stride == 1 and axis.size == axis.out and not axis.before
        for axis in work.axes
    )


def _views(matrices: Matrices, is_last: bool, signature: Signature, *arrays: Any) -> list[Triple]:
    triple = matrices(is_last, arrays[0], arrays[1], arrays[-1])
    assert triple is not None
    return [triple]


def _epilogue(relu: bool, has_bias: bool, signature: Signature, *arrays: Any) -> Epilogue:
    return Epilogue(bias=arrays[2] if has_bias else None, relu=relu)


def product_of(
    layout: Layout,
    shapes_of: ShapesOf,
    matrices: Matrices,
    activation: Callable[[Signature], int] | None,
    signature: Signature,
) -> MatmulWithEpilogue | None:
    """Return an op as a matrix product, or None if it cannot be computed as a matrix product.

    Args:
      activation: see `convolution_gpu`. If it is not None, the product has an epilogue with a bias,
        which Relu may follow.
    """
    shapes, is_last = shapes_of(signature), layout.channels_last(signature.attrs)
    number = 0 if activation is None else activation(signature)
    if number > _RELU or (activation is not None and not is_last):
        return None
    if not _is_by_pixels(layout, shapes, signature):
        return None
    if matrices is filter_gradient_matrices and not is_last and shapes[0][0] > 1:
        return None
    return MatmulWithEpilogue(
        MatrixProducts(partial(_views, matrices, is_last)),
        partial(_epilogue, number == _RELU, activation is not None),
    )


def window_sums(
    name: str,
    layout: Layout,
    shapes_of: ShapesOf,
    activation: Callable[[Signature], int] | None,
    signature: Signature,
) -> WindowSums | None:
    """Return the `WindowSums` that describes an op for convolution libraries, or None if the
    libraries do not have the op's activation.

    Args:
      name: the kind of `WindowSums`.
    """
    number = 0 if activation is None else activation(signature)
    if number > _RELU:
        return None
    images, filter, _ = shapes_of(signature)
    work = geometry_of(layout, signature, images, filter)
    axes = work.axes if work.volume else work.axes[1:]
    after = (
        (axis.out - 1) * axis.stride + (axis.window - 1) * axis.dilation + 1 - axis.size
        for axis in axes
    )
    return WindowSums(
        name,
        work.last,
        tuple(axis.stride for axis in axes),
        tuple(axis.dilation for axis in axes),
        tuple(axis.before for axis in axes),
        tuple(max(0, needed - axis.before) for needed, axis in zip(after, axes)),
        activation is not None,
        number == _RELU,
    )
