"""Fake quantization, which clamps numbers to a range and rounds them to one of 2 ** num_bits values
(steps) in it.

The range is first shifted so that 0 is one of its steps (Jacob and others, "Quantization and
training of neural networks for efficient integer-arithmetic-only inference", 2018). The gradient of
a number inside the range is passed on unchanged. The gradient of a number outside the range is
added to the gradient of the bound (min or max) to which the number was clamped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, Reduction, Signature
from gpugraph.ops.elementwise.arithmetic_functions import infer_one_shape
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops

_BITS: dict[str, Any] = {"num_bits": Attr("int", 8), "narrow_range": Attr("bool", False)}
_ENDS = {"min": Attr("float", -6.0), "max": Attr("float", 6.0)}


def _steps(context: Signature) -> tuple[Any, Any]:
    """Return the numbers of the lowest and of the highest step, as float32. Steps are numbered from
    0, or from 1 if the attr narrow_range is true.
    """
    bits = context.attrs["num_bits"]
    if not 2 <= bits <= 16:
        message = f"num_bits must be between 2 and 16, inclusive, but is {bits}"
        raise invalid_argument(message)
    return np.float32(1 if context.attrs["narrow_range"] else 0), np.float32(2**bits - 1)


def _nudged(context: Signature, range_min: Any, range_max: Any) -> tuple[Any, Any, Any]:
    """Return (low, high, scale): the bounds of the range after it is shifted so that 0 is a step,
    and the size of a step.
    """
    first, last = _steps(context)
    with np.errstate(all="ignore"):
        scale = (range_max - range_min) / (last - first)
        zero = first - range_min / scale
        zero = np.clip(np.floor(zero + np.float32(0.5)), first, last)
        return (first - zero) * scale, (last - zero) * scale, scale


def _quantized(context: KernelContext, x: Any, range_min: Any, range_max: Any, out: Any) -> None:
    low, high, scale = _nudged(context, range_min, range_max)
    with np.errstate(all="ignore"):
        steps = (np.maximum(np.minimum(x, high), low) - low) * (np.float32(1) / scale) + np.float32(
            0.5
        )
        np.copyto(out, np.floor(steps) * scale + low)
    empty = (range_min == 0) & (range_max == 0)
    np.copyto(out, np.float32(0), where=empty)


def _masks(context: KernelContext, x: Any, range_min: Any, range_max: Any) -> tuple[Any, Any, Any]:
    """Return masks of the numbers inside, below and above the shifted range.

    A range from 0 to 0 contains every number. NaN is in none of the masks.
    """
    low, high, _ = _nudged(context, range_min, range_max)
    empty = (range_min == 0) & (range_max == 0)
    below, above = (x < low) & ~empty, (x > high) & ~empty
    return ((x >= low) & (x <= high)) | empty, below, above


# -- formulas, with the operations of the functions above

_AT_LEAST = "x < y ? y : x"
_AT_MOST = "x > y ? y : x"
_IS_EMPTY = "((x == 0) & (y == 0)) ? 1 : 0"


_SUM = Reduction("(T)0", "a + b", Call(lambda x, out: np.sum(x, out=out)))


def _nudged_terms(signature: Signature, low: Term, high: Term) -> tuple[Any, Any, Any]:
    first, last = (float(step) for step in _steps(signature))
    scale = (high - low) / (last - first)
    zero = (first - low / scale + 0.5).apply("floor(x)")
    zero = zero.apply(_AT_LEAST, first).apply(_AT_MOST, last)
    return (first - zero) * scale, (last - zero) * scale, scale


def _quantized_terms(x: Term, low: Any, high: Any, scale: Any) -> Term:
    clamped = x.apply(_AT_MOST, high).apply(_AT_LEAST, low)
    inverse = scale.apply("1 / x") if isinstance(scale, Term) else np.float32(1) / scale
    steps = (clamped - low) * inverse + np.float32(0.5)
    return steps.apply("floor(x)") * scale + low


def _args_terms(signature: Signature, x: Term) -> list[Term]:
    return [_quantized_terms(x, *_nudged(signature, *_ends(signature)))]


_INSIDE = "((x >= y) & (x <= z)) ? 1 : 0"


def _args_gradient_terms(signature: Signature, dy: Term, x: Term) -> list[Term]:
    low, high, _ = _nudged(signature, *_ends(signature))
    return [dy * x.apply(_INSIDE, low, high)]


def _vars_terms(signature: Signature, x: Term, range_min: Term, range_max: Term) -> list[Term]:
    low, high, scale = _nudged_terms(signature, range_min, range_max)
    empty = range_min.apply(_IS_EMPTY, range_max)
    return [_quantized_terms(x, low, high, scale).apply("y != 0 ? 0 : x", empty)]


def _vars_gradient_terms(
    signature: Signature, dy: Term, x: Term, range_min: Term, range_max: Term
) -> list[Term]:
    low, high, _ = _nudged_terms(signature, range_min, range_max)
    empty = range_min.apply(_IS_EMPTY, range_max)
    inside = x.apply(_INSIDE, low, high).apply("y != 0 ? 1 : x", empty)
    below = x.apply("((x < y) & (z == 0)) ? 1 : 0", low, empty)
    above = x.apply("((x > y) & (z == 0)) ? 1 : 0", high, empty)
    axes = range(len(x.shape) - len(range_min.shape))
    return [dy * inside, *((dy * mask).reduced(_SUM, [*axes]) for mask in (below, above))]


# -- a range of attrs


def _ends(context: Signature) -> tuple[Any, Any]:
    range_min, range_max = (np.float32(context.attrs[key]) for key in ("min", "max"))
    if not range_min < range_max:
        raise invalid_argument(f"min has to be smaller than max, was: {range_min} >= {range_max}")
    return range_min, range_max


def _bind_args(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
    range_min, range_max = _ends(context)
    return lambda: _quantized(context, x, range_min, range_max, out)


def _bind_args_gradient(context: KernelContext, dy: Any, x: Any, out: Any) -> Callable[[], Any]:
    range_min, range_max = _ends(context)
    return lambda: np.multiply(dy, _masks(context, x, range_min, range_max)[0], out=out)


def _attrs_of(op: Any, *names: str) -> dict[str, Any]:
    return {name: op.attrs[name] for name in (*names, "num_bits", "narrow_range")}


def _args_back(op: Any, dy: Any) -> Any:
    attrs = _attrs_of(op, "min", "max")
    return raw_ops.FakeQuantWithMinMaxArgsGradient(dy, op.inputs[0], **attrs)


_args = op(
    "FakeQuantWithMinMaxArgs",
    inputs="inputs: float32",
    outputs="outputs: float32",
    attrs={**_ENDS, **_BITS},
    infer=infer_one_shape,
    **numpy_kernels(Call(make=_bind_args), decomposition(_args_terms)),
    grad=_args_back,
    doc="Numbers clamped to [min, max] and rounded to one of 2 ** num_bits steps.",
)
_args_gradient = op(
    "FakeQuantWithMinMaxArgsGradient",
    inputs="gradients: float32, inputs: float32",
    outputs="backprops: float32",
    attrs={**_ENDS, **_BITS},
    infer=infer_one_shape,
    **numpy_kernels(Call(make=_bind_args_gradient), decomposition(_args_gradient_terms)),
    grad=NO_GRADIENT,
    doc=(
        "The gradient of FakeQuantWithMinMaxArgs, which is `gradients` where the inputs are in "
        "the range, and 0 elsewhere."
    ),
)


# -- a range of tensors, for all elements or for each channel


def _infer_vars(per_channel: bool) -> Callable[[InferContext], Sequence[TensorShape]]:
    def infer(context: InferContext) -> Sequence[TensorShape]:
        *tensors, range_min, range_max = context.shapes
        ends = range_min.merge_with(range_max).with_rank(1 if per_channel else 0)
        shape = tensors[0].merge_with(tensors[-1])
        if per_channel:
            shape = shape.with_rank_at_least(1)
            if shape.sizes is not None:
                channels = shape[-1:].merge_with(ends)
                shape, ends = shape[:-1].concatenate(channels), channels
        return [shape, ends, ends][: context.num_outputs]

    return infer


def _bind_vars(
    context: KernelContext, x: Any, range_min: Any, range_max: Any, out: Any
) -> Callable[[], Any]:
    return lambda: _quantized(context, x, range_min, range_max, out)


def _bind_vars_gradient(
    context: KernelContext, dy: Any, x: Any, range_min: Any, range_max: Any, *outs: Any
) -> Callable[[], Any]:
    axes = tuple(range(x.ndim - range_min.ndim))

    def run() -> None:
        inside, below, above = _masks(context, x, range_min, range_max)
        np.multiply(dy, inside, out=outs[0])
        for out, mask in zip(outs[1:], (below, above), strict=True):
            np.copyto(out, (dy * mask).sum(axis=axes, dtype=np.float32))

    return run


def _declare_vars(end: str, per_channel: bool) -> tuple[Any, Any]:
    gradient_type = f"FakeQuantWithMinMaxVars{end}Gradient"
    of_channels = " of each channel, the last axis" if per_channel else ""

    def back(op: Any, dy: Any) -> Any:
        return getattr(raw_ops, gradient_type)(dy, *op.inputs, **_attrs_of(op))

    forward = op(
        f"FakeQuantWithMinMaxVars{end}",
        inputs="inputs: float32, min: float32, max: float32",
        outputs="outputs: float32",
        attrs=_BITS,
        infer=_infer_vars(per_channel),
        **numpy_kernels(Call(make=_bind_vars), decomposition(_vars_terms)),
        grad=back,
        doc=f"Numbers clamped to [min, max]{of_channels} and rounded to one of 2 ** num_bits "
        "steps.",
    )
    backward = op(
        gradient_type,
        inputs="gradients: float32, inputs: float32, min: float32, max: float32",
        outputs="backprops_wrt_input: float32, backprop_wrt_min: float32, "
        "backprop_wrt_max: float32",
        attrs=_BITS,
        infer=_infer_vars(per_channel),
        **numpy_kernels(Call(make=_bind_vars_gradient), decomposition(_vars_gradient_terms)),
        grad=NO_GRADIENT,
        doc=f"The gradients of FakeQuantWithMinMaxVars{end}. The gradient of a clamped number is "
        "added to the gradient of the bound.",
    )
    return forward, backward


_vars, _vars_gradient = _declare_vars("", False)
_per_channel, _per_channel_gradient = _declare_vars("PerChannel", True)


# -- public functions


def fake_quant_with_min_max_args(
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Clamp float32 numbers to [min, max] and round them to one of 2 ** num_bits steps. One of the
    steps is 0.

    A run raises InvalidArgumentError if `num_bits` is not in [2, 16] or `min` is not below `max`.

    Args:
      narrow_range: whether to use one step fewer, so that a symmetric range has as many steps below
        0 as above.
    """
    ends = {"min": min, "max": max}
    return _args(inputs, **ends, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_args_gradient(
    gradients: Any,
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return `gradients` where `inputs` are in the shifted range, and 0 elsewhere.

    All other arguments must be the same as in the call of `fake_quant_with_min_max_args`.
    """
    attrs = {"min": min, "max": max, "num_bits": num_bits, "narrow_range": narrow_range}
    return _args_gradient(gradients, inputs, **attrs, name=name)


def fake_quant_with_min_max_vars(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Apply fake quantization in the same way as `fake_quant_with_min_max_args`. Here `min` and
    `max` are float32 scalar tensors.

    `min` and `max` receive gradients. If both are 0, the result is 0.
    """
    attrs = {"num_bits": num_bits, "narrow_range": narrow_range}
    return _vars(inputs, min, max, **attrs, name=name)


def fake_quant_with_min_max_vars_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """Return the gradients of `fake_quant_with_min_max_vars` for (inputs, min, max)."""
    attrs = {"num_bits": num_bits, "narrow_range": narrow_range}
    return _vars_gradient(gradients, inputs, min, max, **attrs, name=name)


def fake_quant_with_min_max_vars_per_channel(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Apply fake quantization in the same way as `fake_quant_with_min_max_vars`, with a separate
    range for each index of the last axis.

    Args:
      min, max: float32 vectors as long as the last axis.
    """
    attrs = {"num_bits": num_bits, "narrow_range": narrow_range}
    return _per_channel(inputs, min, max, **attrs, name=name)


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Any:
    """Return `fake_quant_with_min_max_vars_per_channel`'s gradients for (inputs, min, max)."""
    attrs = {"num_bits": num_bits, "narrow_range": narrow_range}
    return _per_channel_gradient(gradients, inputs, min, max, **attrs, name=name)
