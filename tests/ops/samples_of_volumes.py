"""Samples of the ops whose windows slide in volumes, with plain loops over windows as
references.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .sampling import Sample, Values, add, case, i32

__all__ = ["VOLUMINOUS"]

VOLUMINOUS = [
    "Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2",
    "MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad", "AvgPool3D", "AvgPool3DGrad",
]  # fmt: skip
"""The op types that have their samples here."""


def last(array: np.ndarray, data_format: str) -> np.ndarray:
    return array if data_format == "NDHWC" else array.transpose(0, 2, 3, 4, 1)


def back(array: np.ndarray, data_format: str) -> np.ndarray:
    return array if data_format == "NDHWC" else array.transpose(0, 4, 1, 2, 3)


def sizes_last(sizes: Any, data_format: str) -> list[int]:
    n, *others = map(int, sizes)
    return [n, *others] if data_format == "NDHWC" else [n, *others[1:], others[0]]


class Sliding:
    """All windows in volumes of (depth, height, width), one after the other."""

    def __init__(
        self,
        sizes: Any,
        window: Any,
        strides: Any,
        padding: str,
        data_format: str = "NDHWC",
        dilations: Any = (1, 1, 1, 1, 1),
    ) -> None:
        first = 1 if data_format == "NDHWC" else 2
        self.sizes, self.window = sizes, window
        self.stride, self.dilation = (
            entries[first : first + 3] for entries in (strides, dilations)
        )
        self.before, self.out = [], []
        for axis in range(3):
            reach = (window[axis] - 1) * self.dilation[axis] + 1
            size, stride = sizes[axis], self.stride[axis]
            total = 0
            if padding == "SAME":
                total = max((-(-size // stride) - 1) * stride + reach - size, 0)
            self.before.append(total // 2)
            self.out.append((size + total - reach) // stride + 1)

    def places(self) -> Iterator[tuple[Any, list[tuple[Any, Any]]]]:
        """Yield (place of the window, [(element of the window, pixel inside)])."""
        for place in itertools.product(*map(range, self.out)):
            inside = []
            for element in itertools.product(*map(range, self.window)):
                pixel = tuple(
                    p * s + e * d - b
                    for p, s, e, d, b in zip(
                        place, self.stride, element, self.dilation, self.before, strict=True
                    )
                )
                if all(0 <= p < size for p, size in zip(pixel, self.sizes, strict=True)):
                    inside.append((element, pixel))
            yield place, inside


def convolved(x: Any, w: Any, data_format: str = "NDHWC", **attrs: Any) -> Any:
    x = last(x, data_format)
    sliding = Sliding(x.shape[1:4], w.shape[:3], data_format=data_format, **attrs)
    out = np.zeros((len(x), *sliding.out, w.shape[4]), x.dtype)
    for place, inside in sliding.places():
        for element, pixel in inside:
            out[(slice(None), *place)] += x[(slice(None), *pixel)] @ w[element]
    return back(out, data_format)


def by_volumes(sizes: Any, w: Any, dy: Any, data_format: str = "NDHWC", **attrs: Any) -> Any:
    dy = last(dy, data_format)
    dx = np.zeros(sizes_last(sizes, data_format), dy.dtype)
    sliding = Sliding(dx.shape[1:4], w.shape[:3], data_format=data_format, **attrs)
    for place, inside in sliding.places():
        for element, pixel in inside:
            dx[(slice(None), *pixel)] += dy[(slice(None), *place)] @ w[element].T
    return back(dx, data_format)


def by_filter(x: Any, sizes: Any, dy: Any, data_format: str = "NDHWC", **attrs: Any) -> Any:
    x, dy = last(x, data_format), last(dy, data_format)
    dw = np.zeros([int(size) for size in sizes], x.dtype)
    sliding = Sliding(x.shape[1:4], dw.shape[:3], data_format=data_format, **attrs)
    for place, inside in sliding.places():
        for element, pixel in inside:
            dw[element] += x[(slice(None), *pixel)].T @ dy[(slice(None), *place)]
    return dw


# -- pooling


def _sliding(x: Any, ksize: Any, data_format: str, attrs: Any) -> Sliding:
    first = 1 if data_format == "NDHWC" else 2
    return Sliding(x.shape[1:4], ksize[first : first + 3], data_format=data_format, **attrs)


def pooled(combine: Any, x: Any, ksize: Any, data_format: str = "NDHWC", **attrs: Any) -> Any:
    x = last(x, data_format)
    sliding = _sliding(x, ksize, data_format, attrs)
    out = np.zeros((len(x), *sliding.out, x.shape[4]), x.dtype)
    for place, inside in sliding.places():
        out[(slice(None), *place)] = combine(
            [x[(slice(None), *pixel)] for _, pixel in inside], axis=0
        )
    return back(out, data_format)


def _largest(x: Any, ksize: Any, data_format: str, attrs: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (index into the windows' places, index of the pixel that is the largest there)."""
    for place, inside in _sliding(x, ksize, data_format, attrs).places():
        for n, channel in itertools.product(range(len(x)), range(x.shape[4])):
            values = [x[(n, *pixel, channel)] for _, pixel in inside]
            yield (n, *place, channel), (n, *inside[int(np.argmax(values))][1], channel)


def max_back(x: Any, _: Any, dy: Any, ksize: Any, data_format: str = "NDHWC", **attrs: Any) -> Any:
    x, dy = last(x, data_format), last(dy, data_format)
    dx = np.zeros_like(x)
    for place, pixel in _largest(x, ksize, data_format, attrs):
        dx[pixel] += dy[place]
    return back(dx, data_format)


def max_back_back(
    x: Any, y: Any, ddx: Any, ksize: Any, data_format: str = "NDHWC", **attrs: Any
) -> Any:
    x, ddx = last(x, data_format), last(ddx, data_format)
    out = np.zeros_like(last(y, data_format))
    for place, pixel in _largest(x, ksize, data_format, attrs):
        out[place] = ddx[pixel]
    return back(out, data_format)


def mean_back(sizes: Any, dy: Any, ksize: Any, data_format: str = "NDHWC", **attrs: Any) -> Any:
    dy = last(dy, data_format)
    dx = np.zeros(sizes_last(sizes, data_format), dy.dtype)
    for place, inside in _sliding(dx, ksize, data_format, attrs).places():
        for _, pixel in inside:
            dx[(slice(None), *pixel)] += dy[(slice(None), *place)] / len(inside)
    return back(dx, data_format)


# -- the samples


def _attrs(strides: Any, padding: str, ncdhw: bool = False, **others: Any) -> Any:
    whole = [1, 1, *strides] if ncdhw else [1, *strides, 1]
    data_format = {"data_format": "NCDHW"} if ncdhw else {}
    return {"strides": whole, "padding": padding, **data_format, **others}


_CONVOLUTIONS: list[tuple[Any, Any, Any]] = [
    ((2, 3, 3, 2, 2), (2, 2, 1, 2, 2), _attrs((1, 1, 1), "VALID")),
    ((1, 3, 2, 3, 1), (2, 3, 2, 1, 2), _attrs((2, 1, 2), "SAME")),
    ((1, 2, 2, 3, 2), (2, 2, 2, 2, 1), _attrs((1, 1, 1), "SAME", ncdhw=True)),
    ((1, 3, 4, 1, 1), (2, 2, 1, 1, 1), _attrs((1, 1, 1), "VALID", dilations=[1, 2, 3, 1, 1])),
    ((0, 2, 2, 2, 1), (1, 2, 2, 1, 1), _attrs((1, 1, 1), "VALID")),
]
_POOLS: list[tuple[Any, Any]] = [
    ((2, 3, 2, 3, 2), _attrs((1, 1, 1), "VALID", ksize=[1, 2, 2, 1, 1])),
    ((1, 3, 3, 2, 1), _attrs((2, 2, 1), "SAME", ksize=[1, 3, 2, 2, 1])),
    ((1, 2, 2, 3, 2), _attrs((1, 2, 2), "SAME", ncdhw=True, ksize=[1, 1, 2, 1, 2])),
    ((0, 2, 2, 2, 1), _attrs((2, 2, 2), "VALID", ksize=[1, 2, 2, 2, 1])),
]


def _result(volume: Any, window: Any, channels: int, attrs: Any) -> tuple[int, ...]:
    others = {key: value for key, value in attrs.items() if key != "ksize"}
    data_format = attrs.get("data_format", "NDHWC")
    n, *sizes, _ = sizes_last(volume, data_format)
    out = Sliding(sizes, window, **others).out
    return (n, *out, channels) if data_format == "NDHWC" else (n, channels, *out)


def _convolutions(kind: str) -> list[Callable[[Values], Sample]]:
    def form(volume: Any, weights: Any, attrs: Any) -> Callable[[Values], Sample]:
        out = _result(volume, weights[:3], weights[4], attrs)
        makes: dict[str, Callable[[Values], Sample]] = {
            "forward": lambda v: case(v(*volume), v(*weights), **attrs),
            "volumes": lambda v: case(i32(*volume), v(*weights), v(*out), **attrs),
            "filter": lambda v: case(v(*volume), i32(*weights), v(*out), **attrs),
        }
        return makes[kind]

    return [form(*sizes) for sizes in _CONVOLUTIONS]


def _pools(kind: str) -> list[Callable[[Values], Sample]]:
    def form(volume: Any, attrs: Any) -> Callable[[Values], Sample]:
        first = 2 if "data_format" in attrs else 1
        window, channels = attrs["ksize"][first : first + 3], volume[1 if first == 2 else 4]
        out = _result(volume, window, channels, attrs)
        makes: dict[str, Callable[[Values], Sample]] = {
            "forward": lambda v: case(v(*volume), **attrs),
            "max back": lambda v: case(v(*volume), v(*out), v(*out), **attrs),
            "max back back": lambda v: case(v(*volume), v(*out), v(*volume), **attrs),
            "mean back": lambda v: case(i32(*volume), v(*out), **attrs),
        }
        return makes[kind]

    return [form(*sizes) for sizes in _POOLS]


add("Conv3D", *_convolutions("forward"), reference=convolved, tolerance=8)
add("Conv3DBackpropInputV2", *_convolutions("volumes"), reference=by_volumes, tolerance=8)
add("Conv3DBackpropFilterV2", *_convolutions("filter"), reference=by_filter, tolerance=8)
add(
    "MaxPool3D", *_pools("forward"), reference=lambda x, **attrs: pooled(np.max, x, **attrs)
)  # fmt: skip
add("MaxPool3DGrad", *_pools("max back"), reference=max_back, tolerance=4)
add("MaxPool3DGradGrad", *_pools("max back back"), reference=max_back_back)
add("AvgPool3D", *_pools("forward"), reference=lambda x, **attrs: pooled(np.mean, x, **attrs))
add("AvgPool3DGrad", *_pools("mean back"), reference=mean_back, tolerance=4)
