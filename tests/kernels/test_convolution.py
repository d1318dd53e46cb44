"""Convolution on an emulated GPU: tiles and their edges, formats, strides, dilations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from ..devices.cuda.gpus import needs_cxx
from .on_both import check, gradients, numbers

pytestmark = needs_cxx

ROUND = {np.float16: 4e-3, np.float32: 2e-5, np.float64: 1e-12}


@pytest.mark.parametrize(
    ("dtype", "channels", "outputs"),
    [(np.float32, 3, 5), (np.float32, 8, 36), (np.float16, 8, 36), (np.float64, 3, 5)],
)
def test_images_of_any_dtype_and_their_gradients(dtype: Any, channels: int, outputs: int) -> None:
    check(
        gradients(lambda x, w: tf.nn.conv2d(x, w, strides=1, padding="SAME")),
        numbers(2, 9, 8, channels, dtype=dtype),
        numbers(3, 2, channels, outputs, dtype=dtype),
        within=ROUND[dtype],
    )


@pytest.mark.parametrize(
    ("strides", "dilations", "padding"),
    [
        (2, 1, "SAME"),
        (3, 1, "VALID"),
        (1, 2, "SAME"),
        ([2, 1], 1, [[0, 0], [2, 0], [1, 3], [0, 0]]),
    ],
)
@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
def test_windows_far_apart_spread_out_and_padded(
    strides: Any, dilations: Any, padding: Any, form: str
) -> None:
    image, filter = numbers(2, 11, 10, 4), numbers(3, 3, 4, 6)
    if form == "NCHW":
        image = np.ascontiguousarray(image.transpose(0, 3, 1, 2))
        if isinstance(padding, list):
            padding = [padding[index] for index in (0, 3, 1, 2)]
    check(
        gradients(
            lambda x, w: tf.nn.conv2d(
                x, w, strides=strides, padding=padding, dilations=dilations, data_format=form
            )
        ),
        image,
        filter,
    )


def test_strides_that_share_a_factor_with_dilations() -> None:
    attrs = {"strides": [1, 4, 2, 1], "dilations": [1, 2, 3, 1], "padding": "SAME"}

    def make(filter: Any, dy: Any) -> Any:
        return tf.raw_ops.Conv2DBackpropInput([1, 13, 9, 2], filter, dy, **attrs)

    check(make, numbers(3, 2, 2, 3), numbers(1, 4, 5, 3))


def test_tiles_that_are_full_and_ones_that_are_not() -> None:
    """Several blocks along rows and columns, of the largest tiles and of the narrow ones."""
    check(
        lambda x, w: tf.nn.conv2d(x, w, strides=1, padding="VALID"),
        numbers(1, 100, 101, 4),
        numbers(1, 1, 4, 132),
    )
    check(
        lambda x, w: tf.nn.conv2d(x, w, strides=1, padding="VALID"),
        numbers(1, 15, 15, 4),
        numbers(2, 2, 4, 132),
    )


def test_long_sums_are_cut_in_parts() -> None:
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    check(
        lambda x, dy: tf.raw_ops.Conv2DBackpropFilter(x, [1, 3, 2, 3], dy, **attrs),
        numbers(3, 30, 20, 2),
        numbers(3, 30, 20, 3),
    )
    check(
        lambda x, w: tf.nn.conv2d(x, w, strides=1, padding="VALID"),
        numbers(1, 3, 3, 200),
        numbers(3, 3, 200, 4),
        within=1e-4,
    )


def test_arrays_that_begin_anywhere() -> None:
    """A slice of a larger array is no place to load several elements at once from."""

    def make(x: Any, w: Any) -> Any:
        return tf.nn.conv2d(tf.unstack(x)[1], w, strides=1, padding="SAME")

    check(make, numbers(2, 1, 5, 3, 4), numbers(3, 3, 4, 4))


@pytest.mark.parametrize("fused", [["BiasAdd"], ["BiasAdd", "Relu"], ["BiasAdd", "Relu6"]])
@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
def test_a_bias_and_what_follows_it(fused: list[str], form: str) -> None:
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME", "data_format": form}

    def make(x: Any, w: Any, b: Any) -> Any:
        return tf.raw_ops._FusedConv2D(
            x, w, [b], num_args=1, fused_ops=fused, name="fused", **attrs
        )

    check(make, 4 * numbers(2, 4, 4, 4), numbers(3, 3, 4, 8), numbers(8))


def test_a_bias_after_parts_are_added_up() -> None:
    attrs = {"strides": [1, 1, 1, 1], "padding": "VALID", "fused_ops": ["BiasAdd", "Relu"]}

    def make(x: Any, w: Any, b: Any) -> Any:
        return tf.raw_ops._FusedConv2D(x, w, [b], num_args=1, name="fused", **attrs)

    check(make, numbers(2, 3, 3, 200), numbers(3, 3, 200, 4), 9 * numbers(4), within=1e-4)


@pytest.mark.parametrize("form", ["NDHWC", "NCDHW"])
def test_volumes_and_their_gradients(form: str) -> None:
    volume = numbers(1, 4, 5, 6, 3)
    if form == "NCDHW":
        volume = np.ascontiguousarray(volume.transpose(0, 4, 1, 2, 3))
    strides = [1, 1, 2, 1, 1] if form == "NDHWC" else [1, 1, 1, 2, 1]
    check(
        gradients(
            lambda x, w: tf.nn.conv3d(x, w, strides=strides, padding="SAME", data_format=form)
        ),
        volume,
        numbers(2, 3, 2, 3, 4),
    )


@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
@pytest.mark.parametrize(("channels", "times", "stride"), [(4, 1, 1), (3, 2, 2)])
def test_each_channel_by_itself(form: str, channels: int, times: int, stride: int) -> None:
    image = numbers(2, 7, 9, channels)
    if form == "NCHW":
        image = np.ascontiguousarray(image.transpose(0, 3, 1, 2))
    strides = [1, stride, stride, 1] if form == "NHWC" else [1, 1, stride, stride]
    check(
        gradients(
            lambda x, w: tf.nn.depthwise_conv2d(
                x, w, strides=strides, padding="SAME", data_format=form
            )
        ),
        image,
        numbers(3, 2, channels, times),
    )


def test_filters_by_channel_are_sums_of_parts() -> None:
    check(
        gradients(lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID")),
        numbers(3, 20, 8, 40),
        numbers(1, 2, 40, 1),
    )
