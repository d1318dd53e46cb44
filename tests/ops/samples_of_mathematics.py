"""Samples of inverse and hyperbolic functions, special ones, bits, complex numbers, transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .sampling import TABLE, add, case, elementwise

__all__ = ["POSITIVE", "SPECTRA", "digamma_by_sum", "vectorized"]

INSIDE: dict[str, Any] = {"low": 0.1, "high": 0.9}
POSITIVE: dict[str, Any] = {"low": 0.3, "high": 4.3, "signed": False}

elementwise("Asin", np.arcsin, **INSIDE)
elementwise("Acos", np.arccos, **INSIDE)
elementwise("Atan", np.arctan)
elementwise("Sinh", np.sinh)
elementwise("Cosh", np.cosh)
elementwise("Asinh", np.arcsinh)
elementwise("Acosh", np.arccosh, low=1.2, high=4.0, signed=False)
elementwise("Atanh", np.arctanh, **INSIDE)
elementwise("Atan2", np.arctan2, **INSIDE)


# -- functions with a name


def digamma_by_sum(x: Any) -> Any:
    """digamma, by the recurrence and the first terms of its series, far out."""
    total = 0.0
    while x < 40:
        total, x = total - 1 / x, x + 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return total + math.log(x) - 0.5 / x - series


def _zeta_by_sum(x: Any, q: Any) -> Any:
    """Hurwitz's zeta: many terms, then the integral of the rest with two corrections."""
    total = sum((q + k) ** -x for k in range(200))
    q = q + 200
    total += q ** (1 - x) / (x - 1) + q**-x / 2 + x * q ** (-x - 1) / 12
    return total - x * (x + 1) * (x + 2) * q ** (-x - 3) / 720


def _polygamma(a: Any, x: Any) -> Any:
    if a == 0:
        return digamma_by_sum(x)
    return (-1) ** (int(a) + 1) * math.gamma(a + 1) * _zeta_by_sum(a + 1, x)


def vectorized(function: Any) -> Any:
    return np.vectorize(function, otypes=[np.float64])


elementwise("Erfc", vectorized(math.erfc))
elementwise("Lgamma", vectorized(math.lgamma), **POSITIVE)
elementwise("Digamma", vectorized(digamma_by_sum), **POSITIVE)
elementwise("Zeta", vectorized(_zeta_by_sum), low=1.5, high=4.0, signed=False, tolerance=8)
add(
    "Polygamma",
    lambda v: case(np.array([0, 1, 2], v.dtype.as_numpy_dtype), v(2, 3)),
    lambda v: case(np.array(1, v.dtype.as_numpy_dtype), v()),
    lambda v: case(np.array([[3], [1]], v.dtype.as_numpy_dtype), v(3)),
    lambda v: case(np.zeros((0, 3), v.dtype.as_numpy_dtype), v(1, 3)),
    reference=vectorized(_polygamma),
    tolerance=8,
    **POSITIVE,
)

# -- zeros that win


def _zeros(v: Any, *shape: int) -> Any:
    x = v(*shape)
    x.reshape(-1)[::2] = 0
    return x


def _unless(zero: int, function: Any) -> Any:
    def reference(x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.where((x if zero == 0 else y) == 0, 0, function(x, y))

    return reference


elementwise("Xlogy", _unless(0, lambda x, y: x * np.log(y)), **POSITIVE)
elementwise("Xdivy", _unless(0, np.divide))
elementwise("MulNoNan", _unless(1, np.multiply))
for _name in ("Xlogy", "Xdivy"):
    add(
        _name,
        lambda v: case(_zeros(v, 4), np.array([0, 1, 2, 3], v.dtype.as_numpy_dtype), smooth=False),
        reference=TABLE[_name].reference if _name in TABLE else None,
    )
add(
    "MulNoNan",
    lambda v: case(
        np.array([np.nan, np.inf, 1, 2], v.dtype.as_numpy_dtype), _zeros(v, 4), smooth=False
    ),
    reference=_unless(1, np.multiply),
    types=[dtypes.float64, dtypes.float32],
)


add(
    "NextAfter",
    lambda v: case(v(2, 3), v(3)),
    lambda v: case(v(), v()),
    lambda v: case(v(0, 3), v(1, 3)),
    reference=np.nextafter,
    exact=True,
)

# -- bits

elementwise("BitwiseAnd", np.bitwise_and)
elementwise("BitwiseOr", np.bitwise_or)
elementwise("BitwiseXor", np.bitwise_xor)
elementwise("Invert", np.invert)


def _shifted(shift: Any) -> Any:
    return lambda x, y: shift(x, np.clip(y, 0, 8 * y.dtype.itemsize - 1))


elementwise("LeftShift", _shifted(np.left_shift))
elementwise("RightShift", _shifted(np.right_shift))

# -- complex numbers

_PARTS = {np.dtype(np.complex64): dtypes.float32, np.dtype(np.complex128): dtypes.float64}
_WHOLE = {np.dtype(np.float32): dtypes.complex64, np.dtype(np.float64): dtypes.complex128}
_COMPLEX = [dtypes.complex64, dtypes.complex128]


def _part(x: Any) -> Any:
    return case(x, Tout=_PARTS[x.dtype])


for _name, _function in {
    "Real": np.real, "Imag": np.imag, "Angle": np.angle, "ComplexAbs": np.abs
}.items():  # fmt: skip
    add(
        _name,
        lambda v: _part(v(2, 3)),
        lambda v: _part(v()),
        lambda v: _part(v(0, 3)),
        types=_COMPLEX,
        reference=lambda x, Tout, function=_function: function(x),
    )
for _shapes in ([(2, 3), (2, 3)], [(), ()], [(3,), (2, 1)], [(0, 3), (3,)]):
    add(
        "Complex",
        lambda v, s=_shapes: case(v(*s[0]), y := v(*s[1]), Tout=_WHOLE[y.dtype]),
        reference=lambda x, y, Tout: x + 1j * y,
    )

# -- Fourier transforms

SPECTRA = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}
"""NumPy's function of each kind of transform."""


def _spectrum(kind: str, axes: int) -> Any:
    places = tuple(range(-axes, 0))

    def reference(x: Any, lengths: Any = None, **_: Any) -> Any:
        if x.size == 0:
            kind_of = np.complex128 if kind != "IRFFT" else np.float64
            sizes = x.shape if lengths is None else (*x.shape[:-axes], *lengths)
            last = sizes[-1] // 2 + 1 if kind == "RFFT" else sizes[-1]
            return np.zeros((*sizes[:-1], last), kind_of)
        if lengths is None:
            return SPECTRA[kind](x, axes=places)
        return SPECTRA[kind](x, s=lengths, axes=places)

    return reference


def _real_case(x: Any, *lengths: int) -> Any:
    types = _WHOLE if x.dtype.kind == "f" else _PARTS
    other = "Tcomplex" if x.dtype.kind == "f" else "Treal"
    return case(x, np.array(lengths, np.int32), **{other: types[x.dtype]})


for _axes in (1, 2, 3):
    _end = "" if _axes == 1 else f"{_axes}D"
    _more: tuple[int, ...] = (3, 2, 4)[3 - _axes :]
    for _name in ("FFT", "IFFT"):
        add(
            _name + _end,
            lambda v, m=_more: case(v(*m)),
            lambda v, m=_more: case(v(2, *m[:-1], 5)),
            lambda v, m=_more: case(v(0, *m)),
            types=_COMPLEX,
            reference=_spectrum(_name, _axes),
            tolerance=4,
        )
    for _name in ("RFFT", "IRFFT"):
        add(
            _name + _end,
            lambda v, m=_more: _real_case(v(*m), *m),
            lambda v, m=_more: _real_case(v(2, *m[:-1], 5), *m[:-1], 5),
            lambda v, m=_more: _real_case(v(*m[:-1], 6), *m[:-1], 5),
            lambda v, m=_more: _real_case(v(2, *m[:-1], 3), *m[:-1], 4),
            lambda v, m=_more: _real_case(v(*m[:-1], 3), *m[:-1], 5),
            lambda v, m=_more: _real_case(v(*m[:-1], 2), *m[:-1], 7),
            lambda v, m=_more: _real_case(v(0, *m), *m),
            types=_COMPLEX if _name == "IRFFT" else [dtypes.float32, dtypes.float64],
            reference=_spectrum(_name, _axes),
            tolerance=4,
        )
