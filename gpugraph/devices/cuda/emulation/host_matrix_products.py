"""Matrix products of an emulated GPU, which NumPy computes. The products of 16-bit types are summed
in float32.

If a product permits TF32, its float32 operands are first rounded to TF32, as tensor cores do.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.devices.cuda.driver.driver_interface import Product

if TYPE_CHECKING:
    from numpy.typing import NDArray


def compute(product: Product) -> None:
    """Compute a product with its epilogue. The result is complete when this function returns."""
    shape_a, shape_b, shape_out = product.stored_shapes()
    a = _operand(product, _view(product, product.a, shape_a, product.lda, product.stride_a))
    b = _operand(product, _view(product, product.b, shape_b, product.ldb, product.stride_b))
    a = a.swapaxes(1, 2) if product.transpose_a else a
    b = b.swapaxes(1, 2) if product.transpose_b else b
    out = _view(product, product.out, shape_out, product.ldo, product.stride_out)
    result = np.matmul(a, b)
    if product.addend:
        addend = _view(product, product.addend, shape_out, product.ldo, product.stride_out)
        result = result + _widened(addend)
    if product.bias:
        bias = product._replace(batch=1)
        result = result + _widened(_view(bias, product.bias, (1, product.n), product.n, 0))
    if product.relu:
        result = np.maximum(result, 0)
    out[...] = _narrowed(result, out.dtype)


def _view(
    product: Product, address: int, shape: tuple[int, int], leading: int, stride: int
) -> NDArray[Any]:
    """Return the batch of matrices at an address as an array (batch, rows, columns). Elements of
    bfloat16 are returned as bits, in uint16.
    """
    size, batch = product.item_bytes, product.batch
    dtype = np.dtype(np.uint16 if product.dtype == "bfloat16" else product.dtype)
    count = product.extent(shape, leading, stride)
    if not count:
        return np.empty((batch, *shape), dtype)
    memory: Any = (ctypes.c_char * (count * size)).from_address(address)
    return np.ndarray((batch, *shape), dtype, memory, 0, (stride * size, leading * size, size))


def _operand(product: Product, array: NDArray[Any]) -> NDArray[Any]:
    """Return an operand in the dtype in which the product is computed.

    TF32 has 10 bits of mantissa. Ties are rounded away from 0 (PTX's `rna`).
    """
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
