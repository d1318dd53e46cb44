"""Dropout, flattening, and functions that repeat or stack layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.building.control_flow.smart_cond import smart_cond
from gpugraph.building.variable_scope import get_variable_scope, variable_scope
from gpugraph.building.variable_scope.arg_scope import add_arg_scope
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers.layer_collections import collect_outputs
from gpugraph.library.layers import flatten as flatten_layer
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.activations import dropout as dropout_ops


@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Tensor:
    """Set each element to 0 with probability 1 - keep_prob, and divide the remaining elements by
    keep_prob.

    Args:
      is_training: a bool, or a bool tensor that each run evaluates. If `is_training` is False, the
        inputs are unchanged.
      noise_shape, seed: see `tf.nn.dropout`.
    """
    with variable_scope(scope, "Dropout", [inputs]) as within:
        source = convert_to_tensor(inputs)
        with variable_scope(get_variable_scope()):
            pass  # uses up the name "Dropout": as in TensorFlow, the ops are in "dropout_1"
        outputs: Tensor = smart_cond(
            is_training,
            lambda: dropout_ops.dropout(
                source, rate=1 - keep_prob, noise_shape=noise_shape, seed=seed
            ),
            lambda: identity(source),
        )
        return collect_outputs(outputs_collections, within.name, outputs)


@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Tensor:
    """Merge all axes after the first: [n, ...] becomes [n, k], and [n] becomes [n, 1]."""
    with name_scope(scope, "Flatten", [inputs]) as within:
        outputs = flatten_layer(convert_to_tensor(inputs))
        return collect_outputs(outputs_collections, within, outputs)


def _name_of(layer: Callable[..., Any], default: str) -> str:
    """Return the name of the function `layer`, from which `repeat` and `stack` derive the names of
    scopes.
    """
    function = layer.func if isinstance(layer, partial) else layer
    return getattr(function, "__name__", default)


@add_arg_scope
def repeat(
    inputs: Any, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Apply `layer(outputs, *args, **kwargs)` `repetitions` times, in scopes `name_1`, `name_2`,
    ...

    Args:
      kwargs: may contain `scope`, the enclosing scope, by default "Repeat". The scopes `name_i` are
        named after it, or by default after the function `layer`.
    """
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        outputs: Any = convert_to_tensor(inputs)
        name = scope or _name_of(layer, "repeat")
        for number in range(1, repetitions + 1):
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{name}_{number}"})
        return outputs


@add_arg_scope
def stack(inputs: Any, layer: Callable[..., Any], stack_args: Sequence[Any], **kwargs: Any) -> Any:
    """Apply `layer(outputs, *args, **kwargs)` for each item of `stack_args`, in scopes `name_1`,
    ...

    Raises ValueError if `stack_args` is not a list or tuple.

    Args:
      stack_args: an argument, or a list of arguments, for each layer.
      kwargs: may contain `scope`, the enclosing scope, by default "Stack". The scopes `name_i` are
        named after it, or by default after the function `layer`.
    """
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError(f"stack_args need to be a list or tuple, but it is {stack_args!r}")
    with variable_scope(scope, "Stack", [inputs]):
        outputs: Any = convert_to_tensor(inputs)
        name = scope or _name_of(layer, "stack")
        for number, arguments in enumerate(stack_args, 1):
            args = arguments if isinstance(arguments, (list, tuple)) else [arguments]
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{name}_{number}"})
        return outputs
