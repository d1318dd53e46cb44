"""Attention by tensor cores, emulated on the host: its error against double precision.

A probability is rounded to the dtype before it weighs its value, and so is the result: with u half
of the dtype's epsilon the error is at most u times the result for absolute values, and u times the
result. float16 adds half of its smallest number for each key.
"""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base import dtypes
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.ops.framework.kernel_registry import find_kernel

from ..devices.cuda.gpus import gpu as one_gpu, needs_cxx, on_gpu as on_one_gpu
from .emulated import Machine, on_gpu

pytestmark = needs_cxx


def narrow(name: str) -> Any:
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes")
    return dtypes.as_dtype(name).as_numpy_dtype


def numbers(shape: Any, dtype: Any, seed: int) -> Any:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)


def check(result: Any, q: Any, k: Any, v: Any, mask: Any, scale: float) -> None:
    """Check the bounds in this file's docstring; float32 intermediates add little."""
    epsilon, tiny = (2.0**-10, 2.0**-24) if result.dtype == np.float16 else (2.0**-7, 0)
    q, k, v, mask = (np.asarray(array, np.float64) for array in (q, k, v, mask))
    scores = q @ k * scale + mask
    chances = np.exp(scores - scores.max(-1, keepdims=True))
    chances /= chances.sum(-1, keepdims=True)
    exact, all_of_it = chances @ v, chances @ abs(v)
    bound = 0.51 * epsilon * (all_of_it + abs(exact))
    bound += 0.5 * tiny * (abs(v).sum(-2, keepdims=True) + 1) + 1e-5 * all_of_it
    off = abs(result.astype(np.float64) - exact)
    assert (off <= bound).all(), (off / bound).max()


def attend(
    dtype: Any, batch: Any, m: int, n: int, d: int, dv: int, mask: Any = None, across: bool = False
) -> None:
    q, k, v = (
        numbers((*batch, *value), dtype, index)
        for index, value in enumerate([(m, d), (d, n) if across else (n, d), (n, dv)])
    )
    masks = [] if mask is None else [2 * numbers(mask, dtype, 3)]
    scale = 1.5 / np.sqrt(d)

    def make(*inputs: Any) -> Any:
        return tf.raw_ops._FusedAttention(
            *inputs[:3], inputs[3:], num_args=len(masks), scale=scale, adj_y=not across, name="out"
        )

    result = on_gpu(make, q, k, v, *masks)
    assert result.dtype == dtype
    check(result, q, k if across else k.swapaxes(-1, -2), v, masks[0] if masks else 0.0, scale)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("batch", "m", "n", "d", "dv", "mask"),
    [
        ((1,), 1, 1, 1, 1, None),
        ((2, 3), 70, 130, 64, 64, None),
        ((2,), 17, 65, 8, 90, (17, 65)),
        ((1, 2), 65, 64, 128, 24, (2, 1, 64)),
        ((1,), 100, 63, 13, 31, (100, 1)),
    ],
)
def test_heads_of_any_size(
    machine: Machine, name: str, batch: Any, m: int, n: int, d: int, dv: int, mask: Any
) -> None:
    attend(narrow(name), batch, m, n, d, dv, mask)
    assert machine.functions == ["gg_attention_mma"]


@pytest.mark.parametrize(
    ("m", "n", "d", "dv", "mask"),
    [(66, 72, 40, 33, None), (5, 131, 120, 128, (5, 131)), (64, 136, 64, 64, (136,))],
)
def test_keys_whose_columns_come_first(
    machine: Machine, m: int, n: int, d: int, dv: int, mask: Any
) -> None:
    attend(np.float16, (2,), m, n, d, dv, mask, across=True)
    assert machine.functions == ["gg_attention_mma"]


def test_threads_in_any_order(machine: Machine) -> None:
    machine.how = {"backwards": True}
    attend(np.float16, (2,), 70, 200, 64, 64)
    attend(np.float16, (1,), 70, 200, 56, 20, (70, 1), across=True)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("mask", [None, (2, 1, 70)])
def test_gpus_without_such_instructions(machine: Machine, name: str, mask: Any) -> None:
    machine.how = {"arch": "sm_75"}
    attend(narrow(name), (2,), 33, 70, 20, 64, mask)
    assert machine.functions == ["gg_attention"]


def test_float32_is_not_rounded(machine: Machine) -> None:
    q, k, v = (numbers((3, 9, 8), np.float32, index) for index in range(3))

    def make(*inputs: Any) -> Any:
        return tf.raw_ops._FusedAttention(*inputs, [], num_args=0, name="out")

    result = on_gpu(make, q, k, v)
    chances = np.exp(q.astype(np.float64) @ k.swapaxes(1, 2))
    wanted = chances @ v / chances.sum(-1, keepdims=True)
    np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-6)
    assert machine.functions == ["gg_attention"]


def test_keys_that_are_masked_by_infinity_or_by_the_least_number(machine: Machine) -> None:
    dtype = narrow("bfloat16")
    least = float(tf.bfloat16.min)
    q, k, v = (numbers((1, *sizes), dtype, 1) for sizes in [(5, 16), (150, 16), (150, 8)])
    mask = np.zeros((5, 150), dtype)
    mask[0, :140], mask[1, 5:], mask[2], mask[3] = -np.inf, -np.inf, -np.inf, least
    mask[4, :70] = least

    def make(*inputs: Any) -> Any:
        return tf.raw_ops._FusedAttention(*inputs[:3], inputs[3:], num_args=1, name="out")

    result = on_gpu(make, q, k, v, mask)
    rows = [0, 1, 3, 4]
    check(result[:, rows], q[:, rows], k.swapaxes(1, 2), v, mask[rows], 1.0)
    assert np.isnan(result[0, 2].astype(np.float32)).all()


def test_a_negative_scale_and_large_scores(machine: Machine) -> None:
    q, k, v = (30 * numbers((1, 20, 32), np.float16, index) for index in range(3))

    def make(*inputs: Any) -> Any:
        return tf.raw_ops._FusedAttention(*inputs, [], num_args=0, scale=-0.7, name="out")

    check(on_gpu(make, q, k, v), q, k.swapaxes(1, 2), v, 0.0, -0.7)


def test_arrays_that_begin_anywhere() -> None:
    """Three elements behind a multiple of 16 bytes is no place to copy several at once from."""
    q, k, v = (numbers((2, 40, 16), np.float16, index) for index in range(3))
    signature = SimpleNamespace(
        input_shapes=[q.shape] * 3,
        input_types=[tf.float16] * 3,
        output_shapes=[q.shape],
        attrs={"scale": 1.0, "adj_y": True},
    )
    with closing(one_gpu()) as device:
        arrays = []
        for array in (q, k, v, np.zeros_like(q)):
            flat = on_one_gpu(device, np.concatenate([np.zeros(3, np.float16), array.ravel()]))
            arrays.append(Array(flat.address + 6, q.shape, np.dtype(np.float16)))
        entry: Any = find_kernel("_FusedAttention", "GPU", {"T": tf.float16})
        none: Any = None
        device.kernels.source(entry.kernel, signature, arrays, none, none, none)()
        check(device.read(arrays[3]), q, k.swapaxes(1, 2), v, 0.0, 1.0)
