"""Complex numbers, and their real parts, imaginary parts, absolute values and angles.

As in TensorFlow, the gradient of a holomorphic function is dy times the conjugate derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import COMPLEX
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, ViewCopies
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.elementwise.element_launches import complex_source
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import broadcast
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.framework.unbroadcasting import unbroadcast_pair

_PARTS = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}
_WHOLE = {part: whole for whole, part in _PARTS.items()}


def _infer_part(context: InferContext) -> list[TensorShape]:
    part = context.attrs["Tout"]
    if _PARTS[context.attrs["T"]] is not part:
        raise ValueError(f"The parts of {context.attrs['T'].name} are no {part.name}")
    return [context.shapes[0]]


def _part(
    name: str,
    function: Callable[..., Any],
    grad: Any,
    doc: str,
    input: str,
    gpu: str = "",
    native: ViewCopies | None = None,
) -> OpFunction:
    call = Call(function)
    return op(
        name,
        inputs=f"{input}: T",
        outputs=f"{'y' if input == 'x' else 'output'}: Tout",
        attrs={"T": COMPLEX, "Tout": Attr("type", dtypes.float32, allowed=tuple(_WHOLE))},
        infer=_infer_part,
        cpu=call,
        gpu=complex_source(gpu, call) if gpu else call,
        native=native,
        grad=grad,
        doc=f"{doc}, elementwise.",
    )


def _complex_of(real: Any, imag: Any) -> Any:
    return raw_ops.Complex(real, imag, Tout=_WHOLE[real.dtype.base_dtype])


def _angle_gradient(op: Any, dy: Any) -> Any:
    """Return the gradient of z, -dy / (imag z + i real z), which is equal to i dy / conj(z)."""
    z = op.inputs[0]
    part = dy.dtype.base_dtype
    swapped = _complex_of(raw_ops.Imag(z, Tout=part), raw_ops.Real(z, Tout=part))
    dz = _complex_of(dy, raw_ops.ZerosLike(dy))
    return raw_ops.Neg(raw_ops.Mul(dz, raw_ops.Reciprocal(swapped)))


def _abs_gradient(op: Any, dy: Any) -> Any:
    """Return the gradient of z, which is dy z / |z|, and 0 where z is 0."""
    zeros = raw_ops.ZerosLike(dy)
    along = raw_ops.Mul(_complex_of(dy, zeros), op.inputs[0])
    return raw_ops.DivNoNan(along, _complex_of(op.outputs[0], zeros))


_real = _part(
    "Real",
    lambda x, out: np.copyto(out, x.real),
    lambda op, dy: _complex_of(dy, raw_ops.ZerosLike(dy)),
    "The real part",
    "input",
    native=ViewCopies(lambda _, x, out: [(x.real, out)]),
)
_imag = _part(
    "Imag",
    lambda x, out: np.copyto(out, x.imag),
    lambda op, dy: _complex_of(raw_ops.ZerosLike(dy), dy),
    "The imaginary part",
    "input",
    native=ViewCopies(lambda _, x, out: [(x.imag, out)]),
)
_angle = _part(
    "Angle",
    lambda x, out: np.arctan2(x.imag, x.real, out=out),
    _angle_gradient,
    "The angle in (-pi, pi]",
    "input",
    "gg_angle",
)
_abs = _part("ComplexAbs", np.absolute, _abs_gradient, "The distance from 0", "x", "gg_abs")


def _join(real: Any, imag: Any, out: Any) -> None:
    np.copyto(out.real, real)
    np.copyto(out.imag, imag)


def _infer_complex(context: InferContext) -> Any:
    whole = context.attrs["Tout"]
    if _PARTS[whole] is not context.attrs["T"]:
        raise ValueError(f"{whole.name} is not made of {context.attrs['T'].name}")
    return broadcast(context)


def _complex_gradient(op: Any, dy: Any) -> list[Any]:
    part = op.inputs[0].dtype.base_dtype
    return unbroadcast_pair(op, raw_ops.Real(dy, Tout=part), raw_ops.Imag(dy, Tout=part))


_complex = op(
    "Complex",
    inputs="real: T, imag: T",
    outputs="out: Tout",
    attrs={
        "T": (dtypes.float32, dtypes.float64),
        "Tout": Attr("type", dtypes.complex64, allowed=COMPLEX),
    },
    infer=_infer_complex,
    **numpy_kernels(Call(_join)),
    native=ViewCopies(lambda _, real, imag, out: [(real, out.real), (imag, out.imag)]),
    grad=_complex_gradient,
    doc="real + i imag, elementwise.",
)


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """Return real + i imag, elementwise. The result is complex64 for float32 parts, and complex128
    for float64 parts.

    Raises TypeError if the parts have any other dtype, or different dtypes.
    """
    parts = convert_to_tensor(real, name="real"), convert_to_tensor(imag, name="imag")
    with op_scope(name, "Complex", *parts) as scope:
        types = [part.dtype.base_dtype for part in parts]
        if types[0] is not types[1] or types[0] not in _WHOLE:
            names = " ".join(dtype.name for dtype in types)
            raise TypeError(
                f"real and imag have incorrect types: {names}; both are float32, or both float64"
            )
        return _complex(*parts, Tout=_WHOLE[types[0]], name=scope)


def _of_complex(function: OpFunction, tensor: Tensor, name: str | None) -> Tensor:
    return function(tensor, Tout=_PARTS[tensor.dtype.base_dtype], name=name)


def _part_of(function: OpFunction, input: Any, name: str | None) -> Tensor:
    """Return the real part, imaginary part or angle of a tensor. `function` computes it if the
    dtype is complex.

    If the dtype is real, the real part is the tensor itself, and the imaginary part and the angle
    are zeros.
    """
    with op_scope(name, function.op_def.name, input) as scope:
        tensor = convert_to_tensor(input, name="input")
        if tensor.dtype.is_complex:
            return _of_complex(function, tensor, scope)
        return tensor if function is _real else zeros_like(tensor)


def real(input: Any, name: str | None = None) -> Tensor:
    """Return the real part, elementwise. Return a real tensor unchanged."""
    return _part_of(_real, input, name)


def imag(input: Any, name: str | None = None) -> Tensor:
    """Return the imaginary part, elementwise. For real tensors, return zeros."""
    return _part_of(_imag, input, name)


def angle(input: Any, name: str | None = None) -> Tensor:
    """Return the angle in (-pi, pi], elementwise. For real tensors, return zeros, as TensorFlow
    does.
    """
    return _part_of(_angle, input, name)


def complex_abs(x: Tensor, name: str | None = None) -> Tensor:
    """Return the absolute values of complex numbers, elementwise."""
    return _of_complex(_abs, x, name)
