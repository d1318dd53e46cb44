"""cuDNN's binding against a fake library that checks each descriptor by the documented rules."""

from __future__ import annotations

import gc
import importlib
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.cuda import device_options
from gpugraph.devices.cuda.detection.gpu_detection import Detection
from gpugraph.devices.cuda.driver import driver_opening
from gpugraph.devices.cuda.driver.convolution_record import ConvolutionRecord, StridedTensor
from gpugraph.devices.cuda.driver.cudnn import Cudnn
from gpugraph.devices.cuda.driver.cudnn_numbers import NUMBERS
from gpugraph.devices.cuda.driver.cupy_driver import CupyDriver
from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.devices.cuda.driver.libcuda import Gpu

from ..gpus import needs_cxx
from ..hosted_cupy import HostedCuPy, compiled
from .fake_cudnn import FakeCudnn, build

COMPILER = shutil.which("gcc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no gcc, whose _Float16 the fake uses")

ROOT = Path(__file__).resolve().parents[4]
STREAM = 5


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(str(COMPILER), tmp_path_factory.mktemp("cudnn"))


@pytest.fixture
def fake(path: Path) -> Iterator[FakeCudnn]:
    made = FakeCudnn(path)
    gc.collect()
    before = made.get("fake_descriptors"), made.get("fake_handles")
    yield made
    gc.collect()
    assert made.error.value == b""
    assert (made.get("fake_descriptors"), made.get("fake_handles")) == before


class Arrays:
    """The arrays of a convolution, with channels last or first."""

    def __init__(self, dtype: str, is_last: bool, spatial: tuple[int, ...] = (5, 6)) -> None:
        draw = np.random.default_rng(1)
        window = (3, 2, 2)[: len(spatial)]
        out = tuple((size - width) // 2 + 1 for size, width in zip(spatial, window))
        sizes = ((2, 3, *spatial), (4, 3, *window), (2, 4, *out))
        self.values = [draw.normal(size=shape) for shape in sizes]
        self.bias = draw.normal(size=4).astype(dtype)
        self.stored, tensors = [], []
        for value in self.values:
            order = (0, *range(2, value.ndim), 1) if is_last else tuple(range(value.ndim))
            stored = np.ascontiguousarray(value.transpose(order)).astype(dtype)
            view = stored.transpose(np.argsort(order))
            strides = tuple(step // stored.itemsize for step in view.strides)
            tensors.append(StridedTensor(stored.ctypes.data, view.shape, strides))
            self.stored.append(view)
        twos, ones, zeros = (((number,) * len(spatial)) for number in (2, 1, 0))
        self.record = ConvolutionRecord("forward", dtype, *tensors, twos, ones, zeros, zeros)

    def expected(self, kind: str) -> Any:
        """Return the result in double precision, by the definition."""
        x, w, y = (array.astype("d") for array in self.stored)
        made = np.zeros_like({"forward": y, "input": x, "filter": w}[kind])
        for place in np.ndindex(*y.shape[2:]):
            for element in np.ndindex(*w.shape[2:]):
                pixel = (..., *(2 * at + e for at, e in zip(place, element)))
                at, e = (..., *place), (..., *element)
                if kind == "forward":
                    made[at] += x[pixel] @ w[e].T
                elif kind == "input":
                    made[pixel] += y[at] @ w[e]
                else:
                    made[e] += y[at].T @ x[pixel]
        return made


@pytest.mark.parametrize("is_last", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("kind", ["forward", "input", "filter"])
def test_convolutions_and_gradients(fake: FakeCudnn, kind: str, dtype: str, is_last: bool) -> None:
    arrays = Arrays(dtype, is_last)
    expected = arrays.expected(kind)
    cudnn = Cudnn(fake.library)
    launch = cudnn.bind(arrays.record._replace(kind=kind), (64, 4096), STREAM)
    assert launch is not None
    launch()
    found = arrays.stored[{"forward": 2, "input": 0, "filter": 1}[kind]]
    tolerance = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-14}[dtype]
    np.testing.assert_allclose(found, expected, tolerance, tolerance)
    reads, writes = arrays.record._replace(kind=kind).spans()
    assert len(reads) == 2 and writes == ((found.ctypes.data, found.nbytes),)


@pytest.mark.parametrize("relu", [False, True])
def test_a_bias_and_relu_are_added_before_the_result_is_rounded(
    fake: FakeCudnn, relu: bool
) -> None:
    arrays = Arrays("float16", True, (4, 5, 4))
    expected = arrays.expected("forward") + arrays.bias.astype("d")[:, None, None, None]
    record = arrays.record._replace(bias=arrays.bias.ctypes.data, relu=relu)
    launch = Cudnn(fake.library).bind(record, (64, 4096), STREAM)
    assert launch is not None
    launch()
    expected = np.maximum(expected, 0) if relu else expected
    np.testing.assert_allclose(arrays.stored[2], expected, 2**-10, 2**-14)
    assert (arrays.bias.ctypes.data, 8) in record.spans()[0]


@pytest.mark.parametrize(
    ("note", "dtype", "tf32", "is_allowed"),
    [
        ("NONDETERMINISTIC", "float16", False, False),
        ("REDUCED_PRECISION_REDUCTION", "float16", False, False),
        ("WINOGRAD", "float32", False, False),
        ("WINOGRAD_TILE_13x13", "float32", False, False),
        ("FFT", "float32", True, False),
        ("DOWN_CONVERT_INPUTS", "float32", False, False),
        ("DOWN_CONVERT_INPUTS", "float32", True, True),
        ("TENSOR_CORE", "float32", False, False),
        ("TENSOR_CORE", "float32", True, True),
        ("TENSOR_CORE", "float16", False, True),
    ],
)
def test_engines_with_other_arithmetic_are_left_out(
    fake: FakeCudnn, note: str, dtype: str, tf32: bool, is_allowed: bool
) -> None:
    number = NUMBERS[f"CUDNN_NUMERICAL_NOTE_{note}"]
    fake.engines([[number]], [0])
    record = Arrays(dtype, True).record._replace(tf32=tf32)
    launch = Cudnn(fake.library).bind(record, (64, 4096), STREAM)
    assert (launch is not None) == is_allowed


def test_a_plan_whose_workspace_is_too_large_is_left_out(fake: FakeCudnn) -> None:
    cudnn, record = Cudnn(fake.library), Arrays("float32", True).record
    fake.engines([[], []], [1 << 20, 512])
    assert cudnn.bind(record, (64, 511), STREAM) is None
    assert cudnn.bind(record, (64, 512), STREAM) is not None


@pytest.mark.parametrize("kind", ["OPERATIONGRAPH", "EXECUTION_PLAN", "ENGINEHEUR"])
def test_what_it_does_not_support_is_none(fake: FakeCudnn, kind: str) -> None:
    fake.set("fake_unsupported", NUMBERS[f"CUDNN_BACKEND_{kind}_DESCRIPTOR"])
    cudnn, record = Cudnn(fake.library), Arrays("float32", True).record
    assert cudnn.bind(record, (64, 4096), STREAM) is None
    assert cudnn.bind(record._replace(dtype="int32"), (64, 4096), STREAM) is None
    fake.set("fake_unsupported", -1)
    assert cudnn.bind(record, (64, 4096), STREAM) is not None


def test_a_library_that_does_not_start_is_told_once(
    fake: FakeCudnn, caplog: pytest.LogCaptureFixture
) -> None:
    fake.set("fake_fails_at_create", 1)
    cudnn, record = Cudnn(fake.library), Arrays("float32", True).record
    for _ in range(2):
        assert cudnn.bind(record, (64, 4096), STREAM) is None
    assert caplog.text.count("cuDNN could not be started (cudnnStatus_t 1001)") == 1


def test_a_launch_that_fails_says_so(fake: FakeCudnn) -> None:
    record = Arrays("float32", True).record
    fake.engines([[]], [16])
    launch = Cudnn(fake.library).bind(record, (0, 4096), STREAM)
    assert launch is not None
    with pytest.raises(DriverError, match="launch a convolution") as caught:
        launch()
    assert caught.value.status == 2000 and b"no workspace" in fake.error.value
    fake.error.value = b""


def test_the_fake_notices_broken_rules(fake: FakeCudnn) -> None:
    cudnn, record = Cudnn(fake.library), Arrays("float32", True).record
    sizes = record.results.sizes
    for change, text in (
        ({"results": record.results._replace(sizes=(2, 4, 9, 9))}, b"result of another size"),
        ({"before": (0,)}, b"another number of spatial dimensions"),
        ({"strides": (0, 1)}, b"too small"),
        ({"results": record.results._replace(strides=(1,))}, b"other strides than sizes"),
        ({"results": record.results._replace(sizes=(3, *sizes[1:]))}, b"batches differ"),
    ):
        with pytest.raises(DriverError):
            cudnn.graph(record._replace(**change))
        assert text in fake.error.value
        fake.error.value = b""


# -- whole programs


class Captured:
    """The library, whose executions are part of the fake bindings' captures, as in CUDA."""

    def __init__(self, library: Any, cupy: HostedCuPy) -> None:
        self._library = library
        self._cupy = cupy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)


@pytest.fixture
def hosted(fake: FakeCudnn, monkeypatch: pytest.MonkeyPatch) -> HostedCuPy:
    """Return fake bindings of a GPU whose convolutions the fake library computes."""
    cupy = HostedCuPy()
    cupy.install(monkeypatch)
    there = Detection((Gpu(0, "Fake H100", (9, 0), 4 << 30, "0000:01:00.0"),))
    library = Captured(fake.library, cupy)

    def execute(*arguments: Any) -> int:
        cupy._enqueue(lambda: fake.library.cudnnBackendExecute(*arguments) and None)
        return 0

    library.__dict__["cudnnBackendExecute"] = execute
    make = partial(CupyDriver, compiler=compiled, make_convolutions=lambda: Cudnn(library))
    monkeypatch.setattr(device_options, "detect", lambda: there)
    monkeypatch.setattr(device_options, "open_driver", make)
    return cupy


@needs_cxx
@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
def test_a_network_is_computed_by_it_captured_or_not(
    fake: FakeCudnn, hosted: HostedCuPy, form: str
) -> None:
    draw = np.random.default_rng(3)
    image = (2, 6, 5, 4) if form == "NHWC" else (2, 4, 6, 5)
    x, w, bias = (draw.normal(size=size).astype("f") for size in (image, (3, 2, 4, 8), (8,)))
    answers = []
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, image)
        kept = tf.Variable(w)
        result = tf.nn.conv2d(images, kept, strides=2, padding="SAME", data_format=form)
        result = tf.nn.relu(tf.nn.bias_add(result, bias, data_format=form))
        loss = tf.reduce_sum(result * result)
        fetches = [loss, *tf.gradients(loss, [images, kept])]
        for count in (0, 1):
            with tf.Session(config=tf.ConfigProto(device_count={"GPU": count})) as session:
                session.run(tf.global_variables_initializer())
                if count:
                    report = str(session.explain(fetches, {images: x}))
                    assert report.count("is computed by cuDNN 9.28.0") == 3, report
                for _ in range(3):
                    found = session.run(fetches, {images: x})
                answers.append(found)
    assert fake.get("fake_executions") == 9 and len(hosted.told("graphLaunch")) == 2
    for one, other in zip(*answers):
        np.testing.assert_allclose(other, one, 1e-5, 1e-4)


@needs_cxx
def test_without_a_plan_our_kernels_compute(fake: FakeCudnn, hosted: HostedCuPy) -> None:
    fake.engines([[NUMBERS["CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC"]]], [0])
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.device("/GPU:0"):
            x, w = tf.ones((1, 4, 4, 2)), tf.Variable(tf.ones((2, 2, 2, 3)))
            result = tf.nn.conv2d(x, w, strides=1, padding="VALID")
        session.run(tf.global_variables_initializer())
        assert "kernels/cuda/nn: cuDNN has no plan for it" in str(session.explain(result))
        assert (session.run(result) == 8).all()
    assert fake.get("fake_executions") == 0


@needs_cxx
def test_the_report_says_that_it_is_not_installed() -> None:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=1))
    with tf.Graph().as_default(), tf.Session(config=config) as session, tf.device("/GPU:0"):
        x = tf.placeholder(tf.float32, (1, 4, 4, 2))
        result = tf.nn.conv2d(x, tf.ones((2, 2, 2, 3)), 1, "VALID")
        report = str(session.explain(result, {x: np.ones((1, 4, 4, 2))}))
    assert "is computed by kernels/cuda/nn: cuDNN is not installed" in report


def test_the_check_of_released_packages_accepts_the_library(
    fake: FakeCudnn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "ci")
    check = importlib.import_module("cudnn_check")
    fake.set("fake_needs_handle", 0)  # without a GPU there is none
    sentence = "cuDNN 9.28.0 for CUDA 12: 20 graphs accepted, a wrong one not"
    assert check.accepted(fake.library) == sentence
    assert fake.error.value.startswith(b"result of another size")
    fake.error.value = b""


def test_the_library_has_to_be_of_cupys_cuda(
    fake: FakeCudnn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(driver_opening, "load_cublaslt", lambda versions: None)
    monkeypatch.setattr(driver_opening, "load_cudnn", lambda: fake.library)
    for version, is_used in ((12090, True), (13000, False)):
        monkeypatch.setattr(driver_opening, "binding_version", lambda number=version: number)
        assert (driver_opening._convolutions() is not None) == is_used
    monkeypatch.setenv("GPUGRAPH_CUDNN", "0")
    monkeypatch.setattr(driver_opening, "binding_version", lambda: 12090)
    assert driver_opening._convolutions() is None
