"""Product views: the operands and the result of a matrix product, as views whose strides native
code supports.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.sizes import has_several
from gpugraph.devices.codegen.program import NotNativeError
from gpugraph.devices.native.native_runtime import internal_error
from gpugraph.devices.native.numpy_views import addresses, are_apart, overlap, show

_TYPES = (np.dtype(np.float32), np.dtype(np.float64))


class MatrixLayout(NamedTuple):
    """The layout of a matrix in memory.

    Args:
      is_transposed: whether the columns of the matrix are contiguous instead of its rows.
      leading: the stride, in elements, of the axis that is not contiguous.
    """

    is_transposed: bool
    leading: int

    @property
    def steps(self) -> tuple[int, int]:
        """The strides from row to row and from column to column, in elements."""
        return (1, self.leading) if self.is_transposed else (self.leading, 1)


class ProductViews(NamedTuple):
    """A batch of matrix products. Each product has m x n results, which are sums of k terms.

    If all products of the batch have the same b, the rows of the batch become the rows of one
    product.

    Args:
      layouts: the layouts of a, b and out.
      starts: three arrays, for a, b and out, with the addresses of the batch's matrices.
    """

    m: int
    n: int
    k: int
    layouts: tuple[MatrixLayout, MatrixLayout, MatrixLayout]
    starts: tuple[Any, Any, Any]

    @classmethod
    def of(cls, a: Any, b: Any, out: Any) -> ProductViews:
        """Return the views for out = a @ b. Raises the same errors as `products`. If `out` is
        empty, `starts` contains no addresses.
        """
        _check(a, b, out)
        n, k = b.shape[-1], a.shape[-1]
        if not out.size:
            none = MatrixLayout(False, 1)
            return cls(0, n, k, (none, none, none), (np.empty(0, np.uintp),) * 3)
        layouts = [_layout(x) if k else MatrixLayout(False, x.shape[-1] or 1) for x in (a, b)]
        layouts.append(_layout(out))
        if layouts[2].is_transposed:
            raise NotNativeError(f"A product to {show(out)}: its last axis is not contiguous")
        axes = _fold(a, b, out, layouts) if k else out.ndim - 2
        left, right, result = layouts
        starts = addresses(a, axes), addresses(b, axes), addresses(out, axes)
        return cls(prod(out.shape[axes:-1]), n, k, (left, right, result), starts)


def _check(a: Any, b: Any, out: Any) -> None:
    """Raise the errors of `products` that do not concern strides."""
    if min(a.ndim, b.ndim, out.ndim) < 2 or not (
        a.shape[:-2] == b.shape[:-2] == out.shape[:-2]
        and (a.shape[-2], b.shape[-1]) == out.shape[-2:]
        and a.shape[-1] == b.shape[-2]
    ):
        raise internal_error(f"Shapes of a product that don't fit: {_show(a, b, out)}")
    if not out.flags.writeable:
        raise internal_error(f"A product to a read-only array: {_show(a, b, out)}")
    if out.dtype not in _TYPES or not a.dtype == b.dtype == out.dtype:
        raise NotNativeError(f"A product of other than float32 or float64: {_show(a, b, out)}")
    if not (a.flags.aligned and b.flags.aligned and out.flags.aligned):
        raise NotNativeError(f"A product of arrays that are not aligned: {_show(a, b, out)}")
    is_apart = are_apart(out.shape, out.strides, out.itemsize)
    if not is_apart or overlap(a, out) or overlap(b, out):
        raise NotNativeError(f"A product that overlaps itself or an input: {_show(a, b, out)}")


def _show(*arrays: Any) -> str:
    return ", ".join(map(show, arrays))


def _layout(x: Any) -> MatrixLayout:
    """Return the layout of a matrix. Raises NotNativeError unless one of the last two axes is
    contiguous. An axis of size 1 may have any stride.
    """
    rows, columns = x.shape[-2:]
    by_row, by_column = x.strides[-2:]
    forms = ((False, rows, columns, by_row, by_column), (True, columns, rows, by_column, by_row))
    for is_transposed, _, inner, step, inner_step in forms:  # needs no condition on open sizes
        if inner_step == x.itemsize and step == inner * x.itemsize:
            return MatrixLayout(is_transposed, inner)
    for is_transposed, outer, inner, step, inner_step in forms:
        leading, rest = divmod(step, x.itemsize) if has_several(outer) else (max(inner, 1), 0)
        if (
            (not has_several(inner) or inner_step == x.itemsize)
            and not rest
            and leading >= max(inner, 1)
        ):
            return MatrixLayout(is_transposed, leading)
    raise NotNativeError(f"A product of {show(x)}: neither of the last two axes is contiguous")


def _fold(a: Any, b: Any, out: Any, layouts: list[MatrixLayout]) -> int:
    """If b does not change along the last batch axes, merge these axes with the rows of a and out.
    Return the number of remaining batch axes.

    The layouts of a and out change: a matrix with a single row gets the stride of the merged axis.
    """
    axes: int = out.ndim - 2
    rows = out.shape[-2]
    while axes and not layouts[0].is_transposed:
        axis, size = axes - 1, out.shape[axes - 1]
        if has_several(size):
            if b.strides[axis]:
                break
            folded = _folded(a, axis, rows, layouts[0]), _folded(out, axis, rows, layouts[2])
            if folded[0] is None or folded[1] is None:
                break
            layouts[0], layouts[2] = folded[0], folded[1]
            rows *= size
        axes -= 1
    return axes


def _folded(x: Any, axis: int, rows: int, layout: MatrixLayout) -> MatrixLayout | None:
    """Return the layout of `x` when the indices of `axis` become additional rows. If the rows would
    not be evenly spaced, return None.
    """
    leading, rest = divmod(x.strides[axis], rows * x.itemsize)
    if rest or leading < layout.leading or (has_several(rows) and leading != layout.leading):
        return None
    return layout._replace(leading=leading)
