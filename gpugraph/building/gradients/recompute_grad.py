"""`recompute_grad` and `grad_pass_through`: decorators that replace the gradients of functions of
tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from itertools import islice
from typing import Any

from gpugraph.base.nest import flatten
from gpugraph.building.control_flow.context_base import current, loop_of
from gpugraph.building.gradients.backpropagation import gradients
from gpugraph.building.gradients.custom_gradient import custom_gradient, values_in_loop
from gpugraph.graph.client.default_graph_functions import control_dependencies, get_default_graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f`, a function of tensors, with a gradient that computes `f` again.

    The intermediate values of `f` then need not be kept from the forward pass to the backward pass.
    This saves memory but takes more time. `f` must take positional arguments only and be
    deterministic. The variables that `f` reads also receive gradients.
    """

    @custom_gradient
    def recomputed(*args: Tensor) -> Any:
        def grad_fn(*dresults: Tensor, variables: list[Any] | None = None) -> Any:
            with control_dependencies(list(dresults)):
                again = [identity(arg) for arg in args]
                graph = get_default_graph()
                before = graph.version
                results = flatten(f(*again))
                values = [_values(graph.get_operations()[before:], v) for v in variables or ()]
                sources = [*again, *(value for parts in values for value in parts)]
                grads = iter(gradients(results, sources, list(dresults), stop_gradients=again))
                of_args = list(islice(grads, len(args)))
                of_variables = [_total(list(islice(grads, len(parts)))) for parts in values]
            return of_args if variables is None else (of_args, of_variables)

        return f(*args), grad_fn

    return wraps(f)(recomputed)


def _values(ops: Sequence[Operation], variable: Any) -> list[Any]:
    """Return the tensors whose gradients add up to the gradient at a variable that `ops` read.

    In a loop, these are the tensors inside the loop that hold the variable's value, since the
    gradient of a single iteration can't leave the loop. Outside of loops, the value is the variable
    itself.
    """
    is_in_loop = loop_of(current(get_default_graph())) is not None
    return (values_in_loop(ops, variable) if is_in_loop else []) or [variable]


def _total(grads: list[Any]) -> Any:
    """Return the sum of a variable's gradients, or None if there are none."""
    known = [grad for grad in grads if grad is not None]
    if len(known) < 2:
        return known[0] if known else None
    return raw_ops.AddN([convert_to_tensor(grad) for grad in known])


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f`, a function of tensors, with a gradient that passes the gradients at its results
    unchanged to its arguments.

    `f` must have as many results as arguments, with the same shapes. The variables that `f` reads
    receive no gradient.
    """

    @custom_gradient
    def passed(*args: Tensor) -> Any:
        def grad_fn(*dresults: Tensor, variables: list[Any] | None = None) -> Any:
            output_grads = list(dresults)
            return output_grads if variables is None else (output_grads, [None] * len(variables))

        return f(*args), grad_fn

    return wraps(f)(passed)
