"""Tiled products: matrix products that gpugraph's own C code (host_matmul.h) computes in tiles.

The code accepts the same views as `numpy_blas.products`. While it stores results, it can add a bias
and an addend and apply Relu. One operand is packed (copied in the order of the tiles), and all
threads share it. Only the sizes determine whether a product uses this code. The BLAS computes
products with too few multiplications to make packing worthwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from gpugraph.base.sizes import estimates
from gpugraph.devices.codegen.program import NotNativeError
from gpugraph.devices.native.handwritten_kernels import SourceFile
from gpugraph.devices.native.native_runtime import Call
from gpugraph.devices.native.numpy_blas import has_blas
from gpugraph.devices.native.numpy_views import overlap, show
from gpugraph.devices.native.open_calls import OpenTable
from gpugraph.devices.native.product_views import ProductViews
from gpugraph.kernel import SUMMED_AT_ONCE

TILED_PRODUCTS = "host_matmul.h"

_LEAST = (8, 48, 16)
"""The minimum numbers of rows, columns and terms of a sum for a tiled product, if NumPy's BLAS can
be called instead.
"""

_LEAST_WORK = 1 << 19
"""The minimum number of multiplications of a tiled product. They take 10 us, including one or two
for packing.
"""

_BIAS, _ADDEND, _RELU = 1, 2, 4
"""Flags of the epilogue; host_matmul_tile.h has the same constants."""


def is_tiled(triples: Sequence[tuple[Any, Any, Any]]) -> bool:
    """Return whether all these products (a, b, out) should be computed in tiles."""
    views = [ProductViews.of(*triple) for triple in triples]
    return all(pays_by_tiles(v.m, v.n, v.k) for v in views)


def pays_by_tiles(m: int, n: int, k: int) -> bool:
    """Return whether a product should be computed in tiles. It has m x n results, which are sums of
    k terms.
    """
    sizes = estimates((m, n, k))
    is_large = prod(sizes) >= _LEAST_WORK and all(s >= least for s, least in zip(sizes, _LEAST))
    return is_large or not has_blas()


def tiled_product(
    code: SourceFile,
    triple: tuple[Any, Any, Any],
    new_scratch: Callable[[int], Any],
    bias: Any = None,
    addend: Any = None,
    relu: bool = False,
) -> Call:
    """Return a call that computes out = a @ b, and adds the bias and the addend if there are any.

    Args:
      code: the compiled host_matmul.h.
      triple: (a, b, out). The requirements and errors are those of `numpy_blas.products`.
      bias: a contiguous vector with one number per column.
      addend: an array with the shape and strides of `out`. The addend may be in the memory of `out`
        if the results are sums of at most SUMMED_AT_ONCE terms.
      relu: whether to replace negative results by 0.
    """
    a, b, out = triple
    views = ProductViews.of(a, b, out)
    _check_terms(out, bias, addend, views.k)
    steps = [step for layout in views.layouts[:2] for step in layout.steps]
    row = views.layouts[2].leading
    ends = _BIAS * (bias is not None) | _RELU * relu
    addends = views.starts[2]
    if addend is not None:
        if isinstance(addends, OpenTable):
            addends = addends.moved(out.ctypes.data, addend.ctypes.data)
        else:
            addends = addends - out.ctypes.data + addend.ctypes.data
        ends |= _ADDEND
    numbers = [views.starts[2].size, views.m, views.n, views.k, *steps, row, row, ends]
    lists = [*views.starts, addends]
    places = [array.ctypes.data for array in lists]
    places.insert(3, 0 if bias is None else bias.ctypes.data)
    keep = (*lists, bias, addend, *triple)
    return code.bind_addresses("gg_matmul", str(out.dtype), numbers, places, keep, new_scratch)


def _check_terms(out: Any, bias: Any, addend: Any, k: int) -> None:
    """Raise NotNativeError if the bias or the addend can't be added while results are stored."""
    for term in (bias, addend):
        if term is not None and (term.dtype != out.dtype or not term.flags.aligned):
            raise NotNativeError(f"A product to {show(out)} with {show(term)} added")
    if bias is not None and (
        bias.shape != out.shape[-1:] or not bias.flags.c_contiguous or overlap(bias, out)
    ):
        raise NotNativeError(f"A product to {show(out)} with a bias {show(bias)}")
    if addend is not None:
        is_same = addend.ctypes.data == out.ctypes.data and k <= SUMMED_AT_ONCE
        is_alike = (addend.shape, addend.strides) == (out.shape, out.strides)
        if not is_alike or (not is_same and overlap(addend, out)):
            raise NotNativeError(f"A product to {show(out)} with {show(addend)} added")
