"""Functions that rotate, flip, crop, pad and resize images, composed of other ops.

The argument `image` is one image [height, width, channels], or several [batch, height, ...].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.reshape_and_transpose import transpose
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope, size_at
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.image import resize_ops
from gpugraph.ops.random.random_ops import random_uniform


def as_images(image: Any, name: str = "image") -> tuple[Tensor, int]:
    """Return `image` as a tensor, and the index of its height axis: 0 for one image, and 1 for
    several images.

    A tensor of unknown rank, such as the result of `decode_image`, is treated as one image. Raises
    ValueError for ranks other than 3 and 4.
    """
    source = convert_to_tensor(image, name=name)
    if source.shape.rank is None:
        source = raw_ops.Identity(source)
        source.set_shape([None] * 3)
    rank = source.shape.rank
    if rank not in (3, 4):
        raise ValueError(f"'{name}' (shape {source.shape}) must have either 3 or 4 dimensions.")
    return source, rank - 3


def _number(value: Any) -> Any:
    """Return a size as an int if it is known, otherwise as a tensor."""
    if isinstance(value, Tensor):
        constant = constant_value(value)
        return value if constant is None else int(constant)
    return whole_number("A size", value)


def _sizes(source: Tensor, height_axis: int) -> tuple[Any, Any]:
    return _number(size_at(source, height_axis)), _number(size_at(source, height_axis + 1))


_SIDES = ("height", "width")


def _known(*sizes: Any) -> bool:
    return not any(isinstance(size, Tensor) for size in sizes)


# -- flips and rotations


def _reverse(source: Tensor, *axes: int) -> Any:
    return raw_ops.ReverseV2(source, np.array(axes, np.int32))


def flip_left_right(image: Any) -> Tensor:
    """Mirror one or several images left to right. Raises ValueError if the rank is neither 3 nor 4.

    >>> session.run(tf.image.flip_left_right(tf.reshape([1, 2], [1, 2, 1]))).ravel()
    array([2, 1], dtype=int32)
    """
    with op_scope(None, "flip_left_right", image):
        source, height = as_images(image)
        return _reverse(source, height + 1)


def flip_up_down(image: Any) -> Tensor:
    """Mirror one or several images upside down. Raises ValueError if the rank is neither 3 nor
    4.
    """
    with op_scope(None, "flip_up_down", image):
        return _reverse(*as_images(image))


def _random_flip(image: Any, axis: int, seed: Any, name: str) -> Tensor:
    with op_scope(None, name, image):
        source, height = as_images(image)
        flipped = _reverse(source, height + axis)
        if height == 0:
            chance = random_uniform([], 0, 1.0, seed=seed)
            return raw_ops.Select(raw_ops.Less(chance, 0.5), flipped, source)
        count = raw_ops.Pack([size_at(source, 0)])
        chance = raw_ops.Round(random_uniform(count, 0, 1.0, seed=seed))
        return raw_ops.Select(raw_ops.Greater(chance, 0.5), flipped, source)


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Mirror one or several images left to right, each independently with probability 1/2."""
    return _random_flip(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Mirror one or several images upside down, each independently with probability 1/2."""
    return _random_flip(image, 0, seed, "random_flip_up_down")


def _transpose(source: Tensor, height: int) -> Tensor:
    return transpose(source, [*range(height), height + 1, height, height + 2])


def transpose_image(image: Any, name: str | None = None) -> Tensor:
    """Exchange the height and width of one or several images. Raises ValueError if the rank is
    neither 3 nor 4.
    """
    with op_scope(name, "transpose", image):
        return _transpose(*as_images(image))


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Rotate one or several images counter-clockwise by `k` quarter turns. `k` is an int or a
    scalar tensor.
    """
    with op_scope(name, "rot90", image):
        source, height = as_images(image)
        quarters = _number(k)
        if not _known(quarters):
            return _rotated(source, height, quarters)
        if quarters % 4 == 1:
            return _transpose(_reverse(source, height + 1), height)
        if quarters % 4 == 2:
            return _reverse(source, height, height + 1)
        if quarters % 4 == 3:
            return _reverse(_transpose(source, height), height + 1)
        return source


def _rotated(source: Tensor, height: int, k: Tensor) -> Tensor:
    """Rotate images by a number of quarter turns that is known only in a run."""
    quarters = raw_ops.FloorMod(raw_ops.Cast(k, DstT=dtypes.int32), 4)
    is_odd = raw_ops.Equal(raw_ops.FloorMod(quarters, 2), 1)
    axes = [*range(height), height + 1, height, height + 2]
    order = raw_ops.Select(is_odd, np.array(axes, np.int32), np.array(sorted(axes), np.int32))
    result = raw_ops.Transpose(source, order)
    for axis, turns in ((height, (1, 2)), (height + 1, (2, 3))):
        chosen = raw_ops.LogicalOr(*(raw_ops.Equal(quarters, turn) for turn in turns))
        result = raw_ops.Select(chosen, _reverse(result, axis), result)
    old = _sizes(source, height)
    is_square = _known(*old) and old[0] == old[1]
    shape = source.shape.as_list()
    shape[height : height + 2] = old if is_square else [None, None]
    result.set_shape(shape)
    return result


# -- crops and paddings


def _pixels(what: str, value: Any) -> Any:
    """Return a size in pixels as an int, or as a tensor if it is not known."""
    return value if isinstance(value, Tensor) else whole_number(what, value)


def _check_offset(offset: Any, what: str) -> None:
    if _known(offset) and offset < 0:
        raise ValueError(f"offset_{what} must be >= 0.")


def _with_sizes(result: Any, source: Tensor, height: int, sizes: list[Any]) -> Tensor:
    """Set the static shape of `result` to the shape of `source`, with the known height and width
    from `sizes`.
    """
    shape = source.shape.as_list()
    shape[height : height + 2] = [size if _known(size) else None for size in sizes]
    result.set_shape(shape)
    return result


def _slice(source: Tensor, height: int, begin: list[Any], sizes: list[Any]) -> Tensor:
    starts, ends = [0] * height + begin + [0], [-1] * height + sizes + [-1]
    if _known(*begin, *sizes):
        return raw_ops.Slice(source, np.array(starts, np.int32), np.array(ends, np.int32))
    box = raw_ops.Slice(source, raw_ops.Pack(starts), raw_ops.Pack(ends))
    return _with_sizes(box, source, height, sizes)


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Crop one or several images to a box, which begins at the offsets and has the target size.

    Raises ValueError if the box is not inside the image. If the sizes are known only in a run, the
    run raises InvalidArgumentError instead.
    """
    with op_scope(None, "crop_to_bounding_box", image):
        source, height = as_images(image)
        offsets = [_pixels("offset", offset) for offset in (offset_height, offset_width)]
        targets = [_pixels("target", target) for target in (target_height, target_width)]
        for what, offset, target, size in zip(_SIDES, offsets, targets, _sizes(source, height)):
            _check_offset(offset, what)
            if _known(target) and target <= 0:
                raise ValueError(f"target_{what} must be > 0.")
            if _known(offset, target, size) and size < target + offset:
                raise ValueError(f"{what} must be >= target + offset.")
        return _slice(source, height, offsets, targets)


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Pad one or several images with zeros to the target size.

    The offsets are the numbers of zero rows above the image and of zero columns to its left. Raises
    ValueError if the target is too small. If the sizes are known only in a run, the run raises
    InvalidArgumentError instead.
    """
    with op_scope(None, "pad_to_bounding_box", image):
        source, height = as_images(image)
        pairs: list[Any] = []
        offsets = [_pixels("offset", offset) for offset in (offset_height, offset_width)]
        targets = [_pixels("target", target) for target in (target_height, target_width)]
        for what, offset, target, size in zip(_SIDES, offsets, targets, _sizes(source, height)):
            after = target - offset - size
            _check_offset(offset, what)
            if _known(after) and after < 0:
                raise ValueError(f"{what} must be <= target - offset.")
            pairs += [offset, after]
        flat = [0, 0] * height + pairs + [0, 0]
        if _known(*flat):
            paddings: Any = np.array(flat, np.int32).reshape(-1, 2)
        else:
            paddings = raw_ops.Reshape(raw_ops.Pack(flat), np.array([-1, 2], np.int32))
        return _with_sizes(raw_ops.Pad(source, paddings), source, height, targets)


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """Crop one or several images to a box at the center. The box has `central_fraction` of the
    height and of the width.

    Raises ValueError if the fraction is outside (0, 1].
    """
    if not 0.0 < central_fraction <= 1.0:
        raise ValueError("central_fraction must be within (0, 1]")
    with op_scope(None, "central_crop", image):
        source, height = as_images(image)
        if central_fraction == 1.0:
            return source
        begin, sizes = list[Any](), list[Any]()
        for size in _sizes(source, height):
            if _known(size):
                start: Any = int((size - size * central_fraction) / 2)
            else:
                whole = raw_ops.Cast(size, DstT=dtypes.float64)
                start = raw_ops.Cast((whole - whole * central_fraction) / 2.0, DstT=dtypes.int32)
            begin.append(start)
            sizes.append(size - start * 2)
        return _slice(source, height, begin, sizes)


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Crop one or several images centrally, or pad them with zeros, to the target size.

    Raises ValueError if a target size is not positive.
    """
    with op_scope(None, "resize_image_with_crop_or_pad", image):
        source, height = as_images(image)
        crops, pads, middle = [], [], []
        targets = [_number(target_height), _number(target_width)]
        for target, size in zip(targets, _sizes(source, height)):
            if _known(target) and target <= 0:
                raise ValueError("target sizes must be > 0.")
            known = _known(target, size)
            larger, smaller = (max, min) if known else (raw_ops.Maximum, raw_ops.Minimum)
            crops.append(larger((size - target) // 2, 0))
            pads.append(larger((target - size) // 2, 0))
            middle.append(smaller(target, size))
        cropped = crop_to_bounding_box(source, *crops, *middle)
        return pad_to_bounding_box(cropped, *pads, *targets)


# -- another size


class ResizeMethod:
    """The ints that select the interpolation method of `resize_images`."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = {
    ResizeMethod.BILINEAR: resize_ops.resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_ops.resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_ops.resize_bicubic,
    ResizeMethod.AREA: resize_ops.resize_area,
}


def resize_images(
    images: Any,
    size: Any,
    method: int = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize one or several images to `size`, [height, width], with a method of `ResizeMethod`.

    The result is float32. However, the dtype is kept if the method is nearest neighbour, or if the
    images already have the requested size.

    Raises ValueError if the rank is neither 3 nor 4, or if the size or the method is invalid.

    Args:
      preserve_aspect_ratio: whether to resize to the largest size within `size` that has the
        image's aspect ratio.
    """
    with op_scope(name, "resize", images, size):
        source, height = as_images(images, "images")
        wanted = convert_to_tensor(size, dtypes.int32, name="size")
        if not wanted.shape.is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        value = constant_value(wanted)
        old = _sizes(source, height)
        if preserve_aspect_ratio:
            if value is None or not _known(*old):
                wanted, value = _fitting_in_a_run(old, wanted), None
            else:
                value = _fitting(old, value)
                wanted = convert_to_tensor(value, name="size")
        if value is not None and _known(*old) and tuple(value.tolist()) == old:
            return source
        if method not in _METHODS:
            raise ValueError("Resize method is not implemented.")
        batch = source if height else raw_ops.ExpandDims(source, np.array(0, np.int32))
        resized = _METHODS[method](batch, wanted, align_corners=align_corners)
        return resized if height else raw_ops.Squeeze(resized, squeeze_dims=[0])


def _fitting(old: tuple[Any, Any], size: Any) -> Any:
    """Return the largest [height, width] within `size` that has the aspect ratio of `old`."""
    before = np.array(old, np.float32)
    return np.rint((np.float32(size) / before).min() * before).astype(np.int32)


def _fitting_in_a_run(old: tuple[Any, Any], size: Tensor) -> Any:
    """Return the same as `_fitting`, as a tensor for sizes that are unknown before the run."""
    before = raw_ops.Cast(raw_ops.Pack(old), DstT=dtypes.float32)
    scale = raw_ops.Min(raw_ops.Cast(size, DstT=dtypes.float32) / before, np.array(0, np.int32))
    return raw_ops.Cast(raw_ops.Round(scale * before), DstT=dtypes.int32)


def resize_image_with_pad(
    image: Any,
    target_height: int,
    target_width: int,
    method: int = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Resize one or several images to the largest size that fits into the target size, and pad with
    zeros.

    The aspect ratio is kept. Raises ValueError if a target size is not positive.
    """
    with op_scope(None, "resize_image_with_pad", image):
        source, height = as_images(image)
        old = _sizes(source, height)
        targets = _number(target_height), _number(target_width)
        if any(_known(target) and target <= 0 for target in targets):
            raise ValueError("target sizes must be > 0.")
        if not _known(*old, *targets):
            return _padded_in_a_run(source, old, targets, method, align_corners)
        ratio = max(size / target for size, target in zip(old, targets))
        exact = [size / ratio for size in old]
        offsets = [max(0, int((t - e) // 2)) for t, e in zip(targets, exact)]
        resized = resize_images(source, [int(e) for e in exact], method, align_corners)
        return pad_to_bounding_box(resized, offsets[0], offsets[1], *targets)


def _padded_in_a_run(
    source: Tensor, old: tuple[Any, Any], targets: tuple[Any, Any], method: int, corners: bool
) -> Tensor:
    """Resize and pad images in the same way as `resize_image_with_pad`, with ops that compute the
    new sizes in a run. This is necessary if a size is unknown before the run.
    """

    def cast(size: Any, dtype: dtypes.DType) -> Any:
        return raw_ops.Cast(size, DstT=dtype)

    sizes = [cast(size, dtypes.float64) for size in old]
    wanted = [cast(target, dtypes.float64) for target in targets]
    ratio = raw_ops.Maximum(*(size / target for size, target in zip(sizes, wanted)))
    exact = [size / ratio for size in sizes]
    new = raw_ops.Pack([cast(raw_ops.Floor(e), dtypes.int32) for e in exact])
    rests = [raw_ops.Floor((t - e) / 2.0) for t, e in zip(wanted, exact)]
    offsets = [cast(raw_ops.Maximum(rest, np.float64(0)), dtypes.int32) for rest in rests]
    resized = resize_images(source, new, method, corners)
    return pad_to_bounding_box(resized, offsets[0], offsets[1], *targets)
