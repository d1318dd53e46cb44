"""A function that creates a training op from a loss, for slim and `contrib.training`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gpugraph.building.variables import trainable_variables
from gpugraph.graph.client.default_graph_functions import (
    control_dependencies,
    get_default_graph,
    name_scope,
)
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.summary import histogram, scalar
from gpugraph.library.train import Optimizer, get_or_create_global_step
from gpugraph.ops.control.group_and_no_op import no_op, with_dependencies
from gpugraph.ops.debugging import check_numerics as numeric_checks
from gpugraph.ops.elementwise.arithmetic_functions import multiply
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.clip_by_norm import clip_by_norm, global_norm
from gpugraph.platform import logging

USE_GLOBAL_STEP: Any = 0
"""The default of `global_step`: the graph's global step, which is created if there is none."""

Gradients = Sequence[tuple[Any, Any]]


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    transform_grads_fn: Callable[[Gradients], Gradients] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Tensor:
    """Return an op that runs the updates, trains the variables by one step, and outputs the loss.

    The op is added to the collection TRAIN_OP. Raises ValueError if a variable is not trainable, or
    if the list of variables is empty.

    Args:
      global_step: the variable that counts steps; None if steps are not counted.
      update_ops: ops that run before the loss is computed; by default the collection UPDATE_OPS.
      variables_to_train: by default all trainable variables.
      transform_grads_fn: a function that receives and returns (gradient, variable) pairs.
      check_numerics: whether an infinite or NaN loss raises InvalidArgumentError.
    """
    if global_step is USE_GLOBAL_STEP:
        global_step = get_or_create_global_step()
    loss = _after_updates(convert_to_tensor(total_loss), update_ops)
    gradients: Gradients = optimizer.compute_gradients(
        loss,
        _to_train(variables_to_train),
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn is not None:
        gradients = transform_grads_fn(gradients)
    if summarize_gradients:
        with name_scope("summarize_grads"):
            add_gradients_summaries(gradients)
    updates = optimizer.apply_gradients(gradients, global_step=global_step)
    with name_scope("train_op"):
        train_op: Tensor = with_dependencies([updates], _checked(loss) if check_numerics else loss)
    train_ops = get_default_graph().get_collection_ref(GraphKeys.TRAIN_OP)
    if all(train_op is not known for known in train_ops):
        train_ops.append(train_op)
    return train_op


def _checked(loss: Tensor) -> Tensor:
    return numeric_checks.check_numerics(loss, "LossTensor is inf or nan")


def _after_updates(loss: Tensor, update_ops: Any) -> Tensor:
    """Return the loss, computed after `update_ops`, which are by default the collection
    UPDATE_OPS.
    """
    known = get_default_graph().get_collection(GraphKeys.UPDATE_OPS)
    updates = list(known if update_ops is None else update_ops)
    if not set(known) <= set(updates):
        logging.warning(
            "update_ops in create_train_op does not contain all the update_ops in "
            "GraphKeys.UPDATE_OPS"
        )
    if not updates:
        return loss
    with control_dependencies(updates):
        barrier = no_op(name="update_barrier")
    return with_dependencies([barrier], loss)


def _to_train(variables: Any) -> list[Any]:
    trainable = trainable_variables()
    chosen = trainable if variables is None else list(variables)
    for variable in chosen:
        if all(variable is not known for known in trainable):
            raise ValueError(f"{variable.name} is not trainable: it can't be in variables_to_train")
    if not chosen:
        raise ValueError("There are no variables to train")
    return chosen


def add_gradients_summaries(grads_and_vars: Gradients) -> list[Any]:
    """Add two summaries for each gradient: a histogram and the norm."""
    summaries = []
    for grad, variable in grads_and_vars:
        if grad is None:
            logging.info("Var %s has no gradient", variable.op.name)
            continue
        values = grad.values if isinstance(grad, IndexedSlices) else grad
        summaries.append(histogram(variable.op.name + "/gradient", values))
        summaries.append(scalar(variable.op.name + "/gradient_norm", global_norm([values])))
    return summaries


def clip_gradient_norms(gradients_to_variables: Gradients, max_norm: Any) -> Gradients:
    """Return the pairs with each gradient clipped to the norm `max_norm`."""
    clip = partial(clip_by_norm, clip_norm=max_norm)
    return [
        (None if grad is None else _of_values(grad, clip), variable)
        for grad, variable in gradients_to_variables
    ]


def clip_gradient_norms_fn(max_norm: Any) -> Callable[[Gradients], Gradients]:
    """Return a function that clips each gradient to the norm `max_norm`, for use as a
    `transform_grads_fn`.
    """
    return lambda gradients: clip_gradient_norms(gradients, max_norm)


def multiply_gradients(
    grads_and_vars: Gradients, gradient_multipliers: Mapping[Any, Any]
) -> Gradients:
    """Return the pairs with gradients multiplied by factors.

    Raises ValueError if there are no factors, or if a variable with a factor has no gradient.

    Args:
      gradient_multipliers: the factors, by variable or by the variable's op name.
    """
    if not isinstance(gradient_multipliers, Mapping):
        raise ValueError("`gradient_multipliers` must be a dict.")
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    pairs = []
    for grad, variable in grads_and_vars:
        key = variable if variable in gradient_multipliers else variable.op.name
        if key in gradient_multipliers:
            if grad is None:
                raise ValueError("Requested multiple of `None` gradient.")
            factor = convert_to_tensor(gradient_multipliers[key], grad.dtype.base_dtype)
            grad = _of_values(grad, partial(multiply, factor))
        pairs.append((grad, variable))
    return pairs


def _of_values(grad: Any, change: Callable[[Any], Any]) -> Any:
    """Return the gradient with `change` applied to its values. The values of IndexedSlices are
    rows.
    """
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(change(grad.values), grad.indices, grad.dense_shape)
    return change(grad)
