"""Convolution by tensor cores, emulated on the host: how near to double precision.

Products are exact and summed up in float32, so that the error is that of rounding the result, and
little beside the sum of absolute products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base import dtypes

from ..devices.cuda.gpus import needs_cxx
from .emulated import Machine, on_gpu
from .on_both import numbers

pytestmark = needs_cxx


def check(make: Callable[..., Any], *values: Any) -> None:
    """Compare the results of float16 or bfloat16 values on a GPU with those of doubles."""
    exact, sizes = (
        on_cpu(make, *(change(array.astype(np.float64)) for array in values))
        for change in (np.positive, np.abs)
    )
    epsilon = 2.0**-10 if values[0].dtype == np.float16 else 2.0**-7
    for one, other, size in zip(on_gpu(make, *values), exact, sizes, strict=True):
        assert one.dtype == values[0].dtype and abs(other).max() > 1
        off = abs(one.astype(np.float64) - other)
        bound = 0.501 * epsilon * abs(other) + 1e-6 * size + 2.0**-25
        assert (off <= bound).all(), (off / bound).max()


def on_cpu(make: Callable[..., Any], *values: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = [tf.placeholder(array.dtype, array.shape) for array in values]
        return session.run(make(*feeds), dict(zip(feeds, values, strict=True)))


def convolved(image: Any, filter: Any, dtype: Any = np.float16, **how: Any) -> None:
    """Check a convolution of these sizes, and its gradients by both."""

    def forward(x: Any, w: Any) -> Any:
        function = tf.nn.conv3d if len(image) == 5 else tf.nn.conv2d
        return function(x, w, **{"strides": 1, "padding": "SAME", **how})

    def make(x: Any, w: Any, dy: Any) -> Any:
        result = forward(x, w)
        return [result, *tf.gradients(result, [x, w], grad_ys=dy)]

    with tf.Graph().as_default():
        result = forward(tf.zeros(image), tf.zeros(filter)).shape.as_list()
    check(make, *(numbers(*sizes, dtype=dtype) for sizes in (image, filter, result)))


@pytest.mark.parametrize(
    ("image", "filter"),
    [
        ((2, 9, 8, 8), (3, 2, 8, 40)),  # whole packs
        ((2, 9, 8, 16), (2, 3, 16, 24)),  # the tiles of few columns
        ((1, 7, 6, 3), (3, 3, 3, 5)),  # one by one
        ((1, 7, 6, 12), (2, 1, 12, 36)),  # four at a time
    ],
)
def test_channels_in_packs_and_one_by_one(machine: Machine, image: Any, filter: Any) -> None:
    convolved(image, filter)
    assert machine.functions.count("gg_convolution_mma") == 3
    assert "gg_convolution" not in machine.functions


def test_bfloat16(machine: Machine) -> None:
    pytest.importorskip("ml_dtypes")
    convolved((2, 5, 6, 8), (3, 3, 8, 40), dtypes.bfloat16.as_numpy_dtype)
    assert machine.functions.count("gg_convolution_mma") == 3


@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
def test_strides_dilations_and_padding(machine: Machine, form: str) -> None:
    machine.how = {"backwards": True}
    image = (2, 11, 10, 8) if form == "NHWC" else (2, 8, 11, 10)
    strides = [1, 2, 3, 1] if form == "NHWC" else [1, 1, 2, 3]
    convolved(image, (3, 3, 8, 16), strides=strides, data_format=form)
    convolved(image, (3, 3, 8, 16), dilations=2, padding="VALID", data_format=form)


def test_large_tiles_and_their_edges(machine: Machine) -> None:
    """More than 132 blocks of 128 x 64."""
    convolved((1, 130, 132, 8), (1, 2, 8, 72), padding="VALID")
    assert "gg_sum_parts" in machine.functions  # of the gradient by the filter


def test_volumes(machine: Machine) -> None:
    convolved((1, 4, 5, 6, 8), (2, 3, 2, 8, 16), strides=[1, 1, 2, 1, 1])
    assert machine.functions.count("gg_convolution_mma") == 3


def test_a_bias_and_what_follows_it(machine: Machine) -> None:
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME"}

    def make(x: Any, w: Any, b: Any) -> Any:
        return [
            tf.raw_ops._FusedConv2D(x, w, [b], num_args=1, fused_ops=fused, name="fused", **attrs)
            for fused in (["BiasAdd"], ["BiasAdd", "Relu"], ["BiasAdd", "Relu6"])
        ]

    x, w, b = (numbers(*sizes, dtype=np.float16) for sizes in ((2, 4, 4, 8), (3, 3, 8, 9), (9,)))
    result, wanted = on_gpu(make, x, w, b), on_cpu(make, x, w, b)
    for one, other in zip(result, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-2)
    assert machine.functions.count("gg_convolution_mma") == 3
    assert result[1].min() == 0 and result[2].max() == 6


def test_gpus_without_such_instructions(machine: Machine) -> None:
    machine.how = {"arch": "sm_75"}
    convolved((2, 9, 8, 8), (3, 2, 8, 40))
    assert machine.functions.count("gg_convolution") == 3
    assert "gg_convolution_mma" not in machine.functions
