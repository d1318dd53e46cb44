"""`tf.contrib.slim.learning`: creates a training op from a loss, and runs the training loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers import train_op_creation
from gpugraph.library.contrib.layers.train_op_creation import (
    USE_GLOBAL_STEP,
    Gradients,
    add_gradients_summaries as add_gradients_summaries,
    clip_gradient_norms as clip_gradient_norms,
    multiply_gradients as multiply_gradients,
)
from gpugraph.library.contrib.slim_models.training_loop import (
    train as train,
    train_step as train_step,
)
from gpugraph.library.train import Optimizer


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    check_numerics: bool = True,
) -> Tensor:
    """Return a training op that outputs the loss. See `tf.contrib.training.create_train_op`.

    Args:
      clip_gradient_norm: the maximum norm of each gradient, or 0 for no clipping.
      gradient_multipliers: factors of gradients, by variable or by the variable's name.
    """

    def transform(gradients: Gradients) -> Gradients:
        if gradient_multipliers:
            gradients = multiply_gradients(gradients, gradient_multipliers)
        if clip_gradient_norm:
            gradients = clip_gradient_norms(gradients, clip_gradient_norm)
        return gradients

    return train_op_creation.create_train_op(
        total_loss,
        optimizer,
        global_step,
        update_ops,
        variables_to_train,
        transform,
        summarize_gradients,
        gate_gradients,
        aggregation_method,
        colocate_gradients_with_ops,
        check_numerics,
    )
