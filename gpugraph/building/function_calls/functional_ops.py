"""Conditions and loops as calls of functions: the ops If, While and For, and other calls of
functions that `Defun` has defined.

These are the functions of TensorFlow's `tensorflow.python.ops.functional_ops`. Each If, While and
For becomes a `tf.cond` or a `tf.while_loop` that contains copies of the functions' operations. A
GraphDef contains the op and the functions instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import int32
from gpugraph.building.control_flow.automatic_control_dependencies import resource_uses
from gpugraph.building.control_flow.cond import cond as tf_cond
from gpugraph.building.control_flow.while_loop import while_loop
from gpugraph.building.function_calls.body_copy import BodyCopy
from gpugraph.building.function_calls.call_ops import Build, built_call, local, partitioned_call_op
from gpugraph.building.gradients.backpropagation import gradients
from gpugraph.building.graph_files.call_op_types import CALL_OP_DEFS
from gpugraph.building.graph_files.function_inlining import truth_of
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.graph_function import GraphFunction
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def If(cond: Any, inputs: Any, then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """Call one of two functions with `inputs`. Return the results of the call as a list of tensors.

    Args:
      cond: a scalar. A number is true unless it is 0, and a string is true unless it is empty.
      then_branch, else_branch: functions defined by Defun, whose results have equal types.
    """
    args = [convert_to_tensor(cond), *(convert_to_tensor(value) for value in inputs)]
    branches = [then_branch.traced(), else_branch.traced()]

    def build(op: Operation) -> tuple[list[Tensor], list[Operation]]:
        pred, *rest = op._inputs
        chosen = tf_cond(
            truth_of(pred),
            lambda: _branch(branches[0], rest),
            lambda: _branch(branches[1], rest),
            strict=True,
        )
        return list(chosen[:-1]), [chosen[-1].op]

    types = {
        "Tcond": args[0].dtype.base_dtype,
        "Tin": [tensor.dtype.base_dtype for tensor in args[1:]],
        "Tout": [tensor.dtype.base_dtype for tensor in branches[0].graph.outputs],
    }
    attrs = {**types, "then_branch": branches[0], "else_branch": branches[1]}
    return _results(_call("If", branches, attrs, args, branches[0].graph.outputs, name, build))


def _branch(function: GraphFunction, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return the results of a branch, and a tensor that depends on all its effects."""
    results, controls = _copied(function, inputs)
    with get_default_graph().control_dependencies(controls):
        return [*results, convert_to_tensor(True)]


def _copied(
    function: GraphFunction, inputs: Sequence[Tensor]
) -> tuple[list[Tensor], list[Operation]]:
    """Copy a function's operations into the current scope. Return the function's results and its
    ops with effects.
    """
    graph = get_default_graph()
    arguments = dict(zip(function.graph.inputs, inputs))
    captures = function.graph.captures.items()
    arguments.update((inner, local(graph, outer)) for outer, inner in captures)
    body = BodyCopy(function.graph, graph, arguments)
    body.make()
    controls = [body.control(op) for op in function.graph.controls]
    with graph.control_dependencies(controls):
        results = [raw_ops.Identity(body.tensors[tensor]) for tensor in function.graph.outputs]
    return results, controls


def _call(
    op_type: str,
    functions: Sequence[GraphFunction],
    attrs: dict[str, Any],
    args: Sequence[Tensor],
    like: Sequence[Tensor],
    name: str | None,
    build: Build,
) -> Operation:
    graph = get_default_graph()
    uses: dict[Any, bool] = {}
    for function in functions:
        function.add_to(graph)
        captures = function.graph.captures.items()
        arguments = {inner: local(graph, outer) for outer, inner in captures}
        for key, is_read in resource_uses(function.graph, arguments).items():
            uses[key] = uses.get(key, True) and is_read
    is_written = not any(function.graph.captures for function in functions)
    op_def = CALL_OP_DEFS[op_type]
    return built_call(op_def, attrs, args, like, name or op_type, uses, build, is_written)


def _results(op: Operation) -> Any:
    return list(op._outputs) or op


def While(
    input_: Any, cond: Any, body: Any, name: str | None = None, hostmem: Any = None
) -> list[Tensor]:
    """Start with the values `input_`, and apply `body` to the current values as long as `cond`
    returns true for them. Return the last values.

    Raises ValueError if `cond` captures tensors, or if the argument types of the functions differ.

    Args:
      cond, body: functions defined by Defun, with the same argument types.
      hostmem: ignored.
    """
    del hostmem
    if cond.captured_inputs:
        raise ValueError(
            "While op 'cond' argument must be a function without implicitly captured inputs."
        )
    if cond.declared_input_types != body.declared_input_types:
        raise ValueError(
            "While op 'cond' and 'body' signatures do not match. "
            f"{cond.declared_input_types!r} vs {body.declared_input_types!r}"
        )
    args = [convert_to_tensor(value) for value in input_]
    test, step = cond.traced(), body.traced()

    def build(op: Operation) -> tuple[list[Tensor], list[Operation]]:
        return _loop(
            op._inputs,
            lambda *values: truth_of(_copied(test, values)[0][0]),
            lambda *values: _copied(step, values)[0],
        ), []

    attrs = {"T": [tensor.dtype.base_dtype for tensor in args], "cond": test, "body": step}
    return _results(_call("While", [test, step], attrs, args, args, name, build))


def _loop(
    values: Sequence[Tensor], test: Callable[..., Any], step: Callable[..., Any]
) -> list[Tensor]:
    shapes = [tensor.shape for tensor in values]

    def body(*inner: Tensor) -> list[Tensor]:
        results = step(*inner)
        for tensor, shape in zip(results, shapes):
            tensor.set_shape(shape)
        return results

    return list(while_loop(test, body, list(values), return_same_structure=True))


def For(
    start: Any,
    limit: Any,
    delta: Any,
    inputs: Any,
    body: Any,
    name: str | None = None,
    hostmem: Any = None,
    rewrite_with_while: Any = None,
) -> list[Tensor]:
    """Return `inputs` after `body(i, *inputs)` has been applied for each `i` of a range.

    Args:
      start, limit, delta: the range: its first number, the number before which it ends, and the
        step.
      body: a function defined by Defun. The body receives an int32 and the inputs.
      hostmem, rewrite_with_while: ignored, since the result is always a `tf.while_loop`.
    """
    del hostmem, rewrite_with_while
    bounds = [convert_to_tensor(value, int32) for value in (start, limit, delta)]
    args = [*bounds, *(convert_to_tensor(value) for value in inputs)]
    step = body.traced()

    def build(op: Operation) -> tuple[list[Tensor], list[Operation]]:
        first, last, by, *values = op._inputs
        ends = _loop(
            [first, *values],
            lambda index, *_: _is_before(index, last, by),
            lambda index, *rest: [raw_ops.AddV2(index, by), *_copied(step, [index, *rest])[0]],
        )
        return ends[1:], []

    attrs = {"T": [tensor.dtype.base_dtype for tensor in args[3:]], "body": step}
    return _results(_call("For", [step], attrs, args, args[3:], name, build))


def _is_before(index: Any, last: Any, by: Any) -> Any:
    zero = raw_ops.ZerosLike(by)
    return raw_ops.Select(
        raw_ops.Greater(by, zero), raw_ops.Less(index, last), raw_ops.Greater(index, last)
    )


def partitioned_call(
    args: Any,
    f: Any,
    tout: Any = None,
    executing_eagerly: Any = None,
    config: Any = None,
    executor_type: Any = None,
) -> Any:
    """Call a function defined by Defun and return its results. If the function has no results,
    return the op.

    Args:
      args: the arguments, including captured tensors.
      executing_eagerly, config, executor_type: ignored.
    """
    del tout, executing_eagerly, config, executor_type
    tensors = [convert_to_tensor(value) for value in args]
    return _results(partitioned_call_op(f.traced(), tensors))


def remote_call(args: Any, Tout: Any, f: Any, target: Any, name: str | None = None) -> Any:
    """Call a function on the device `target`, a string, and return its results."""
    del Tout
    tensors = [convert_to_tensor(value) for value in args]
    with get_default_graph().device(target):
        return _results(partitioned_call_op(f.traced(), tensors, name or "RemoteCall"))


def Gradient(inputs: Any, f: Any, name: str | None = None) -> Any:
    """Return the gradients of a function at its arguments. If an argument has no gradient, return
    zeros for it.

    Args:
      inputs: the arguments, followed by the gradients at the results.
    """
    tensors = [convert_to_tensor(value) for value in inputs]
    count = len(f.declared_input_types)
    with get_default_graph().name_scope(name or "SymbolicGradient"):
        arguments = [raw_ops.Identity(tensor) for tensor in tensors[:count]]
        results = f(*arguments)
        outputs = list(results) if isinstance(results, (list, tuple)) else [results]
        input_grads = gradients(outputs, arguments, tensors[count:])
        return [
            raw_ops.ZerosLike(argument) if grad is None else grad
            for grad, argument in zip(input_grads, arguments)
        ]
