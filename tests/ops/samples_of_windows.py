"""Samples of the ops whose windows slide over images, with plain loops over windows as
references.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .sampling import add, case, i32

__all__ = ["WINDOWED"]

WINDOWED = [
    "Conv2D", "_FusedConv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter",
    "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
    "DepthwiseConv2dNativeBackpropFilter",
    "MaxPool", "MaxPoolGrad", "MaxPoolGradGrad", "AvgPool", "AvgPoolGrad",
]  # fmt: skip
"""The op types that have their samples here."""


def nhwc(array: np.ndarray, data_format: str) -> np.ndarray:
    return array if data_format == "NHWC" else array.transpose(0, 2, 3, 1)


def back(array: np.ndarray, data_format: str) -> np.ndarray:
    return array if data_format == "NHWC" else array.transpose(0, 3, 1, 2)


def sizes_back(sizes: Any, data_format: str) -> list[int]:
    """Return the sizes of images as (n, h, w, c)."""
    n, *others = map(int, sizes)
    return [n, *others] if data_format == "NHWC" else [n, *others[1:], others[0]]


class Sliding:
    """All windows over images of (height, width), one after the other."""

    def __init__(
        self,
        image: Any,
        window: Any,
        strides: Any,
        padding: str,
        data_format: str = "NHWC",
        dilations: Any = (1, 1, 1, 1),
        explicit_paddings: Any = (),
    ) -> None:
        first = 1 if data_format == "NHWC" else 2
        self.window = window
        self.stride = strides[first : first + 2]
        self.dilation = dilations[first : first + 2]
        self.size = image
        self.before, self.out = [], []
        for axis in (0, 1):
            reach = (window[axis] - 1) * self.dilation[axis] + 1
            size, stride = image[axis], self.stride[axis]
            before = after = 0
            if padding == "SAME":
                total = max((-(-size // stride) - 1) * stride + reach - size, 0)
                before, after = total // 2, total - total // 2
            elif padding == "EXPLICIT":
                before, after = explicit_paddings[2 * (first + axis) :][:2]
            self.before.append(before)
            self.out.append((size + before + after - reach) // stride + 1)

    def places(self) -> Iterator[tuple[tuple[int, int], list[tuple[Any, Any]]]]:
        """Yield (place of the window, [(element of the window, pixel inside the image)])."""
        for place in itertools.product(*map(range, self.out)):
            inside = []
            for element in itertools.product(*map(range, self.window)):
                pixel = tuple(
                    place[axis] * self.stride[axis]
                    + element[axis] * self.dilation[axis]
                    - self.before[axis]
                    for axis in (0, 1)
                )
                if all(0 <= pixel[axis] < self.size[axis] for axis in (0, 1)):
                    inside.append((element, pixel))
            yield place, inside


def convolved(x: Any, w: Any, data_format: str = "NHWC", **attrs: Any) -> Any:
    x = nhwc(x, data_format)
    sliding = Sliding(x.shape[1:3], w.shape[:2], data_format=data_format, **attrs)
    out = np.zeros((len(x), *sliding.out, w.shape[3]), x.dtype)
    for (r, c), inside in sliding.places():
        for element, (i, j) in inside:
            out[:, r, c] += x[:, i, j] @ w[element]
    return back(out, data_format)


def convolved_and_cut(
    x: Any,
    w: Any,
    biases: Any,
    fused_ops: Any,
    num_args: int,
    data_format: str = "NHWC",
    **attrs: Any,
) -> Any:
    assert num_args == 1
    out = nhwc(convolved(x, w, data_format, **attrs), data_format) + biases[0]
    least, most = {"BiasAdd": (-np.inf, np.inf), "Relu": (0, np.inf), "Relu6": (0, 6)}[
        fused_ops[-1]
    ]
    return back(np.clip(out, least, most), data_format)


def by_images(sizes: Any, w: Any, dy: Any, data_format: str = "NHWC", **attrs: Any) -> Any:
    dy = nhwc(dy, data_format)
    dx = np.zeros(sizes_back(sizes, data_format), dy.dtype)
    sliding = Sliding(dx.shape[1:3], w.shape[:2], data_format=data_format, **attrs)
    for (r, c), inside in sliding.places():
        for element, (i, j) in inside:
            dx[:, i, j] += dy[:, r, c] @ w[element].T
    return back(dx, data_format)


def by_filter(x: Any, sizes: Any, dy: Any, data_format: str = "NHWC", **attrs: Any) -> Any:
    x, dy = nhwc(x, data_format), nhwc(dy, data_format)
    dw = np.zeros([int(size) for size in sizes], x.dtype)
    sliding = Sliding(x.shape[1:3], dw.shape[:2], data_format=data_format, **attrs)
    for (r, c), inside in sliding.places():
        for element, (i, j) in inside:
            dw[element] += x[:, i, j].T @ dy[:, r, c]
    return dw


def full_filter(w: np.ndarray) -> np.ndarray:
    """Return the filter of a whole convolution that equals this one by channel."""
    height, width, channels, times = w.shape
    full = np.zeros((height, width, channels, channels, times), w.dtype)
    for channel in range(channels):
        full[:, :, channel, channel] = w[:, :, channel]
    return full.reshape(height, width, channels, channels * times)


def depthwise(x: Any, w: Any, **attrs: Any) -> Any:
    return convolved(x, full_filter(w), **attrs)


def depthwise_by_images(sizes: Any, w: Any, dy: Any, **attrs: Any) -> Any:
    return by_images(sizes, full_filter(w), dy, **attrs)


def depthwise_by_filter(x: Any, sizes: Any, dy: Any, **attrs: Any) -> Any:
    height, width, channels, times = map(int, sizes)
    full = by_filter(x, (height, width, channels, channels * times), dy, **attrs)
    split = full.reshape(height, width, channels, channels, times)
    return np.stack([split[:, :, channel, channel] for channel in range(channels)], axis=2)


# -- pooling


def _sliding(x: Any, ksize: Any, data_format: str, attrs: Any) -> Sliding:
    first = 1 if data_format == "NHWC" else 2
    return Sliding(x.shape[1:3], ksize[first : first + 2], data_format=data_format, **attrs)


def max_pooled(x: Any, ksize: Any, data_format: str = "NHWC", **attrs: Any) -> Any:
    x = nhwc(x, data_format)
    sliding = _sliding(x, ksize, data_format, attrs)
    out = np.zeros((len(x), *sliding.out, x.shape[3]), x.dtype)
    for (r, c), inside in sliding.places():
        out[:, r, c] = np.max([x[:, i, j] for _, (i, j) in inside], axis=0)
    return back(out, data_format)


def _largest(x: Any, ksize: Any, data_format: str, attrs: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (index into the windows' places, index of the pixel that is the largest there)."""
    for (r, c), inside in _sliding(x, ksize, data_format, attrs).places():
        for n, channel in itertools.product(range(len(x)), range(x.shape[3])):
            values = [x[n, i, j, channel] for _, (i, j) in inside]
            i, j = inside[int(np.argmax(values))][1]
            yield (n, r, c, channel), (n, i, j, channel)


def max_back(x: Any, _: Any, dy: Any, ksize: Any, data_format: str = "NHWC", **attrs: Any) -> Any:
    x, dy = nhwc(x, data_format), nhwc(dy, data_format)
    dx = np.zeros_like(x)
    for place, pixel in _largest(x, ksize, data_format, attrs):
        dx[pixel] += dy[place]
    return back(dx, data_format)


def max_back_back(
    x: Any, y: Any, ddx: Any, ksize: Any, data_format: str = "NHWC", **attrs: Any
) -> Any:
    x, ddx = nhwc(x, data_format), nhwc(ddx, data_format)
    out = np.zeros_like(nhwc(y, data_format))
    for place, pixel in _largest(x, ksize, data_format, attrs):
        out[place] = ddx[pixel]
    return back(out, data_format)


def mean_pooled(x: Any, ksize: Any, data_format: str = "NHWC", **attrs: Any) -> Any:
    x = nhwc(x, data_format)
    sliding = _sliding(x, ksize, data_format, attrs)
    out = np.zeros((len(x), *sliding.out, x.shape[3]), x.dtype)
    for (r, c), inside in sliding.places():
        out[:, r, c] = np.mean([x[:, i, j] for _, (i, j) in inside], axis=0)
    return back(out, data_format)


def mean_back(sizes: Any, dy: Any, ksize: Any, data_format: str = "NHWC", **attrs: Any) -> Any:
    dy = nhwc(dy, data_format)
    dx = np.zeros(sizes_back(sizes, data_format), dy.dtype)
    for (r, c), inside in _sliding(dx, ksize, data_format, attrs).places():
        for _, (i, j) in inside:
            dx[:, i, j] += dy[:, r, c] / len(inside)
    return back(dx, data_format)


# -- the samples


def _attrs(down: int, across: int, padding: str, nchw: bool = False, **others: Any) -> Any:
    strides = [1, 1, down, across] if nchw else [1, down, across, 1]
    data_format = {"data_format": "NCHW"} if nchw else {}
    return {"strides": strides, "padding": padding, **data_format, **others}


_EXPLICIT = {"explicit_paddings": [0, 0, 1, 0, 0, 2, 0, 0]}
_CONVOLUTIONS: list[tuple[Any, Any, Any]] = [
    ((2, 4, 3, 2), (2, 2, 2, 3), _attrs(1, 1, "VALID")),
    ((1, 4, 5, 2), (3, 2, 2, 2), _attrs(2, 2, "SAME")),
    ((2, 3, 2, 2), (1, 1, 2, 2), _attrs(1, 1, "VALID")),
    ((1, 2, 4, 4), (2, 3, 2, 2), _attrs(1, 2, "SAME", nchw=True)),
    ((1, 3, 4, 1), (2, 2, 1, 2), _attrs(2, 2, "EXPLICIT", **_EXPLICIT)),
    ((1, 5, 4, 1), (2, 2, 1, 1), _attrs(1, 1, "SAME", dilations=[1, 2, 3, 1])),
    ((1, 1, 1, 1), (3, 3, 1, 1), _attrs(2, 2, "SAME")),
    ((0, 4, 3, 2), (2, 2, 2, 3), _attrs(1, 1, "VALID")),
]
"""Shapes of images and filter."""

_POOLS: list[tuple[Any, Any]] = [
    ((2, 4, 3, 2), _attrs(1, 1, "VALID", ksize=[1, 2, 2, 1])),
    ((1, 5, 4, 1), _attrs(2, 2, "SAME", ksize=[1, 3, 2, 1])),
    ((1, 2, 4, 3), _attrs(1, 2, "SAME", nchw=True, ksize=[1, 1, 2, 2])),
    ((1, 5, 4, 1), _attrs(3, 3, "VALID", ksize=[1, 2, 1, 1])),
    ((0, 4, 3, 2), _attrs(2, 2, "VALID", ksize=[1, 2, 2, 1])),
]


def _result(image: Any, window: Any, channels: int, attrs: Any) -> tuple[int, ...]:
    """Return the shape of the result for windows of this size."""
    others = {key: value for key, value in attrs.items() if key != "ksize"}
    data_format = attrs.get("data_format", "NHWC")
    n, h, w, _ = sizes_back(image, data_format)
    out = Sliding((h, w), window, **others).out
    return (n, *out, channels) if data_format == "NHWC" else (n, channels, *out)


def _convolution_forms(kind: str, result_channels: Callable[[Any], int]) -> list[Any]:
    def form(image: Any, weights: Any, attrs: Any) -> Callable[[Any], Any]:
        out = _result(image, weights[:2], result_channels(weights), attrs)
        makes: dict[str, Callable[[Any], Any]] = {
            "forward": lambda v: case(v(*image), v(*weights), **attrs),
            "images": lambda v: case(i32(*image), v(*weights), v(*out), **attrs),
            "filter": lambda v: case(v(*image), i32(*weights), v(*out), **attrs),
        }
        return makes[kind]

    return [form(*sizes) for sizes in _CONVOLUTIONS]


for _name, _kind, _reference in (
    ("Conv2D", "forward", convolved),
    ("Conv2DBackpropInput", "images", by_images),
    ("Conv2DBackpropFilter", "filter", by_filter),
):
    add(_name, *_convolution_forms(_kind, lambda w: w[3]), reference=_reference, tolerance=8)
_FUSED = (["BiasAdd"], ["BiasAdd", "Relu"], ["BiasAdd", "Relu6"])


def _fused_form(image: Any, weights: Any, attrs: Any, fused: list[str]) -> Callable[[Any], Any]:
    def form(v: Any) -> Any:
        images, filters, bias = v(*image), v(*weights), v(weights[3])
        return case(images, filters, [bias], num_args=1, fused_ops=fused, **attrs)

    return form


add(
    "_FusedConv2D",
    *(_fused_form(*sizes, _FUSED[number % 3]) for number, sizes in enumerate(_CONVOLUTIONS)),
    reference=convolved_and_cut,
    tolerance=8,
)
for _name, _kind, _reference in (
    ("DepthwiseConv2dNative", "forward", depthwise),
    ("DepthwiseConv2dNativeBackpropInput", "images", depthwise_by_images),
    ("DepthwiseConv2dNativeBackpropFilter", "filter", depthwise_by_filter),
):
    add(
        _name, *_convolution_forms(_kind, lambda w: w[2] * w[3]), reference=_reference, tolerance=8
    )  # fmt: skip


def _pool_forms(kind: str) -> list[Any]:
    def form(image: Any, attrs: Any) -> Callable[[Any], Any]:
        nchw = "data_format" in attrs
        first = 2 if nchw else 1
        window, channels = attrs["ksize"][first : first + 2], image[1 if nchw else 3]
        out = _result(image, window, channels, attrs)
        makes: dict[str, Callable[[Any], Any]] = {
            "forward": lambda v: case(v(*image), **attrs),
            "max back": lambda v: case(v(*image), v(*out), v(*out), **attrs),
            "max back back": lambda v: case(v(*image), v(*out), v(*image), **attrs),
            "mean back": lambda v: case(i32(*image), v(*out), **attrs),
        }
        return makes[kind]

    return [form(*sizes) for sizes in _POOLS]


add("MaxPool", *_pool_forms("forward"), reference=max_pooled)
add("MaxPoolGrad", *_pool_forms("max back"), reference=max_back, tolerance=4)
add("MaxPoolGradGrad", *_pool_forms("max back back"), reference=max_back_back)
add("AvgPool", *_pool_forms("forward"), reference=mean_pooled)
add("AvgPoolGrad", *_pool_forms("mean back"), reference=mean_back, tolerance=4)
