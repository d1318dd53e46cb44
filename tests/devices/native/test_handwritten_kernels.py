"""C functions of single ops (kernels/host_*.h): compiled, bound to arrays, run by threads.

tests/ops/nn/windows/test_native_windows.py checks the functions' results, op by op.
"""

from __future__ import annotations

import platform
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpugraph.base.errors import InternalError
from gpugraph.devices.codegen import c_compiler as compiler_module
from gpugraph.devices.codegen.c_compiler import Compiler
from gpugraph.devices.native import SourceFile, prepare_source, sequence
from gpugraph.devices.native.handwritten_kernels import whole_source
from gpugraph.devices.native.native_runtime import RUNTIME

from ..native_programs import features, needs_compiler

pytestmark = needs_compiler

FILES = ["host_convolution.h", "host_depthwise.h", "host_pooling.h"]


def the(file: str) -> SourceFile:
    prepared = prepare_source(file)
    compiled = prepared.get(wait=True)
    assert compiled is not None, prepared.reason
    return compiled


def random(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


class Layer:
    """A convolution of 3 by 3 with padding, and its gradients, by a file that has them."""

    def __init__(self, file: SourceFile, dtype: Any = np.float32) -> None:
        self.images, self.filter = (
            random(6, 20, 21, 10, dtype=dtype),
            random(3, 3, 10, 40, dtype=dtype),
        )
        self.slope = random(6, 20, 21, 40, dtype=dtype)
        self.results = [np.full_like(x, 7) for x in (self.slope, self.images, self.filter)]
        parameters = [6, 20, 21, 10, 3, 3, 40, 20, 21, 1, 1, 1, 1, 1, 1]
        inputs = [(self.images, self.filter), (self.filter, self.slope), (self.images, self.slope)]
        names = ["gg_conv2d", "gg_conv2d_back_input", "gg_conv2d_back_filter"]
        kept = [[0], [], []]  # the filter of the first may change from call to call
        self.calls = [
            file.bind(name, [*parameters, *more], [*arrays, out])
            for name, more, arrays, out in zip(names, kept, inputs, self.results)
        ]

    def __call__(self) -> list[np.ndarray]:
        for call in self.calls:
            assert call() == 0
        return self.results

    def wanted(self) -> list[np.ndarray]:
        """Return the same in float64, element by element of the window."""
        images, weights, slope = (
            array.astype(np.float64) for array in (self.images, self.filter, self.slope)
        )
        padded = np.pad(images, [(0, 0), (1, 1), (1, 1), (0, 0)])
        out, back = np.zeros(slope.shape), np.zeros(padded.shape)
        by_filter = np.zeros(weights.shape)
        for i in range(3):
            for j in range(3):
                seen = np.s_[:, i : i + 20, j : j + 21]
                out += padded[seen] @ weights[i, j]
                back[seen] += slope @ weights[i, j].T
                by_filter[i, j] = np.tensordot(padded[seen], slope, ([0, 1, 2], [0, 1, 2]))
        return [out, back[:, 1:-1, 1:-1], by_filter]

    def check(self) -> None:
        eps = np.finfo(self.images.dtype).eps
        for result, wanted in zip(self(), self.wanted()):
            np.testing.assert_allclose(result, wanted, rtol=0, atol=500 * eps * abs(wanted).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_layer(dtype: Any) -> None:
    Layer(the("host_convolution.h"), dtype).check()


@pytest.mark.parametrize("flag", ["-march=x86-64", "-march=x86-64-v3"])
def test_of_other_processors(flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrower vectors, fewer registers, no fused multiply-add."""
    if platform.machine() != "x86_64" or (flag.endswith("v3") and "avx2" not in features()):
        pytest.skip(f"this processor does not run what {flag} gives")
    monkeypatch.setattr(compiler_module, "NATIVE_FLAGS", (flag,))
    other = Compiler(compiler_module.compiler().command, tmp_path)
    library, runtime = other.start(whole_source(FILES[0]), flag).wait(), RUNTIME.get(True)
    assert library is not None and runtime is not None
    for dtype in (np.float32, np.float64):
        Layer(SourceFile(FILES[0], library, runtime), dtype).check()


def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    result = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("GPUGRAPH_THREADS", threads)
        result.append([array.tobytes() for array in Layer(the("host_convolution.h"))()])
    assert result[0] == result[1] == result[2]


def test_calls_at_the_same_time() -> None:
    layers = [Layer(the("host_convolution.h")) for _ in range(4)]
    wanted = [array.tobytes() for array in Layer(the("host_convolution.h"))()]

    def run(layer: Layer) -> None:
        for _ in range(20):
            layer()

    threads = [threading.Thread(target=run, args=[layer]) for layer in layers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for layer in layers:
        assert [array.tobytes() for array in layer.results] == wanted


def test_calls_are_members_of_sequences() -> None:
    layer, pooled = Layer(the("host_convolution.h")), np.empty((6, 10, 10, 40), np.float32)
    parameters = [6, 20, 21, 40, 2, 2, 10, 10, 2, 2, 0, 0]
    pool = the("host_pooling.h").bind("gg_max_pool", parameters, [layer.results[0], pooled])
    assert sequence([*layer.calls, pool])() == 0
    out = layer.results[0][:, :, :20].reshape(6, 10, 2, 10, 2, 40)
    np.testing.assert_array_equal(pooled, out.max((2, 4)))


def test_what_does_not_fit_is_refused() -> None:
    file, out = the("host_pooling.h"), np.zeros((1, 2, 2, 3), np.float32)
    parameters = [1, 4, 4, 3, 2, 2, 2, 2, 2, 2, 0, 0]
    images = random(1, 4, 4, 3)
    file.bind("gg_max_pool", parameters, [images, out])()

    def refused(message: str, *arrays: Any) -> None:
        with pytest.raises(InternalError, match=message):
            file.bind("gg_max_pool", parameters, arrays)

    refused(r"arrays of \[48, 12, 0.* was given \[1, 4, 4, 2\]", images[..., :2], out)
    refused("C-ordered", random(1, 4, 4, 6)[..., ::2], out)
    refused("no version for float32, float64", images, out.astype(np.float64))
    refused("no version for int32", images.astype(np.int32), out.astype(np.int32))
    refused("needs C-ordered", images, out, out)
    fixed = out.copy()
    fixed.setflags(write=False)
    refused("writeable", images, fixed)


@pytest.mark.parametrize("file", FILES)
def test_files_are_prepared_once(file: str) -> None:
    assert prepare_source(file) is prepare_source(file)
    assert prepare_source(file).reason == ""


def test_nothing_is_compiled_if_that_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "0")
    refused = prepare_source("host_pooling.h")
    assert refused.get(wait=True) is None
    assert "GPUGRAPH_NATIVE=0" in refused.reason
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    assert prepare_source("host_pooling.h").get() is not None
