"""Kernels whose loads depend on the addresses of arrays: one way to load for each kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpugraph.base.dtypes import as_dtype
from gpugraph.devices import CudaDevice
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.kernel import Source
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS

from ..gpus import gpu, needs_cxx, on_gpu

pytestmark = needs_cxx


@pytest.fixture
def device() -> Iterator[CudaDevice]:
    with closing(gpu()) as made:
        yield made


def placed(device: CudaDevice, value: Any, offset: int) -> Array:
    """Return the array in GPU memory, `offset` elements after a multiple of 256 bytes."""
    whole = np.concatenate([np.zeros(offset, value.dtype), value.ravel()])
    start = on_gpu(device, whole).address
    return Array(start + offset * value.itemsize, value.shape, value.dtype)


def run(device: CudaDevice, op_type: str, attrs: dict[str, Any], *arrays: Array) -> set[str]:
    """Run an op of float16 on arrays (the last one is the result), and return its macros."""
    half = as_dtype("float16")
    assert DECLARATIONS[op_type]  # this imports its module
    types, shapes = [half] * (len(arrays) - 1), [array.shape for array in arrays[:-1]]
    signature = SimpleNamespace(
        name="a test",
        attrs=attrs,
        input_shapes=shapes,
        output_shapes=[arrays[-1].shape],
        input_types=types,
        output_types=[half],
    )
    kept: list[Any] = []

    def allocate(shape: tuple[int, ...], dtype: Any) -> Array:
        kept.append(device.allocate(shape, dtype, "scratch"))
        return kept[-1].array

    texts: list[str] = []
    compiled = device.driver.compile
    device.driver.compile = lambda text, name: texts.append(text) or compiled(text, name)
    entry = find_kernel(op_type, "GPU", {**attrs, "T": half})
    assert entry is not None and isinstance(entry.kernel, Source)
    source = entry.kernel
    device.kernels.source(
        source, signature, arrays, allocate, lambda text: 0, lambda state: state
    )()
    lines = "\n".join(texts).splitlines()
    return {line for line in lines if "ALIGNED" in line or "PACKED" in line}


@pytest.mark.parametrize("offsets", [(0, 0), (1, 0), (0, 8), (4, 3)])
def test_convolutions(device: CudaDevice, offsets: tuple[int, int]) -> None:
    draw = np.random.default_rng(1)
    x, w = (draw.normal(size=size).astype("half") for size in ((1, 3, 4, 8), (1, 1, 8, 8)))
    out = placed(device, np.zeros((1, 3, 4, 8), "half"), 0)
    arrays = [placed(device, value, offset) for value, offset in zip((x, w), offsets)]
    attrs = {"strides": [1, 1, 1, 1], "padding": "VALID", "data_format": "NHWC"}
    attrs |= {"dilations": [1, 1, 1, 1], "explicit_paddings": []}
    macros = run(device, "Conv2D", attrs, *arrays, out)
    assert macros == {
        f"#define GG_ALIGNED_{name} {int(offset % 8 == 0)}" for name, offset in zip("AB", offsets)
    }
    wanted = x.astype("d") @ w[0, 0].astype("d")
    np.testing.assert_allclose(device.read(out).astype("d"), wanted, 2e-3, 2e-3)


@pytest.mark.parametrize("offsets", [(0, 0, 0), (8, 0, 1), (2, 5, 0)])
@pytest.mark.parametrize("head", [8, 12])
def test_attention(device: CudaDevice, offsets: tuple[int, ...], head: int) -> None:
    draw = np.random.default_rng(1)
    values = [draw.normal(size=(2, 5, head)).astype("half") for _ in range(3)]
    arrays = [placed(device, value, offset) for value, offset in zip(values, offsets)]
    out = placed(device, np.zeros((2, 5, head), "half"), 0)
    attrs = {"scale": 0.5, "adj_y": True, "num_args": 0}
    macros = run(device, "_FusedAttention", attrs, *arrays, out)
    assert macros == {
        f"#define PACKED_{name} {int(offset % 8 == head % 8 == 0)}"
        for name, offset in zip("QKV", offsets)
    }
    q, k, v = (value.astype("d") for value in values)
    chances = np.exp(0.5 * q @ k.swapaxes(1, 2))
    wanted = chances / chances.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(device.read(out).astype("d"), wanted, 4e-3, 4e-3)
