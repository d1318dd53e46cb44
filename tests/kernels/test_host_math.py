"""The functions of host_math.h: their largest errors, and their results for special values.

All exponents with random mantissas, and the usual ranges, against twice the precision. The header
states these bounds.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native.native_runtime import kernel_file

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

INVERSES = ("asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh")
TEXTS = {
    "exp": "exp(x)",
    "expm1": "expm1(x)",
    "tanh": "tanh(x)",
    "log": "log(x)",
    "log1p": "log1p(x)",
    "erf": "erf(x)",
    "erfc": "erfc(x)",
    "sin": "sin(x)",
    "cos": "cos(x)",
    "tan": "tan(x)",
    **{name: f"{name}(x)" for name in INVERSES},
    "sigmoid": "(T)1 / ((T)1 + exp(-x))",
    "softplus": "fmax(x, (T)0) + log1p(exp(-fabs(x)))",
}

SINGLE = {
    "exp": 1.0,
    "expm1": 1.5,
    "tanh": 1.4,
    "log": 0.9,
    "log1p": 1.4,
    "erf": 1.3,
    "erfc": 2.8,
    "sin": 0.6,
    "cos": 0.6,
    "tan": 0.6,
    "asin": 2.4,
    "acos": 1.2,
    "atan": 2.2,
    "sinh": 2.9,
    "cosh": 2.9,
    "asinh": 1.8,
    "acosh": 2.1,
    "atanh": 2.1,
    "sigmoid": 2.5,
    "softplus": 1.8,
}
DOUBLE = {"exp": 1.0, "expm1": 2.0, "tanh": 2.6, "log": 0.9, "log1p": 1.4, "sigmoid": 2.1}
DOUBLE |= {"sinh": 2.8, "cosh": 3.2, "asinh": 1.8, "acosh": 2.1, "atanh": 1.8}
"""The largest errors allowed, in units of the last place."""

NOT_ZERO = {"softplus", "sigmoid", "cos", "exp", "erfc", "log", "acos", "cosh", "acosh"}
"""The functions whose value at 0 is not 0."""

POWER = 0.6
ANGLE = 2.4

WIDER = {np.float32: np.float64, np.float64: np.longdouble}

REFERENCE: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "tanh": np.tanh,
    "log": np.log,
    "log1p": np.log1p,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    **{
        name: getattr(np, name.replace("a", "arc", 1) if name[0] == "a" else name)
        for name in INVERSES
    },
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(0, x),
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def loops() -> str:
    lines = []
    for kind, name in (("float", "float32"), ("double", "float64")):
        for function, text in TEXTS.items():
            lines.append(
                f"void {function}_{name}(const {kind} *from, {kind} *to, int64_t n) {{"
                f" typedef {kind} T; for (int64_t i = 0; i < n; i++)"
                f" {{ T x = from[i]; to[i] = {text}; }} }}"
            )
    lines.append(
        "void pow_float32(const float *x, const float *y, float *to, int64_t n)"
        " { for (int64_t i = 0; i < n; i++) to[i] = pow(x[i], y[i]); }"
    )
    lines.append(lines[-1].replace("pow", "atan2"))
    return "\n".join(lines)


@pytest.fixture(scope="module", params=["fma", "no fma"])
def library(request: pytest.FixtureRequest) -> ctypes.CDLL:
    """Loops over each function, with fused multiply-adds where the machine has them, or without."""
    head = "#define GG_NO_FMA\n" if request.param == "no fma" else ""
    text = head + kernel_file("host_math.h") + kernel_file("host_trigonometry.h") + loops()
    result = compiler().start(text, "host_math")
    found = result.wait()
    assert found is not None, result.reason
    return found


def call(library: ctypes.CDLL, name: str, *inputs: np.ndarray) -> np.ndarray:
    out = np.empty_like(inputs[0])
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*inputs, out)]
    getattr(library, f"{name}_{out.dtype.name}")(*pointers, ctypes.c_int64(out.size))
    return out


def every_exponent(dtype: Any, each: int) -> np.ndarray:
    """Return numbers of all exponents, NaN and denormals among them, with random mantissas and
    signs.
    """
    random = np.random.default_rng(7)
    info = np.finfo(dtype)
    unsigned = np.uint32 if info.bits == 32 else np.uint64
    exponents = np.repeat(np.arange(1 << info.nexp, dtype=unsigned), each)
    mantissas = random.integers(0, 1 << info.nmant, exponents.size, dtype=unsigned)
    signs = random.integers(0, 2, exponents.size, dtype=unsigned)
    shift, top = unsigned(info.nmant), unsigned(info.bits - 1)
    return (signs << top | exponents << shift | mantissas).view(dtype)


def numbers(dtype: Any) -> np.ndarray:
    random = np.random.default_rng(8)
    info = np.finfo(dtype)
    low, high = (-104, 89) if info.bits == 32 else (-746, 710)
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, info.max, -info.max, info.tiny]
    edges += [float(info.smallest_subnormal), -float(info.smallest_subnormal)]
    parts = [
        every_exponent(dtype, 600 if info.bits == 32 else 60),
        random.uniform(low, high, 100_000).astype(dtype),
        random.uniform(-4, 4, 150_000).astype(dtype),
        np.array(edges, dtype),
    ]
    return np.concatenate(parts)


def errors(result: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """In units of the last place of the correctly rounded result; infinite for a wrong NaN."""
    rounded = wanted.astype(result.dtype)
    alike = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    unit = np.spacing(np.maximum(np.abs(rounded), np.finfo(result.dtype).tiny))
    far = np.abs(result.astype(np.longdouble) - wanted) / unit
    far[alike & ~np.isfinite(rounded)] = 0
    far[np.isnan(far)] = np.inf
    return far


def check(name: str, x: np.ndarray, result: np.ndarray, wanted: np.ndarray, bound: float) -> None:
    far = errors(result, wanted)
    worst = int(np.argmax(far))
    assert far[worst] <= bound, (
        f"{name}({x[worst]!r}) is {result[worst]!r} instead of {wanted[worst]!r}: {far[worst]:.3f}"
    )


def domain(name: str, x: np.ndarray) -> np.ndarray:
    """Return the values at which the text equals its function: 1 / (1 + inf) is 0, not the
    denormal.
    """
    lowest = -87 if x.dtype == np.float32 else -708
    return x[~(x < lowest)] if name == "sigmoid" else x


@pytest.mark.parametrize("name", SINGLE)
def test_single_precision_keeps_its_bound(library: ctypes.CDLL, name: str) -> None:
    x = domain(name, numbers(np.float32))
    wanted = REFERENCE[name](x.astype(np.float64))
    check(name, x, call(library, name, x), wanted, SINGLE[name])


@pytest.mark.parametrize("name", DOUBLE)
def test_double_precision_keeps_its_bound(library: ctypes.CDLL, name: str) -> None:
    x = domain(name, numbers(np.float64))
    wanted = REFERENCE[name](x.astype(np.longdouble))
    is_exact = np.finfo(np.longdouble).nmant > 60  # else the reference is off by 1 itself
    check(name, x, call(library, name, x), wanted, DOUBLE[name] + (not is_exact))


@pytest.mark.parametrize("name", sorted(set(TEXTS) - NOT_ZERO))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_keeps_its_sign(library: ctypes.CDLL, name: str, dtype: Any) -> None:
    result = call(library, name, np.array([0.0, -0.0], dtype))
    assert result.tolist() == [0, 0]
    assert np.signbit(result).tolist() == [False, True]


def test_denormals_are_not_flushed(library: ctypes.CDLL) -> None:
    x = np.array([-87.5, -90.0, -100.0, -103.9], np.float32)
    assert (call(library, "exp", x) > 0).all()
    tiny = np.array([1e-45, -1e-45, 1e-39], np.float32)
    for name in ("expm1", "tanh", "log1p", "sin", "tan"):
        assert call(library, name, tiny).tolist() == tiny.tolist()
    assert np.float32(1e-39) * np.float32(0.5) > 0, "the process flushes denormals"


def test_powers_keep_their_bound(library: ctypes.CDLL) -> None:
    random = np.random.default_rng(9)
    x = np.concatenate([np.abs(every_exponent(np.float32, 400)), random.uniform(-4, 4, 100_000)])
    x = x.astype(np.float32)
    y = random.uniform(-40, 40, x.size).astype(np.float32)
    y[::3] = np.rint(y[::3])
    x[::5] *= -1
    result, wanted = (
        call(library, "pow", x, y),
        np.power(x.astype(np.float64), y.astype(np.float64)),
    )
    check("pow", x, result, wanted, POWER)


def test_powers_of_special_values(library: ctypes.CDLL) -> None:
    values = [0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-45, 3e38, -7]
    x, y = (array.ravel() for array in np.meshgrid(np.float32(values), np.float32(values)))
    result, wanted = (
        call(library, "pow", x, y),
        np.power(x.astype(np.float64), y.astype(np.float64)),
    )
    check("pow", x, result, wanted, POWER)
    numbers_only = ~np.isnan(wanted)
    assert (np.signbit(result) == np.signbit(wanted))[numbers_only].all()


def test_angles_keep_their_bound(library: ctypes.CDLL) -> None:
    random = np.random.default_rng(10)
    y = np.concatenate([every_exponent(np.float32, 400), random.uniform(-4, 4, 100_000)])
    x = np.concatenate([random.permutation(y[:102_400]), random.uniform(-4, 4, 100_000)])
    y, x = y.astype(np.float32), x.astype(np.float32)
    wanted = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    check("atan2", y, call(library, "atan2", y, x), wanted, ANGLE)


def test_angles_of_special_values(library: ctypes.CDLL) -> None:
    values = [0, -0.0, 1, -1, 2, -2, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38]
    y, x = (array.ravel() for array in np.meshgrid(np.float32(values), np.float32(values)))
    result = call(library, "atan2", y, x)
    wanted = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    check("atan2", y, result, wanted, ANGLE)
    numbers_only = ~np.isnan(wanted)
    assert (np.signbit(result) == np.signbit(wanted))[numbers_only].all()
