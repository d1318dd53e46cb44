"""Conversion of real numbers to integers of few bits, and back: QuantizeV2, Dequantize and others.

The modes for a range [min_range, max_range] and a quantized dtype with n values:
    MIN_COMBINED  the range is divided into n - 1 steps
    MIN_FIRST     like MIN_COMBINED, with the range shifted so that 0 is on a step
    SCALED        a number is an integer times one scale factor, so that 0 stays 0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING, qint8, qint16, qint32, quint8, quint16
from gpugraph.base.errors import invalid_argument
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import SCALAR, of_rank

_TYPES = (qint8, quint8, qint32, qint16, quint16)
_MODE = {"mode": Attr("string", "MIN_COMBINED", allowed=("MIN_COMBINED", "MIN_FIRST", "SCALED"))}
_ROUND_MODES = ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN")
_ENDS = "min_range: float32, max_range: float32"
_LARGEST = np.finfo(np.float32).max


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _mode(attrs: Any) -> str:
    mode = _text(attrs["mode"])
    if mode not in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
        raise ValueError(
            f"Mode string must be 'MIN_COMBINED', 'MIN_FIRST', or 'SCALED', is '{mode}'"
        )
    return mode


def _numbers(quantized: Any) -> Any:
    """Return a view, with an integer dtype, of an array of a quantized dtype."""
    return quantized[quantized.dtype.names[0]]


def _round_half_away(x: Any) -> Any:
    """Round to the nearest integers. Halves are rounded away from 0."""
    return np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x)


def _bounds(kind: Any) -> tuple[int, int]:
    limits = np.iinfo(kind)
    return int(limits.min), int(limits.max)


def _scaled_ends(low: Any, high: Any, ends: tuple[int, int]) -> tuple[Any, Any, Any]:
    """Return (scale, low, high) for mode SCALED: the number of integer steps per 1.0, and the range
    of real numbers that the integers cover.

    Args:
      ends: the lowest and the highest integer of the quantized dtype.
    """
    by_low = ends[0] / low if ends[0] * low > 0 else _LARGEST
    by_high = ends[1] / high if ends[1] * high > 0 else _LARGEST
    scale = type(low)(min(by_low, by_high))
    return scale, type(low)(ends[0] / scale), type(low)(ends[1] / scale)


class _FirstScale:
    """The conversion in mode MIN_FIRST. It holds the size of a step, and the multiple of this size
    at which the range begins.
    """

    def __init__(self, low: Any, high: Any, kind: Any) -> None:
        self.first, self.last = _bounds(kind)
        steps = self.last - self.first + 1
        width = float(high - low) * steps / (steps - 1.0)
        self.per_step = width / steps
        self.first_step = np.round(float(low) / self.per_step) if width else 0.0
        self.low = low

    def whole(self, x: Any) -> Any:
        """Convert real numbers to integers that are clipped to the bounds of the dtype."""
        if not self.per_step:
            return np.full(x.shape, self.first)
        places = (
            _round_half_away(x.astype(np.float64) / self.per_step) - self.first_step + self.first
        )
        return np.clip(places, self.first, self.last)

    def real(self, numbers: Any) -> Any:
        """Convert integers to the real numbers that they represent, as float64."""
        start = self.first_step * self.per_step if self.per_step else self.low
        return (numbers.astype(np.float64) - self.first) * self.per_step + start


def _to_integers(x: Any, low: Any, high: Any, kind: Any, attrs: Any) -> tuple[Any, Any, Any]:
    """Convert real numbers in [low, high] to integers. Return (integers, low, high).

    The returned low and high are the range that the integers cover.

    Args:
      kind: the integer dtype.
      attrs: the attrs of QuantizeV2 (mode, round_mode).
    """
    mode, (first, last) = _mode(attrs), _bounds(kind)
    if mode == "MIN_FIRST":
        return _FirstScale(low, high, kind).whole(np.clip(x, low, high)), low, high
    if mode == "MIN_COMBINED":
        scale = np.float32((last - first) / (float(high) - float(low)))
        steps = (np.clip(x, low, high) - low) * scale
        if first:
            return _round_half_away(steps - np.float32((last - first + 1) / 2)), low, high
        return np.floor(steps + np.float32(0.5)), low, high
    scale, low, high = _scaled_ends(low, high, (first, last))
    places = np.clip(x, low, high) * scale
    even = _text(attrs["round_mode"]) == "HALF_TO_EVEN"
    return np.rint(places) if even else _round_half_away(places), low, high


def _to_real(numbers: Any, low: Any, high: Any, mode: str) -> Any:
    """Convert integers of a quantized dtype to the real numbers in [low, high] that they
    represent.
    """
    first, last = _bounds(numbers.dtype)
    if mode == "MIN_FIRST":
        return _FirstScale(low, high, numbers.dtype).real(numbers)
    if mode == "MIN_COMBINED":
        half = np.float32((last - first + 1) / 2 if first else 0)
        step = np.float32((high - low) / np.float32(last - first))
        return (numbers.astype(np.float32) + half) * step + low
    step = max(low / first, high / last) if first else high / last
    return numbers.astype(np.float32) * np.float32(step)


# -- QuantizeV2 and Dequantize


def _infer_ends(context: InferContext) -> Sequence[Any]:
    _mode(context.attrs)
    for shape in context.shapes[1:3]:
        of_rank(shape, 0, "range")
    return [context.shapes[0], *[SCALAR] * (context.num_outputs - 1)]


def _bind_quantize(
    context: KernelContext, x: Any, range_min: Any, range_max: Any, *outputs: Any
) -> Callable[[], Any]:
    attrs, (out, out_min, out_max) = context.attrs, outputs
    numbers = _numbers(out)

    def run() -> None:
        start, end = np.float32(range_min[()]), np.float32(range_max[()])
        if end < start:
            raise invalid_argument(f"min_range has to be smaller than max_range: {start} > {end}")
        low = min(np.float32(0), start)
        margin = max(np.float32(1), abs(start), abs(end)) * np.float32(0.01)
        high = max(np.float32(0), end, np.float32(low + margin))
        whole, out_min[...], out_max[...] = _to_integers(x, low, high, numbers.dtype, attrs)
        ends = _bounds(numbers.dtype)
        numbers[...] = np.clip(np.asarray(whole, np.float64), *ends).astype(numbers.dtype)

    return run


op(
    "QuantizeV2",
    inputs=f"input: float32, {_ENDS}",
    outputs="output: T, output_min: float32, output_max: float32",
    attrs={
        "T": _TYPES,
        **_MODE,
        "round_mode": Attr("string", _ROUND_MODES[0], allowed=_ROUND_MODES),
    },
    infer=_infer_ends,
    **numpy_kernels(Call(make=_bind_quantize)),
    grad=NO_GRADIENT,
    doc=(
        "Real numbers in a range, converted to integers, and the range that these integers cover."
    ),
)


def _bind_dequantize(
    context: KernelContext, x: Any, range_min: Any, range_max: Any, out: Any
) -> Any:
    numbers, mode = _numbers(x), _mode(context.attrs)

    def run() -> None:
        np.copyto(out, _to_real(numbers, range_min[()], range_max[()], mode), casting="same_kind")

    return run


op(
    "Dequantize",
    inputs=f"input: T, {_ENDS}",
    outputs="output: float32",
    attrs={"T": _TYPES, **_MODE},
    **numpy_kernels(Call(make=_bind_dequantize)),
    infer=_infer_ends,
    grad=NO_GRADIENT,
    doc="The real numbers that integers represent in the given range.",
)


# -- quantization and back


def _quantize_and_dequantize(
    context: KernelContext, x: Any, ends: Sequence[Any], bits: int, out: Any
) -> None:
    attrs, kind = context.attrs, x.dtype.type
    signed, narrow = attrs["signed_input"], attrs["narrow_range"]
    if not (2 if signed else 1) <= bits <= 63:
        raise invalid_argument(f"num_bits is out of range: {bits} with signed_input {signed}")
    last = 2 ** (bits - signed) - 1
    first = (narrow - last - 1 if signed else 0) if narrow else (-last - 1 if signed else 0)
    is_range_given = attrs["range_given"]
    low, high = (kind(end[()]) for end in ends) if is_range_given else (x.min(), x.max())
    if low > high:
        raise invalid_argument(f"Invalid range: input_min {low} > input_max {high}")
    with np.errstate(all="ignore"):
        scale, low, high = _scaled_ends(low, high, (first, last))
        np.multiply(np.clip(x, low, high, out=out) if is_range_given else x, scale, out=out)
        if _text(attrs.get("round_mode", "HALF_TO_EVEN")) == "HALF_UP":
            np.floor(np.add(out, kind(0.5), out=out), out=out)
        else:
            np.rint(out, out=out)
        np.multiply(out, kind(1 / scale), out=out)


def _infer_same(context: InferContext) -> Sequence[Any]:
    for shape in context.shapes[1:]:
        of_rank(shape, 0, "range or num_bits")
    return [context.shapes[0]]


def _bind_quantize_and_dequantize(
    context: KernelContext, x: Any, *others: Any
) -> Callable[[], Any]:
    *ends, out = others if len(others) == 3 else (others[0], others[1], others[3])

    def run() -> None:
        if x.size:
            bits = others[2][()] if len(others) == 4 else context.attrs["num_bits"]
            _quantize_and_dequantize(context, x, ends, int(bits), out)

    return run


def _straight_through(op: Any, dy: Any) -> list[Any]:
    return [dy, *[None] * (len(op.inputs) - 1)]


_BACK_ATTRS = {"narrow_range": Attr("bool", False), "T": FLOATING}
for _version, _extra_inputs, _attrs in (
    ("V2", "", {
        "num_bits": Attr("int", 8),
        "range_given": Attr("bool", False),
        "round_mode": Attr("string", "HALF_TO_EVEN", allowed=("HALF_TO_EVEN", "HALF_UP")),
    }),
    ("V3", ", num_bits: int32", {"range_given": Attr("bool", True)}),
):  # fmt: skip
    op(
        f"QuantizeAndDequantize{_version}",
        inputs=f"input: T, input_min: T, input_max: T{_extra_inputs}",
        outputs="output: T",
        attrs={"signed_input": Attr("bool", True), **_attrs, **_BACK_ATTRS},
        infer=_infer_same,
        **numpy_kernels(Call(make=_bind_quantize_and_dequantize)),
        grad=_straight_through,
        doc=(
            "Real numbers, each rounded to a number that an integer of `num_bits` bits can "
            "stand for."
        ),
    )


# -- functions


def quantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
) -> Any:
    """Convert float32 numbers to the quantized dtype `T`. Return (output, output_min, output_max).

    Raises ValueError if the mode is unknown.

    Args:
      min_range, max_range: two float scalars. The range is widened to contain 0, and returned as
        output_min and output_max.
      mode: `"MIN_COMBINED"`, `"MIN_FIRST"` or `"SCALED"`.
      round_mode: `"HALF_AWAY_FROM_ZERO"`, or `"HALF_TO_EVEN"`, which has an effect with SCALED
        only.
    """
    attrs = {"mode": mode, "round_mode": round_mode}
    return raw_ops.QuantizeV2(input, min_range, max_range, T=T, name=name, **attrs)


def quantize_v2(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
) -> Any:
    """Quantize `input` in the same way as `quantize`. This older function has `name` before
    `round_mode`.
    """
    return quantize(input, min_range, max_range, T, mode, round_mode, name)


def dequantize(
    input: Any, min_range: Any, max_range: Any, mode: str = "MIN_COMBINED", name: str | None = None
) -> Any:
    """Convert numbers of a quantized dtype to float32. This is the inverse of `quantize` with the
    same range and mode.
    """
    return raw_ops.Dequantize(input, min_range, max_range, mode=mode, name=name)


def quantize_and_dequantize(
    input: Any, input_min: Any, input_max: Any, signed_input: bool = True, num_bits: int = 8,
    range_given: bool = False, round_mode: str = "HALF_TO_EVEN", name: str | None = None,
    narrow_range: bool = False,
) -> Any:  # fmt: skip
    """Quantize `input` to integers of `num_bits` bits and convert them back. The result is `input`,
    rounded to multiples of a scale.

    The gradient is the gradient of the identity.

    Args:
      input_min, input_max: scalars, the bounds of the range if `range_given` is true. Otherwise the
        range is from the input's minimum to its maximum.
      round_mode: `"HALF_TO_EVEN"` or `"HALF_UP"`.
      narrow_range: whether to omit the lowest integer, so that the range is symmetric.
    """
    attrs: dict[str, Any] = {"signed_input": signed_input, "range_given": range_given}
    attrs |= {"round_mode": round_mode, "narrow_range": narrow_range, "num_bits": num_bits}
    return raw_ops.QuantizeAndDequantizeV2(input, input_min, input_max, name=name, **attrs)
