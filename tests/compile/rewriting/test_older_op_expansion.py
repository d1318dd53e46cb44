"""Ops of older graphs become ops that have native code, with the same results and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.framework.op_declaration import raw_ops
from tests.ops.one_op import make_graph_older

from ..stages import compiled, make_target, run, types

RANDOM = np.random.RandomState(7)
IMAGES = RANDOM.rand(2, 5, 6, 2).astype("f")
FILTERS = RANDOM.rand(3, 2, 2, 4).astype("f")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def separate():
    """Return a target that simplifies nothing."""
    options = tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
    config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))
    return make_target()._replace(config=config)


def agree(y: Any, feeds: dict[Any, Any], op_types: set[str]) -> None:
    """Check that the op is replaced by these types, and that the results are close."""
    shapes = {tensor: np.shape(value) for tensor, value in feeds.items()}
    unit = compiled([y], shapes, upto="arithmetic_simplification")
    assert op_types <= set(types(unit))
    [one], [other] = run([y], feeds), run([y], feeds, separate())
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize(
    "edges", [[[0, 0], [1, 1], [2, 0], [0, 0]], [[0, 0], [0, 3], [1, 2], [0, 0]]]
)
def test_padded_convolutions(mode: str, edges: Any) -> None:
    x = tf.placeholder(tf.float32, IMAGES.shape)
    how = {"mode": mode, "strides": [1, 2, 1, 1], "padding": "VALID"}
    y = raw_ops.FusedPadConv2D(x, np.array(edges, np.int32), FILTERS, **how)
    agree(y, {x: IMAGES}, {"MirrorPad", "Conv2D"})


@pytest.mark.parametrize("aligned", [False, True])
def test_resized_and_padded_convolutions(aligned: bool) -> None:
    x = tf.placeholder(tf.float32, IMAGES.shape)
    edges = np.array([[0, 0], [1, 1], [2, 0], [0, 0]], np.int32)
    how: dict[str, Any] = {"mode": "REFLECT", "strides": [1, 1, 1, 1], "padding": "SAME"}
    y = raw_ops.FusedResizeAndPadConv2D(
        x, np.array([7, 9], np.int32), edges, FILTERS, resize_align_corners=aligned, **how
    )
    agree(y, {x: IMAGES}, {"ResizeBilinear", "MirrorPad", "Conv2D"})


@pytest.mark.parametrize("is_fed", [False, True])
@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 0], [5, 0], [0, 0], [0, 0]], "paddings must be less than the dimension size: 5, 0"),
        ([[1, 0], [1, 0], [0, 0], [0, 0]], "Fused mirror padding only support spatial padding"),
    ],
)
def test_paddings_that_are_not_valid_are_refused(edges: Any, message: str, is_fed: bool) -> None:
    x, fed = tf.placeholder(tf.float32, IMAGES.shape), tf.placeholder(tf.int32, [4, 2])
    paddings = fed if is_fed else np.array(edges, np.int32)
    how = {"mode": "REFLECT", "strides": [1, 1, 1, 1], "padding": "VALID"}
    y = raw_ops.FusedPadConv2D(x, paddings, FILTERS, name="padded", **how)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=f"(?s){message}.*padded"),
    ):
        session.run(y, {x: IMAGES, fed: edges} if is_fed else {x: IMAGES})


def test_negative_paddings_are_refused() -> None:
    edges = np.array([[0, 0], [1, -1], [0, 0], [0, 0]], np.int32)
    how = {"mode": "REFLECT", "strides": [1, 1, 1, 1], "padding": "VALID"}
    with pytest.raises(ValueError, match="Paddings must be non-negative"):
        raw_ops.FusedPadConv2D(tf.zeros(IMAGES.shape), edges, FILTERS, **how)


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int32", "float64"])
def test_contrast_with_bounds(dtype: str) -> None:
    make_graph_older(1)
    values = (IMAGES * 200).astype(dtype)
    x = tf.placeholder(dtype, values.shape)
    low, high = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    y = raw_ops.AdjustContrast(x, np.float32(1.7), low, high)
    agree(y, {x: values, low: 20.0, high: 150.0}, {"AdjustContrastv2", "SelectV2"})
