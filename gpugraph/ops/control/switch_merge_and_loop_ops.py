"""The ops of branches and loops, as in TensorFlow's graphs.

`Switch` forwards its data to the output that the predicate selects. The other output is dead, and
so are all ops that read it. `Merge` forwards the input that is not dead. `Enter`, `NextIteration`,
`Exit` and `LoopCond` form the frame of a loop. These ops forward tensors and compute nothing, so
their kernels do nothing. `compile/` determines which ops run under which predicate, and which ops
each loop repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import ALL
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import OpMemory
from gpugraph.ops.control.group_and_no_op import EMPTY_KERNELS
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import SCALAR, UNKNOWN, no_outputs, of_rank, same_shape


def _infer_merge(context: InferContext) -> Sequence[TensorShape]:
    """Return two shapes: the most specific shape that is compatible with all inputs, and a scalar
    for value_index.
    """
    shape = context.shapes[0]
    for other in context.shapes[1:]:
        shape = _common(shape, other)
    return [shape, SCALAR]


def _common(one: TensorShape, other: TensorShape) -> TensorShape:
    """Return a shape that has each size in which both shapes agree. All other sizes are unknown.

    If the ranks differ, the whole shape is unknown.
    """
    if one.sizes is None or other.sizes is None or len(one.sizes) != len(other.sizes):
        return UNKNOWN
    sizes = zip(one.sizes, other.sizes)
    return TensorShape.of(tuple(a if a == b else None for a, b in sizes))


def _infer_switch(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[1], 0, "The predicate")
    return [context.shapes[0]] * 2


def _infer_enter(context: InferContext) -> Sequence[TensorShape]:
    """Return the input's shape if `is_constant` is true. Otherwise return an unknown shape, because
    iterations may change it.
    """
    return [context.shapes[0] if context.attrs["is_constant"] else UNKNOWN]


def _infer_condition(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "The condition of a loop")
    return [SCALAR]


# -- gradients: the control flow context (tf.cond or tf.while_loop) of these ops computes them


def _switch_gradient(op: Operation, *grads: Any) -> Sequence[Any]:
    context = op._control_flow_context
    if context is not None and context.owns(op):
        return context.switch_gradient(op, *grads)
    pred = op._inputs[1]
    false_grad = raw_ops.Switch(grads[0], pred).output_false
    true_grad = raw_ops.Switch(grads[1], pred).output_true
    return [raw_ops.Merge([false_grad, true_grad]).output, None]


def _merge_gradient(op: Operation, grad: Any, _: Any) -> Sequence[Any]:
    first = op._inputs[0].op
    context = first._control_flow_context
    if context is not None and first.type in ("Exit", "RefExit"):
        context = context.outer
    if context is not None and context.owns(op):
        return context.merge_gradient(op, grad)
    predicates = [raw_ops.Equal(op._outputs[1], index) for index in range(len(op._inputs))]
    return [raw_ops.Switch(grad, predicate).output_true for predicate in predicates]


def _enter_gradient(op: Operation, grad: Any) -> Any:
    return _loop_context(op).enter_gradient(op, grad)


def _exit_gradient(op: Operation, grad: Any) -> Any:
    return _loop_context(op).exit_gradient(op, grad)


def _forward_gradient(op: Operation, grad: Any) -> Any:
    return grad


def _loop_context(op: Operation) -> Any:
    context = op._control_flow_context
    if context is None or not context.owns(op):
        raise no_gradient_without_context(op)
    return context


def no_gradient_without_context(op: Operation) -> LookupError:
    """Return the error for a gradient of an op of a loop or branch, if the op has no control flow
    context.

    tf.while_loop and tf.cond create a control flow context, and the import of a MetaGraphDef
    restores it.
    """
    enter = op
    while enter.type not in ("Enter", "RefEnter") and enter.type in _LOOP_TYPES:
        enter = enter._inputs[0].op
    frame = enter._attrs.get("frame_name")
    reason = f"its loop was not made by tf.while_loop: '{frame}'"
    if frame is None:
        loop = op._control_flow_context.loop
        reason = f"it is in the loop '{loop.name}', and its branch was not made by tf.cond"
    return LookupError(
        f"No gradient defined for operation '{op.name}' (op type: {op.type}), made at {op.origin}: "
        f"{reason} (unlike a MetaGraphDef, a GraphDef lacks the data for gradients of loops)"
    )


_LOOP_TYPES = ("Exit", "RefExit", "Switch", "RefSwitch", "Merge", "RefMerge")
_FRAME = {
    "T": ALL,
    "frame_name": Attr("string", required=True),
    "is_constant": Attr("bool", False),
    "parallel_iterations": Attr("int", 10),
}
_LOOP_OPS: tuple[tuple[str, dict[str, Any], Any, Any, str], ...] = (
    (
        "Enter",
        _FRAME,
        _infer_enter,
        _enter_gradient,
        "`data` inside the loop named `frame_name`: in its first iteration, or in each if "
        "`is_constant`.",
    ),
    ("Exit", {"T": ALL}, same_shape(0), _exit_gradient, "`data` of a loop, outside of it."),
    (
        "NextIteration",
        {"T": ALL},
        same_shape(0),
        _forward_gradient,
        "`data` in the next iteration of its loop.",
    ),
)
"""Tuples (op type, attrs, shape inference, gradient, documentation)."""

for _ref in ("", "Ref"):
    _type, _is_ref = ("Ref(T)", True) if _ref else ("T", False)
    op(
        f"{_ref}Switch",
        inputs=f"data: {_type}, pred: bool",
        outputs=f"output_false: {_type}, output_true: {_type}",
        attrs={"T": ALL},
        infer=_infer_switch,
        memory=OpMemory(view={0: 0, 1: 0}, host_inputs=(1,), allows_uninitialized=_is_ref),
        grad=_switch_gradient,
        doc="`data`, as the output that the scalar `pred` selects. The other output is dead.",
        **EMPTY_KERNELS,
    )
    op(
        f"{_ref}Merge",
        inputs=f"inputs: N*{_type}",
        outputs=f"output: {_type}, value_index: int32",
        attrs={"T": ALL, "N": Attr("int", minimum=1)},
        infer=_infer_merge,
        memory=OpMemory(host_outputs=(1,)),
        grad=_merge_gradient,
        doc=(
            "The input that is alive, and its index. Raises InvalidArgumentError if two "
            "inputs are alive. If no input is alive, the outputs are dead."
        ),
        **EMPTY_KERNELS,
    )
    for _name, _attrs, _infer, _gradient, _doc in _LOOP_OPS:
        op(
            _ref + _name,
            inputs=f"data: {_type}",
            outputs=f"output: {_type}",
            attrs=_attrs,
            infer=_infer,
            grad=_gradient,
            doc=_doc,
            memory=OpMemory(view={0: 0}),
            **EMPTY_KERNELS,
        )

op(
    "RefIdentity",
    inputs="input: Ref(T)",
    outputs="output: Ref(T)",
    attrs={"T": ALL},
    infer=same_shape(0),
    memory=OpMemory(view={0: 0}, allows_uninitialized=True),
    grad=_forward_gradient,
    doc="The same reference to a variable.",
    **EMPTY_KERNELS,
)
op(
    "LoopCond",
    inputs="input: bool",
    outputs="output: bool",
    infer=_infer_condition,
    memory=OpMemory(view={0: 0}, host_inputs=(0,), host_outputs=(0,)),
    grad=NO_GRADIENT,
    doc="The scalar that decides whether a loop continues.",
    **EMPTY_KERNELS,
)
op(
    "ControlTrigger",
    infer=no_outputs,
    grad=NO_GRADIENT,
    doc=("Does nothing. Unlike other ops, it is alive even if all its control inputs are dead."),
    **EMPTY_KERNELS,
)
