"""Convolutions of single pixels are products of matrices by cublasLt, and others are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from ..devices.cuda.gpus import needs_cxx
from .emulated import Machine, on_gpu
from .on_both import numbers
from .test_convolution_mma import on_cpu

pytestmark = needs_cxx

TOLERANCE = {"float16": 3e-3, "float32": 2e-6, "float64": 1e-13}


def both_ways(image: Any, filter: Any, dtype: str, **how: Any) -> Any:
    """Return a convolution and its gradients on a GPU, after a comparison with doubles."""

    def make(x: Any, w: Any, dy: Any) -> Any:
        result = tf.nn.conv2d(x, w, **{"strides": 1, "padding": "SAME", **how})
        return [result, *tf.gradients(result, [x, w], grad_ys=dy)]

    with tf.Graph().as_default():
        result = tf.nn.conv2d(tf.zeros(image), tf.zeros(filter), **{"strides": 1, **how})
    sizes = (image, filter, result.shape.as_list())
    values = [numbers(*shape, dtype=np.dtype(dtype)) for shape in sizes]
    found = on_gpu(make, *values)
    wide = {**how, "data_format": "NHWC"}

    def exact(x: Any, w: Any, dy: Any) -> Any:
        result = tf.nn.conv2d(x, w, **{"strides": 1, "padding": "SAME", **wide})
        return [result, *tf.gradients(result, [x, w], grad_ys=dy)]

    is_first = how.get("data_format") == "NCHW"
    doubles = [value.astype("d") for value in values]
    if is_first:
        doubles = [doubles[0].transpose(0, 2, 3, 1), doubles[1], doubles[2].transpose(0, 2, 3, 1)]
    wanted = on_cpu(exact, *doubles)
    if is_first:
        wanted = [*(array.transpose(0, 3, 1, 2) for array in wanted[:2]), wanted[2]]
    for one, other in zip(found, wanted, strict=True):
        scale = abs(other).max()
        assert one.dtype == dtype
        np.testing.assert_allclose(one / scale, other / scale, 0, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
def test_single_pixels_are_products(machine: Machine, dtype: str, form: str) -> None:
    image = (3, 5, 4, 6) if form == "NHWC" else (3, 6, 5, 4)
    both_ways(image, (1, 1, 6, 10), dtype, padding="VALID", data_format=form)
    kernels = [name for name in machine.functions if name.startswith("gg_convolution")]
    assert len(kernels) == (form == "NCHW")  # the filter's gradient, a sum over the batch


def test_one_image_with_channels_first_has_no_sum(machine: Machine) -> None:
    both_ways((1, 6, 5, 4), (1, 1, 6, 10), "float32", padding="SAME", data_format="NCHW")
    assert machine.functions == []


@pytest.mark.parametrize(
    ("filter", "how"),
    [
        ((1, 1, 8, 8), {"strides": 2, "padding": "SAME"}),
        ((1, 2, 8, 8), {"padding": "VALID"}),
        ((1, 1, 8, 8), {"padding": [[0, 0], [1, 0], [0, 0], [0, 0]]}),
    ],
)
def test_other_windows_are_not(machine: Machine, filter: Any, how: Any) -> None:
    both_ways((2, 4, 4, 8), filter, "float16", **how)
    assert machine.functions.count("gg_convolution_mma") == 3


def test_without_the_library_they_are_convolutions(machine: Machine) -> None:
    machine.how = {"products": False}
    both_ways((2, 4, 4, 8), (1, 1, 8, 8), "float32", padding="SAME")
    assert machine.functions.count("gg_convolution") == 3


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize("activation", [None, tf.nn.relu, tf.nn.relu6])
def test_a_bias_and_an_activation_are_fused(
    machine: Machine, dtype: str, window: int, activation: Any
) -> None:
    def make(x: Any, w: Any, bias: Any) -> Any:
        result = tf.nn.bias_add(tf.nn.conv2d(x, w, strides=1, padding="SAME"), bias)
        return result if activation is None else activation(result)

    values = [numbers(2, 5, 4, 8), numbers(window, window, 8, 16), 3 * numbers(16)]
    values = [value.astype(dtype) for value in values]
    found = on_gpu(make, *values)
    wanted = on_cpu(make, *(value.astype("d") for value in values))
    np.testing.assert_allclose(found, wanted, 4 * TOLERANCE[dtype], 4 * TOLERANCE[dtype])
    is_product = window == 1 and activation is not tf.nn.relu6
    kernel = "gg_convolution_mma" if dtype == "float16" else "gg_convolution"
    assert machine.functions == ([] if is_product else [kernel])
