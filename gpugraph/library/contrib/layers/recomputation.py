"""Layers whose gradients recompute intermediate values: `contrib.layers.recompute_grad`.

The user's function is called once. An attr with the number of the call marks the ops of the
function and the ops of its gradient. The compiler pass `activation_recomputation` then copies the
function's ops for the gradient. The copies run only after the gradients of the function's results
are known. In a while loop, whose gradient is another loop, the function is called again in that
loop instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from gpugraph.base.nest import flatten
from gpugraph.building.control_flow.context_base import current, loop_of
from gpugraph.building.gradients import custom_gradient, gradients, recompute_grad as called_again
from gpugraph.building.variable_scope import get_variable_scope, variable_scope
from gpugraph.building.variable_scope.arg_scope import arg_scope, current_arg_scope
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.op_def import RECOMPUTED, RECOMPUTES
from gpugraph.ops.control.group_and_no_op import tuple as gated
from gpugraph.ops.framework.identity_and_shape import identity

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def recompute_grad(
    fn: Callable[..., Any], use_data_dep: Any = None, tupleize_grads: bool = False
) -> Callable[..., Any]:
    """Return `fn`, a function of tensors, with gradients that recompute its intermediate values.

    The intermediate values are not stored, which saves memory and costs time. Values and gradients
    are bitwise equal to the values and gradients of `fn`. Stateful ops, including random ones, run
    once and their results are stored, so that dropout uses one mask.

    In a while loop, `fn` is called a second time, as in TensorFlow. The second call uses the
    variable scope of the first call with `reuse`, and the `arg_scope` of the first call. If `fn`
    has the parameter `is_recomputing`, this parameter is True in the second call. The variables of
    `fn` are resource variables.

    Raises ValueError if an argument is not a tensor, or if `fn` closes over a tensor.

    Args:
      use_data_dep: has no effect. In TensorFlow, `use_data_dep` determines how XLA orders the
        second computation.
      tupleize_grads: whether each returned gradient is available only after all gradients are
        computed.
    """
    del use_data_dep
    _refuse_closure(fn)
    parameters = inspect.signature(fn).parameters.values()
    is_asked = any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD
        or (parameter.name == "is_recomputing" and parameter.kind in _NAMED)
        for parameter in parameters
    )

    @wraps(fn)
    def recomputed(*args: Any) -> Any:
        if not all(isinstance(arg, Tensor) for arg in args):
            raise ValueError(f"All inputs to function must be Tensors, but are {args}")
        scope, options = get_variable_scope(), current_arg_scope()
        calls: list[Any] = []

        @wraps(fn)
        def computed(*inputs: Tensor) -> Any:
            keywords = {"is_recomputing": bool(calls)} if is_asked else {}
            calls.append(inputs)
            if len(calls) == 1:
                return fn(*inputs, **keywords)
            with arg_scope(options), variable_scope(scope, reuse=True):
                return fn(*inputs, **keywords)

        is_in_loop = bool(args) and loop_of(current(args[0].graph)) is not None
        if is_in_loop or not args:
            return called_again(computed)(*args)
        return _marked(computed, args[0].graph, tupleize_grads)(*args)

    return recomputed


def _refuse_closure(fn: Callable[..., Any]) -> None:
    """Raise ValueError if `fn` closes over a tensor, because that tensor would get no gradient."""
    if not inspect.isfunction(fn):
        return
    for name, value in inspect.getclosurevars(fn).nonlocals.items():
        if isinstance(value, Tensor):
            raise ValueError(
                f"fn decorated with @recompute_grad closes over Tensor {value.name} (local "
                f"variable name: {name}). The decorated fn must not close over Tensors or Variables"
                " because gradients will NOT be computed for them through fn. To ensure correct "
                "gradients, make the Tensor an input to fn."
            )


def _marked(f: Callable[..., Any], graph: Graph, tupleize_grads: bool) -> Callable[..., Any]:
    """Return a function that calls `f` and marks its ops, and the ops of its gradient.

    The mark is an attr with the number of the call. If `f` is called inside another recomputed
    function, the mark is the number of the outer call.
    """
    call = graph._scope.attrs.get(RECOMPUTED, graph.version)

    @custom_gradient
    @wraps(f)
    def marked(*args: Tensor) -> Any:
        inputs = [
            identity(arg) for arg in args
        ]  # created in the control flow context of the use, which may be a branch
        with graph._attr_scope({RECOMPUTED: call}):
            results = f(*inputs)

        def grad_fn(*dresults: Tensor, variables: Sequence[Any] | None = None) -> Any:
            sources = [*inputs, *(variables or ())]
            with graph.control_dependencies(dresults):
                with graph._attr_scope({RECOMPUTED: None, RECOMPUTES: call}):
                    grads = gradients(
                        flatten(results), sources, list(dresults), stop_gradients=inputs
                    )
            if tupleize_grads:
                grads = gated(grads)
            of_args, of_variables = grads[: len(args)], grads[len(args) :]
            return of_args if variables is None else (of_args, of_variables)

        return results, grad_fn

    return marked
