"""The structural similarity of images (SSIM, for one or several scales), and Sobel edges.

SSIM: Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to
structural similarity" (2004). Several scales: Wang, Simoncelli and Bovik (2003).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.tile_and_pad import pad, tile
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.image.color_adjustments import convert_image_dtype
from gpugraph.ops.nn.convolution.conv2d_functions import depthwise_conv2d
from gpugraph.ops.nn.pooling.pool_functions import avg_pool
from gpugraph.ops.reductions.reduction_functions import reduce_mean, reduce_prod

_ONE_BY_ONE = [1, 1, 1, 1]
_HALF = [1, 2, 2, 1]


def _bell(size: int, sigma: float) -> Any:
    """Return the weights [size, size, 1, 1] of a Gaussian filter, whose sum is 1."""
    squares = (np.arange(size) - (size - 1) / 2) ** 2
    weights = np.exp(-0.5 / sigma**2 * (squares[:, None] + squares))
    return (weights / weights.sum()).astype(np.float32)[:, :, None, None]


def _smoothing(channels: Any, size: int, sigma: float) -> Callable[[Any], Tensor]:
    """Return a function that averages images [..., h, w, channels] with a Gaussian filter, without
    padding.
    """
    kernel = tile(_bell(size, sigma), [1, 1, channels, 1])

    def smooth(images: Any) -> Tensor:
        sizes = raw_ops.Shape(images)
        flat = raw_ops.Reshape(images, concat([[-1], sizes[-3:]], 0))
        means = depthwise_conv2d(flat, kernel, _ONE_BY_ONE, "VALID")
        return raw_ops.Reshape(means, concat([sizes[:-3], raw_ops.Shape(means)[1:]], 0))

    return smooth


def _by_channel(
    one: Tensor, other: Tensor, largest: Any, size: int, sigma: float, k1: float, k2: float
) -> tuple[Any, Any]:
    """Return (SSIM, the product of contrast and structure) for each channel, [..., channels]."""
    smooth = _smoothing(raw_ops.Shape(one)[-1], size, sigma)
    c1, c2 = (raw_ops.Square(raw_ops.Mul(largest, np.float32(k))) for k in (k1, k2))
    mean, other_mean = smooth(one), smooth(other)
    product = mean * other_mean * 2.0
    squares = raw_ops.Square(mean) + raw_ops.Square(other_mean)
    luminance = (product + c1) / (squares + c1)
    both = smooth(one * other) * 2.0
    all_squares = smooth(raw_ops.Square(one) + raw_ops.Square(other))
    structure = (both - product + c2) / (all_squares - squares + c2)
    axes = [-3, -2]
    return reduce_mean(luminance * structure, axes), reduce_mean(structure, axes)


def _floats(img1: Any, img2: Any, max_val: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return both images and `max_val` as float32. Raises ValueError if the shapes are
    incompatible.
    """
    one, other = convert_to_tensor(img1, name="img1"), convert_to_tensor(img2, name="img2")
    for image in (one, other):
        if image.shape.rank is not None and image.shape.rank < 3:
            raise ValueError(f"Images need 3 dimensions at least, but the shape is {image.shape}")
    one.shape[-3:].assert_is_compatible_with(other.shape[-3:])
    largest = convert_image_dtype(cast(max_val, one.dtype.base_dtype), dtypes.float32)
    floats = [convert_image_dtype(image, dtypes.float32) for image in (one, other)]
    return floats[0], floats[1], largest


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Return the structural similarity of images [..., h, w, c], as float32 [...]. It is 1 for
    equal images.

    Raises ValueError if the shapes differ or the images are smaller than a window.

    Args:
      max_val: the largest value that a pixel may have.
      filter_size: the size of the window in pixels.
      filter_sigma: the standard deviation of the window's Gaussian weights, in pixels.
      k1, k2: small constants that keep divisors away from 0.
    """
    with op_scope(None, "SSIM", img1, img2):
        one, other, largest = _floats(img1, img2, max_val)
        whole, _ = _by_channel(one, other, largest, filter_size, filter_sigma, k1, k2)
        return reduce_mean(whole, [-1])


def _halve(images: Tensor) -> Tensor:
    """Halve the height and width of the images by averaging squares of 2 x 2 pixels.

    If a size is odd, the last row or column is repeated first.
    """
    sizes = raw_ops.Shape(images)
    flat = raw_ops.Reshape(images, concat([[-1], sizes[-3:]], 0))
    known = flat.shape.as_list()[1:3] if flat.shape.rank is not None else [None, None]
    if any(size is None or size % 2 for size in known):
        odd = raw_ops.FloorMod(sizes[-3:-1], np.array(2, np.int32))
        after = raw_ops.Pad(raw_ops.Reshape(odd, np.array([2, 1], np.int32)), _AROUND)
        flat = raw_ops.MirrorPad(flat, after, mode="SYMMETRIC")
    small = avg_pool(flat, _HALF, _HALF, "VALID")
    return raw_ops.Reshape(small, concat([sizes[:-3], raw_ops.Shape(small)[1:]], 0))


_AROUND = np.array([[1, 1], [1, 0]], np.int32)
"""A matrix that converts the paddings after rows and columns, [2, 1], to paddings for MirrorPad."""


def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Sequence[float] = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Return the multi-scale structural similarity of images [..., h, w, c], as float32 [...] in
    [0, 1].

    There is one scale for each power factor. The images of each scale have half the size of the
    images of the previous scale. The result is the product over all scales of a similarity, raised
    to the scale's power factor. The similarity is `ssim` for the last scale, and contrast times
    structure for all other scales.

    Raises ValueError if the shapes differ, or if the images of the last scale are smaller than a
    window.
    """
    with op_scope(None, "MS-SSIM", img1, img2):
        one, other, largest = _floats(img1, img2, max_val)
        parts, whole = [], one
        for level in range(len(power_factors)):
            if level:
                one, other = _halve(one), _halve(other)
            whole, structure = _by_channel(one, other, largest, filter_size, filter_sigma, k1, k2)
            parts.append(raw_ops.Relu(structure))
        factors = stack([*parts[:-1], raw_ops.Relu(whole)], axis=-1)
        powers = raw_ops.Pow(factors, np.array(power_factors, np.float32))
        return reduce_mean(reduce_prod(powers, [-1]), [-1])


# -- edges

_DOWN = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])


def sobel_edges(image: Any) -> Tensor:
    """Return the Sobel derivatives of images [b, h, w, c], with shape [b, h, w, c, 2]. The vertical
    derivative is first, the horizontal derivative second.

    Images are mirrored at their edges. Raises ValueError if the rank is not 4.
    """
    source = convert_to_tensor(image, name="image")
    if source.shape.rank != 4:
        raise ValueError(f"sobel_edges needs images [b, h, w, c], not of shape {source.shape}")
    sizes = shape(source)
    kernel = np.stack([_DOWN, _DOWN.T], axis=-1)[:, :, None]
    kernels = tile(
        convert_to_tensor(kernel.astype(source.dtype.as_numpy_dtype)),
        [1, 1, sizes[-1], 1],
        name="sobel_filters",
    )
    around = pad(source, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    changes = depthwise_conv2d(around, kernels, _ONE_BY_ONE, "VALID")
    edges: Tensor = raw_ops.Reshape(changes, concat([sizes, [2]], 0))
    edges.set_shape(source.shape.concatenate([2]))
    return edges
