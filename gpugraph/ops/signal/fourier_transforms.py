"""Discrete Fourier transforms along the last one, two or three axes.

Transforms are computed in the precision of the input. A transform is linear, so its gradient is its
adjoint. The adjoint of a forward transform is the inverse transform multiplied by the number of
elements. The adjoint of an inverse transform is the forward transform divided by this number.
Transforms of real numbers return one half of the spectrum, because the other half has the complex
conjugates. Their gradients take this into account.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import COMPLEX, as_dtype
from gpugraph.base.misfit import value_error
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import op_scope, shape_of
from gpugraph.ops.framework.public_function import InputFunction, public_function
from gpugraph.ops.framework.shape_functions import UNKNOWN
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.signal.fourier_engines import transformed
from gpugraph.ops.signal.native_fourier import complex_transform, real_transform

_PART = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}
_WHOLE = {part: whole for whole, part in _PART.items()}


def _check_rank(shape: TensorShape, axes: int) -> tuple[int | None, ...] | None:
    sizes = shape.sizes
    if sizes is not None and len(sizes) < axes:
        raise ValueError(f"Shape must be at least rank {axes} but is rank {len(sizes)}: input")
    return sizes


def _name(kind: str, axes: int) -> str:
    return kind if axes == 1 else f"{kind}{axes}D"


# -- complex to complex


def _transform(function: str, axes: int) -> Call:
    places = tuple(range(-axes, 0))

    def run(x: Any, out: Any) -> None:
        if x.size:  # NumPy loads its transforms at first use
            np.copyto(out, transformed(function, x, places, None), casting="same_kind")

    return Call(run)


def _infer_same(axes: int) -> Any:
    def infer(context: InferContext) -> Sequence[TensorShape]:
        _check_rank(context.shapes[0], axes)
        return [context.shapes[0]]

    return infer


def _elements(tensor: Tensor, axes: int, dtype: Any) -> Any:
    """Return the number of elements that are transformed together, as a number of `dtype`."""
    sizes = _last_sizes(tensor, axes)
    if isinstance(sizes, np.ndarray):
        return np.array(prod(sizes.tolist()), dtype.as_numpy_dtype)
    return cast(raw_ops.Prod(sizes, np.array(0, np.int32)), dtype)


def _last_sizes(tensor: Tensor, axes: int) -> Any:
    """Return the sizes of the last `axes` axes, as an array if they are known, otherwise as a
    tensor.
    """
    sizes = tensor.shape.sizes
    if sizes is not None and len(sizes) < axes:
        raise ValueError(f"The input must be of rank {axes} at least, but it is {tensor.shape}")
    last = None if sizes is None else sizes[len(sizes) - axes :]
    if last is not None and None not in last:
        return np.array(last, np.int32)
    return raw_ops.Shape(tensor)[-axes:]


_AXES = {1: "axis", 2: "two axes", 3: "three axes"}


def _declare_complex(kind: str, axes: int) -> Any:
    inverse = kind == "IFFT"
    other = _name("FFT" if inverse else "IFFT", axes)

    def gradient(op: Any, dy: Any) -> Any:
        count = _elements(dy, axes, dy.dtype.base_dtype)
        if inverse and isinstance(count, np.ndarray):
            return raw_ops.Mul(getattr(raw_ops, other)(dy), 1 / count)
        scale = raw_ops.RealDiv if inverse else raw_ops.Mul
        return scale(getattr(raw_ops, other)(dy), count)

    kernel = _transform("ifftn" if inverse else "fftn", axes)
    scaled = ", divided by the number of elements" if inverse else ""
    what = "inverse Fourier transform" if inverse else "Fourier transform"
    return public_function(
        op(
            _name(kind, axes),
            inputs="input: Tcomplex",
            outputs="output: Tcomplex",
            attrs={"Tcomplex": COMPLEX},
            infer=_infer_same(axes),
            cpu=kernel,
            gpu=kernel,
            native=complex_transform(inverse, axes),
            grad=gradient,
            doc=f"The {what} of complex numbers along the last {_AXES[axes]}{scaled}.",
        ),
        _name(kind, axes).lower(),
    )


fft: InputFunction = _declare_complex("FFT", 1)
fft2d: InputFunction = _declare_complex("FFT", 2)
fft3d: InputFunction = _declare_complex("FFT", 3)
ifft: InputFunction = _declare_complex("IFFT", 1)
ifft2d: InputFunction = _declare_complex("IFFT", 2)
ifft3d: InputFunction = _declare_complex("IFFT", 3)


# -- real transforms and their inverses


def _real_transform(kind: str, axes: int) -> Call:
    places = tuple(range(-axes, 0))

    def make(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
        lengths = ints(context.value(1))
        function = "rfftn" if kind == "RFFT" else "irfftn"

        def run() -> None:
            if not out.size:
                return
            if not x.size:
                out.fill(0)
                return
            np.copyto(out, transformed(function, x, places, lengths), casting="same_kind")

        return run

    return Call(make=make)


def _infer_real(kind: str, axes: int) -> Any:
    def infer(context: InferContext) -> Sequence[TensorShape]:
        sizes, value = _check_rank(context.shapes[0], axes), context.value(1)
        lengths = context.shapes[1]
        if not lengths.is_compatible_with(TensorShape.of((axes,))):
            raise value_error(
                f"fft_length must have {axes} elements, but has shape {shape_text(lengths)}",
                f"Shape must be rank 1 but is rank {lengths.rank}"
                if lengths.rank != 1
                else f"Dimension must be {axes} but is {lengths[0]}",
            )
        if sizes is None:
            return [UNKNOWN]
        last: list[int | None] = [None] * axes if value is None else [*ints(value)]
        if kind == "RFFT" and last[-1] is not None:
            last[-1] = last[-1] // 2 + 1 if last[-1] else 0
        return [TensorShape.of((*sizes[: len(sizes) - axes], *last))]

    return infer


def _fit(tensor: Any, like: Tensor, axes: int) -> Any:
    """Truncate `tensor` along its last axes, or pad it with zeros at the end, to the shape of
    `like`.
    """
    wanted = shape_of(like)
    if tensor.shape.is_fully_defined() and tensor.shape == like.shape:
        return tensor
    missing = raw_ops.Maximum(raw_ops.Sub(wanted, raw_ops.Shape(tensor)), 0)
    before = raw_ops.ZerosLike(missing)
    padded = raw_ops.Pad(tensor, raw_ops.Pack([before, missing], axis=1))
    return raw_ops.Slice(padded, before, wanted)


def _rfft_gradient(axes: int) -> Any:
    """Return the gradient function of RFFT.

    The function pads dy with zeros to the whole spectrum, and returns the real part of the inverse
    transform, multiplied by the number of elements.
    """

    def gradient(op: Any, dy: Any) -> list[Any]:
        x, lengths = op.inputs
        whole = dy.dtype.base_dtype
        last = lengths[-1:]
        missing = raw_ops.Sub(last, raw_ops.Shape(dy)[-1:])
        rank = raw_ops.Rank(dy)
        none = raw_ops.Fill(raw_ops.ExpandDims(raw_ops.Sub(rank, 1), 0), np.array(0, np.int32))
        after = raw_ops.ConcatV2([none, missing], 0)
        full = raw_ops.Pad(dy, raw_ops.Pack([raw_ops.ZerosLike(after), after], axis=1))
        inverse = getattr(raw_ops, _name("IFFT", axes))(full)
        scaled = raw_ops.Mul(inverse, _elements(full, axes, whole))
        return [_fit(raw_ops.Real(scaled, Tout=_PART[whole]), x, axes), None]

    return gradient


def _irfft_gradient(axes: int) -> Any:
    """Return the gradient function of IRFFT, which returns the transform of dy divided by the
    number of elements.

    IRFFT uses most elements of its input twice, because they also determine the other half of the
    spectrum. The gradients of these elements are therefore doubled. The exceptions are the first
    element along the last axis and, if the length is even, the last element.
    """

    def gradient(op: Any, dy: Any) -> list[Any]:
        x, lengths = op.inputs
        part = dy.dtype.base_dtype
        spectrum = getattr(raw_ops, _name("RFFT", axes))(dy, lengths, Tcomplex=_WHOLE[part])
        last = raw_ops.Reshape(raw_ops.Shape(dy)[-1:], np.zeros(0, np.int32))
        column = raw_ops.Range(0, raw_ops.AddV2(raw_ops.FloorDiv(last, 2), 1), 1)
        edge = raw_ops.LogicalOr(
            raw_ops.Equal(column, raw_ops.ZerosLike(column)),
            raw_ops.Equal(raw_ops.Mul(column, 2), last),
        )
        once = raw_ops.Cast(edge, DstT=part)
        weights = raw_ops.RealDiv(raw_ops.Sub(2, once), _elements(dy, axes, part))
        weights = raw_ops.Complex(weights, raw_ops.ZerosLike(weights), Tout=_WHOLE[part])
        return [_fit(raw_ops.Mul(spectrum, weights), x, axes), None]

    return gradient


def _declare_real(kind: str, axes: int) -> OpFunction:
    forth = kind == "RFFT"
    what = (
        "first half of the Fourier transform of real numbers"
        if forth
        else "real numbers whose transform has the input as its first half,"
    )
    kernel = _real_transform(kind, axes)
    types = {"Treal": (dtypes.float32, dtypes.float64), "Tcomplex": COMPLEX}
    default = "Tcomplex" if forth else "Treal"
    return op(
        _name(kind, axes),
        inputs=f"input: {'Treal' if forth else 'Tcomplex'}, fft_length: int32",
        outputs=f"output: {default}",
        attrs={**types, default: dtypes.complex64 if forth else dtypes.float32},
        infer=_infer_real(kind, axes),
        memory=OpMemory(host_inputs=[1]),
        cpu=kernel,
        gpu=kernel,
        native=real_transform(axes) if forth else None,
        grad=(_rfft_gradient if forth else _irfft_gradient)(axes),
        doc=f"The {what} over the last {_AXES[axes]}, of `fft_length` elements.",
    )


_REAL_FORTH = [_declare_real("RFFT", axes) for axes in _AXES]
_REAL_BACK = [_declare_real("IRFFT", axes) for axes in _AXES]


# -- public functions of real transforms


def _lengths(tensor: Tensor, axes: int, back: bool) -> Any:
    """Return the default `fft_length` for the last `axes` axes of `tensor`.

    Args:
      back: whether the lengths are for an inverse transform, whose input is half of a spectrum.
    """
    sizes = _last_sizes(tensor, axes)
    if not back:
        return sizes
    if isinstance(sizes, np.ndarray):
        sizes[-1] = max(0, 2 * (sizes[-1] - 1))
        return sizes
    scale = np.array([1] * (axes - 1) + [2], np.int32)
    return raw_ops.Maximum(0, raw_ops.Mul(raw_ops.Sub(sizes, scale - 1), scale))


def _real(axes: int, back: bool, input: Any, fft_length: Any, name: str | None) -> Tensor:
    default = _name("irfft" if back else "rfft", axes).lower()
    with op_scope(name, default, input, fft_length) as scope:
        start = None if isinstance(input, Tensor) else dtypes.complex64 if back else dtypes.float32
        tensor = convert_to_tensor(input, start, name="input")
        if fft_length is None:
            fft_length = _lengths(tensor, axes, back)
        lengths = convert_to_tensor(fft_length, dtypes.int32, name="fft_length")
        dtype = tensor.dtype.base_dtype
        if back:
            return _REAL_BACK[axes - 1](tensor, lengths, Treal=_other(_PART, dtype), name=scope)
        return _REAL_FORTH[axes - 1](tensor, lengths, Tcomplex=_other(_WHOLE, dtype), name=scope)


def _other(types: Any, dtype: Any) -> Any:
    if dtype not in types:
        allowed = " or ".join(as_dtype(key).name for key in types)
        raise TypeError(f"The input must be of {allowed}, but is of {dtype.name}")
    return types[dtype]


def rfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Return the first fft_length // 2 + 1 elements of the Fourier transform of real numbers.

    The transform is along the last axis, which is cut or zero-padded to `fft_length` elements.
    `fft_length` is an int vector of one element, by default the size of the axis.
    """
    return _real(1, False, input_tensor, fft_length, name)


def rfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Return the Fourier transform of real numbers along the last two axes. It contains half of the
    spectrum along the last axis.

    Args:
      fft_length: two ints, the lengths along these axes. See `rfft`.
    """
    return _real(2, False, input_tensor, fft_length, name)


def rfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Return the Fourier transform of real numbers along the last three axes. It contains half of
    the spectrum along the last axis.

    Args:
      fft_length: three ints, the lengths along these axes. See `rfft`.
    """
    return _real(3, False, input_tensor, fft_length, name)


def irfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Return the inverse of `rfft`: the real numbers whose `rfft` is the input.

    Args:
      fft_length: an int vector of one element, the number of real numbers along the last axis. The
        default is 2 (n - 1), where n is the size of the input's last axis.
    """
    return _real(1, True, input_tensor, fft_length, name)


def irfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Return the inverse of `rfft2d`: the real numbers whose `rfft2d` is the input.

    Args:
      fft_length: two ints, the lengths along the last two axes. See `irfft`.
    """
    return _real(2, True, input_tensor, fft_length, name)


def irfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """Return the inverse of `rfft3d`: the real numbers whose `rfft3d` is the input.

    Args:
      fft_length: three ints, the lengths along the last three axes. See `irfft`.
    """
    return _real(3, True, input_tensor, fft_length, name)
