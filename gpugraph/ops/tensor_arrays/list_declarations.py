"""Declarations of ops on lists of tensors, which are the values of variant tensors, as in
TensorFlow 2.

A list is an object in host memory (`tensor_list`). If the sizes of elements are known only in a
run, inference reads them from the list during the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext, InferFunction, as_output_shape
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import GradientFunction, op
from gpugraph.ops.framework.shape_functions import UNKNOWN, scalar
from gpugraph.ops.tensor_arrays.tensor_list import TensorList

_HOST = HostOnly("lists of tensors are in host memory")
INDEX = (dtypes.int32, dtypes.int64)
ELEMENT = {"element_dtype": ALL}
SHAPED = {"element_dtype": ALL, "shape_type": INDEX}

Compute = Callable[..., Any]
"""A function (attrs, *inputs) that returns the output, or a tuple of outputs.

For an input or output of dtype variant, it receives or returns the TensorList itself.
"""


def list_op(
    op_type: str,
    compute: Compute,
    inputs: str,
    outputs: str,
    grad: GradientFunction,
    doc: str,
    attrs: dict[str, Any] | None = None,
    infer: InferFunction = scalar,
    stateful: bool = False,
) -> None:
    """Declare an op on lists. Its kernel is `compute`, which runs on the host."""
    specs = inputs.split(", ")
    are_lists = [spec.endswith("variant") for spec in specs]

    def bind(context: KernelContext, *arrays: Any) -> Callable[[], None]:
        count = len(context.input_types)
        sources, targets, values = arrays[:count], arrays[count:], context.attrs

        def run() -> None:
            results = compute(
                values, *[_list_in(x) if is_list else x for x, is_list in zip(sources, are_lists)]
            )
            for target, result in zip(targets, results if type(results) is tuple else (results,)):
                if isinstance(result, TensorList):
                    target.fill(result)
                else:
                    target[...] = result

        return run

    lists = [index for index, spec in enumerate(outputs.split(", ")) if spec.endswith("variant")]
    op(
        op_type, inputs=inputs, outputs=outputs, infer=infer, grad=grad,
        attrs=ELEMENT if attrs is None else attrs,
        cpu=Call(make=bind, late=True, direct=True), gpu=_HOST,
        memory=OpMemory(host_inputs=tuple(range(len(are_lists))), host_outputs=tuple(lists)),
        stateful=stateful, doc=doc,
    )  # fmt: skip


def _list_in(array: Any) -> TensorList:
    held = array.item(0)
    if not isinstance(held, TensorList):
        raise invalid_argument("Input handle is not a list.")
    return held


def shape_in(array: Any) -> TensorShape:
    """Return the shape that an array represents. The array is a vector of sizes, or the scalar -1
    for any shape.
    """
    if array.ndim:
        return as_output_shape(array)
    if array.item() != -1:
        raise invalid_argument(
            "The only valid scalar shape tensor is the fully unknown shape specified as -1."
        )
    return UNKNOWN


def shape_input(context: InferContext, index: int) -> TensorShape:
    """Return the shape that an input represents, or an unknown shape if inference does not know the
    input's value.
    """
    value = context.value(index)
    if value is not None:
        return shape_in(np.asarray(value))
    return UNKNOWN if context.shapes[index].rank == 0 else context.value_as_shape(index)


def known_list(context: InferContext) -> TensorList | None:
    """Return the list in input 0.

    Return None during graph construction, when there are no lists.
    """
    array = context.value(0)
    return None if array is None else _list_in(array)


def no_gradients(op: Any, *grads: Any) -> list[Any]:
    """Return None for each input, because the outputs are sizes or shapes, which have no
    gradients.
    """
    return [None] * len(op.inputs)
