"""Functions that all inception networks share: default arguments, scaled numbers of filters, final
layers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from gpugraph.building.variable_scope import variable_scope
from gpugraph.building.variable_scope.arg_scope import Scope, arg_scope
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.contrib.layers import (
    avg_pool2d,
    batch_norm,
    conv2d,
    dropout,
    fully_connected,
    l2_regularizer,
    max_pool2d,
    separable_conv2d,
    variance_scaling_initializer,
)
from gpugraph.library.contrib.slim_models.nets.network_rows import Depth
from gpugraph.ops.nn.activations.relu_and_elu import relu


def inception_arg_scope(
    weight_decay: float = 0.00004,
    use_batch_norm: bool = True,
    batch_norm_var_collection: str = "moving_vars",
) -> Scope:
    """Return the default arguments of the layers of inception networks, for `arg_scope`.

    Args:
      batch_norm_var_collection: the collection for the moving averages of batch normalization.
    """
    return normalized_arg_scope(weight_decay, batch_norm_var_collection, is_used=use_batch_norm)


def normalized_arg_scope(
    weight_decay: float, moving_collection: str, *, is_used: bool = True, decay: float = 0.9997,
    epsilon: float = 0.001, updates_collections: Any = GraphKeys.UPDATE_OPS,
    fused: bool | None = None,
) -> Scope:  # fmt: skip
    """Return default arguments of layers: weight decay, Relu and optional batch normalization."""
    averages = [moving_collection]
    normalization = {
        "decay": decay, "epsilon": epsilon, "updates_collections": updates_collections,
        "fused": fused,
        "variables_collections": {
            "beta": None, "gamma": None, "moving_mean": averages, "moving_variance": averages,
        },
    }  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(
            arg_scope([conv2d, fully_connected], weights_regularizer=l2_regularizer(weight_decay))
        )
        return stack.enter_context(
            arg_scope(
                [conv2d], weights_initializer=variance_scaling_initializer(), activation_fn=relu,
                normalizer_fn=batch_norm if is_used else None,
                normalizer_params=normalization if is_used else {},
            )
        )  # fmt: skip


def scaled_depth(depth_multiplier: float, min_depth: int) -> Depth:
    """Return a function that multiplies a number of filters by `depth_multiplier`.

    Raises ValueError for a multiplier that is not positive.

    Args:
      min_depth: the minimum result of the function.
    """
    if depth_multiplier <= 0:
        raise ValueError(f"depth_multiplier is not greater than zero: {depth_multiplier}")
    return lambda filters: max(int(filters * depth_multiplier), min_depth)


@contextmanager
def inception_layers(padding: str = "SAME", **of_convolutions: Any) -> Iterator[None]:
    """Set stride 1 and `padding` as default arguments of the layers inside the block.

    Args:
      of_convolutions: additional default arguments of the convolutions.
    """
    layers = [conv2d, max_pool2d, avg_pool2d, separable_conv2d]
    with (
        arg_scope([conv2d, fully_connected], **of_convolutions),
        arg_scope(layers, stride=1, padding=padding),
    ):
        yield


@contextmanager
def inception_scope(
    scope: Any, name: str, values: Any, is_training: Any, reuse: Any
) -> Iterator[Any]:
    """Open the variable scope of a network, and make `is_training` a default argument of the layers
    inside.
    """
    with (
        variable_scope(scope, name, values, reuse=reuse) as within,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        yield within
