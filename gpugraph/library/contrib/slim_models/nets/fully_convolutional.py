"""Functions that AlexNet, OverFeat and the VGG networks share.

A table of rows declares the first layers (`network_rows`). The last three layers are convolutions
that compute the logits.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from gpugraph.base.named_function import named
from gpugraph.building.variable_scope import variable_scope
from gpugraph.building.variable_scope.arg_scope import Scope, arg_scope
from gpugraph.library.contrib.layers import (
    conv2d,
    dropout,
    fully_connected,
    l2_regularizer,
    max_pool2d,
)
from gpugraph.library.contrib.slim_models.nets.network_rows import (
    as_classifier,
    end_points_of,
    run_rows,
)
from gpugraph.ops.nn.activations.relu_and_elu import relu
from gpugraph.ops.random.variable_initializers import Constant, TruncatedNormal, Zeros


def convolution_arg_scope(weight_decay: float, bias: float, **of_pools: Any) -> Scope:
    """Return default arguments for layers: Relu, weight decay, and `bias` as the initial value of
    biases.

    Args:
      of_pools: default arguments of max pooling.
    """
    with ExitStack() as stack:
        stack.enter_context(
            arg_scope(
                [conv2d, fully_connected], activation_fn=relu,
                weights_regularizer=l2_regularizer(weight_decay),
                biases_initializer=Constant(bias) if bias else Zeros(),
            )
        )  # fmt: skip
        scope = stack.enter_context(arg_scope([conv2d], padding="SAME"))
        if of_pools:
            scope = stack.enter_context(arg_scope([max_pool2d], **of_pools))
        return scope


def classifier(
    name: str, rows: str, layers: tuple[tuple[int, int], tuple[int, int]], image_size: int,
    drawn: float | None = None,
) -> Callable[..., tuple[Any, dict[str, Any]]]:  # fmt: skip
    """Return the function that builds the network: layers of the table `rows`, then `fc6`, `fc7`
    and `fc8`.

    Args:
      layers: the number of filters and the kernel size of `fc6` and of `fc7`.
      drawn: the standard deviation of the initial weights of the last three layers. If it is not
        None, the initial biases are 0.1, and 0 in `fc8`.
    """

    @named(
        name,
        f"""Return logits [n, num_classes] of images [n, {image_size}, {image_size}, 3].

    The outputs of layers by name are returned as well. spatial_squeeze: with False, the logits
    are [n, h, w, num_classes], for larger images.
    """,
    )
    def network(
        inputs: Any,
        num_classes: int = 1000,
        is_training: Any = True,
        dropout_keep_prob: float = 0.5,
        spatial_squeeze: bool = True,
        scope: Any = name,
    ) -> tuple[Any, dict[str, Any]]:
        with variable_scope(scope, name, [inputs]) as within:
            collection = f"{within.original_name_scope}_end_points"
            with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=[collection]):
                *_, (_, net) = run_rows(inputs, rows)
                for number, (filters, size) in enumerate(layers, 6):
                    net = conv2d(
                        net, filters, size, padding="VALID", scope=f"fc{number}", **_initial(drawn)
                    )
                    net = dropout(
                        net, dropout_keep_prob, is_training=is_training, scope=f"dropout{number}"
                    )
                last = {**_initial(drawn), "activation_fn": None, "normalizer_fn": None}
                if drawn is not None:
                    last["biases_initializer"] = Zeros()
                net = conv2d(net, num_classes, [1, 1], scope="fc8", **last)
                end_points = end_points_of(collection)
                net = as_classifier(net, within, "fc8", end_points, spatial_squeeze)
                return net, end_points

    network.default_image_size = image_size  # type: ignore[attr-defined]
    return network


def _initial(drawn: float | None) -> dict[str, Any]:
    """Return initializers of weights and biases. If `drawn` is None, return {}.

    The weights have the standard deviation `drawn`, and the biases are 0.1.
    """
    if drawn is None:
        return {}
    return {
        "weights_initializer": TruncatedNormal(0.0, drawn), "biases_initializer": Constant(0.1),
    }  # fmt: skip
