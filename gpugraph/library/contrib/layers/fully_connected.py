"""Fully connected layers."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers.layer_options import LayerOptions, apply_layer, with_options
from gpugraph.library.layers import Dense
from gpugraph.ops.nn.activations import relu_and_elu


@with_options()
def fully_connected(inputs: Any, num_outputs: int, options: LayerOptions) -> Tensor:
    """Return activation_fn(inputs @ weights + biases), along the last axis of inputs [..., units].

    The fields of `LayerOptions` are passed as separate arguments. If there is a `normalizer_fn`,
    the normalization replaces the biases.

    Raises ValueError unless `num_outputs` is an int, the inputs have two axes or more, and the size
    of the last axis is known.
    """
    if isinstance(num_outputs, bool) or not isinstance(num_outputs, int):
        raise ValueError(
            f"num_outputs type should be one of [<class 'int'>], got {type(num_outputs)}: an "
            f"integer, not {num_outputs!r}"
        )
    return apply_layer(
        Dense, inputs, "fully_connected", options, {"kernel": "weights", "bias": "biases"},
        units=num_outputs, **options.of_weights("kernel"),
    )  # fmt: skip


linear = partial(fully_connected, activation_fn=None)
relu = partial(fully_connected, activation_fn=relu_and_elu.relu)
relu6 = partial(fully_connected, activation_fn=relu_and_elu.relu6)
elu = partial(fully_connected, activation_fn=relu_and_elu.elu)
