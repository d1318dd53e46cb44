"""Convolution and pooling as native functions, against the NumPy kernels of the same ops.

Convolutions sum in another order: they are held to the bound of a sum of k products, which is k eps
times the sum of their magnitudes. Pooling, and convolution by channel except for the gradient by
the filter, give the same values, NaN and the place of the largest included.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.base.bfloat16 import finfo
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.shapes import TensorShape
from gpugraph.compile.steps.native_node_code import source_piece
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native import prepare_source
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.op_def import host_slots
from gpugraph.kernel import CSource
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.framework.op_evaluation import ArrayContext, run_kernel

from ...samples import TABLE
from ...samples_of_windows import WINDOWED

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

REFUSED = ("floating-point numbers, not", "one filter per channel, not", "numbers are rounded")
POOLS = [op_type for op_type in WINDOWED if "Pool" in op_type]


def signature(op_type: str, attrs: dict[str, Any], flat: list[np.ndarray]) -> ArrayContext:
    """Return the op's context as it is before the op runs."""
    shapes = [TensorShape.of(array.shape) for array in flat]
    types = [as_dtype(array.dtype) for array in flat]
    infer = DECLARATIONS[op_type].op_def.infer
    [shape] = infer(InferContext(shapes, attrs, types, 1, flat.__getitem__))
    return ArrayContext(op_type, attrs, flat, [tuple(shape.as_list())], [attrs["T"]])


def native(op_type: str, attrs: dict[str, Any], flat: list[np.ndarray]) -> np.ndarray:
    """Return the native function's result; raise NotImplementedError where it does not support the
    op.
    """
    decl = DECLARATIONS[op_type]
    assert isinstance(decl.native, CSource)
    known = signature(op_type, attrs, flat)
    host = host_slots(decl.op_def.inputs, decl.op_def.host_inputs, attrs)
    out = np.full(known.output_shapes[0], 7, attrs["T"].as_numpy_dtype)
    inputs = [np.ascontiguousarray(array) for index, array in enumerate(flat) if index not in host]
    found = [_twice(decl.native, known, inputs, out)]
    if decl.native.packed is not None:  # a constant filter, which stays packed
        found.append(_twice(decl.native, known, inputs, out, frozenset([decl.native.packed])))
    assert len({result.tobytes() for result in found}) == 1, "a packed filter is not equal"
    return found[0]


def _twice(
    form: CSource, known: Any, inputs: list[Any], out: Any, constants: frozenset[int] = frozenset()
) -> np.ndarray:
    """Return the result of two equal runs of the same call."""
    piece = source_piece(
        form,
        known,
        [*inputs, out],
        lambda size: np.full(size, 255, np.uint8),
        lambda _, shape, dtype: np.full(shape, 5, dtype),
        constants,
    )
    prepared = prepare_source(*piece.source)
    file = prepared.get(wait=True)
    assert file is not None, prepared.reason
    calls = piece.bind(file).calls
    assert not any(call() for call in calls)
    first = out.copy()
    out.fill(9)
    assert not any(call() for call in calls)
    assert out.tobytes() == first.tobytes(), "a second run gives something else"
    return first


def by_numpy(op_type: str, attrs: dict[str, Any], flat: list[np.ndarray]) -> np.ndarray:
    decl = DECLARATIONS[op_type]
    entry = find_kernel(op_type, "CPU", attrs)
    return run_kernel(decl.op_def, entry.kernel, attrs, flat)[0]


def wide(flat: list[np.ndarray]) -> list[np.ndarray]:
    return [array if array.dtype.kind == "i" else array.astype(np.float64) for array in flat]


def check_convolution(op_type: str, attrs: dict[str, Any], flat: list[np.ndarray], k: int) -> None:
    result = native(op_type, attrs, flat)
    double = {**attrs, "T": tf.float64}
    wanted = by_numpy(op_type, double, wide(flat))
    magnitudes = by_numpy(op_type, double, [abs(array) for array in wide(flat)])
    error = abs(result.astype(np.float64) - wanted)
    assert (error <= 2 * (k + 1) * finfo(result.dtype).eps * magnitudes).all(), error.max()


def same(op_type: str, attrs: dict[str, Any], flat: list[np.ndarray]) -> None:
    with np.errstate(all="ignore"):
        wanted = by_numpy(op_type, attrs, flat)
    np.testing.assert_array_equal(native(op_type, attrs, flat), wanted)


@pytest.mark.parametrize("op_type", WINDOWED)
def test_samples(op_type: str) -> None:
    """All that the walk over every op looks at, in each dtype and format."""
    done = 0
    for sample in TABLE[op_type].samples:
        attrs = sample.all_attrs(DECLARATIONS[op_type].op_def)
        try:
            if op_type in POOLS:
                same(op_type, attrs, sample.flat)
            else:
                check_convolution(op_type, attrs, sample.flat, 1000)
            done += 1
        except NotImplementedError as refused:
            assert any(message in str(refused) for message in REFUSED), refused
    assert done


class Geometry:
    """Sizes and attrs of windows over images."""

    def __init__(self, draw: Any, pooling: bool, most_channels: int = 20) -> None:
        size, window = st.integers(1, 12), st.integers(1, 4)
        self.window = [draw(window), draw(window)]
        strides, dilations = [draw(st.integers(1, 3)) for _ in "yx"], [1, 1]
        if not pooling:
            dilations = [draw(st.integers(1, 3)) for _ in "yx"]
        padding = draw(st.sampled_from(["SAME", "VALID"] + ["EXPLICIT"] * (not pooling)))
        pads = [(0, 0), (0, 0)]
        if padding == "EXPLICIT":
            pads = [(draw(st.integers(0, 4)), draw(st.integers(0, 4))) for _ in "yx"]
        reach = [(k - 1) * d + 1 for k, d in zip(self.window, dilations)]
        least = [1 if padding == "SAME" else r - sum(p) for r, p in zip(reach, pads)]
        self.sizes = [max(draw(size), bound) for bound in least]
        self.batch = draw(st.sampled_from([0, 1, 1, 2, 3, 5]))
        self.channels = draw(st.integers(0, most_channels) | st.sampled_from([1, 3, 64, 130]))
        self.dtype = draw(st.sampled_from([tf.float32, tf.float32, tf.float64]))
        self.attrs: dict[str, Any] = {
            "T": self.dtype,
            "strides": [1, *strides, 1],
            "padding": padding,
            "data_format": "NHWC",
        }
        if pooling:
            self.attrs["ksize"] = [1, *self.window, 1]
        else:
            flat = [0, 0, *pads[0], *pads[1], 0, 0] if padding == "EXPLICIT" else []
            self.attrs |= {"dilations": [1, *dilations, 1], "explicit_paddings": flat}
        self.random = np.random.default_rng(draw(st.integers(0, 99)))

    @property
    def images(self) -> tuple[int, ...]:
        return self.batch, *self.sizes, self.channels

    def normal(self, *shape: int) -> np.ndarray:
        return self.random.standard_normal(shape).astype(self.dtype.as_numpy_dtype)

    def coarse(self, *shape: int) -> np.ndarray:
        """Few different numbers, some of them NaN, infinite or zeros of either sign."""
        chosen = [-1, -0.0, 0.0, 1, 1, 2, np.nan, np.inf, -np.inf]
        picked = self.random.choice(
            chosen, shape, p=[0.1, 0.1, 0.1, 0.2, 0.1, 0.2, 0.1, 0.02, 0.08]
        )
        return picked.astype(self.dtype.as_numpy_dtype)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_random_convolutions(data: Any) -> None:
    g = Geometry(data.draw, pooling=False)
    outputs = data.draw(st.integers(0, 20) | st.sampled_from([1, 16, 32, 48, 64, 80, 130]))
    x, w = g.normal(*g.images), g.normal(*g.window, g.channels, outputs)
    places = signature("Conv2D", g.attrs, [x, w]).output_shapes[0]
    dy = g.normal(*places)
    sizes = [np.array(array.shape, np.int32) for array in (x, w)]
    k = int(np.prod(g.window))
    check_convolution("Conv2D", g.attrs, [x, w], k * g.channels)
    check_convolution("Conv2DBackpropInput", g.attrs, [sizes[0], w, dy], k * outputs)
    rows = int(np.prod(places[:3]))
    check_convolution("Conv2DBackpropFilter", g.attrs, [x, sizes[1], dy], rows)


def test_padding_meets_what_is_not_finite() -> None:
    """Products with padding are left out, except where they are no zeros for NumPy."""
    random = np.random.default_rng(4)
    x, w = (random.standard_normal(s).astype(np.float32) for s in ((3, 9, 8, 20), (5, 3, 20, 24)))
    attrs = {
        "T": tf.float32, "strides": [1, 1, 1, 1], "padding": "SAME",
        "data_format": "NHWC", "dilations": [1, 1, 1, 1], "explicit_paddings": [],
    }  # fmt: skip
    dy = random.standard_normal((3, 9, 8, 24)).astype(np.float32)
    w[0, 1, 3, 5], w[4, 2, 7, 20], dy[1, 0, 4, 6], dy[2, 8, 7, 2] = np.inf, np.nan, -np.inf, np.nan
    sizes = [np.array(array.shape, np.int32) for array in (x, w)]
    finite = random.standard_normal(dy.shape).astype(np.float32)
    for op_type, flat in (
        ("Conv2D", [x, w]),
        ("Conv2DBackpropInput", [sizes[0], w, finite]),
        ("Conv2DBackpropFilter", [x, sizes[1], dy]),
    ):
        with np.errstate(invalid="ignore"):
            wanted, result = by_numpy(op_type, attrs, flat), native(op_type, attrs, flat)
        assert not np.isfinite(wanted).all()
        assert np.isfinite(wanted).any()
        np.testing.assert_allclose(result, wanted, rtol=1e-3, atol=1e-3)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_random_convolutions_by_channel(data: Any) -> None:
    g = Geometry(data.draw, pooling=False)
    x, w = g.normal(*g.images), g.normal(*g.window, g.channels, 1)
    places = signature("DepthwiseConv2dNative", g.attrs, [x, w]).output_shapes[0]
    dy, op_type = g.normal(*places), "DepthwiseConv2dNative"
    sizes = [np.array(array.shape, np.int32) for array in (x, w)]
    same(op_type, g.attrs, [x, w])
    same(f"{op_type}BackpropInput", g.attrs, [sizes[0], w, dy])
    rows = int(np.prod(places[:3]))
    check_convolution(f"{op_type}BackpropFilter", g.attrs, [x, sizes[1], dy], rows)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_random_pooling(data: Any) -> None:
    g = Geometry(data.draw, pooling=True)
    x = g.coarse(*g.images)
    windows = signature("MaxPool", g.attrs, [x]).output_shapes[0]
    largest, dy, ddx = g.coarse(*windows), g.coarse(*windows), g.coarse(*g.images)
    same("MaxPool", g.attrs, [x])
    same("MaxPoolGrad", g.attrs, [x, largest, dy])
    same("MaxPoolGradGrad", g.attrs, [x, largest, ddx])
    same("AvgPool", g.attrs, [x])
    same("AvgPoolGrad", g.attrs, [np.array(x.shape, np.int32), dy])


@pytest.mark.parametrize("outputs", [1, 3, 4, 33, 64, 200])
@pytest.mark.parametrize("strides", [1, 2])
def test_large_convolutions(outputs: int, strides: int) -> None:
    """Cut into many parts of images and of rows, into blocks of columns and of lines."""
    random = np.random.default_rng(outputs)
    for images in ((3, 40, 33, 17), (20, 7, 9, 40), (2, 31, 30, 64), (2, 20, 30, 3)):
        x = random.standard_normal(images).astype(np.float32)
        w = random.standard_normal((3, 5, images[3], outputs)).astype(np.float32)
        attrs = {
            "T": tf.float32, "strides": [1, strides, strides, 1], "padding": "SAME",
            "data_format": "NHWC", "dilations": [1, 1, 1, 1], "explicit_paddings": [],
        }  # fmt: skip
        dy = random.standard_normal(signature("Conv2D", attrs, [x, w]).output_shapes[0])
        dy = dy.astype(np.float32)
        sizes = [np.array(array.shape, np.int32) for array in (x, w)]
        check_convolution("Conv2D", attrs, [x, w], 15 * images[3])
        check_convolution("Conv2DBackpropInput", attrs, [sizes[0], w, dy], 15 * outputs)
        rows = dy.size // outputs
        check_convolution("Conv2DBackpropFilter", attrs, [x, sizes[1], dy], rows)


@pytest.mark.parametrize("op_type", POOLS)
def test_large_pooling(op_type: str) -> None:
    random = np.random.default_rng(3)
    for images, size, stride in (
        ((2, 65, 64, 40), 2, 2),
        ((2, 60, 70, 33), 3, 2),
        ((2, 64, 64, 5), 2, 2),
    ):
        x = np.round(random.standard_normal(images), 1).astype(np.float32)
        attrs = {
            "T": tf.float32, "ksize": [1, size, size, 1], "strides": [1, stride, stride, 1],
            "padding": "SAME", "data_format": "NHWC",
        }  # fmt: skip
        windows = signature("MaxPool", attrs, [x]).output_shapes[0]
        dy = random.standard_normal(windows).astype(np.float32)
        operands = {
            "MaxPool": [x], "AvgPool": [x], "MaxPoolGrad": [x, dy, dy],
            "MaxPoolGradGrad": [x, dy, x], "AvgPoolGrad": [np.array(x.shape, np.int32), dy],
        }  # fmt: skip
        same(op_type, attrs, operands[op_type])
