"""Matrix products of the device that the host plays: NumPy's, 16-bit types summed in float.

Where TF32 is allowed, float32 is rounded to it, as tensor cores are given it.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.devices.cuda.driver.driver_interface import Product, Span

if TYPE_CHECKING:
    from numpy.typing import NDArray


_SIZES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


def item_bytes(dtype: str) -> int:
    """Bytes of an element; 0 for what no product is made of."""
    return _SIZES.get(dtype, 0)


def _shapes(product: Product) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    a = (product.k, product.m) if product.transpose_a else (product.m, product.k)
    b = (product.n, product.k) if product.transpose_b else (product.k, product.n)
    return a, b, (product.m, product.n)


def spans(product: Product) -> tuple[list[Span], list[Span]]:
    """What the product reads and writes; the batch from its first element to its last."""
    size, batch = item_bytes(product.dtype), product.batch
    a, b, out = _shapes(product)

    def whole(address: int, shape: tuple[int, int], row: int, stride: int) -> Span:
        if not batch or not all(shape):
            return address, 0
        last = (batch - 1) * stride + (shape[0] - 1) * row + shape[1]
        return address, last * size

    reads = [
        whole(product.a, a, product.lda, product.stride_a),
        whole(product.b, b, product.ldb, product.stride_b),
    ]
    if product.bias:
        reads.append((product.bias, product.n * size))
    if product.addend:
        reads.append(whole(product.addend, out, product.ldo, product.stride_out))
    return reads, [whole(product.out, out, product.ldo, product.stride_out)]


def compute(product: Product) -> None:
    """Computes it, now."""
    shape_a, shape_b, shape_out = _shapes(product)
    a = _operand(product, _view(product, product.a, shape_a, product.lda, product.stride_a))
    b = _operand(product, _view(product, product.b, shape_b, product.ldb, product.stride_b))
    a = a.swapaxes(1, 2) if product.transpose_a else a
    b = b.swapaxes(1, 2) if product.transpose_b else b
    out = _view(product, product.out, shape_out, product.ldo, product.stride_out)
    made = np.matmul(a, b)
    if product.addend:
        addend = _view(product, product.addend, shape_out, product.ldo, product.stride_out)
        made = made + _widened(addend)
    if product.bias:
        bias = product._replace(batch=1)
        made = made + _widened(_view(bias, product.bias, (1, product.n), product.n, 0))
    if product.relu:
        made = np.maximum(made, 0)
    out[...] = _narrowed(made, out.dtype)


def _view(
    product: Product, address: int, shape: tuple[int, int], row: int, stride: int
) -> NDArray[Any]:
    """(batch, rows, columns) at an address; bfloat16 as its bits."""
    size, batch = item_bytes(product.dtype), product.batch
    dtype = np.dtype(np.uint16 if product.dtype == "bfloat16" else product.dtype)
    if not batch or not all(shape):
        return np.empty((batch, *shape), dtype)
    count = (batch - 1) * stride + (shape[0] - 1) * row + shape[1]
    memory: Any = (ctypes.c_char * (count * size)).from_address(address)
    return np.ndarray((batch, *shape), dtype, memory, 0, (stride * size, row * size, size))


def _operand(product: Product, array: NDArray[Any]) -> NDArray[Any]:
    """As it is multiplied: in TF32 with 10 bits of mantissa, halves away from 0 (`cvt.rna`)."""
    wide = _widened(array)
    if not (product.tf32 and product.dtype == "float32"):
        return wide
    bits = np.ascontiguousarray(wide).view(np.uint32)
    rounded = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(wide), rounded, wide)


def _widened(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _narrowed(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype != np.uint16:
        with np.errstate(over="ignore"):
            return array.astype(dtype)
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(array), 0x7FFF, rounded).astype(np.uint16)
