"""The ops on stacks. The forward iterations of a loop push values, and its backward iterations pop
them.

The handle, which is in host memory, refers to an `ElementStack`. Pushes and pops are ordered only
by control edges and by the order of the loop's iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import ALL
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import KernelContext
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import UNKNOWN, of_rank, same_shape
from gpugraph.ops.tensor_arrays.container_ops import (
    HANDLE_SHAPE,
    Access,
    Run,
    closing_op,
    container_op,
    element_kind,
)
from gpugraph.ops.tensor_arrays.element_stack import ElementStack


def _bind_stack(context: KernelContext, max_size: Any, handle: Any) -> Run:
    name = context.attrs["stack_name"] or context.name
    dtype = context.attrs["elem_type"]

    last: ElementStack | None = (
        None  # the previous run's stack; the next one will probably be as deep
    )

    def make() -> None:
        nonlocal last
        expected = last.depth or 0 if last is not None else 0
        stack = last = ElementStack(name, dtype, max_size.item(), context.allocate, expected)
        context.keep(stack)
        handle.fill(stack)

    return make


def _infer_stack(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "max_size")
    return [HANDLE_SHAPE]


container_op(
    "StackV2",
    _bind_stack,
    inputs="max_size: int32",
    outputs="handle: resource",
    attrs={"elem_type": ALL, "stack_name": Attr("string", "")},
    infer=_infer_stack,
    host_outputs=(0,),
    doc=(
        "A new stack of at most `max_size` elements (any number if it is negative), which"
        " lives as long as the run."
    ),
)


def _bind_push(context: KernelContext, handle: Any, elem: Any, output: Any) -> Run:
    kind = element_kind(context.input_shapes[1], context.input_types[1])
    allocate = context.allocate

    def make(elem: Any, kind: Any, index: Any, copy: Any) -> Run:
        if copy is None:
            return lambda: handle.item(0).push(elem, kind, allocate)

        def push() -> None:
            handle.item(0).push(elem, kind, allocate)
            copy[...] = elem

        return push

    return Access(make, "push", handle, elem, kind, None, None if output is elem else output)


container_op(
    "StackPushV2",
    _bind_push,
    inputs="handle: resource, elem: T",
    outputs="output: T",
    attrs={"T": ALL, "swap_memory": Attr("bool", False)},
    infer=same_shape(1),
    view={0: 1},
    doc=(
        "Pushes a copy of `elem` and outputs `elem`. Raises InvalidArgumentError if the "
        "stack is full."
    ),
)


def _infer_pop(context: InferContext) -> Sequence[TensorShape]:
    handle = context.value(0)
    if handle is None:
        return [UNKNOWN]
    return [TensorShape.of(handle.item(0).top_shape())]


def _bind_pop(context: KernelContext, handle: Any, elem: Any) -> Run:
    kind = element_kind(context.output_shapes[0], context.output_types[0])

    def make(elem: Any, kind: Any, index: Any, copy: Any) -> Run:
        return lambda: handle.item(0).pop(elem, kind)

    return Access(make, "pop", handle, elem, kind)


container_op(
    "StackPopV2",
    _bind_pop,
    inputs="handle: resource",
    outputs="elem: elem_type",
    attrs={"elem_type": ALL},
    infer=_infer_pop,
    doc=(
        "Pops the element that was pushed last. Raises InvalidArgumentError if the stack is empty."
    ),
)


closing_op("StackCloseV2", "a stack")
