"""Variable and Stack, the op types that preceded VariableV2 and StackV2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import ALL
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import KernelContext, OpMemory
from gpugraph.ops.control.group_and_no_op import EMPTY_KERNELS
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import UNKNOWN
from gpugraph.ops.state.reference_variable_ops import VARIABLE_ATTRS
from gpugraph.ops.tensor_arrays.container_ops import HANDLE_SHAPE, container_op
from gpugraph.ops.tensor_arrays.element_stack import ElementStack


def _infer_variable(context: InferContext) -> Sequence[TensorShape]:
    shape = context.attrs["shape"]
    return [UNKNOWN if context.is_building and shape.rank == 0 else shape]


op(
    "Variable",
    outputs="ref: Ref(dtype)",
    attrs={"shape": VARIABLE_ATTRS["shape"], **VARIABLE_ATTRS},
    infer=_infer_variable,
    grad=NO_GRADIENT,
    stateful=True,
    doc="A variable, as VariableV2. But the static shape of a scalar is unknown.",
    **EMPTY_KERNELS,
)


def _bind_stack(context: KernelContext, handle: Any) -> Callable[[], Any]:
    name, dtype = context.attrs["stack_name"] or context.name, context.attrs["elem_type"]

    def make() -> None:
        stack = ElementStack(name, dtype, -1, context.allocate)
        context.keep(stack)
        handle.fill(stack)

    return make


container_op(
    "Stack",
    _bind_stack,
    memory=OpMemory(host_inputs=(), host_outputs=(0,)),
    outputs="handle: resource",
    attrs={"elem_type": ALL, "stack_name": Attr("string", "")},
    infer=lambda _: [HANDLE_SHAPE],
    doc="A new stack of any number of elements, which lives as long as the run.",
)
