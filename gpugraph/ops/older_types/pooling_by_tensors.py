"""MaxPoolV2 and its gradients, whose window sizes and strides are inputs instead of attrs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import REAL
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_helpers import ints, with_attrs
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.nn.windows.window_geometry import IMAGES, PADDING
from gpugraph.ops.older_types.numpy_op import numpy_op

_ATTRS = {"padding": PADDING, "data_format": IMAGES.format}


def _windows(context: Any, first: int) -> dict[str, Any] | None:
    """Return the attrs of the equivalent op whose ksize and strides are attrs, or None if a value
    is not known.

    ksize and strides are the values of inputs `first` and `first + 1`.
    """
    values = context.value(first), context.value(first + 1)
    if any(value is None for value in values):
        return None
    ksize, strides = (list(ints(value)) for value in values)
    return {**context.attrs, "ksize": ksize, "strides": strides}


def _infer(like: str, first: int) -> Callable[[InferContext], Sequence[TensorShape]]:
    """Return a shape inference function that calls the inference of `like`, the op type with ksize
    and strides as attrs.

    Args:
      first: the index of the input `ksize`.
    """
    infer_like = DECLARATIONS[like].op_def.infer
    assert infer_like is not None

    def infer(context: InferContext) -> Sequence[TensorShape]:
        for index, key in enumerate(("ksize", "strides")):
            of_rank(context.shapes[first + index], 1, key)
        attrs = _windows(context, first)
        if attrs is None:
            of_rank(context.shapes[0], 4, "input")
            return [TensorShape.of((None,) * 4)]
        shapes, types = context.shapes[:first], context.dtypes[:first]
        return infer_like(InferContext(shapes, attrs, types, 1))

    return infer


def _bind(like: str, first: int) -> Callable[..., Callable[[], Any]]:
    entry = find_kernel(like, "CPU", {})
    assert entry is not None and isinstance(entry.kernel, Call)
    make = entry.kernel.make
    assert make is not None

    def bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        attrs = _windows(context, first)
        assert attrs is not None
        return make(with_attrs(context, attrs), *arrays)

    return bind


def _declare(name: str, like: str, inputs: str, first: int, grad: Callable[..., Any]) -> None:
    """Declare the op type `name`.

    Args:
      like: the op type with ksize and strides as attrs.
      first: the index of the input `ksize`.
    """
    numpy_op(
        name, f"{inputs}, ksize: int32, strides: int32 -> output: T", {"T": REAL, **_ATTRS},
        _infer(like, first),
        Call(make=_bind(like, first)),
        f"As {like}, with windows and strides that are tensors of four numbers.",
        grad, memory=OpMemory(host_inputs=[first, first + 1]),
    )  # fmt: skip


def _back(op: Any, dy: Any) -> list[Any]:
    images, *windows = op.inputs
    attrs = attrs_of(op, tuple(_ATTRS))
    return [raw_ops.MaxPoolGradV2(images, op.outputs[0], dy, *windows, **attrs), None, None]


def _of_gradient(op_type: str) -> Callable[..., Any]:
    def gradient(op: Any, slope: Any) -> list[Any]:
        images, largest, _, *windows = op.inputs
        function, attrs = getattr(raw_ops, op_type), attrs_of(op, tuple(_ATTRS))
        return [None, None, function(images, largest, slope, *windows, **attrs), None, None]

    return gradient


_GRADIENT = "orig_input: T, orig_output: T, grad: T"
_declare("MaxPoolV2", "MaxPool", "input: T", 1, _back)
_declare("MaxPoolGradV2", "MaxPoolGrad", _GRADIENT, 3, _of_gradient("MaxPoolGradGradV2"))
_declare("MaxPoolGradGradV2", "MaxPoolGradGrad", _GRADIENT, 3, _of_gradient("MaxPoolGradV2"))
