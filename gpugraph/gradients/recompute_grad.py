"""Functions of tensors with other gradients: by recomputation, or the identity's."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from gpugraph.base.nest import flatten
from gpugraph.gradients.backpropagation import gradients
from gpugraph.gradients.custom_gradient import custom_gradient
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.identity_and_shape import identity


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, a function of tensors, whose gradients compute its intermediate values again.

    So these are not stored until then: less memory for more time. `f` takes positional arguments
    only and is deterministic; variables that it reads get gradients too.
    """

    @custom_gradient
    def recomputed(*args: Tensor) -> Any:
        def grad_fn(*dresults: Tensor, variables: list[Any] | None = None) -> Any:
            with control_dependencies(list(dresults)):
                again = [identity(arg) for arg in args]
                results = flatten(f(*again))
                of = variables or []
                grads = gradients(results, [*again, *of], list(dresults))
            of_args, of_variables = grads[: len(args)], grads[len(args) :]
            return of_args if variables is None else (of_args, of_variables)

        return f(*args), grad_fn

    return wraps(f)(recomputed)


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, a function of tensors, whose gradient is the identity's.

    There are as many results as arguments, of the same shapes. Variables that it reads get none.
    """

    @custom_gradient
    def passed(*args: Tensor) -> Any:
        def grad_fn(*dresults: Tensor, variables: list[Any] | None = None) -> Any:
            output_grads = list(dresults)
            return output_grads if variables is None else (output_grads, [None] * len(variables))

        return f(*args), grad_fn

    return wraps(f)(passed)
