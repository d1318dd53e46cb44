"""Samples of op types of older graphs; those that are others renamed have the others' samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.ops.older_types.renamed_op_types import RENAMED

from .sampling import TABLE, add, case, elementwise, i32, i64

__all__ = ["add_renamed"]


def add_renamed() -> None:
    """Gives each renamed op type the samples of the one that it is."""
    for name, like in RENAMED.items():
        if like in TABLE:
            TABLE[name] = TABLE[like]


elementwise(
    "ApproximateEqual",
    lambda x, y, tolerance: np.abs(np.subtract(x, y, dtype=np.result_type(x, "i2"))) < tolerance,
    attrs={"tolerance": 1.0},
    signed=False,
)
add(
    "ClipByValue",
    lambda v: case(v(2, 3), v() * 0 + 1, v() * 0 + 2, smooth=False),
    lambda v: case(v(2, 3), v(2, 3) * 0 - 1, v(2, 3) * 0 + 1),
    lambda v: case(v(0, 3), v(), v()),
    reference=lambda t, low, high: np.minimum(np.maximum(t, low), high),
    signed=False,
)


def _of_axes(x: Any, src_format: str = "NHWC", dst_format: str = "NCHW") -> Any:
    return np.array([dst_format.index(src_format[axis]) for axis in x.ravel()]).reshape(x.shape)


for _types in (np.int32, np.int64):
    add(
        "DataFormatDimMap",
        lambda v, t=_types: case(np.array([-4, 3, 1, 2, -1], t)),
        lambda v, t=_types: case(np.array([[0, 1], [2, 3]], t), dst_format="HWNC"),
        lambda v, t=_types: case(np.zeros((0, 3), t)),
        reference=_of_axes,
        types=[dtypes.int32],
    )
    add(
        "DataFormatVecPermute",
        lambda v, t=_types: case(np.array([7, 4, 9, 3], t)),
        lambda v, t=_types: case(np.arange(8, dtype=t).reshape(4, 2), dst_format="HWNC"),
        reference=lambda x, src_format="NHWC", dst_format="NCHW": np.stack(
            [x[src_format.index(letter)] for letter in dst_format]
        ),
        types=[dtypes.int32],
    )

_WINDOWS = {"padding": "VALID"}


def _pooled(x: Any, ksize: Any, strides: Any, padding: str) -> Any:
    views = np.lib.stride_tricks.sliding_window_view(x, ksize[1:3], (1, 2))
    return views[:, :: strides[1], :: strides[2]].max((-2, -1))


def _largest_places(x: Any, ksize: Any, strides: Any) -> Any:
    """(window, place in the images) of each window's first largest element."""
    result = []
    pooled = _pooled(x, ksize, strides, "VALID")
    for n, i, j, c in np.ndindex(pooled.shape):
        top, left = i * strides[1], j * strides[2]
        window = x[n, top : top + ksize[1], left : left + ksize[2], c]
        down, along = np.unravel_index(window.argmax(), window.shape)
        result.append(((n, i, j, c), (n, top + down, left + along, c)))
    return result


def _pool_back(x: Any, y: Any, dy: Any, ksize: Any, strides: Any, padding: str) -> Any:
    dx = np.zeros_like(x)
    for window, place in _largest_places(x, ksize, strides):
        dx[place] += dy[window]
    return dx


def _pool_back_back(x: Any, y: Any, ddx: Any, ksize: Any, strides: Any, padding: str) -> Any:
    result = np.zeros_like(y)
    for window, place in _largest_places(x, ksize, strides):
        result[window] = ddx[place]
    return result


def _images(v: Any, *shape: int) -> Any:
    """Images whose elements all differ."""
    count = int(np.prod(shape))
    order = np.random.default_rng(count).permutation(count)
    return order.reshape(shape).astype(v.dtype.as_numpy_dtype)


def _pool_case(v: Any, ksize: Any, strides: Any, shape: Any, third: str = "") -> Any:
    x = _images(v, *shape)
    windows = (i32(*ksize), i32(*strides))
    if not third:
        return case(x, *windows, **_WINDOWS)
    y = np.asarray(_pooled(x, ksize, strides, "VALID"))
    other = _images(v, *(y.shape if third == "dy" else x.shape))
    return case(x, y, other, *windows, **_WINDOWS)


for _name, _third, _reference in (
    ("MaxPoolV2", "", _pooled),
    ("MaxPoolGradV2", "dy", _pool_back),
    ("MaxPoolGradGradV2", "ddx", _pool_back_back),
):
    add(
        _name,
        lambda v, t=_third: _pool_case(v, (1, 2, 2, 1), (1, 2, 2, 1), (1, 4, 4, 3), t),
        lambda v, t=_third: _pool_case(v, (1, 2, 3, 1), (1, 1, 2, 1), (2, 3, 5, 2), t),
        lambda v, t=_third: _pool_case(v, (1, 2, 2, 1), (1, 2, 2, 1), (0, 4, 4, 3), t),
        reference=_reference,
    )


def _rows(change: Any) -> Any:
    def reference(x: Any, i: Any, v: Any) -> Any:
        result = x.copy()
        for row, value in zip(i.tolist(), v, strict=True):
            result[row] = change(result[row], value)
        return result

    return reference


for _name, _change in (
    ("InplaceUpdate", lambda old, new: new),
    ("InplaceAdd", np.add),
    ("InplaceSub", np.subtract),
):
    add(
        _name,
        lambda v: case(v(4, 3), i32(2, 0), v(2, 3)),
        lambda v: case(v(3), i32(1, 1), v(2)),
        lambda v: case(v(4, 0), i32(), v(0, 0)),
        reference=_rows(_change),
    )
add("DeepCopy", lambda v: case(v(2, 3)), lambda v: case(v(0, 3)), reference=np.copy)
for _dtype in (dtypes.float32, dtypes.string, dtypes.int64):
    add(
        "Empty",
        lambda v, t=_dtype: case(i32(2, 3), dtype=t),
        lambda v, t=_dtype: case(i32(0, 3), dtype=t, init=True),
        reference=lambda shape, dtype, init=False: np.full(
            shape, b"" if dtype is dtypes.string else 0, dtype.as_numpy_dtype
        ),
        types=[dtypes.int32],
    )
add(
    "Concat",
    lambda v: case(np.array(1, np.int32), [v(2, 3), v(2, 1)]),
    lambda v: case(np.array(-2, np.int32), [v(2, 3), v(1, 3), v(2, 3)]),
    lambda v: case(np.array(0, np.int32), [v(0, 3), v(0, 3)]),
    reference=lambda axis, parts: np.concatenate(parts, int(axis)),
)
add(
    "Gather",
    lambda v: case(v(4, 3), i32(2, 0)),
    lambda v: case(v(4), i64(3, 3)),
    lambda v: case(v(4, 3), i32()),
    reference=lambda params, indices: params[indices],
)
add(
    "ConjugateTranspose",
    lambda v: case(v(2, 3), i32(1, 0)),
    lambda v: case(v(2, 3, 1), i64(1, 2, 0)),
    lambda v: case(v(0, 3), i32(1, 0)),
    reference=lambda x, perm: (
        np.conj(x.transpose(perm)) if x.dtype.kind == "c" else x.transpose(perm)
    ),
)
add(
    "TileGrad",
    lambda v: case(v(4, 3), i32(2, 1)),
    lambda v: case(v(4, 6), i32(2, 3)),
    lambda v: case(v(0, 3), i32(1, 1)),
    reference=lambda x, times: sum(
        x[tuple(slice(n * s // c, (n + 1) * s // c) for n, s, c in zip(tile, x.shape, times))]
        for tile in np.ndindex(*times)
    ),
)
add(
    "AccumulateNV2",
    lambda v: case([v(2, 3), v(2, 3), v(2, 3)], shape=TensorShape([2, 3])),
    lambda v: case([v(2)], shape=TensorShape([2])),
    lambda v: case([v(0, 3), v(0, 3)], shape=TensorShape([0, 3])),
    reference=lambda terms, shape: sum(terms[1:], terms[0]),
)
add(
    "PopulationCount",
    lambda v: case(v(2, 3)),
    lambda v: case(v(0, 3)),
    reference=lambda x: np.vectorize(
        lambda n: int(n % (1 << 8 * x.itemsize)).bit_count(), otypes=[np.uint8]
    )(x.astype(object)),
)
add(
    "CompareAndBitpack",
    lambda v: case(v(2, 16), v()),
    lambda v: case(v(8), v()),
    lambda v: case(v(0, 8), v()),
    reference=lambda x, threshold: np.packbits(x > threshold, axis=-1),
)
