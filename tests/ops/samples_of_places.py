"""Samples of pooling with argmax, and of dilation, with plain loops over windows as references."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .samples_of_windows import Sliding
from .sampling import add, case

__all__ = ["PLACED"]

PLACED = ["MaxPoolWithArgmax", "Dilation2D"]
"""The op types whose gradients have their samples here, too."""


# -- pooling


def _places(x: Any, ksize: Any, attrs: Any) -> Iterator[tuple[Any, Any, int]]:
    """Yield (index of a window, index of its largest pixel, that as one number) for each window."""
    several = attrs.pop("include_batch_in_index", False)
    sliding = Sliding(x.shape[1:3], ksize[1:3], **attrs)
    for (r, c), inside in sliding.places():
        for n, channel in itertools.product(range(len(x)), range(x.shape[3])):
            i, j = max((pixel for _, pixel in inside), key=lambda at: x[(n, *at, channel)])
            flat = ((n if several else 0) * x.shape[1] + i) * x.shape[2] + j
            yield (n, r, c, channel), (n, i, j, channel), flat * x.shape[3] + channel


def _out(x: Any, ksize: Any, attrs: Any) -> tuple[int, ...]:
    geometry = {key: attrs[key] for key in ("strides", "padding")}
    return (len(x), *Sliding(x.shape[1:3], ksize[1:3], **geometry).out, x.shape[3])


def pooled(x: Any, ksize: Any, Targmax: Any = dtypes.int64, **attrs: Any) -> Any:
    largest = np.zeros(_out(x, ksize, attrs), x.dtype)
    where = np.zeros(largest.shape, Targmax.as_numpy_dtype)
    for place, pixel, number in _places(x, ksize, attrs):
        largest[place], where[place] = x[pixel], number
    return largest, where


def _pixels(x: Any, where: Any, attrs: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (index of a window, index of the pixel in the batch laid flat)."""
    step = 0 if attrs.get("include_batch_in_index") else x.size // max(1, len(x))
    for place in np.ndindex(where.shape):
        yield place, np.unravel_index(int(where[place]) + place[0] * step, x.shape)


def back(x: Any, dy: Any, where: Any, **attrs: Any) -> Any:
    dx = np.zeros_like(x)
    for place, pixel in _pixels(x, where, attrs):
        dx[pixel] += dy[place]
    return dx


def back_back(x: Any, ddx: Any, where: Any, **attrs: Any) -> Any:
    out = np.zeros(where.shape, x.dtype)
    for place, pixel in _pixels(x, where, attrs):
        out[place] = ddx[pixel]
    return out


_POOLS: list[tuple[Any, Any]] = [
    ((2, 4, 3, 2), {"strides": [1, 1, 1, 1], "padding": "VALID", "ksize": [1, 2, 2, 1]}),
    ((2, 5, 4, 1), {"strides": [1, 2, 2, 1], "padding": "SAME", "ksize": [1, 3, 2, 1],
                    "include_batch_in_index": True}),
    ((0, 4, 3, 2), {"strides": [1, 1, 1, 1], "padding": "VALID", "ksize": [1, 2, 2, 1]}),
]  # fmt: skip


def _forms(kind: str) -> list[Callable[[Any], Any]]:
    def form(shape: Any, attrs: Any, index: Any) -> Callable[[Any], Any]:
        def make(v: Any) -> Any:
            x = v(*shape)
            if kind == "forward":
                return case(x, **attrs, Targmax=index)
            largest, where = pooled(x, Targmax=index, **attrs)
            return case(x, v(*(largest.shape if kind == "back" else shape)), where, **attrs)

        return make

    indices = (dtypes.int64, dtypes.int32, dtypes.int64)
    return [form(shape, attrs, index) for (shape, attrs), index in zip(_POOLS, indices)]


add("MaxPoolWithArgmax", *_forms("forward"), reference=pooled)
add("MaxPoolGradWithArgmax", *_forms("back"), reference=back)
add("MaxPoolGradGradWithArgmax", *_forms("back_back"), reference=back_back)


# -- dilation


def _sums(x: Any, w: Any, attrs: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (index of a window and channel, [(sum, pixel, element)])."""
    sliding = Sliding(
        x.shape[1:3], w.shape[:2], attrs["strides"], attrs["padding"], dilations=attrs["rates"]
    )
    for (r, c), inside in sliding.places():
        for n, k in itertools.product(range(len(x)), range(x.shape[3])):
            result = [
                (x[(n, *pixel, k)] + w[(*element, k)], (n, *pixel, k), (*element, k))
                for element, pixel in inside
            ]
            yield (n, r, c, k), max(result, key=lambda item: item[0]), sliding.out


def _shape(x: Any, w: Any, attrs: Any) -> tuple[int, ...]:
    strides, padding, rates = attrs["strides"], attrs["padding"], attrs["rates"]
    out = Sliding(x.shape[1:3], w.shape[:2], strides, padding, dilations=rates).out
    return (len(x), *out, x.shape[3])


def dilated(x: Any, w: Any, **attrs: Any) -> Any:
    out = np.zeros(_shape(x, w, attrs), x.dtype)
    for place, (value, _, _), _ in _sums(x, w, attrs):
        out[place] = value
    return out


def dilated_back_input(x: Any, w: Any, dy: Any, **attrs: Any) -> Any:
    dx = np.zeros_like(x)
    for place, (_, pixel, _), _ in _sums(x, w, attrs):
        dx[pixel] += dy[place]
    return dx


def dilated_back_filter(x: Any, w: Any, dy: Any, **attrs: Any) -> Any:
    dw = np.zeros_like(w)
    for place, (_, _, element), _ in _sums(x, w, attrs):
        dw[element] += dy[place]
    return dw


_DILATIONS: list[tuple[Any, Any, Any]] = [
    ((2, 4, 3, 2), (2, 2, 2), ([1, 1, 1, 1], [1, 1, 1, 1], "VALID")),
    ((1, 5, 4, 1), (3, 2, 1), ([1, 2, 1, 1], [1, 1, 2, 1], "SAME")),
    ((0, 4, 3, 2), (2, 2, 2), ([1, 1, 1, 1], [1, 1, 1, 1], "VALID")),
]
"""Shapes of images and filter, strides, rates and padding."""


def _dilation_forms(with_slope: bool) -> list[Callable[[Any], Any]]:
    def form(image: Any, weights: Any, value: Any) -> Callable[[Any], Any]:
        attrs = dict(zip(("strides", "rates", "padding"), value, strict=True))

        def make(v: Any) -> Any:
            x, w = v(*image), v(*weights)
            return case(x, w, *([v(*_shape(x, w, attrs))] if with_slope else []), **attrs)

        return make

    return [form(*item) for item in _DILATIONS]


add("Dilation2D", *_dilation_forms(False), reference=dilated)
add("Dilation2DBackpropInput", *_dilation_forms(True), reference=dilated_back_input)
add("Dilation2DBackpropFilter", *_dilation_forms(True), reference=dilated_back_filter)
