"""Checks for NaN and infinity, in one tensor or in all tensors of a graph."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import FLOATING
from gpugraph.graph.client.default_graph_functions import (
    control_dependencies,
    get_default_graph,
    name_scope,
)
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import group, with_dependencies
from gpugraph.ops.debugging.check_numerics import check_numerics
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def verify_tensor_all_finite(
    t: Any = None,
    msg: str | None = None,
    name: str | None = None,
    x: Any = None,
    message: str | None = None,
) -> Tensor:
    """Return the float tensor `t`, with a check that makes the run fail if `t` contains a NaN or an
    infinity.

    The run then raises InvalidArgumentError with `msg`. Raises ValueError if an argument is passed
    under two names.

    Args:
      x, message: other names of `t` and `msg`.
    """
    value = _either(t, x, "t", "x")
    text = _either(msg, message, "msg", "message")
    with name_scope(name, "VerifyFinite", [value]):
        tensor = convert_to_tensor(value, name="x")
        with tensor.graph.colocate_with(tensor.op):
            check = check_numerics(tensor, "" if text is None else text)
            return with_dependencies([check], tensor)


def _either(old: Any, new: Any, old_name: str, new_name: str) -> Any:
    if old is not None and new is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return new if old is None else old


def add_check_numerics_ops() -> Operation:
    """Return an operation that checks all float tensors that the default graph contains at the time
    of the call.

    If a tensor contains a NaN or an infinity, the run raises InvalidArgumentError. The tensors are
    checked in the order of their creation. The error names the first tensor that contains a NaN or
    an infinity, and the line that created the tensor.

    Raises ValueError if the graph has branches or loops, because an op outside of them can't depend
    on their tensors.
    """
    graph = get_default_graph()
    checks: list[Any] = []
    for operation in graph.get_operations():
        for output in operation.outputs:
            if output.dtype not in FLOATING:
                continue
            if operation._control_flow_context is not None:
                raise ValueError(
                    "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow "
                    "operations such as `tf.cond()` or `tf.while_loop()`."
                )
            with graph.colocate_with(operation), control_dependencies(checks):
                text = f"{operation.name}:{output.value_index}"
                checks = [check_numerics(output, message=text)]
                checks[0].op.origin = operation.origin  # errors name the line of the operation
    return group(*checks)
