"""Cast, which converts elements to another dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.bfloat16 import kind_of
from gpugraph.base.dtypes import ALL, OBJECTS, DType, as_dtype, runtime_name, stored
from gpugraph.base.errors import UnimplementedError
from gpugraph.base.misfit import Misfit
from gpugraph.base.named_function import named
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.composite_tensors import Composite
from gpugraph.ops.framework.kernel_registry import HostOnly, add_kernel
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.public_function import UnaryFunction
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def _infer(context: InferContext) -> Sequence[TensorShape]:
    """Return the shape of x. For casts from or to strings, resources and variants, the run raises
    UnimplementedError.
    """
    source, target = context.dtypes[0].base_dtype, context.attrs["DstT"]
    if source in OBJECTS or target in OBJECTS:
        what = f"Cast {runtime_name(source)} to {runtime_name(target)} is not supported"
        if dtypes.string in (source, target):
            what += ": tf.as_string and tf.strings.to_number convert numbers and strings"
        raise Misfit(what, "", context.shapes, UnimplementedError)
    return context.shapes


def _copy_unsafe(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
    """Bind NumPy's unsafe conversion, which gives the same results as C. For example, a complex
    number becomes its real part.
    """
    source, target = map(
        stored, (x.reshape(-1), out.reshape(-1))
    )  # flat arrays, because views of them need no copy
    if source.dtype.kind == "c" and target.dtype.kind != "c":
        source = source.real
    if context.attrs["Truncate"] and context.attrs["DstT"] is dtypes.bfloat16:
        return partial(_truncate, source, target)
    between = _between(source.dtype, target.dtype)
    if between is not None:
        return lambda: np.copyto(target, source.astype(between), casting="unsafe")
    return partial(np.copyto, target, source, casting="unsafe")


def _between(source: Any, target: Any) -> Any:
    """Return an intermediate dtype that makes NumPy give TensorFlow's values, or None if no
    intermediate dtype is needed.

    TensorFlow rounds float64 to float32 first when it converts to float16. A float converts to
    uint32 through int64, because a direct conversion of negative or large values gives different
    results in NumPy's vector and scalar code.
    """
    if source == np.float64 and target == np.float16:
        return np.float32
    return np.int64 if kind_of(source) == "f" and target == np.uint32 else None


def _truncate(source: Any, target: Any) -> None:
    """Convert float32 to bfloat16 by dropping the lower 16 bits of each element. NaN stays NaN."""
    wide = source.astype(np.float32)
    bits = wide.view(np.uint32)
    bits[~np.isnan(wide)] &= np.uint32(0xFFFF0000)
    np.copyto(target, wide, casting="unsafe")


def _cast_gradient(op: Any, dy: Any) -> list[Any]:
    source = op.inputs[0].dtype.base_dtype
    inexact = all(dtype.is_floating or dtype.is_complex for dtype in (source, dy.dtype))
    return [cast(dy, source) if inexact else None]


_cast = op(
    "Cast",
    inputs="x: SrcT",
    outputs="y: DstT",
    attrs={"SrcT": ALL, "DstT": ALL, "Truncate": Attr("bool", False)},
    infer=_infer,
    memory=OpMemory(alias={0: 0}),
    cpu=Call(make=_copy_unsafe, direct=True),
    elementwise="(U)x",
    grad=_cast_gradient,
    doc=(
        "x converted to the dtype DstT. A conversion to integers drops fractions. In a conversion "
        "to bool, all values except 0 become True. In a conversion from bool, True becomes 1. In "
        "a conversion to bfloat16, x is rounded to the nearest (even) number or, if Truncate is "
        "true, towards 0. Quantized numbers are converted as integers."
    ),
)
add_kernel(
    "Cast",
    "GPU",
    HostOnly("numbers are truncated to bfloat16 on the host"),
    types={"DstT": [dtypes.bfloat16], "Truncate": [True]},
    priority=1,
)


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Convert `x` to `dtype`. If `x` already has this dtype, return it unchanged.

    A conversion of floats to integers truncates towards 0. A conversion of complex numbers to real
    numbers drops the imaginary part. If `x` is an IndexedSlices or a SparseTensor, only its values
    are converted. A cast from or to strings raises UnimplementedError in a run.

    >>> session.run(tf.cast([1.8, -1.8], tf.int32))
    array([ 1, -1], dtype=int32)
    """
    wanted = as_dtype(dtype).base_dtype
    if isinstance(x, Tensor):
        if x._dtype.base_dtype is wanted:
            return x
        return _cast(x, DstT=wanted, name=name or "Cast")
    if isinstance(x, IndexedSlices):
        values = cast(x.values, wanted, name)
        return IndexedSlices(values, x.indices, x.dense_shape)  # type: ignore[return-value]
    if isinstance(x, Composite):
        changed = cast(x.values, wanted, name)
        return x if changed is x.values else x._with(changed)  # type: ignore[return-value]
    with op_scope(name, "Cast", x) as scope:
        tensor = convert_to_tensor(x, name="x")
        if tensor.dtype.base_dtype is wanted:
            return tensor
        return _cast(tensor, DstT=wanted, name=scope or "Cast")


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Convert `value` with `cast`, after clamping values outside the range of `dtype` to its
    limits.
    """
    with op_scope(name, "saturate_cast", value) as scope:
        tensor, target = convert_to_tensor(value, name="value"), as_dtype(dtype).base_dtype
        source = tensor.dtype.base_dtype
        if source.min < target.min:
            tensor = raw_ops.Maximum(tensor, np.array(target.min, source.as_numpy_dtype))
        if source.max > target.max:
            tensor = raw_ops.Minimum(tensor, np.array(target.max, source.as_numpy_dtype))
        return cast(tensor, target, scope)


def _cast_to(dtype: DType, name: str, default_name: str) -> UnaryFunction:
    """Return a function called `name` that casts to `dtype`."""

    doc = f"Cast `x` to {dtype.name}, as `tf.cast(x, tf.{dtype.name})` does."

    @named(name, doc)
    def to_dtype(x: Any, name: str | None = default_name) -> Tensor:
        return cast(x, dtype, name)

    return to_dtype


to_bfloat16 = _cast_to(dtypes.bfloat16, "to_bfloat16", "ToBFloat16")
to_float = _cast_to(dtypes.float32, "to_float", "ToFloat")
to_double = _cast_to(dtypes.float64, "to_double", "ToDouble")
to_int32 = _cast_to(dtypes.int32, "to_int32", "ToInt32")
to_int64 = _cast_to(dtypes.int64, "to_int64", "ToInt64")
to_complex64 = _cast_to(dtypes.complex64, "to_complex64", "ToComplex64")
to_complex128 = _cast_to(dtypes.complex128, "to_complex128", "ToComplex128")
