"""The second inception network, with batch normalization: Ioffe and Szegedy, 2015."""

from __future__ import annotations

from typing import Any

from gpugraph.building.variable_scope import variable_scope
from gpugraph.building.variable_scope.arg_scope import Scope
from gpugraph.library.contrib.layers import separable_conv2d, softmax
from gpugraph.library.contrib.slim_models.nets.inception_networks import (
    inception_layers,
    inception_scope,
    normalized_arg_scope,
    scaled_depth,
)
from gpugraph.library.contrib.slim_models.nets.network_rows import (
    pooled_size,
    predictions,
    run_until,
)
from gpugraph.ops.random.variable_initializers import TruncatedNormal


def inception_v2_arg_scope(
    weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars"
) -> Scope:
    """Return the default arguments of the layers of `inception_v2`, for `arg_scope`.

    Args:
      batch_norm_var_collection: the collection for the moving averages of batch normalization.
    """
    return normalized_arg_scope(weight_decay, batch_norm_var_collection)


_FIRST = "Conv2d_1a_7x7"


def _mixed(name: str, filters: str, pool: str = "AvgPool_0a_3x3 avg") -> str:
    one, narrow, wide, slim, deep, pooled = filters.split()
    return (
        f"{name}: Conv2d_0a_1x1 {one} 1x1 | Conv2d_0a_1x1 {narrow} 1x1, Conv2d_0b_3x3 {wide} 3x3 | "
        f"Conv2d_0a_1x1 {slim} 1x1, Conv2d_0b_3x3 {deep} 3x3, Conv2d_0c_3x3 {deep} 3x3 | "
        f"{pool} 3x3, Conv2d_0b_1x1 {pooled} 1x1"
    )


def _reduction(name: str, filters: str) -> str:
    narrow, wide, slim, deep = filters.split()
    return (
        f"{name}: Conv2d_0a_1x1 {narrow} 1x1, Conv2d_1a_3x3 {wide} 3x3 /2 | "
        f"Conv2d_0a_1x1 {slim} 1x1, Conv2d_0b_3x3 {deep} 3x3, Conv2d_1a_3x3 {deep} 3x3 /2 | "
        "MaxPool_1a_3x3 max 3x3 /2"
    )


_ROWS = "\n".join(
    [
        "MaxPool_2a_3x3 max 3x3 /2",
        "Conv2d_2b_1x1 64 1x1",
        "Conv2d_2c_3x3 192 3x3",
        "MaxPool_3a_3x3 max 3x3 /2",
        _mixed("Mixed_3b", "64 64 64 64 96 32"),
        _mixed("Mixed_3c", "64 64 96 64 96 64"),
        _reduction("Mixed_4a", "128 160 64 96"),
        _mixed("Mixed_4b", "224 64 96 96 128 128"),
        _mixed("Mixed_4c", "192 96 128 96 128 128"),
        _mixed("Mixed_4d", "160 128 160 128 160 96"),
        _mixed("Mixed_4e", "96 128 192 160 192 96"),
        _reduction("Mixed_5a", "128 192 192 256"),
        _mixed("Mixed_5b", "352 192 320 160 224 128"),
        _mixed("Mixed_5c", "352 192 320 192 224 128", pool="MaxPool_0a_3x3 max"),
    ]
)


def inception_v2_base(
    inputs: Any,
    final_endpoint: str = "Mixed_5c",
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
    with variable_scope(scope, "InceptionV2", [inputs]), inception_layers():
        net = separable_conv2d(
            inputs, depth(64), [7, 7], depth_multiplier=min(int(depth(64) / 3), 8), stride=2,
            weights_initializer=TruncatedNormal(0.0, 1.0), scope=_FIRST,
        )  # fmt: skip
        if final_endpoint == _FIRST:
            return net, {_FIRST: net}
        last, end_points = run_until(net, _ROWS, final_endpoint, depth)
        return last, {_FIRST: net, **end_points}


def inception_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Any = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV2",
) -> tuple[Any, dict[str, Any]]:
    """Return logits [n, num_classes] for images [n, 224, 224, 3], and a dict of the layers'
    outputs.
    """
    with inception_scope(scope, "InceptionV2", [inputs, num_classes], is_training, reuse) as within:
        net, end_points = inception_v2_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=within
        )
        size = pooled_size(net, [7, 7])
        return predictions(
            net, end_points, num_classes,
            (f"AvgPool_1a_{size[0]}x{size[1]}", "Dropout_1b", "Conv2d_1c_1x1"), size,
            dropout_keep_prob, spatial_squeeze, prediction_fn,
        )  # fmt: skip


inception_v2.default_image_size = 224  # type: ignore[attr-defined]
