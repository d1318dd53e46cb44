"""Samples of the ops that layers are made of, with references in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .sampling import Sample, Values, add, case, elementwise

__all__ = ["LAYERED"]

LAYERED = ["FusedBatchNorm", "FusedBatchNormGrad"]
"""Some of the op types that have their samples here."""


# -- batch normalization


def _by_channel(vector: Any, data_format: str) -> Any:
    return vector if data_format == "NHWC" else np.reshape(vector, (-1, 1, 1))


def _axes(data_format: str) -> tuple[int, ...]:
    return (0, 1, 2) if data_format == "NHWC" else (0, 2, 3)


def _normalized(
    third: bool,
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    is_training: bool = True,
    data_format: str = "NHWC",
    epsilon: float = 1e-4,
) -> tuple[Any, ...]:
    axes, sample = _axes(data_format), variance
    if is_training:
        mean, variance = x.mean(axes), x.var(axes)
        count = x.size // max(len(scale), 1)
        sample = variance * (count / max(count - 1, 1))
    m, v, s, o = (_by_channel(vector, data_format) for vector in (mean, variance, scale, offset))
    y = (x - m) / np.sqrt(v + epsilon) * s + o
    return (y, mean, sample, mean, variance, *([np.zeros(0)] if third else []))


def _normalized_back(
    dy: Any,
    x: Any,
    scale: Any,
    mean: Any,
    variance: Any,
    *_: Any,
    is_training: bool = True,
    data_format: str = "NHWC",
    epsilon: float = 1e-4,
) -> tuple[Any, ...]:
    axes = _axes(data_format)
    m, v, s = (_by_channel(vector, data_format) for vector in (mean, variance, scale))
    hat = (x - m) / np.sqrt(v + epsilon)
    dx = dy
    if is_training:
        means = [_by_channel(product.mean(axes), data_format) for product in (dy, dy * hat)]
        dx = dy - means[0] - hat * means[1]
    dx = dx * s / np.sqrt(v + epsilon)
    return dx, (dy * hat).sum(axes), dy.sum(axes), np.zeros(0), np.zeros(0)


_IMAGES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 2, 3), {}),
    ((3, 2, 2, 2), {"data_format": "NCHW", "epsilon": 0.01}),
    ((2, 2, 1, 3), {"is_training": False}),
    ((2, 3, 2, 2), {"is_training": False, "data_format": "NCHW"}),
    ((1, 1, 1, 2), {"epsilon": 0.5}),
    ((0, 2, 2, 1), {"is_training": False}),
]


def _wide(v: Values) -> Values:
    """Return the values that vary by channel: float32 for float16 and bfloat16."""
    narrow = v.dtype in (dtypes.float16, dtypes.bfloat16)
    return Values(dtypes.float32 if narrow else v.dtype, 0.3, 2.0, signed=False)


def _channels(shape: tuple[int, ...], attrs: dict[str, Any]) -> int:
    return shape[1 if "data_format" in attrs else 3]


def _forward(shape: tuple[int, ...], attrs: dict[str, Any]) -> Callable[[Values], Sample]:
    count = _channels(shape, attrs)
    moments = count if attrs.get("is_training") is False else 0

    def form(v: Values) -> Sample:
        w = _wide(v)
        return case(v(*shape), w(count), w(count), w(moments), w(moments), **attrs)

    return form


def _backward(
    reserves: int, shape: tuple[int, ...], attrs: dict[str, Any]
) -> Callable[[Values], Sample]:
    count = _channels(shape, attrs)

    def form(v: Values) -> Sample:
        w = _wide(v)
        others = [np.zeros(0, w.dtype.as_numpy_dtype)] * (reserves - 2)
        return case(v(*shape), v(*shape), w(count), w(count), w(count), *others, **attrs)

    return form


for _suffix in ("", "V2", "V3"):
    _third = _suffix == "V3"
    add(
        f"FusedBatchNorm{_suffix}",
        *(_forward(*sizes) for sizes in _IMAGES),
        reference=lambda *inputs, third=_third, **attrs: _normalized(third, *inputs, **attrs),
        tolerance=16,
    )
    add(
        f"FusedBatchNormGrad{_suffix}",
        *(_backward(3 if _third else 2, *sizes) for sizes in _IMAGES),
        reference=_normalized_back,
        tolerance=16,
    )


# -- activations

_SCALE, _ALPHA = 1.0507009873554805, 1.7580993408473769
elementwise("Selu", lambda x: np.where(x < 0, _ALPHA * np.expm1(x), _SCALE * x), tolerance=2)
elementwise("SeluGrad", lambda dy, y: dy * np.where(y < 0, y + _ALPHA, _SCALE), True, tolerance=2)
elementwise("Softsign", lambda x: x / (1 + np.abs(x)))
elementwise("SoftsignGrad", lambda dy, x: dy / (1 + np.abs(x)) ** 2, True)


# -- local response normalization


def _norm(x: Any, depth_radius: int = 5, bias: float = 1, alpha: float = 1, **_: Any) -> Any:
    channels = range(x.shape[-1])
    sums = [
        (x[..., max(0, channel - depth_radius) : channel + depth_radius + 1] ** 2).sum(-1)
        for channel in channels
    ]
    return bias + alpha * np.stack(sums, -1)


def _responses(x: Any, beta: float = 0.5, **attrs: Any) -> Any:
    return x / _norm(x, **attrs) ** beta


def _responses_back(dy: Any, x: Any, y: Any, beta: float = 0.5, **attrs: Any) -> Any:
    norm, radius, alpha = _norm(x, **attrs), attrs.get("depth_radius", 5), attrs.get("alpha", 1)
    dx = dy / norm**beta
    for channel in range(x.shape[-1]):
        for near in range(max(0, channel - radius), min(x.shape[-1], channel + radius + 1)):
            share = dy[..., near] * y[..., near] / norm[..., near]
            dx[..., channel] -= 2 * alpha * beta * x[..., channel] * share
    return dx


_NEAR: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((1, 2, 2, 4), {"depth_radius": 1, "alpha": 0.5, "beta": 0.75, "bias": 2.0}),
    ((2, 1, 2, 3), {}),
    ((1, 1, 2, 1), {"depth_radius": 2}),
    ((0, 2, 2, 3), {}),
]
add(
    "LRN",
    *(lambda v, s=shape, a=attrs: case(v(*s), **a) for shape, attrs in _NEAR),
    reference=_responses,
    tolerance=4,
)
add(
    "LRNGrad",
    *(lambda v, s=shape, a=attrs: case(v(*s), v(*s), v(*s), **a) for shape, attrs in _NEAR),
    reference=_responses_back,
    tolerance=8,
)


# -- attention


def _attended(
    query: Any,
    key: Any,
    value: Any,
    masks: Any,
    num_args: int,
    scale: float = 1,
    adj_y: bool = True,
) -> Any:
    assert num_args == len(masks)
    scores = query @ (key.swapaxes(-1, -2) if adj_y else key) * scale + sum(masks)
    chances = np.exp(scores)
    return chances / chances.sum(axis=-1, keepdims=True) @ value


add(
    "_FusedAttention",
    lambda v: case(v(2, 3, 4), v(2, 5, 4), v(2, 5, 2), [v(2, 1, 5)], num_args=1, scale=0.5),
    lambda v: case(v(2, 1, 3, 4), v(2, 1, 4, 5), v(2, 1, 5, 4), [v(3, 5)], num_args=1, adj_y=False),
    lambda v: case(v(3, 1), v(2, 1), v(2, 3), [v(2)], num_args=1),
    lambda v: case(v(0, 3, 4), v(0, 5, 4), v(0, 5, 2), [v(3, 5)], num_args=1),
    reference=_attended,
    tolerance=8,
)


def _attended_with_statistics(
    query: Any, key: Any, value: Any, masks: Any, num_args: int, scale: float = 1
) -> Any:
    scores = query @ key.swapaxes(-1, -2) * scale + sum(masks)
    sums = np.exp(scores).sum(axis=-1)
    return np.exp(scores) / sums[..., None] @ value, np.log(sums).astype(np.float32)


add(
    "_FusedAttentionWithStatistics",
    lambda v: case(v(2, 3, 4), v(2, 5, 4), v(2, 5, 2), [v(2, 1, 5)], num_args=1, scale=0.5),
    lambda v: case(v(3, 4), v(5, 4), v(5, 2), [], num_args=0),
    lambda v: case(v(0, 3, 4), v(0, 5, 4), v(0, 5, 2), [], num_args=0),
    reference=_attended_with_statistics,
    tolerance=8,
)


def _attention_gradients(
    query: Any,
    key: Any,
    value: Any,
    output: Any,
    statistics: Any,
    back: Any,
    masks: Any,
    num_args: int,
    scale: float = 1,
    adj_y: bool = True,
    key_rows: bool = True,
) -> Any:
    keys = key if adj_y else key.swapaxes(-1, -2)
    chances = np.exp(query @ keys.swapaxes(-1, -2) * scale + sum(masks) - statistics[..., None])
    mean = (output * back).sum(-1, keepdims=True)
    changes = chances * (back @ value.swapaxes(-1, -2) - mean) * scale
    key_back = changes.swapaxes(-1, -2) @ query
    key_back = key_back if key_rows else key_back.swapaxes(-1, -2)
    return changes @ keys, key_back, chances.swapaxes(-1, -2) @ back


def _gradient_case(
    v: Values, query: Any, key: Any, values: Any, mask: Any = None, **attrs: Any
) -> Sample:
    out = (*query[:-1], values[-1])
    statistics = np.full(query[:-1], 3, np.float32)
    arrays = v(*query), v(*key), v(*values), v(*out), statistics, v(*out)
    masks = [] if mask is None else [v(*mask)]
    return case(*arrays, masks, num_args=len(masks), **attrs)


add(
    "_FusedAttentionGrad",
    lambda v: _gradient_case(v, (2, 3, 4), (2, 5, 4), (2, 5, 2), (2, 1, 5), scale=0.5),
    lambda v: _gradient_case(v, (2, 3, 4), (2, 4, 5), (2, 5, 2), adj_y=False),
    lambda v: _gradient_case(v, (3, 4), (5, 4), (5, 2), key_rows=False),
    lambda v: _gradient_case(v, (0, 3, 4), (0, 5, 4), (0, 5, 2)),
    reference=_attention_gradients,
    tolerance=16,
)
