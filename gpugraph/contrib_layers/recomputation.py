"""Layers that compute their values again for their gradients: `contrib.layers.recompute_grad`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from gpugraph.gradients import recompute_grad as gradients_recomputed
from gpugraph.graph.client.tensor import Tensor
from gpugraph.variable_scope import get_variable_scope, variable_scope
from gpugraph.variable_scope.arg_scope import arg_scope, current_arg_scope


def recompute_grad(
    fn: Callable[..., Any], use_data_dep: Any = None, tupleize_grads: bool = False
) -> Callable[..., Any]:
    """`fn`, a function of tensors, whose gradients compute its intermediate values again.

    The second computation is in the variable scope of the first, with `reuse`, and in its
    `arg_scope`. `fn` is called with `is_recomputing` where it takes any keyword. Its variables are
    resource variables. ValueError for arguments that are no tensors.

    use_data_dep, tupleize_grads: how TensorFlow orders the recomputation; without effect, as it
    waits for the gradients of the results here, whatever these say.
    """
    del use_data_dep, tupleize_grads
    kinds = {parameter.kind for parameter in inspect.signature(fn).parameters.values()}
    is_asked = inspect.Parameter.VAR_KEYWORD in kinds

    @wraps(fn)
    def recomputed(*args: Any) -> Any:
        if not all(isinstance(arg, Tensor) for arg in args):
            raise ValueError(f"All inputs to function must be Tensors, but are {args}")
        scope, options = get_variable_scope(), current_arg_scope()
        calls: list[Any] = []

        def computed(*inputs: Tensor) -> Any:
            keywords = {"is_recomputing": bool(calls)} if is_asked else {}
            calls.append(inputs)
            if len(calls) == 1:
                return fn(*inputs, **keywords)
            with arg_scope(options), variable_scope(scope, reuse=True):
                return fn(*inputs, **keywords)

        return gradients_recomputed(computed)(*args)

    return recomputed
