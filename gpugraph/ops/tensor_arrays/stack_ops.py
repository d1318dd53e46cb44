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
from gpugraph.kernel import KernelContext, OpMemory
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import UNKNOWN, of_rank, same_shape
from gpugraph.ops.tensor_arrays.container_ops import (
    HANDLE_SHAPE,
    ContainerAccess,
    Run,
    closing_op,
    container_op,
    element_kind,
)
from gpugraph.ops.tensor_arrays.element_stack import ElementStack


def _bind_stack(context: KernelContext, max_size: Any, handle: Any) -> Run:
    name = context.attrs["stack_name"] or context.name
    dtype = context.attrs["elem_type"]

    resting = _Resting()
    context.own(resting)

    def make() -> None:
        stack = resting.stack  # the next stack will probably be as deep
        if stack is None or stack.max_size != max_size.item() or not stack.reopen():
            depth, most = (0, 0) if stack is None else (stack.depth or 0, stack.most)
            if stack is not None:
                stack.close()
            stack = ElementStack(name, dtype, max_size.item(), context.allocate, depth, most)
            stack.rests = not resting.is_over
            resting.stack = stack
        context.keep(stack)
        handle.fill(stack)

    return make


class _Resting:
    """The stack of the previous run, whose memory may stay for the next run."""

    def __init__(self) -> None:
        self.stack: ElementStack | None = None
        self.is_over = False

    def release(self) -> None:
        """Keep no memory for later runs."""
        self.is_over = True
        if self.stack is not None:
            self.stack.end_rest()


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
    memory=OpMemory(host_inputs=(0,), host_outputs=(0,)),
    doc=(
        "A new stack of at most `max_size` elements, which lives as long as the run. A negative "
        "`max_size` means no limit."
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

    return ContainerAccess(
        make, "push", handle, elem, kind, None, None if output is elem else output
    )


container_op(
    "StackPushV2",
    _bind_push,
    inputs="handle: resource, elem: T",
    outputs="output: T",
    attrs={"T": ALL, "swap_memory": Attr("bool", False)},
    infer=same_shape(1),
    memory=OpMemory(host_inputs=(0,), view={0: 1}),
    doc=(
        "Pushes a copy of `elem`. The output is `elem`. Raises InvalidArgumentError if the stack "
        "is full."
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

    return ContainerAccess(make, "pop", handle, elem, kind)


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
