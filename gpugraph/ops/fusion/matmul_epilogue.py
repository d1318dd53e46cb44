"""Matrix products that a bias or another matrix is added to, and that are cut, before they go to
memory.

The epilogues pass makes these ops on GPUs of MatMul or BatchMatMulV2, BiasAdd, Add and Relu;
programs don't. `fused_ops` names what comes after the product, in this order, each if it is there:
BiasAdd of a vector, Add of a tensor of as many elements, Relu.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import (
    Call,
    Epilogue,
    KernelContext,
    MatmulWithEpilogue,
    MatrixProducts,
    Signature,
)
from gpugraph.ops.framework.identity_and_shape import run_all
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.linalg.matmul import (
    batches_of_matrices,
    bind_batch_matmul,
    bind_matmul,
    infer_batch_matmul,
    infer_matmul,
    matrices_of,
)
from gpugraph.ops.nn.windows.window_geometry import check_equal, text

FUSED_PRODUCTS = {"MatMul": "_FusedMatMul", "BatchMatMulV2": "_FusedBatchMatMulV2"}
"""Which op does what follows a product too, by the product's type."""

FINISHES = ("BiasAdd", "Add", "Relu")
"""What may follow a product, in this order."""


def _finishes(attrs: Mapping[str, Any]) -> list[str]:
    """What follows the product; ValueError for what can't."""
    fused = [text(each) for each in attrs["fused_ops"]]
    if not fused or fused != [each for each in FINISHES if each in fused]:
        raise ValueError(
            f"fused_ops must be one or more of {', '.join(FINISHES)}, in this order, but is {fused}"
        )
    taken = len(set(fused) - {"Relu"})
    if attrs["num_args"] != taken:
        raise ValueError(f"fused_ops {fused} take {taken} args, but there are {attrs['num_args']}")
    return fused


def _inferred(infer: InferFunction) -> InferFunction:
    """The shapes of a product, with checks of what is added."""

    def inferred(context: InferContext) -> Sequence[TensorShape]:
        fused = _finishes(context.attrs)
        [made] = infer(context)
        args = list(context.shapes[2:])
        if "BiasAdd" in fused and made.sizes is not None:
            check_equal(args.pop(0).num_elements(), made.sizes[-1], "the biases and the columns")
        if "Add" in fused:
            check_equal(args[-1].num_elements(), made.num_elements(), "elements and those added")
        return [made]

    return inferred


def _finish(signature: Signature, *arrays: Any) -> Epilogue:
    """What follows, as views: a vector, and a tensor of the product's shape."""
    fused = _finishes(signature.attrs)
    args, out = list(arrays[2:-1]), arrays[-1]
    bias = args.pop(0).reshape(-1) if "BiasAdd" in fused else None
    addend = args.pop(0).reshape(out.shape) if "Add" in fused else None
    return Epilogue(bias, addend, "Relu" in fused)


def _bound(bind: Callable[..., Callable[[], Any]]) -> Callable[..., Callable[[], Any]]:
    """What computes such an op by NumPy, where `bind` gives what computes its product."""

    def bound(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        out = arrays[-1]
        bias, addend, relu = _finish(context, *arrays)
        calls = [bind(context, *arrays[:2], out)]
        calls += [partial(np.add, out, each, out) for each in (bias, addend) if each is not None]
        if relu:
            calls.append(partial(np.maximum, out, 0, out=out))
        return run_all(calls)

    return bound


def _declare(
    product: str,
    operands: str,
    turns: Sequence[str],
    infer: InferFunction,
    bind: Callable[..., Callable[[], Any]],
    matrices: Callable[..., Any],
) -> None:
    call = Call(make=_bound(bind))

    def views(signature: Signature, *arrays: Any) -> Any:
        return matrices(signature, *arrays[:2], arrays[-1])

    op(
        FUSED_PRODUCTS[product],
        inputs=f"{operands}, args: num_args * T",
        outputs="product: T",
        attrs={
            "T": FLOATING,
            "num_args": Attr("int", minimum=0),
            "fused_ops": Attr("list(string)", []),
            **{turn: Attr("bool", False) for turn in turns},
        },
        infer=_inferred(infer),
        cpu=call,
        gpu=call,
        native=MatmulWithEpilogue(MatrixProducts(views), _finish),
        grad=NO_GRADIENT,
        doc=f"{product}, then what `fused_ops` names: BiasAdd and Add of `args`, Relu.",
    )


_declare(
    "MatMul", "a: T, b: T", ("transpose_a", "transpose_b"), infer_matmul, bind_matmul, matrices_of
)
_declare(
    "BatchMatMulV2",
    "x: T, y: T",
    ("adj_x", "adj_y"),
    infer_batch_matmul,
    bind_batch_matmul,
    batches_of_matrices,
)
