"""The third inception network: Szegedy et al., 2015 (arXiv:1512.00567)."""

from __future__ import annotations

from typing import Any

from gpugraph.building.variable_scope import variable_scope
from gpugraph.building.variable_scope.arg_scope import Scope
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.contrib.layers import avg_pool2d, conv2d, softmax
from gpugraph.library.contrib.slim_models.nets.inception_networks import (
    inception_layers,
    inception_scope,
    normalized_arg_scope,
    scaled_depth,
)
from gpugraph.library.contrib.slim_models.nets.network_rows import (
    Depth,
    pooled_size,
    predictions,
    read_layer,
    run_until,
)
from gpugraph.ops.arrays.reshape_and_transpose import squeeze
from gpugraph.ops.random.variable_initializers import TruncatedNormal


def inception_v3_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: str = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    use_fused_batchnorm: bool = True,
) -> Scope:
    """Return the default arguments of the layers of `inception_v3`, for `arg_scope`.

    For the arguments about batch normalization, see `batch_norm`.

    Args:
      batch_norm_var_collection: the collection for the moving averages of batch normalization.
    """
    return normalized_arg_scope(
        weight_decay, batch_norm_var_collection, decay=batch_norm_decay,
        epsilon=batch_norm_epsilon, updates_collections=updates_collections,
        fused=use_fused_batchnorm,
    )  # fmt: skip


_STEM = """
Conv2d_1a_3x3 32 3x3 /2
Conv2d_2a_3x3 32 3x3
Conv2d_2b_3x3 64 3x3 SAME
MaxPool_3a_3x3 max 3x3 /2
Conv2d_3b_1x1 80 1x1
Conv2d_4a_3x3 192 3x3
MaxPool_5a_3x3 max 3x3 /2
"""


def _small(
    name: str, pooled: int, narrow: str = "Conv2d_0a_1x1", wide: str = "Conv2d_0b_5x5"
) -> str:
    return (
        f"{name}: Conv2d_0a_1x1 64 1x1 | {narrow} 48 1x1, {wide} 64 5x5 | "
        "Conv2d_0a_1x1 64 1x1, Conv2d_0b_3x3 96 3x3, Conv2d_0c_3x3 96 3x3 | "
        f"AvgPool_0a_3x3 avg 3x3, Conv2d_0b_1x1 {pooled} 1x1"
    )


def _middle(name: str, filters: int) -> str:
    return (
        f"{name}: Conv2d_0a_1x1 192 1x1 | "
        f"Conv2d_0a_1x1 {filters} 1x1, Conv2d_0b_1x7 {filters} 1x7, Conv2d_0c_7x1 192 7x1 | "
        f"Conv2d_0a_1x1 {filters} 1x1, Conv2d_0b_7x1 {filters} 7x1, Conv2d_0c_1x7 {filters} 1x7, "
        f"Conv2d_0d_7x1 {filters} 7x1, Conv2d_0e_1x7 192 1x7 | "
        "AvgPool_0a_3x3 avg 3x3, Conv2d_0b_1x1 192 1x1"
    )


def _wide(name: str, upright: str) -> str:
    return (
        f"{name}: Conv2d_0a_1x1 320 1x1 | "
        f"Conv2d_0a_1x1 384 1x1, Conv2d_0b_1x3 384 1x3 & {upright} 384 3x1 | "
        "Conv2d_0a_1x1 448 1x1, Conv2d_0b_3x3 384 3x3, "
        "Conv2d_0c_1x3 384 1x3 & Conv2d_0d_3x1 384 3x1 | "
        "AvgPool_0a_3x3 avg 3x3, Conv2d_0b_1x1 192 1x1"
    )


_MIXED = "\n".join(
    [
        _small("Mixed_5b", 32),
        _small("Mixed_5c", 64, "Conv2d_0b_1x1", "Conv_1_0c_5x5"),
        _small("Mixed_5d", 64),
        "Mixed_6a: Conv2d_1a_1x1 384 3x3 /2 VALID | Conv2d_0a_1x1 64 1x1, Conv2d_0b_3x3 96 3x3, "
        "Conv2d_1a_1x1 96 3x3 /2 VALID | MaxPool_1a_3x3 max 3x3 /2 VALID",
        _middle("Mixed_6b", 128),
        _middle("Mixed_6c", 160),
        _middle("Mixed_6d", 160),
        _middle("Mixed_6e", 192),
        "Mixed_7a: Conv2d_0a_1x1 192 1x1, Conv2d_1a_3x3 320 3x3 /2 VALID | "
        "Conv2d_0a_1x1 192 1x1, Conv2d_0b_1x7 192 1x7, Conv2d_0c_7x1 192 7x1, "
        "Conv2d_1a_3x3 192 3x3 /2 VALID | MaxPool_1a_3x3 max 3x3 /2 VALID",
        _wide("Mixed_7b", "Conv2d_0b_3x1"),
        _wide("Mixed_7c", "Conv2d_0c_3x1"),
    ]
)


def inception_v3_base(
    inputs: Any,
    final_endpoint: str = "Mixed_7c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """Return the output of the row `final_endpoint`, and a dict of the outputs of all rows up to
    this row.

    Args:
      depth_multiplier: a factor for the number of filters of each layer.
      min_depth: the minimum number of filters after the multiplication.
    """
    depth = scaled_depth(depth_multiplier, min_depth)
    with variable_scope(scope, "InceptionV3", [inputs]):
        stem = [read_layer(row).name for row in _STEM.split("\n") if row]
        last = final_endpoint if final_endpoint in stem else stem[-1]
        with inception_layers("VALID"):
            net, end_points = run_until(inputs, _STEM, last, depth)
        if final_endpoint in stem:
            return net, end_points
        with inception_layers("SAME"):
            net, mixed = run_until(net, _MIXED, final_endpoint, depth)
        return net, {**end_points, **mixed}


def inception_v3(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Any = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    create_aux_logits: bool = True,
    scope: Any = "InceptionV3",
) -> tuple[Any, dict[str, Any]]:
    """Return logits [n, num_classes] for images [n, 299, 299, 3], and a dict of the layers'
    outputs.

    In the dict, "AuxLogits" are the logits of a second classifier, whose input is the output of
    `Mixed_6e`.
    """
    depth = scaled_depth(depth_multiplier, min_depth)
    with inception_scope(scope, "InceptionV3", [inputs, num_classes], is_training, reuse) as within:
        net, end_points = inception_v3_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=within
        )
        if create_aux_logits:
            end_points["AuxLogits"] = _second_classifier(
                end_points["Mixed_6e"], num_classes, depth, spatial_squeeze
            )
        size = pooled_size(net, [8, 8])
        return predictions(
            net, end_points, num_classes,
            (f"AvgPool_1a_{size[0]}x{size[1]}", "Dropout_1b", "Conv2d_1c_1x1"), size,
            dropout_keep_prob, spatial_squeeze, prediction_fn, "PreLogits",
        )  # fmt: skip


def _second_classifier(net: Any, num_classes: int, depth: Depth, spatial_squeeze: bool) -> Any:
    with variable_scope("AuxLogits"), inception_layers():
        net = avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = conv2d(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
        size = pooled_size(net, [5, 5])
        net = conv2d(
            net, depth(768), size, weights_initializer=TruncatedNormal(0.0, 0.01), padding="VALID",
            scope=f"Conv2d_2a_{size[0]}x{size[1]}",
        )  # fmt: skip
        net = conv2d(
            net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None,
            weights_initializer=TruncatedNormal(0.0, 0.001), scope="Conv2d_2b_1x1",
        )  # fmt: skip
        return squeeze(net, [1, 2], name="SpatialSqueeze") if spatial_squeeze else net


inception_v3.default_image_size = 299  # type: ignore[attr-defined]
