"""Native kernels for convolution and pooling of volumes. Their stages are copies and calls of the
kernels for images.

A convolution of volumes is computed as a convolution of images. Each position of the windows along
the depth is one image, and the window's elements along the depth become additional channels. The
volumes are copied into this layout. Pooling first runs over height and width, and then over depth.
In the second step, all pixels and channels of a plane are treated as the channels of a single
pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from gpugraph.kernel import FunctionCall, NewArray, Signature, SourceStages, Stage, ViewCopy
from gpugraph.ops.nn.windows.window_geometry import VOLUMES, WindowAxis

_MOST_ELEMENTS = 1 << 27
"""The maximum number of elements of the copies of volumes."""


class _Volumes:
    """An object that builds the stages of an op. The stages use arrays whose channels are last."""

    def __init__(self, signature: Signature, new_array: NewArray, dtype: Any) -> None:
        self.attrs, self.new_array, self.dtype = signature.attrs, new_array, dtype
        self.stages: list[Stage] = []
        self.count = 0

    def new(self, *shape: int) -> Any:
        """Return a new array that one stage writes and a later stage reads."""
        if prod(shape) > _MOST_ELEMENTS:
            raise NotImplementedError(f"copies of volumes would have {prod(shape)} elements")
        self.count += 1
        return self.new_array(self.count - 1, shape, self.dtype)

    def last(self, volumes: Any) -> Any:
        """Return a view of volumes with channels last."""
        return volumes if VOLUMES.channels_last(self.attrs) else volumes.transpose(0, 2, 3, 4, 1)

    def read(self, volumes: Any) -> Any:
        """Return volumes as a C-ordered array with channels last."""
        view = self.last(volumes)
        if view is volumes:
            return volumes
        return self.copied(view)

    def copied(self, view: Any) -> Any:
        """Return a C-ordered copy of a view, which an additional stage makes."""
        target = self.new(*view.shape)
        self.copy(view, target)
        return target

    def copy(self, source: Any, target: Any) -> None:
        """Append a stage that copies `source` to `target`."""
        self.stages.append(ViewCopy(source, target))

    def call(self, function: str, parameters: Sequence[int], *arrays: Any) -> None:
        """Append a stage that calls a native function."""
        self.stages.append(FunctionCall(function, parameters, arrays))

    def target(self, out: Any) -> Any:
        """Return the C-ordered array with channels last in which the result is computed."""
        view = self.last(out)
        return out if view is out else self.new(*view.shape)

    def finish(self, result: Any, out: Any) -> list[Stage]:
        """Return all stages. If `result` is not `out`, the last stage copies it to `out`."""
        if result is not out:
            self.copy(result, self.last(out))
        return self.stages


def _axes(work: _Volumes, volumes: Any, window: Sequence[int] = ()) -> Sequence[WindowAxis]:
    return VOLUMES.axes(work.attrs, volumes.shape[1:4], *([tuple(window)] if window else []))


def _convolution_numbers(
    images: int,
    sizes: Sequence[int],
    filter: Any,
    results: Sequence[int],
    y: WindowAxis,
    x: WindowAxis,
) -> list[int]:
    """Return the parameters of a convolution of images (host_windows.h).

    Args:
      sizes: the height, the width and the number of channels of the images.
      filter: a filter for images.
      results: the height and width of the results.
    """
    window, outputs = filter.shape[:2], filter.shape[-1]
    numbers = [images, *sizes, *window, outputs, *results]
    return [*numbers, y.stride, x.stride, y.dilation, x.dilation, y.before, x.before]


def _deep(work: _Volumes, volumes: Any, z: WindowAxis) -> Any:
    """Return volumes in which the elements of each window along the depth are additional
    channels.
    """
    batch, _, height, width, channels = volumes.shape
    result = work.new(batch, z.out, height, width, z.window, channels)
    if z.reaches_out:
        work.copy(0, result)
    for element, windows, places in z.elements():
        work.copy(volumes[:, places], result[:, windows, :, :, element])
    return result


def _deep_filter(work: _Volumes, filter: Any) -> Any:
    """Return the filter for the images that `_deep` returns, given the filter for volumes."""
    height, width = filter.shape[1:3]
    copied = work.copied(filter.transpose(1, 2, 0, 3, 4))
    return copied.reshape(height, width, -1, filter.shape[4])


def _convolution(signature: Signature, arrays: Sequence[Any], new: NewArray) -> Sequence[Stage]:
    volumes, filter, out = arrays
    work = _Volumes(signature, new, out.dtype)
    source, target = work.last(volumes), work.target(out)
    z, y, x = _axes(work, source, filter.shape[:3])
    images, weights = _deep(work, source, z), _deep_filter(work, filter)
    sizes = (*source.shape[2:4], weights.shape[2])
    numbers = _convolution_numbers(source.shape[0] * z.out, sizes, weights, target.shape[2:4], y, x)
    work.call("gg_conv2d", [*numbers, 0], images, weights, target)
    return work.finish(target, out)


def _filter_gradient(signature: Signature, arrays: Sequence[Any], new: NewArray) -> Sequence[Stage]:
    volumes, dy, out = arrays
    work = _Volumes(signature, new, out.dtype)
    source, slope = work.last(volumes), work.read(dy)
    z, y, x = _axes(work, source, out.shape[:3])
    images = _deep(work, source, z)
    depth, height, width, channels, outputs = out.shape
    deep = work.new(height, width, depth, channels, outputs)
    weights = deep.reshape(height, width, depth * channels, outputs)
    sizes = (*source.shape[2:4], depth * channels)
    numbers = _convolution_numbers(source.shape[0] * z.out, sizes, weights, slope.shape[2:4], y, x)
    work.call("gg_conv2d_back_filter", numbers, images, slope, weights)
    work.copy(deep.transpose(2, 0, 1, 3, 4), out)
    return work.stages


def _input_gradient(signature: Signature, arrays: Sequence[Any], new: NewArray) -> Sequence[Stage]:
    filter, dy, out = arrays
    work = _Volumes(signature, new, out.dtype)
    slope, target = work.last(dy), work.target(out)
    z, y, x = _axes(work, target, filter.shape[:3])
    batch, depth = target.shape[:2]
    _, _, height, width, outputs = slope.shape
    deep = work.new(batch, depth, height, width, z.window, outputs)
    work.copy(0, deep)
    for element, windows, places in z.elements():
        work.copy(slope[:, windows], deep[:, places, :, :, element])
    weights = work.copied(filter.transpose(1, 2, 3, 0, 4))
    weights = weights.reshape(*weights.shape[:3], -1)
    numbers = _convolution_numbers(batch * depth, target.shape[2:], weights, (height, width), y, x)
    work.call("gg_conv2d_back_input", numbers, weights, deep, target)
    return work.finish(target, out)


def _pool_numbers(volumes: Any, axes: Sequence[WindowAxis], channels: int) -> list[list[int]]:
    """Return the parameters of pooling over height and width, and the parameters of pooling over
    depth.
    """
    (batch, depth), (z, y, x) = volumes.shape[:2], axes
    flat = [batch * depth, y.size, x.size, channels, y.window, x.window, y.out, x.out]
    deep = [batch, z.size, 1, y.out * x.out * channels, z.window, 1, z.out, 1]
    steps = [y.stride, x.stride, y.before, x.before, 1], [z.stride, 1, z.before, 0, 1]
    return [[*flat, *steps[0]], [*deep, *steps[1]]]


def _pooling(function: str) -> SourceStages:
    def stages(signature: Signature, arrays: Sequence[Any], new: NewArray) -> Sequence[Stage]:
        volumes, out = arrays
        work = _Volumes(signature, new, out.dtype)
        source, target = work.read(volumes), work.target(out)
        axes = _axes(work, source)
        flat, deep = _pool_numbers(source, axes, source.shape[4])
        between = work.new(*source.shape[:2], *target.shape[2:])
        work.call(function, flat, source, between)
        work.call(function, deep, between, target)
        return work.finish(target, out)

    return SourceStages("host_pooling.h", stages)


def _mean_gradient(signature: Signature, arrays: Sequence[Any], new: NewArray) -> Sequence[Stage]:
    dy, out = arrays
    work = _Volumes(signature, new, out.dtype)
    slope, target = work.read(dy), work.target(out)
    flat, deep = _pool_numbers(target, _axes(work, target), target.shape[4])
    between = work.new(*target.shape[:2], *slope.shape[2:])
    work.call("gg_mean_pool_back", deep, slope, between)
    work.call("gg_mean_pool_back", flat, between, target)
    return work.finish(target, out)


def _max_gradient(signature: Signature, arrays: Sequence[Any], new: NewArray) -> Sequence[Stage]:
    volumes, largest, dy, out = arrays
    work = _Volumes(signature, new, out.dtype)
    source, slope, target = work.read(volumes), work.read(dy), work.target(out)
    flat, deep = _pool_numbers(target, _axes(work, target), target.shape[4])
    between, between_slope = (work.new(*target.shape[:2], *slope.shape[2:]) for _ in range(2))
    work.call("gg_max_pool", flat, source, between)
    work.call("gg_max_pool_back", deep, between, largest, slope, between_slope)
    work.call("gg_max_pool_back", flat, source, between, between_slope, target)
    return work.finish(target, out)


CONVOLUTION = SourceStages("host_convolution.h", _convolution)
INPUT_GRADIENT = SourceStages("host_convolution.h", _input_gradient)
FILTER_GRADIENT = SourceStages("host_convolution.h", _filter_gradient)

VOLUME_POOLING = {
    "gg_max_pool": _pooling("gg_max_volume"),
    "gg_mean_pool": _pooling("gg_mean_pool"),
    "gg_mean_pool_back": SourceStages("host_pooling.h", _mean_gradient),
    "gg_max_pool_back": SourceStages("host_pooling.h", _max_gradient),
}
"""The kernels of pooling of volumes, by the functions that pool images."""
