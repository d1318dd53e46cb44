"""The ops of which branches and loops are made, as in TensorFlow's graphs.

`Switch` sends its data one of two ways and leaves the other dead; `Merge` takes the one of its
inputs that is alive. `Enter`, `NextIteration`, `Exit` and `LoopCond` make the frame of a loop.
They move tensors and compute nothing, so that they have no kernels: `compile/` settles which ops
run together (a region that is dead or alive) and which repeat (a frame), and binds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import ALL
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import SCALAR, UNKNOWN, no_outputs, of_rank, same_shape


def _nothing() -> None:
    """Runs nothing."""


_MOVED = Call(_nothing)


def _merged(context: InferContext) -> Sequence[TensorShape]:
    """What the shapes of all inputs have in common, and a scalar index."""
    shape = context.shapes[0]
    for other in context.shapes[1:]:
        shape = _common(shape, other)
    return [shape, SCALAR]


def _common(one: TensorShape, other: TensorShape) -> TensorShape:
    """The shape that holds for both: unknown where they differ."""
    if one.sizes is None or other.sizes is None or len(one.sizes) != len(other.sizes):
        return UNKNOWN
    sizes = zip(one.sizes, other.sizes)
    return TensorShape.of(tuple(a if a == b else None for a, b in sizes))


def _switched(context: InferContext) -> Sequence[TensorShape]:
    """Both outputs are like the data; the predicate is a scalar."""
    of_rank(context.shapes[1], 0, "The predicate")
    return [context.shapes[0]] * 2


def _scalar(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "The condition of a loop")
    return [SCALAR]


# -- gradients: of an op of tf.cond or tf.while_loop its branch or loop knows them


def _switch_gradient(op: Operation, *grads: Any) -> Sequence[Any]:
    context = op._control_flow_context
    if context is not None:
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
    if context is not None:
        return context.merge_gradient(op, grad)
    taken = [raw_ops.Equal(op._outputs[1], index) for index in range(len(op._inputs))]
    return [raw_ops.Switch(grad, each).output_true for each in taken]


def _enter_gradient(op: Operation, grad: Any) -> Any:
    return _of_loop(op).enter_gradient(op, grad)


def _exit_gradient(op: Operation, grad: Any) -> Any:
    return _of_loop(op).exit_gradient(op, grad)


def _of_loop(op: Operation) -> Any:
    context = op._control_flow_context
    if context is None:
        raise LookupError(
            f"No gradient defined for operation '{op.name}' (op type: {op.type}), made at "
            f"{op.origin}: its loop was not made by tf.while_loop"
        )
    return context


_FRAME = {
    "T": ALL,
    "frame_name": Attr("string", required=True),
    "is_constant": Attr("bool", False),
    "parallel_iterations": Attr("int", 10),
}

for _ref in ("", "Ref"):
    _type = "Ref(T)" if _ref else "T"
    _moves: dict[str, Any] = {
        "cpu": _MOVED,
        "gpu": _MOVED,
        "view": {0: 0},
        "uninitialized": bool(_ref),
    }
    op(
        f"{_ref}Switch",
        inputs=f"data: {_type}, pred: bool",
        outputs=f"output_false: {_type}, output_true: {_type}",
        attrs={"T": ALL},
        infer=_switched,
        cpu=_MOVED,
        gpu=_MOVED,
        view={0: 0, 1: 0},
        host=(1,),
        uninitialized=bool(_ref),
        grad=_switch_gradient,
        doc="`data` by the output that `pred`, a scalar, says. The other output is dead.",
    )
    op(
        f"{_ref}Merge",
        inputs=f"inputs: N*{_type}",
        outputs=f"output: {_type}, value_index: int32",
        attrs={"T": ALL, "N": Attr("int")},
        infer=_merged,
        cpu=_MOVED,
        gpu=_MOVED,
        host_outputs=(1,),
        uninitialized=bool(_ref),
        grad=_merge_gradient,
        doc="The input that is alive, and its index. InvalidArgumentError when two are; dead when "
        "none is.",
    )
    op(
        f"{_ref}Enter",
        inputs=f"data: {_type}",
        outputs=f"output: {_type}",
        attrs=_FRAME,
        infer=same_shape(0),
        **_moves,
        grad=_enter_gradient,
        doc="`data` inside the loop named `frame_name`: in its first iteration, or in each if "
        "`is_constant`.",
    )
    op(
        f"{_ref}Exit",
        inputs=f"data: {_type}",
        outputs=f"output: {_type}",
        attrs={"T": ALL},
        infer=same_shape(0),
        **_moves,
        grad=_exit_gradient,
        doc="`data` outside of the loop in which it was made.",
    )
    op(
        f"{_ref}NextIteration",
        inputs=f"data: {_type}",
        outputs=f"output: {_type}",
        attrs={"T": ALL},
        infer=same_shape(0),
        **_moves,
        grad=lambda op, grad: grad,
        doc="`data` in the next iteration of its loop.",
    )

op(
    "RefIdentity",
    inputs="input: Ref(T)",
    outputs="output: Ref(T)",
    attrs={"T": ALL},
    infer=same_shape(0),
    cpu=_MOVED,
    gpu=_MOVED,
    view={0: 0},
    uninitialized=True,
    grad=lambda op, grad: grad,
    doc="The same reference to a variable.",
)
op(
    "LoopCond",
    inputs="input: bool",
    outputs="output: bool",
    infer=_scalar,
    cpu=_MOVED,
    gpu=_MOVED,
    view={0: 0},
    host=(0,),
    host_outputs=(0,),
    grad=NO_GRADIENT,
    doc="The scalar that says whether a loop goes on.",
)
op(
    "ControlTrigger",
    infer=no_outputs,
    cpu=_MOVED,
    gpu=_MOVED,
    grad=NO_GRADIENT,
    doc="Does nothing, and is alive even when all that it waits for is dead.",
)
