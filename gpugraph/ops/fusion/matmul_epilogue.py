"""Matrix products with an epilogue: bias, addition and Relu, which are applied before the product
is stored.

The epilogue pass replaces MatMul or BatchMatMulV2, and the BiasAdd, Add and Relu after it, with
these ops. A client's graph never contains them. The attr `fused_ops` lists the ops of the epilogue.
It contains one or more of the following ops, in this order: BiasAdd of a vector, Add of a tensor
with as many elements as the product, Relu.
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
    SUMMED_AT_ONCE,
    Call,
    Epilogue,
    KernelContext,
    MatmulWithEpilogue,
    MatrixProducts,
    Signature,
)
from gpugraph.ops.framework.kernel_helpers import numpy_kernels, run_all
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
"""The fused op type, by the op type of the plain product."""

_EPILOGUE_OPS = ("BiasAdd", "Add", "Relu")


def _epilogue_ops(attrs: Mapping[str, Any]) -> list[str]:
    """Return the op types of the epilogue.

    Raises ValueError if an op type is not supported, or if `num_args` is not the number of inputs
    of these ops.
    """
    fused = [text(op_type) for op_type in attrs["fused_ops"]]
    if not fused or fused != [op_type for op_type in _EPILOGUE_OPS if op_type in fused]:
        known = ", ".join(_EPILOGUE_OPS)
        raise ValueError(f"fused_ops must be one or more of {known}, in this order, but is {fused}")
    count = len(set(fused) - {"Relu"})
    if attrs["num_args"] != count:
        raise ValueError(f"fused_ops {fused} take {count} args, but there are {attrs['num_args']}")
    return fused


def _infer_with(infer: InferFunction) -> InferFunction:
    """Wrap `infer`, the shape inference of the product, with checks of the epilogue's inputs."""

    def infer_product(context: InferContext) -> Sequence[TensorShape]:
        fused = _epilogue_ops(context.attrs)
        [product] = infer(context)
        args = list(context.shapes[2:])
        if "BiasAdd" in fused and product.sizes is not None:
            check_equal(args.pop(0).num_elements(), product.sizes[-1], "the biases and the columns")
        if "Add" in fused:
            check_equal(args[-1].num_elements(), product.num_elements(), "elements and those added")
        return [product]

    return infer_product


def _epilogue(signature: Signature, *arrays: Any) -> Epilogue:
    """Return the epilogue. The bias is a vector, and the addend has the product's shape."""
    fused = _epilogue_ops(signature.attrs)
    args, out = list(arrays[2:-1]), arrays[-1]
    bias = args.pop(0).reshape(-1) if "BiasAdd" in fused else None
    addend = args.pop(0).reshape(out.shape) if "Add" in fused else None
    return Epilogue(bias, addend, "Relu" in fused)


def addend_input(attrs: Mapping[str, Any], factor: tuple[int, ...] | None) -> Sequence[int]:
    """Return [index of the addend], or [] if the product on the CPU must not be written over the
    addend.

    The product may be written over the addend if the sum for each element is complete before the
    addend is added. This is the case if the sum has at most SUMMED_AT_ONCE terms.

    Args:
      factor: the static shape of the first factor, or None.
    """
    fused = _epilogue_ops(attrs)
    is_turned = attrs.get("transpose_a") or attrs.get("adj_x")
    summed = factor[-2 if is_turned else -1] if factor else SUMMED_AT_ONCE + 1
    return [2 + ("BiasAdd" in fused)] if "Add" in fused and summed <= SUMMED_AT_ONCE else []


def _call(bind: Callable[..., Callable[[], Any]]) -> Call:
    """Return a NumPy kernel that computes a product and then applies the epilogue.

    Args:
      bind: a function that binds the kernel of the product.
    """

    def bind_all(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        out = product = arrays[-1]
        bias, addend, relu = _epilogue(context, *arrays)
        if addend is not None and np.may_share_memory(addend, out):
            product = context.scratch(out.shape, context.attrs["T"])
        calls = [bind(context, *arrays[:2], product)]
        if bias is not None:
            calls.append(partial(np.add, product, bias, product))
        if addend is not None:
            calls.append(partial(np.add, product, addend, out))
        if relu:
            calls.append(partial(np.maximum, out, 0, out=out))
        return run_all(calls)

    return Call(make=bind_all)


def _declare(
    product: str,
    operands: str,
    transposing_attrs: Sequence[str],
    infer: InferFunction,
    bind: Callable[..., Callable[[], Any]],
    matrices: Callable[..., Any],
) -> None:
    call = _call(bind)

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
            **{key: Attr("bool", False) for key in transposing_attrs},
        },
        infer=_infer_with(infer),
        **numpy_kernels(call),
        native=MatmulWithEpilogue(MatrixProducts(views), _epilogue),
        grad=NO_GRADIENT,
        doc=f"{product}, then the ops in `fused_ops`: BiasAdd and Add of `args`, Relu.",
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
