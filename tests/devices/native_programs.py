"""Programs for the tests of native kernels, and the functions that run them.

`Made` writes a program and computes it in NumPy at the same time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native import Fused, Fusion, prepare
from gpugraph.devices.native.native_runtime import RUNTIME
from gpugraph.kernel import Call, Reduction

__all__ = [
    "MAX", "MEAN", "MIN", "PROD", "SUM", "Made", "features", "needs_compiler", "run_program",
    "thread_for_any_work",
]  # fmt: skip

needs_compiler = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)


def features() -> set[str]:
    """Return the processor's features, where the system reports them."""
    try:
        lines = Path("/proc/cpuinfo").read_text("ascii", "replace").splitlines()
    except OSError:
        return set()
    return set(next((line for line in lines if line.startswith("flags")), "").split())


_HOST = Call()
SUM = Reduction("(T)0", "a + b", _HOST)
MEAN = Reduction("(T)0", "a + b", _HOST, finish="a / (T)n")
PROD = Reduction("(T)1", "a * b", _HOST)
MAX = Reduction("(T)(-1.0 / 0.0)", "a >= b || a != a ? a : b", _HOST)
MIN = Reduction("(T)(1.0 / 0.0)", "a <= b || a != a ? a : b", _HOST)

REDUCED: dict[Reduction, Callable[..., Any]] = {
    SUM: np.sum,
    MEAN: np.mean,
    PROD: np.prod,
    MAX: lambda x, **how: np.max(x, initial=-np.inf, **how),
    MIN: lambda x, **how: np.min(x, initial=np.inf, **how),
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "x + y": np.add,
    "x - y": np.subtract,
    "x * y": np.multiply,
    "x / y": np.divide,
    "-x": np.negative,
    "x * x": np.square,
    "exp(x)": np.exp,
    "tanh(x)": np.tanh,
    "sqrt(x)": np.sqrt,
    "x < (T)0 ? (T)0 : x": lambda x: np.maximum(x, 0),
    "x >= y || x != x ? x : y": np.maximum,
    "x < y": np.less,
    "x ? y : z": np.where,
    "!x": np.logical_not,
    "x && y": np.logical_and,
}


class Made:
    """A fusion, with the arrays of its inputs and the NumPy value of each of its values.

    Floats are computed in float64, so that `wanted` holds the exact results.
    """

    def __init__(self) -> None:
        self.fusion = Fusion()
        self.arrays: list[np.ndarray] = []
        self.values: dict[int, Any] = {}
        self.wanted: list[np.ndarray] = []
        self.shapes: list[tuple[int, ...]] = []
        self.types: list[DType] = []

    def input(self, array: Any) -> int:
        array = np.asarray(array)
        at = self.fusion.input(as_dtype(array.dtype), array.shape)
        self.arrays.append(array)
        self.values[at] = _wide(array)
        return at

    def constant(self, value: Any, dtype: DType = tf.float32) -> int:
        at = self.fusion.constant(value, dtype)
        self.values[at] = _wide(np.asarray(value, dtype.as_numpy_dtype))
        return at

    def index(self, size: int, dtype: DType = tf.int32) -> int:
        at = self.fusion.index(size, dtype)
        self.values[at] = np.arange(size, dtype=dtype.as_numpy_dtype)
        return at

    def expand(self, value: int, shape: Sequence[int]) -> int:
        at = self.fusion.expand(value, shape)
        assert np.broadcast_shapes(self.fusion.shape(at), shape) == tuple(shape)
        self.values[at] = np.reshape(self.values[value], self.fusion.shape(at))
        return at

    def apply(self, text: str, *inputs: int, dtype: DType = tf.float32) -> int:
        at = self.fusion.apply(text, inputs, dtype)
        with np.errstate(all="ignore"):
            self.values[at] = FUNCTIONS[text](*(self.values[each] for each in inputs))
        return at

    def cast(self, value: int, dtype: DType) -> int:
        at = self.fusion.apply("(U)x", [value], dtype)
        self.values[at] = _wide(np.asarray(self.values[value]).astype(dtype.as_numpy_dtype))
        return at

    def reduce(self, reduction: Reduction, value: int, axes: Sequence[int] | None = None) -> int:
        at = self.fusion.reduce(reduction, value, axes)
        over = None if axes is None else tuple(axes)
        with np.errstate(all="ignore"):
            self.values[at] = REDUCED[reduction](self.values[value], axis=over, keepdims=True)
        return at

    def output(self, value: int, dtype: DType = tf.float32, shape: Any = None) -> None:
        self.fusion.output(value, shape)
        self.shapes.append(self.fusion.shape(value) if shape is None else shape)
        self.wanted.append(np.broadcast_to(self.values[value], self.shapes[-1]))
        self.types.append(dtype)

    def finish(self) -> Fused:
        return self.fusion.finish()

    def outputs(self) -> list[np.ndarray]:
        """Return arrays for the outputs, full of garbage."""
        made = []
        for shape, dtype in zip(self.shapes, self.types):
            array = np.empty(shape, dtype.as_numpy_dtype)
            array.reshape(-1).view(np.uint8).fill(1 if dtype is tf.bool else 0xA5)
            made.append(array)
        return made

    def run(self, by: Callable[..., None] | None = None) -> list[np.ndarray]:
        """Return the results of the native kernel, or of `by` in its place (see `run_program`)."""
        outputs = self.outputs()
        (by or run_program)(self.finish(), self.arrays, outputs)
        return outputs

    def check(
        self, rtol: float = 2e-6, atol: float = 1e-6, by: Callable[..., None] | None = None
    ) -> None:
        """Run it, and compare."""
        for found, wanted in zip(self.run(by), self.wanted):
            np.testing.assert_allclose(found, wanted, rtol, atol)


def _wide(array: Any) -> Any:
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def run_program(fused: Fused, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
    """Compile a program now and run it once."""
    [prepared] = prepare([fused.program])
    function = prepared.get(wait=True)
    assert function is not None, prepared.reason
    assert not function.bind(inputs, outputs, fused.sizes)()


def thread_for_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kernels of any size run on all threads, until the test ends."""
    runtime = RUNTIME.get(True)
    assert runtime is not None
    threshold = ctypes.c_double.in_dll(runtime.library, "gg_thread_nanoseconds")
    monkeypatch.setattr(threshold, "value", 1.0)
