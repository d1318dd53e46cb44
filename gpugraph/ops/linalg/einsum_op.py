"""Einsum, a single op that sums products of tensors whose axes are named by letters.

Imported graphs may contain this op. `tf.einsum` does not create it, but adds matrix products
instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gpugraph.base.dtypes import COMPLEX, FLOATING, int32, int64
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, MatrixProducts, Signature
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import UNKNOWN
from gpugraph.ops.linalg.einsum_products import ELLIPSIS as _DOT, matrices_of

_ELLIPSIS = "..."


def _labels(attrs: Any, count: int) -> tuple[list[str], str]:
    """Return the labels of each of the `count` inputs, and of the output. The label `.` means the
    ellipsis.
    """
    equation = attrs["equation"]
    text = (equation.decode() if isinstance(equation, bytes) else equation).replace(" ", "")
    left, arrow, right = text.replace(_ELLIPSIS, _DOT).partition("->")
    inputs = left.split(",")
    if not arrow or "->" in right:
        raise ValueError(f"Expecting exactly one '->' in einsum equation: {text}")
    if len(inputs) != count:
        raise ValueError(f"Expected {len(inputs)} inputs but got {count}: {text}")
    for labels in (*inputs, right):
        letters = labels.replace(_DOT, "")
        if labels.count(_DOT) > 1 or (letters and not letters.isalpha()):
            raise ValueError(f"Invalid labels '{labels}' in einsum equation: {text}")
    if set(right) - set(left):
        raise ValueError(f"The output has labels that no input has: {text}")
    return inputs, right


def _infer(context: InferContext) -> Sequence[TensorShape]:
    inputs, output = _labels(context.attrs, len(context.shapes))
    if any(shape.sizes is None for shape in context.shapes):
        return [UNKNOWN if _DOT in output else TensorShape.of((None,) * len(output))]
    sizes: dict[str, int | None] = {}
    batches: list[tuple[int | None, ...]] = []
    for labels, shape in zip(inputs, context.shapes, strict=True):
        known = shape.sizes or ()
        named = len(labels.replace(_DOT, ""))
        if len(known) < named or (_DOT not in labels and len(known) != named):
            raise ValueError(f"'{labels}' does not fit the rank {len(known)} of an input")
        front = labels.find(_DOT) if _DOT in labels else len(labels)
        back = len(known) - (named - front)
        if _DOT in labels:
            batches.append(known[front:back])
        for label, size in zip(labels.replace(_DOT, ""), known[:front] + known[back:]):
            if size is not None and sizes.setdefault(label, size) not in (size, None):
                raise ValueError(f"Dimensions '{label}' must be equal: {sizes[label]} and {size}")
    middle = _broadcast(batches)
    return [TensorShape.of(tuple(
        size for label in output
        for size in (middle if label == _DOT else (sizes.get(label),))
    ))]  # fmt: skip


def _broadcast(batches: Sequence[tuple[int | None, ...]]) -> tuple[int | None, ...]:
    rank = max(map(len, batches), default=0)
    result: list[int | None] = []
    for column in zip(*((1,) * (rank - len(batch)) + batch for batch in batches), strict=True):
        large = {size for size in column if size not in (1, None)}
        if len(large) > 1:
            raise ValueError(f"Batch dimensions must be equal or 1, but are {sorted(large)}")
        result.append(large.pop() if large else None if None in column else 1)
    return tuple(result)


def _matrices(signature: Signature, *arrays: Any) -> list[tuple[Any, Any, Any]]:
    return matrices_of(*_labels(signature.attrs, len(arrays) - 1), *arrays)


def _bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    *parts, out = arrays
    inputs, output = _labels(context.attrs, len(parts))
    if out.dtype.kind in "fc" and out.size:
        with suppress(NotImplementedError):
            ((a, b, c),) = matrices_of(inputs, output, *arrays)
            return lambda: np.matmul(a, b, out=c)
    kept = [_shared(inputs, index, output) for index in range(len(parts))]
    equation = (",".join(kept) + "->" + output).replace(_DOT, _ELLIPSIS)
    sums = [
        f"{labels}->{rest}".replace(_DOT, _ELLIPSIS) if rest != labels else ""
        for labels, rest in zip(inputs, kept, strict=True)
    ]

    def run() -> None:
        terms = [
            np.einsum(first, part) if first else part
            for first, part in zip(sums, parts, strict=True)
        ]
        np.copyto(out, np.einsum(equation, *terms))

    return run


def _shared(inputs: list[str], index: int, output: str) -> str:
    """Return the labels of input `index` that are also labels of another input or of the output.

    The input is first summed over all its remaining axes.
    """
    others = _DOT + output + "".join(inputs[:index] + inputs[index + 1 :])
    return "".join(label for label in inputs[index] if label in others)


def _back(op: Any, dy: Any) -> list[Any]:
    inputs, output = _labels({"equation": op.attrs["equation"]}, len(op.inputs))
    plain = all(len(set(labels)) == len(labels) for labels in inputs)
    if not plain or _DOT in "".join(inputs):
        raise LookupError(
            f"Einsum '{op.name}' has no gradient for equations with an ellipsis or with a label "
            "twice in one input: use tf.einsum, or tf.linalg.diag_part and tf.matmul"
        )
    result = []
    for index, labels in enumerate(inputs):
        others = [place for place in range(len(inputs)) if place != index]
        terms = [dy, *(conj(op.inputs[place]) for place in others)]
        sources = [output, *(inputs[place] for place in others)]
        there = "".join(label for label in labels if label in "".join(sources))
        slope = raw_ops.Einsum(terms, equation=f"{','.join(sources)}->{there}")
        for axis, label in enumerate(labels):
            if label not in there:  # axes that are summed over before the product
                slope = raw_ops.ExpandDims(slope, axis)
        shape = raw_ops.Shape(op.inputs[index])
        result.append(slope if there == labels else raw_ops.BroadcastTo(slope, shape))
    return result


op(
    "Einsum",
    attrs={
        "equation": Attr("string", required=True),
        "N": Attr("int", required=True, minimum=1),
        "T": (*FLOATING, *COMPLEX, int32, int64),
    },
    inputs="inputs: N * T",
    outputs="output: T",
    grad=_back,
    infer=_infer,
    **numpy_kernels(Call(make=_bind)),
    native=MatrixProducts(_matrices),
    doc=(
        "Sums of products of the inputs' elements. An equation such as `ij,jk->ik` names the "
        "axes, and `...` in it means axes that are broadcast."
    ),
)
