"""Residual networks whose units normalize their inputs first: He et al., 2016
(arXiv:1603.05027).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from gpugraph.building.variable_scope import variable_scope
from gpugraph.building.variable_scope.arg_scope import add_arg_scope
from gpugraph.library.contrib.layers import batch_norm, conv2d
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
    """Add a residual unit: shortcut + three convolutions of the normalized inputs.

    The first two convolutions have few filters.

    Args:
      depth: the number of filters of the last convolution.
      depth_bottleneck: the number of filters of the first two convolutions.
    """
    with variable_scope(scope, "bottleneck_v2", [inputs]) as within:
        normalized = batch_norm(inputs, activation_fn=relu, scope="preact")
        plain = {"normalizer_fn": None, "activation_fn": None}
        if inputs.shape.as_list()[3] == depth:
            shortcut = subsample(inputs, stride, "shortcut")
        else:
            shortcut = conv2d(normalized, depth, [1, 1], stride=stride, scope="shortcut", **plain)
        residual = conv2d(normalized, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = conv2d(residual, depth, [1, 1], stride=1, scope="conv3", **plain)
        return collect_outputs(outputs_collections, within.name, shortcut + residual)


resnet_v2_block = partial(residual_block, bottleneck)
resnet_v2 = residual_network("resnet_v2", bottleneck, normalizes_before=True)
resnet_v2_50 = sized_network(resnet_v2, resnet_v2_block, 50)
resnet_v2_101 = sized_network(resnet_v2, resnet_v2_block, 101)
resnet_v2_152 = sized_network(resnet_v2, resnet_v2_block, 152)
resnet_v2_200 = sized_network(resnet_v2, resnet_v2_block, 200)
