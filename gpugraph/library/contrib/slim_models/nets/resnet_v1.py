"""Residual networks: He et al., 2015, Deep Residual Learning for Image Recognition."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpugraph.building.variable_scope import variable_scope
from gpugraph.building.variable_scope.arg_scope import add_arg_scope
from gpugraph.library.contrib.layers import conv2d
from gpugraph.library.contrib.layers.layer_collections import collect_outputs
from gpugraph.library.contrib.slim_models.nets.residual_networks import (
    residual_block,
    residual_network,
    sized_network,
)
from gpugraph.library.contrib.slim_models.nets.resnet_utils import (
    conv2d_same,
    resnet_arg_scope as resnet_arg_scope,
    subsample,
)
from gpugraph.ops.nn.activations.relu_and_elu import relu


@add_arg_scope
def bottleneck(
    inputs: Any,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """Add a residual unit: relu(shortcut + three convolutions). The first two convolutions have few
    filters.

    Args:
      depth: the number of filters of the last convolution.
      depth_bottleneck: the number of filters of the first two convolutions.
    """
    with variable_scope(scope, "bottleneck_v1", [inputs]) as within:
        if inputs.shape.as_list()[3] == depth:
            shortcut = subsample(inputs, stride, "shortcut")
        else:
            shortcut = conv2d(
                inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut"
            )
        residual = conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = conv2d(residual, depth, [1, 1], stride=1, activation_fn=None, scope="conv3")
        return collect_outputs(outputs_collections, within.name, relu(shortcut + residual))


resnet_v1_block = partial(residual_block, bottleneck)
resnet_v1 = residual_network("resnet_v1", bottleneck, normalizes_before=False)
resnet_v1_50 = sized_network(resnet_v1, resnet_v1_block, 50)
resnet_v1_101 = sized_network(resnet_v1, resnet_v1_block, 101)
resnet_v1_152 = sized_network(resnet_v1, resnet_v1_block, 152)
resnet_v1_200 = sized_network(resnet_v1, resnet_v1_block, 200)
