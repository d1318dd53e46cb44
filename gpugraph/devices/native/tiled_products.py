"""Matrix products by tiles of our own: host_matmul.h.

They accept the same views as `products`, and fuse a bias, an addition and Relu into the store.
Threads share one packed operand. Sizes alone decide which products use tiles. The others have too
few multiplications for the cost of packing, and are left to the BLAS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from gpugraph.devices.codegen.program import NotNativeError
from gpugraph.devices.native.handwritten_kernels import SourceFile
from gpugraph.devices.native.native_runtime import Call
from gpugraph.devices.native.numpy_blas import has_blas
from gpugraph.devices.native.numpy_views import overlap, show
from gpugraph.devices.native.product_views import ProductViews
from gpugraph.kernel import SUMMED_AT_ONCE

TILED_PRODUCTS = "host_matmul.h"

_LEAST = (8, 48, 16)
"""The minimum rows, columns and summed numbers of a product, if there is a BLAS."""

_LEAST_WORK = 1 << 19
"""The minimum number of multiplications: 10 us, of which packing takes one or two."""

_BIAS, _ADDEND, _RELU = 1, 2, 4
"""The same constants as in host_matmul_tile.h."""


def is_tiled(triples: Sequence[tuple[Any, Any, Any]]) -> bool:
    """Return whether products use tiles."""
    views = [ProductViews.of(*triple) for triple in triples]
    return all(pays_by_tiles(v.m, v.n, v.k) for v in views)


def pays_by_tiles(m: int, n: int, k: int) -> bool:
    """Return whether a product of m x n results, each of k products, uses tiles."""
    sizes = m, n, k
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
    """Return a call that computes out = a @ b, then + bias, + addend, and with `relu` max(_, 0).

    The triple is as for `products`, with the same errors. bias: a contiguous vector,
    one number per column. addend: of the shape and the strides of `out`, whose memory it may be if
    at most SUMMED_AT_ONCE products are summed.
    """
    a, b, out = triple
    views = ProductViews.of(a, b, out)
    _check_terms(out, bias, addend, views.k)
    steps = [step for layout in views.layouts[:2] for step in layout.steps]
    row = views.layouts[2].leading
    ends = _BIAS * (bias is not None) | _RELU * relu
    addends = views.starts[2]
    if addend is not None:
        addends = addends - out.ctypes.data + addend.ctypes.data
        ends |= _ADDEND
    numbers = [len(views.starts[2]), views.m, views.n, views.k, *steps, row, row, ends]
    lists = [*views.starts, addends]
    places = [array.ctypes.data for array in lists]
    places.insert(3, 0 if bias is None else bias.ctypes.data)
    keep = (*lists, bias, addend, *triple)
    return code.bind_addresses("gg_matmul", str(out.dtype), numbers, places, keep, new_scratch)


def _check_terms(out: Any, bias: Any, addend: Any, k: int) -> None:
    """Raise NotNativeError for terms that can't be added in the store."""
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
