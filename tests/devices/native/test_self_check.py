"""The check of the compiler's code when the runtime is loaded."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.codegen.c_compiler import Compiler, compiler
from gpugraph.devices.native import native_runtime
from gpugraph.devices.native.native_runtime import kernel_file
from gpugraph.devices.native.self_check import self_check

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no cc")

SOURCE = "".join(map(kernel_file, ("host_kernel.h", "host_math.h", "host_self_check.c")))


def checked(tmp_path: Path, before: str, after: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the result for the code of a changed source."""
    monkeypatch.setenv("GPUGRAPH_NATIVE", "1")
    assert before in SOURCE
    source = SOURCE.replace(before, after)
    (tmp_path / "cache").mkdir(mode=0o700)
    compilation = Compiler("cc", tmp_path / "cache").start(source, "a check", waits=True)
    assert compilation.library is not None, compilation.reason
    return self_check(compilation.library)


def test_sound_code_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked(tmp_path, "GG_SELF_CHECK", "GG_SELF_CHECK", monkeypatch) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tanh(x[i])", "tanh(x[i]) * (T)1.0001"),
        ("expm1(x[i])", "exp(x[i]) - 1"),  # which loses digits
        ("erf(x[i])", "-erf(x[i])"),
        ("long i = 0; i < n; i++) {     ", "long i = 0; i < n - n % 8; i++) {     "),
        ("sum += x[i]", "sum -= x[i]"),
        ("x[i] % 7", "(x[i] % 7 + 7) % 7"),
        ("x[i] >> 3", "(int32_t)((uint32_t)x[i] >> 3)"),
    ],
)
def test_code_that_is_not_sound_is_found(
    tmp_path: Path, before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = checked(tmp_path, before, after, monkeypatch)
    assert reason == "the C compiler's code computes other numbers than NumPy"


def test_all_steps_stay_with_numpy_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    if compiler().reason:
        pytest.skip(compiler().reason)
    why = "the C compiler's code is not sound today"
    monkeypatch.setattr(native_runtime, "self_check", lambda library: why)
    for name, value in vars(native_runtime._Shared()).items():
        monkeypatch.setattr(native_runtime.RUNTIME, name, value)
    with tf.Graph().as_default(), tf.Session() as session, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        x = tf.placeholder(tf.float32, [20, 30])
        y = tf.reduce_sum(tf.tanh(tf.matmul(x, tf.ones([30, 30]))) * 2.0)
        for _ in range(2):
            result = session.run(y, {x: np.ones([20, 30])})
        assert result == 1200
        codes = session.explain(y, {x: np.ones([20, 30])}).codes
    assert {(code.state, code.reason) for code in codes} == {("plain", why)}
