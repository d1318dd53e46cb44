"""`optimize_loss`: creates a training op from a loss, with options to change the gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.building.checks import assert_scalar
from gpugraph.building.variable_scope import get_variable, variable_scope
from gpugraph.building.variables import trainable_variables
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.summary import histogram, scalar
from gpugraph.library.train import (
    AdagradOptimizer,
    AdamOptimizer,
    FtrlOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    Optimizer,
    RMSPropOptimizer,
    assert_global_step,
    get_global_step,
)
from gpugraph.ops.control.group_and_no_op import with_dependencies
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.random_ops import truncated_normal
from gpugraph.ops.random.variable_initializers import Constant
from gpugraph.ops.reductions.clip_by_norm import clip_by_global_norm, global_norm

OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Any]] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "Momentum": lambda learning_rate: MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
"""Functions from a learning rate to an optimizer, by name."""

OPTIMIZER_SUMMARIES = [
    "learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm",
]  # fmt: skip
"""The names of the summaries that `optimize_loss` can add."""

_SUMMARIES_BY_DEFAULT = ("loss", "learning_rate", "global_gradient_norm")

GradientsAndVariables = Sequence[tuple[Any, Any]]


def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable[[Any, Any], Any] | None = None,
    update_ops: Any = None,
    variables: Any = None,
    name: str | None = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:
    """Return an op that trains the variables by one step and outputs the scalar loss.

    Raises ValueError for a negative rate, for an unknown optimizer or summary, and for a decay
    function without a global step.

    Args:
      global_step: the variable that counts steps. None means the graph's global step, if it exists.
      learning_rate: a number, for which a variable `learning_rate` is created, or a scalar tensor.
      optimizer: a name in OPTIMIZER_CLS_NAMES, a class, a function of the learning rate, or an
        optimizer.
      gradient_noise_scale: the standard deviation of normal noise that is added to the gradients.
      gradient_multipliers: factors of gradients, by variable or by the variable's name.
      clip_gradients: the maximum global norm, or a function that receives and returns (gradient,
        variable) pairs.
      learning_rate_decay_fn: a function that receives the learning rate and the global step and
        returns the rate to use.
      update_ops: ops that run before the loss is computed; by default the collection UPDATE_OPS.
      variables: the variables to train; by default all trainable variables.
      summaries: names of summaries, from OPTIMIZER_SUMMARIES. By default, the loss, the learning
        rate and the global norm of the gradients are summarized.
    """
    wanted = _SUMMARIES_BY_DEFAULT if summaries is None else summaries
    for summary in wanted:
        if summary not in OPTIMIZER_SUMMARIES:
            known = ", ".join(OPTIMIZER_SUMMARIES)
            raise ValueError(f"Summaries should be one of [{known}], you provided {summary}.")
    loss = convert_to_tensor(loss)
    assert_scalar(loss)
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        loss = _after_updates(loss, update_ops)
        rate = _learning_rate(learning_rate, global_step, learning_rate_decay_fn)
        if rate is not None and "learning_rate" in wanted:
            scalar("learning_rate", rate)
        chosen = _optimizer(optimizer, rate)
        gradients: Any = chosen.compute_gradients(
            loss,
            trainable_variables() if variables is None else variables,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gradient_noise_scale is not None:
            gradients = [(_noisy(g, gradient_noise_scale), v) for g, v in gradients]
        if gradient_multipliers is not None:
            gradients = _multiplied(gradients, gradient_multipliers)
        if "global_gradient_norm" in wanted:
            scalar("global_norm/gradient_norm", _norm_of(gradients))
        if clip_gradients is not None:
            gradients = _clipped(gradients, clip_gradients)
        if "loss" in wanted:
            scalar("loss", loss)
        _summarize_gradients(gradients, wanted)
        norms = {"global_gradient_norm", "gradient_norm"}
        if clip_gradients is not None and not norms.isdisjoint(wanted):
            scalar("global_norm/clipped_gradient_norm", _norm_of(gradients))
        step = global_step if increment_global_step else None
        train = chosen.apply_gradients(gradients, global_step=step, name="train")
        return with_dependencies([train], loss)


def _norm_of(pairs: GradientsAndVariables) -> Tensor:
    return global_norm([gradient for gradient, _ in pairs])


def _summarize_gradients(pairs: GradientsAndVariables, wanted: Sequence[str]) -> None:
    """Add summaries of each gradient: a histogram and its norm, if `wanted` lists them."""
    for gradient, variable in pairs:
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        if values is None:
            continue
        name = variable.name.replace(":", "_")
        if "gradients" in wanted:
            histogram(f"gradients/{name}", values)
        if "gradient_norm" in wanted:
            scalar(f"gradient_norm/{name}", global_norm([values]))


def _after_updates(loss: Tensor, update_ops: Any) -> Tensor:
    graph = get_default_graph()
    if update_ops is None:
        update_ops = graph.get_collection(GraphKeys.UPDATE_OPS)
    if not update_ops:
        return loss
    with graph.control_dependencies(list(dict.fromkeys(update_ops))):
        return identity(loss)


def _learning_rate(rate: Any, global_step: Any, decay: Callable[[Any, Any], Any] | None) -> Any:
    """Return the learning rate after `decay`, as a tensor or variable. If `rate` is None, return
    None.
    """
    if rate is None:
        return None
    if isinstance(rate, Tensor) and rate.shape.rank == 0:
        value: Any = rate
    elif isinstance(rate, (float, int)) and not isinstance(rate, bool):
        if rate < 0.0:
            raise ValueError(f"Invalid learning_rate {rate}.")
        value = get_variable(
            "learning_rate", [], dtypes.float32, Constant(float(rate)), trainable=False
        )
    else:
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {rate} of type {type(rate)}"
        )
    if decay is None:
        return value
    if global_step is None:
        raise ValueError("global_step is required for learning_rate_decay_fn.")
    return decay(value, global_step)


def _optimizer(optimizer: Any, rate: Any) -> Any:
    """Return `optimizer` if it is an optimizer. Otherwise, if it is a name, class or function,
    create the optimizer from it.
    """
    if isinstance(optimizer, Optimizer):
        return optimizer
    is_class = isinstance(optimizer, type) and issubclass(optimizer, Optimizer)
    if rate is None and (isinstance(optimizer, str) or is_class):
        kind = "string" if isinstance(optimizer, str) else "class"
        raise ValueError(
            f"Learning rate is None, but should be specified if optimizer is {kind} ({optimizer})."
        )
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided "
                f"{optimizer}."
            )
        return OPTIMIZER_CLS_NAMES[optimizer](rate)
    if is_class:
        return optimizer(rate)
    if not callable(optimizer):
        raise ValueError(
            "Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass "
            f"of Optimizer or function with one argument. Got {optimizer}."
        )
    built = optimizer() if rate is None else optimizer(rate)
    if not isinstance(built, Optimizer):
        raise ValueError(
            f"Unrecognized optimizer: function should return subclass of Optimizer. Got {built}."
        )
    return built


def _noisy(gradient: Any, scale: float) -> Any:
    """Return the gradient plus truncated normal noise of standard deviation `scale`. If `gradient`
    is None, return None.
    """
    if gradient is None:
        return None
    dense = convert_to_tensor(gradient)
    return dense + truncated_normal(shape(dense), dtype=dense.dtype) * scale


def _multiplied(pairs: GradientsAndVariables, factors: Mapping[Any, Any]) -> list[Any]:
    """Return the pairs with gradients multiplied by `factors`, whose keys are variables or names of
    variables.
    """
    if not factors:
        raise ValueError("Gradient multipliers should not be empty: factors by variable or name")
    known = set(factors)
    multiplied = []
    for gradient, variable in pairs:
        keys = [key for key in (variable, variable.op.name, variable.name) if key in known]
        if gradient is not None and keys:
            factor = convert_to_tensor(factors[keys[0]], gradient.dtype)
            if isinstance(gradient, IndexedSlices):
                gradient = IndexedSlices(
                    gradient.values * factor, gradient.indices, gradient.dense_shape
                )
            else:
                gradient = gradient * factor
        multiplied.append((gradient, variable))
    return multiplied


def _clipped(pairs: GradientsAndVariables, clip: Any) -> list[Any]:
    """Return the pairs with clipped gradients.

    Args:
      clip: the maximum global norm, or a function that receives and returns the pairs.
    """
    if isinstance(clip, (float, int)):
        gradients, _ = clip_by_global_norm([gradient for gradient, _ in pairs], clip)
        return list(zip(gradients, [variable for _, variable in pairs]))
    if callable(clip):
        return list(clip(pairs))
    raise ValueError(f"Unknown type {type(clip)} for clip_gradients")
